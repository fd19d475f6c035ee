#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# warehouse: inspect, verify, list, compare, use and prune.
. "${srcdir:-.}/t/support/tap.sh"

# frame RUN NUMBER X1: a picture with one box
frame() {
	mkdir -p "data/$1/labels" "data/$1/images"
	cp photo.png "data/$1/images/$2.png"
	printf '{"frame_id":%d,"image":"images/%d.png","image_present":true,' "$2" "$2" \
		>"data/$1/labels/$2.json"
	printf '"labels":[{"bbox_norm":[0.125,0.25,%s,0.75]}]}\n' "$3" >>"data/$1/labels/$2.json"
}
base64 -d >photo.png <<-END
iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j
ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC
END
# Digits of keys, hashes and times.
plain() { sed 's/[0-9a-f]\{64\}/KEY/g; s/v2026[0-9]*-[0-9a-f]\{12\}/VERSION/g; s/"bytes":[0-9]*/"bytes":N/g; s/[0-9.]* KiB/N KiB/' "$out"; }
# flip FILE OFFSET
flip() { printf '!' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null; }

export SOURCE_DATE_EPOCH=1792000000
frame run-1 1 0.5
frame run-1 2 0.625
frame run-2 1 0.75
printf '{"frame_id":9,"image":"images/9.png","image_present":true,"labels":[{"bbox_norm":[0,0,1,1]}]}\n' \
	>data/run-2/labels/9.json
build() { cachex build -q --size 32x24 "$@" 2>/dev/null; }
build data wh
first=$(readlink wh/current)

# inspect
check "inspect" 0 cachex warehouse inspect wh --shards
is "all of it" "$(plain)" \
'wh/VERSION
  version          KEY
  recipe           {"dataset_root":"data","target_size":[32,24],"resize_mode":"Letterbox","max_boxes":16,"skip_empty":true,"code_version":"0.1.1"}
  fingerprint      KEY
  created          2026-10-14T17:46:40Z
  dataset_root     data
'"$(sed -n 's/^  transform/&/p' "$out")"'
  layout           capture
  sources_root     '"$scratch"'/data
  samples          3 in 1 shard, N KiB
  series           f16[3,24,32]  3 from 0 on
  max_boxes        16 of f32
  frames           4: 3 with boxes, 0 without, 1 missing, 0 invalid
  boxes            3: 0 clipped, 0 dropped, 0 above max_boxes
  left out         1 no_file
  shards           shard-000000.twh1  3 samples  N KiB
  thresholds       {"mode":"fail"}
                   hold
  sources          not changed'
check "inspect one version" 0 cachex warehouse inspect "wh/$first"
check "inspect --json" 0 cachex warehouse inspect wh --json
is "one line" "$(wc -l <"$out" | tr -d ' ')" 1
if command -v jq >/dev/null 2>&1; then
	is "its numbers" "$(jq -c '[.samples,.shards,.series,.summary.totals.total,.thresholds_hold,.sources,.dtype]' "$out")" \
	'[3,1,[{"channels":3,"height":24,"width":32,"first":0,"samples":3}],4,true,"not changed","f16"]'
else
	skip "its numbers" "no jq"
fi
check "a directory that is no warehouse" 3 cachex warehouse inspect data
is "is named" "$(cat "$err")" \
	"cachex: warehouse: data: not a warehouse: it has neither manifest.json nor current"
check "one that is not there" 4 cachex warehouse inspect gone

# verify
check "verify" 0 cachex warehouse verify wh "wh/$first"
is "good" "$(plain)" "wh/VERSION: good, 3 samples
wh/VERSION: good, 3 samples"
check "verify --json" 0 cachex warehouse verify wh --json
is "JSON" "$(plain)" \
	'{"warehouse":"wh/VERSION","ok":true,"stale":false,"findings":0,"samples":3,"boxes":3}'
