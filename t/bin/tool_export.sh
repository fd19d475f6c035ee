#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# export, and what shard shows of it.
. "${srcdir:-.}/t/support/tap.sh"

numbers() { sed 's/"seconds":[0-9.e+-]*/"seconds":N/' "$out"; }

# 20 samples of 256 bytes, stored in an order that is not the keys'.
i=0
while [ "$i" -lt 20 ]; do
	id=$(printf 'id%02d' $((19 - i)))
	awk -v n="$i" 'BEGIN { for (k = 0; k < 64; k++) printf "%c%c%c%c", 65 + n, 66, 67, 68 }' >"$id.raw"
	echo "{\"id\":\"$id\",\"dtype\":\"f32\",\"shape\":[2,32],\"data\":\"$(base64 -w 0 "$id.raw")\"}"
	i=$((i + 1))
done >all.jsonl
cachex load m all.jsonl

export SOURCE_DATE_EPOCH=1700000000
check "export" 0 cachex export m out
is "says what it wrote" "$(sed 's/,.*//; s/  [0-9.]* KiB$//' "$out")" \
"out/shard-000000.twh1  20 samples
20 samples in 1 shard"
is "a shard and the manifest" "$(ls -A out | tr '\n' ' ')" "manifest.json shard-000000.twh1 "
check "export --json" 0 cachex export m json --json
size=$(wc -c <json/shard-000000.twh1 | tr -d ' ')
is "JSON" "$(numbers)" \
'{"shard":"json/shard-000000.twh1","samples":20,"bytes":'"$size"'}
{"shards":1,"reused":0,"samples":20,"bytes":'"$size"',"seconds":N,"dry_run":false}'
also "the same bytes again" cmp out/shard-000000.twh1 json/shard-000000.twh1
check "export -q" 0 cachex export m quiet -q
is "says nothing" "$(cat "$out" "$err")" ""

# Options
check "--shard-size" 0 cachex export m small --shard-size 6000
also "makes more shards" test "$(ls small/*.twh1 | wc -l)" -gt 1
check "they are good" 0 cachex shard verify small
check "--threads" 0 cachex export m threads --shard-size 6000 -j 3
also "do not change a byte" diff -r small threads
check "a dry run" 0 cachex export m dry --shard-size 6000 -n
also "counts" grep -q '^would write 20 samples in [2-9] shards, ' "$out"
also "and writes nothing" test ! -e dry
check "--no-metadata" 0 cachex export m plain --no-metadata
is "is version 1 for f32" "$(cachex shard inspect plain/*.twh1 | sed -n 's/^  version *//p')" 1
check "--no-sha256" 0 cachex export m fast --no-sha256
also "leaves it out" grep -q '"checksum_sha256": null' fast/manifest.json
also "and changes no shard" cmp out/shard-000000.twh1 fast/shard-000000.twh1
check "it is good all the same" 0 cachex shard verify fast
check "--shard-version 2 --no-metadata" 0 cachex export m plain2 --no-metadata --shard-version 2
is "is version 2" "$(cachex shard inspect plain2/*.twh1 | sed -n 's/^  version *//p')" 2
check "--order key" 0 cachex export m keys --order key
is "orders by cache_id" "$(cachex shard inspect keys/*.twh1 --ids 2 | tail -n 2)" \
"  sample 0         f32[2,32]  id00
  sample 1         f32[2,32]  id01"
# A module of inputs: the same bytes whoever filled it.
for i in 0 1 2 3 4 5; do seq 1 $((4 + i % 3)) >in$i; done
producer="exec '$builddir/t/support/bad_producer' good"
for j in 1 2 3; do
	check "filled by $j" 0 cachex fill filled$j -j $j -b 1 --chunk 2 --exec "$producer" \
		--from in0 in1 in2 in3 in4 in5
	SOURCE_DATE_EPOCH=0 cachex export -q filled$j filled$j --shard-size 4096 --dataset-root x
	SOURCE_DATE_EPOCH=0 cachex export -q filled$j parts$j --by-input --dataset-root x