check "verify -q" 0 cachex warehouse verify wh -q
is "says nothing" "$(cat "$out" "$err")" ""
check "verify the content of sources" 0 cachex warehouse verify wh --sources content
cp -r data elsewhere
check "and elsewhere" 0 cachex warehouse verify wh --sources content --dataset elsewhere
mv data away
check "sources that are not here" 0 cachex warehouse verify wh
is "are said" "$(sed 's/wh.v[^:]*/wh/' "$err")" \
	"cachex: warehouse: wh: the sources are not on this machine; not compared"
check "and inspected" 0 cachex warehouse inspect wh
is "so" "$(tail -n 1 "$out" | tr -s ' ')" " sources not compared"
check "sources that have to be here" 1 cachex warehouse verify wh --sources content
mv away data

# stale
cp data/run-1/labels/2.json keep.json
frame run-1 2 0.875
frame run-3 1 0.5
check "stale" 1 cachex warehouse verify wh
is "each source a line" "$(plain | sort)" \
"run-1/labels/2.json: changed
run-3/: added
wh/VERSION: 2 findings"
check "stale as JSON" 1 cachex warehouse verify wh --json
is "is told" "$(plain | tail -n 1)" \
	'{"warehouse":"wh/VERSION","ok":false,"stale":true,"findings":2,"samples":3,"boxes":3}'
check "stale and ignored" 0 cachex warehouse verify wh --sources ignore
check "inspect says so" 0 cachex warehouse inspect wh
also "too" grep -q '^  sources  *changed$' "$out"

# list and compare
export SOURCE_DATE_EPOCH=1792000060
build data wh
second=$(readlink wh/current)
check "list" 0 cachex warehouse list wh
is "two versions" "$(cut -c1-25 "$out")" "   $first
*  $second"
check "list --json" 0 cachex warehouse list wh --json
is "JSON" "$(plain)" \
'{"name":"VERSION","current":false,"good":true,"version":"KEY","samples":3,"shards":1,"bytes":N,"created_at_ms":1792000000000}
{"name":"VERSION","current":true,"good":true,"version":"KEY","samples":4,"shards":1,"bytes":N,"created_at_ms":1792000060000}'
check "compare" 1 cachex warehouse compare "wh/$first" wh
is "fields and samples" "$(plain)" \
'fingerprint: "KEY" -> "KEY"
summary.boxes: 3 -> 4
summary.runs.2.empty: nothing -> 0
summary.runs.2.invalid: nothing -> 0
summary.runs.2.missing_file: nothing -> 0
summary.runs.2.missing_image: nothing -> 0
summary.runs.2.non_empty: nothing -> 1
summary.runs.2.run_id: nothing -> "run-3"
summary.runs.2.total: nothing -> 1
summary.totals.non_empty: 3 -> 4
summary.totals.total: 4 -> 5
summary.written: 3 -> 4
samples: 1 added, 0 removed, 1 changed, 2 same'
check "compare the other way round" 1 cachex warehouse compare -l wh "wh/$first" --json
is "each sample a line" "$(grep '"sample"' "$out")" \
'{"sample":"changed","id":"run-1/2"}
{"sample":"removed","id":"run-3/1"}'
is "the sum is the last line" "$(tail -n 1 "$out")" \
	'{"same":false,"fields":12,"unchanged":2,"changed":1,"added":0,"removed":1}'
check "compare with itself" 0 cachex warehouse compare wh "wh/$second"
is "the same" "$(cat "$out")" "samples: 0 added, 0 removed, 0 changed, 4 same"
export SOURCE_DATE_EPOCH=1792000120
build data wh --fit stretch
third=$(readlink wh/current)
check "compare recipes" 1 cachex warehouse compare "wh/$second" wh
also "the field" grep -qx 'recipe.resize_mode: "Letterbox" -> "Stretch"' "$out"
is "all samples changed" "$(tail -n 1 "$out")" \
	"samples: 0 added, 0 removed, 4 changed, 0 same"
check "compare with nothing" 4 cachex warehouse compare wh gone