done
also "exports of it are the same" diff -r filled1 filled2
also "for any number of processes" diff -r filled1 filled3
is "have the records in the published order" \
	"$(for shard in filled1/*.twh1; do cachex shard inspect "$shard" --ids 99; done |
		sed -n 's/^  sample .*]  //p' | head -n 14 | tr '\n' ' ')" \
	"in0:0 in0:1 in1:0 in1:1 in2:0 in2:1 in3:0 in3:1 in4:0 in4:1 in5:0 in5:1 in0:2 in0:3 "
also "by input, too" diff -r parts1 parts3
is "a directory each" "$(cd parts1 && echo *)" "in0.shards in1.shards in2.shards \
in3.shards in4.shards in5.shards manifest.json"
check "they are a set" 0 cachex read ./parts2 -1
is "of all records" "$(wc -l <"$out" | tr -d ' ')" 30
refuse "--by-input of plain puts" 3 \
	"cachex: export: module m has no inputs: by_input cannot divide it" \
	cachex export m divided --by-input
refuse "--by-input by key" 2 "cachex: export: --by-input works only with --order published" \
	cachex export filled1 divided --by-input --order key
refuse "--by-input of another format" 2 "cachex: export: --by-input does not apply to npz" \
	cachex export filled1 divided.npz --by-input
check "--dataset-root" 0 cachex export m root --dataset-root /data/set
also "stands in the manifest" grep -q '"dataset_root": *"/data/set"' root/manifest.json
check "--progress" 0 cachex export m progress --progress
also "a line at the end" grep -q '^export: .*B/s$' "$err"