# use
check "use" 0 cachex warehouse use wh "$first" -v
is "says what is current" "$(cat "$err")" "cachex: warehouse: wh: current is $first"
is "and it is" "$(readlink wh/current)" "$first"
check "by the hash" 0 cachex warehouse use wh "$(echo "$second" | cut -c11-17)"
is "the other" "$(readlink wh/current)" "$second"
check "a version that is not there" 1 cachex warehouse use wh v20200101-000000000000
is "is named" "$(cat "$err")" "cachex: warehouse: v20200101-000000000000: no such version"
cp -r wh hurt
flip "hurt/$first/shard-000000.twh1" 5000
check "one that is damaged inside" 3 cachex warehouse use hurt "$first" --full
also "is named, too" grep -q "$first/shard-000000.twh1: SHA-256 differs" "$err"
is "and current stays" "$(readlink hurt/current)" "$second"
rm "hurt/$third/shard-000000.twh1"
check "one without a shard" 3 cachex warehouse use hurt "$third"
is "and current stays again" "$(readlink hurt/current)" "$second"

# verify finds everything
check "verify damage" 3 cachex warehouse verify "hurt/$first" --sources ignore
is "a line each" "$(plain | sed 's/^hurt.VERSION.shard/shard/')" \
"shard-000000.twh1: SHA-256 differs from the manifest
shard-000000.twh1: bytes 0 to 65535 do not match their checksum
hurt/VERSION: 2 findings"
check "verify a missing shard" 3 cachex warehouse verify "hurt/$third" --sources ignore
also "named" grep -q 'shard-000000.twh1: open: No such file' "$out"
cp "wh/$second/shard-000000.twh1" "hurt/$second/shard-000099.twh1"
flip "hurt/$second/sources.txt" 60
flip "hurt/$second/rejected.jsonl" 5
check "verify what stands beside" 3 cachex warehouse verify "hurt/$second"
also "a shard too many" grep -q 'shard-000099.twh1: a shard that the manifest does not name' "$out"
also "the list of sources" grep -q 'sources.txt: SHA-256 differs' "$out"
also "the rejected ones" grep -q 'rejected.jsonl: SHA-256 differs' "$out"
mv "hurt/$first" "hurt/v20260101-0123456789ab"
cp "wh/$first/shard-000000.twh1" hurt/v20260101-0123456789ab
check "verify a version by another's name" 3 cachex warehouse verify \
	"hurt/v20260101-0123456789ab" --sources ignore
also "told" grep -q "manifest.json: is that of .*$(echo "$first" | cut -c11-), not of v20260101-0123456789ab" "$out"
check "limits that are exceeded" 1 sh -c \
	'"$1" build -q data limited --max-missing 0 --thresholds fail' sh "$CACHEX"

# streams: the same contract
cp -r data moved
build moved streamed
was=$(cksum <"streamed/current/manifest.json")
check "a stream of a warehouse" 0 cachex read streamed/ -1
cp "$out" built
frame run-1 2 0.5
mv moved away
check "sources that are not here" 0 cachex read streamed/ -1
cp -r away moved
printf ' ' >>moved/run-1/labels/2.json
for command in "read -1" "read --mix ./streamed/=2" plan "plan --show 0"; do
	refuse "cachex $command of a stale one" 1 \
		"cachex: ${command%% *}: ./streamed/$(readlink streamed/current): run-1/labels/2.json: changed; --sources ignore reads it anyway" \
		cachex $command ./streamed/
	check "that is not looked at" 0 cachex $command ./streamed/ --sources ignore --limit 2
done
check "it is as it was built" 0 cachex read ./streamed/ --sources ignore -1
also "every record" cmp "$out" built
check "sources that stand elsewhere" 0 cachex read streamed/ --dataset away --sources content -1
check "all content" 1 cachex read streamed/ --sources content
check "a variable" 0 env CACHEX_READ_SOURCES=ignore "$CACHEX" read streamed/ -1
wrong "no such way" 2 "cachex: read: --sources: 'never' is not one of stat|content|ignore" \
	cachex read streamed/ --sources never
is "the warehouse is as it was" "$(cksum <streamed/current/manifest.json)" "$was"

# plain exports
printf xxxxxxxxxxxx | cachex put m a --dtype u8 --shape 3,2,2
cachex export -q m plain
check "verify an export" 0 cachex warehouse verify plain
is "good, too" "$(cat "$out")" "plain: good, 1 sample"
check "inspect an export" 0 cachex warehouse inspect plain
also "says what it lacks" grep -q '^  sources  *not listed$' "$out"

# prune
check "prune without a number" 2 cachex warehouse prune wh
check "prune where nobody can be asked" 2 cachex warehouse prune wh --keep 1
is "is told" "$(cat "$err")" "cachex: warehouse: not a terminal, cannot ask for confirmation; use -f"
is "nothing is gone" "$(ls -d wh/v* | wc -l | tr -d ' ')" 3
cachex warehouse use wh "$first"
check "prune -n" 0 cachex warehouse prune wh --keep 1 -n
is "says one" "$(grep -c '^would remove v' "$out")" 1
is "and removes none" "$(ls -d wh/v* | wc -l | tr -d ' ')" 3
mkdir -p wh/v20200101-000000000000/32x24
cp -a wh changed
sed -i 's/"max_boxes": [0-9]*/"max_boxes": 77/' changed/current/manifest.json
for command in verify inspect; do
	refuse "$command a manifest that was changed" 3 "cachex: warehouse: changed/$(readlink wh/current)/manifest.json: the file was changed after it was written (wrong manifest_sha256); restore it or create it again" \
		cachex warehouse $command changed
done
cp -a wh sizeless
cp sizeless/current/manifest.json manifest
sed 's/"bytes": *[0-9]*, *//; s/, *"bytes": *[0-9]*//' manifest |
	sign_manifest >sizeless/current/manifest.json
also "a manifest without sizes" sh -c '! cmp -s manifest sizeless/current/manifest.json'
check "list its version" 0 cachex warehouse list sizeless
shard=sizeless/$(readlink wh/current)/shard-000000.twh1
rm "$shard"
check "list what lacks a shard of no known size" 3 cachex warehouse list sizeless
is "says which" "$(cat "$err")" "cachex: warehouse: $shard: missing"
check "list says what it was" 0 cachex warehouse list wh
also "without a manifest" grep -q '^   v20200101-000000000000  *no manifest' "$out"
mkdir wh/v20200102-000000000000
echo x >wh/v20200102-000000000000/manifest.json
check "list a damaged version" 3 cachex warehouse list wh
also "too" grep -q '^   v20200102-000000000000  *damaged' "$out"
also "its error" grep -q 'v20200102-000000000000/manifest.json: line 1' "$err"
check "prune" 3 cachex warehouse prune wh --keep 1 -f --json
is "JSON" "$(plain | grep -v v2020 | sed 's/"samples":[0-9]/"samples":N/')" \
	'{"warehouse":"wh","removed":"VERSION","samples":N,"bytes":N,"dry_run":false}'
also "the newest stays" test -e "wh/$third/manifest.json"
also "the current one stays" test -e "wh/$first/manifest.json"
also "the rest of a removal does not" test ! -e wh/v20200101-000000000000
also "a damaged one does" test -e wh/v20200102-000000000000
rm -r wh/v20200102-000000000000
is "nothing else" "$(ls -d wh/v* | wc -l | tr -d ' ')" 2
check "prune again" 0 cachex warehouse prune wh --keep 1 -f
is "says nothing" "$(cat "$out")" ""

# words
check "an unknown word" 2 cachex warehouse verfy wh
is "what was meant" "$(cat "$err")" "cachex: warehouse: unknown subcommand verfy; did you mean verify?"
is "words of completion" "$(cachex __complete warehouse '' | cut -f1 | tr '\n' ' ')" \
	"words inspect verify list compare use prune report "
is "options of one" "$(cachex __complete warehouse prune --k | cut -f1 | tr '\n' ' ')" "words --keep "
is "a choice" "$(cachex __complete warehouse verify --sources '' | cut -f1 | tr '\n' ' ')" \
	"words stat content ignore "
for word in inspect verify list compare use prune report; do
	check "$word --help" 0 cachex warehouse "$word" --help
	also "$word --help begins with its usage" grep -q "^usage: cachex warehouse $word" "$out"
done
finish