# Another's export stays
before=$(cat out/*.twh1 out/manifest.json | cksum)
printf x | cachex put other a --dtype u8 --shape 1
check "an export of something else" 2 cachex export other out
is "is named" "$(cat "$err")" "cachex: export: out: holds an export of 'm'; -f replaces it"
is "and stays" "$(cat out/*.twh1 out/manifest.json | cksum)" "$before"
check "the same by another name" 2 cachex export m out --dataset-root /data/set
mkdir replaced
cp out/* replaced
check "-f replaces it" 0 cachex export -f other replaced
also "by its own" grep -q '"dataset_root": *"other"' replaced/manifest.json

# What cannot be exported
printf x | cachex put mixed a --dtype u8 --shape 1
printf xy | cachex put mixed b --dtype u8 --shape 2
check "mixed shapes" 3 cachex export mixed mixed
is "are named, the operation once" "$(cat "$err")" \
	"cachex: export: 'a' is u8[1] but 'b' is u8[2]"
also "leave no manifest" test ! -e mixed/manifest.json
printf x | cachex put bytes a --dtype u8 --shape 1
check "u8 in version 1" 3 cachex export bytes bytes --shard-version 1
printf xxxxxxxxxxxxxxxx | cachex put complex a --dtype c128 --shape 1
check "c128, too" 3 cachex export complex complex --shard-version 1
printf x | cachex put empty a --dtype u8 --shape 1
cachex rm -f empty a
check "no records" 3 cachex export empty empty
echo file >file
check "a file as directory" 4 cachex export m file
also "is named" grep -q '^cachex: export: .*file' "$err"
echo file >export
check "a file that is called as the command" 4 cachex export m export
also "is named all the same" grep -q '^cachex: export: export: ' "$err"

# shard inspect
check "inspect" 0 cachex shard inspect out/shard-000000.twh1
is "the header and the first five" "$(grep -v '_offset\|file_size' "$out")" \
"out/shard-000000.twh1
  version          2
  image            f32[1,2,32]
  samples          20
  max_boxes        0
  sample 0         f32[2,32]  id19
  sample 1         f32[2,32]  id18
  sample 2         f32[2,32]  id17
  sample 3         f32[2,32]  id16
  sample 4         f32[2,32]  id15"
check "inspect --sample" 0 cachex shard inspect out/shard-000000.twh1 --sample 19
is "shows that one" "$(tail -n 1 "$out")" "  sample 19        f32[2,32]  id00"
check "inspect --ids 0" 0 cachex shard inspect out/shard-000000.twh1 --ids 0
is "shows none" "$(tail -n 1 "$out" | tr -s ' ')" " file_size $size"
check "inspect --json" 0 cachex shard inspect out/shard-000000.twh1 --ids 1 --json
is "JSON" "$(sed 's/_offset":[0-9]*/_offset":N/g' "$out")" \
'{"file":"out/shard-000000.twh1","version":2,"dtype":"f32","boxes_dtype":"f32","channels":1,"height":2,"width":32,"max_boxes":0,"samples":20,"image_offset":N,"boxes_offset":N,"mask_offset":N,"meta_offset":N,"checksum_offset":N,"file_size":'"$size"',"first":[{"sample":0,"id":"id19","dtype":"f32","shape":[2,32]}]}'
check "a sample that is not there" 1 cachex shard inspect out/shard-000000.twh1 --sample 20
is "is one line" "$(wc -l <"$err" | tr -d ' ')" 1
refuse "an unknown word" 2 "cachex: shard: unknown subcommand verfy; did you mean verify?" \
	cachex shard verfy out
refuse "a word like none" 2 \
	"cachex: shard: unknown subcommand frobnicate; use inspect, verify, extract or union" \
	cachex shard frobnicate out
check "inspect of no shard" 3 cachex shard inspect all.jsonl
also "names it" grep -q '^cachex: shard: .*all.jsonl' "$err"
check "inspect of nothing" 4 cachex shard inspect gone.twh1
also "names it, too" grep -q '^cachex: shard: .*gone.twh1' "$err"

# shard verify
check "verify" 0 cachex shard verify out out/shard-000000.twh1 plain/shard-000000.twh1
is "good" "$(cat "$out")" "out: good
out/shard-000000.twh1: good
plain/shard-000000.twh1: good (it has no checksums; sizes and offsets are right)"
check "verify --json" 0 cachex shard verify out --json
is "JSON" "$(cat "$out")" '{"file":"out","ok":true}'
cp -r out hurt
printf '!' | dd of=hurt/shard-000000.twh1 bs=1 seek=4200 conv=notrunc 2>/dev/null
check "a damaged shard" 3 cachex shard verify hurt/shard-000000.twh1
is "is the last line" "$(tail -n 1 "$out")" "hurt/shard-000000.twh1: damaged"
check "a damaged directory" 3 cachex shard verify hurt
is "is the last line" "$(tail -n 1 "$out")" "hurt: damaged"
also "after what is damaged" test "$(wc -l <"$out")" -ge 2
check "damage as JSON" 3 cachex shard verify hurt --json
is "is the last line" "$(tail -n 1 "$out")" '{"file":"hurt","ok":false}'
also "after what is damaged" grep -q '^{"file":"hurt","damage":"' "$out"
check "damage does not hide the others" 3 cachex shard verify hurt out
is "they are good" "$(tail -n 1 "$out")" "out: good"
head -c 4200 out/shard-000000.twh1 >cut.twh1
check "a cut shard" 3 cachex shard verify cut.twh1
mkdir bare
check "a directory without a manifest" 1 cachex shard verify bare
is "which is said" "$(cat "$err")" \
	"cachex: shard: bare: no manifest.json; not an export, or an unfinished one"

# shard extract
check "extract" 0 cachex shard extract out/shard-000000.twh1 -o samples
is "names the files" "$(head -n 2 "$out")" "samples/id19.npy
samples/id18.npy"
is "all of them" "$(ls samples | wc -l | tr -d ' ')" 20
cachex get m id07 -o id07.npy
also "as get writes them" cmp id07.npy samples/id07.npy
check "extract --sample" 0 cachex shard extract out/shard-000000.twh1 -o one --sample 3
is "that one" "$(ls one)" id16.npy
refuse "what is there stays" 2 "cachex: shard: one/id16.npy: exists; -f replaces it" \
	cachex shard extract out/shard-000000.twh1 -o one --sample 3
check "but with -f" 0 cachex shard extract out/shard-000000.twh1 -o one --sample 3 -f
check "raw" 0 cachex shard extract out/shard-000000.twh1 -o raw --sample 3 --format raw
also "the bytes" cmp raw/id16.raw id16.raw
check "a dry run" 0 cachex shard extract out/shard-000000.twh1 -o dry -n --sample 3
is "names the file" "$(cat "$out")" dry/id16.npy
also "and makes nothing" test ! -e dry
check "without cache_ids" 0 cachex shard extract plain/shard-000000.twh1 -o numbered --sample 3
is "by number" "$(ls numbered)" shard-000000-000003.npy
check "as JSON" 0 cachex shard extract out/shard-000000.twh1 -o json2 --sample 3 --json
is "a line" "$(cat "$out")" '{"file":"json2/id16.npy","sample":3,"id":"id16"}'
refuse "no directory" 2 "cachex: shard: extract needs -o DIR" \
	cachex shard extract out/shard-000000.twh1
check "a damaged sample" 3 cachex shard extract hurt/shard-000000.twh1 -o rest
also "is named" grep -q '^cachex: shard: .*hurt/shard-000000.twh1' "$err"
for id in ../up /abs .dot 'a b' "$(printf 'q\377%%')"; do
	printf xx | cachex put odd "$id" --dtype bf16 --shape 1
done
check "odd names" 0 cachex export odd odd
refuse "bf16 to .npy" 3 "cachex: shard: .npy has no bf16; use --format raw, or --bits" \
	cachex shard extract odd/shard-000000.twh1 -o names
check "odd names into files" 0 cachex shard extract odd/shard-000000.twh1 -o names --bits
is "are escaped" "$(LC_ALL=C ls -A names | tr '\n' ' ')" \
	"%2E.%2Fup.npy %2Edot.npy %2Fabs.npy a%20b.npy q%FF%25.npy "

# ---- union

for part in p0 p1 p2; do
	for id in a b; do printf %s "$part" | cachex put -q $part $part$id --dtype u8 --shape 2; done
	cachex export -q $part sets/$part
done
printf xyz | cachex put -q wide w --dtype u8 --shape 3
cachex export -q wide sets/wide
check "sets are joined" 0 cachex shard union sets/all sets/p1 sets/p0 sets/p2
is "in a line" "$(cat "$out")" "sets/all: 6 samples in 3 shards of 3 parts"
is "which copies nothing" "$(ls -A sets/all)" manifest.json
is "but names them" "$(grep relative_path sets/all/manifest.json | cut -d'"' -f4 | tr '\n' ' ')" \
	"../p1/manifest.json ../p0/manifest.json ../p2/manifest.json "
check "as JSON" 0 cachex shard union sets/all sets/p2 sets/p1 --json
is "a line" "$(sed 's/"bytes":[0-9]*/"bytes":N/' "$out")" \
	'{"directory":"sets/all","parts":2,"shards":2,"samples":4,"bytes":N}'
refuse "another shape" 3 "cachex: shard: sets/wide: its width differs from that of sets/p0" \
	cachex shard union sets/all sets/p0 sets/wide
refuse "shards of its own" 2 "cachex: shard: sets/p0: has shards of its own" \
	cachex shard union sets/p0 sets/p1
refuse "no set" 4 "cachex: shard: sets/none: No such file or directory" \
	cachex shard union sets/all sets/none
refuse "nothing to join" 2 "cachex: shard: an operand is missing: cachex shard union OUT SET..." \
	cachex shard union sets/all
is "the union is the one before" "$(grep -c relative_path sets/all/manifest.json)" 2

# Reading it gives the records of the sets in that order, with few shards open, too.
check "read" 0 cachex read ./sets/all -1 --open-shards 1
is "the records" "$(cut -f3 "$out" | tr '\n' ' ')" "p2a p2b p1a p1b "
mv sets/p2/shard-000000.twh1 away
refuse "a shard that is not there, when the set is opened" 3 \
	"cachex: read: ./sets/all/../p2/shard-000000.twh1: open: No such file or directory" \
	cachex read ./sets/all -1
cachex shard union -q sets/all sets/p1 sets/p2
refuse "or when it is read" 3 \
	"cachex: read: ./sets/all/../p2/shard-000000.twh1: open: No such file or directory" \
	cachex read ./sets/all -1 -b 2 --open-shards 1
is "after all others" "$(cut -f3 "$out" | tr '\n' ' ')" "p1a p1b "
mv away sets/p2/shard-000000.twh1
finish
