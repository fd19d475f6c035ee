#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# migrate stage2: lines, passes with encoders, findings, and what it says.
. "${srcdir:-.}/t/support/tap.sh"
encoder=$builddir/t/support/encoder
mkrecords=$builddir/t/support/mkrecords
seed=${T_SEED:-$(date +%s)}
echo "# T_SEED=$seed"

# migrate ARGUMENT...: of records.jsonl into out
migrate() { cachex migrate stage2 records.jsonl --out out --shape 4 "$@"; }
make_records() {
	rm -rf out records.jsonl*
	plain=1 "$mkrecords" "$1" "$seed" >records.jsonl
	plain=1 v2=1 "$mkrecords" "$1" "$seed" >wanted.jsonl
}
# The first line of the output without its rate.
counts() { sed -n '1s/ rate=.*//p' "$out"; }
progress() {
	echo "progress: $1 migrated, $2 enriched, $3 extracted, $4 skipped (total: $5)"
}

# Usage
check "no --out" 2 cachex migrate stage2 x
check "no operand" 2 cachex migrate stage2 --out out
check "no subcommand" 2 cachex migrate
check "another word" 2 cachex migrate stage3 x
: >records.jsonl
for wrong in "--pass x" "--pass vae" "--encoder x" "--encoder migrate=x" "--module x=y" \
	"--module stage2" "--module t5_hidden" "--dtype c64" "--dtype x" "--shape x" \
	"--expect vae=x" "--expect vae=a=f16" "--batch 0" "-j 0"; do
	# shellcheck disable=SC2086
	check "$wrong is refused" 2 migrate $wrong
done
check "no such file" 4 cachex migrate stage2 nowhere --out out
check "a directory" 3 cachex migrate stage2 . --out out
mkfifo pipe
check "a pipe without a writer" 3 cachex migrate stage2 pipe --out out
also "is told of" grep -q "pipe: not a regular file" "$err"
check "and verified" 3 cachex migrate stage2 pipe --out out --verify
also "nothing is made for them" test ! -e out

# An empty file, and blank lines
check "an empty file" 0 migrate
is "counts nothing" "$(counts)" "$(progress 0 0 0 0 0)"
rm -rf out
printf '\n  \n' >records.jsonl
check "blank lines" 0 migrate --json
also "are counted" grep -q '"total":0,"bad":0,"blank":2,' "$out"

# Lines, and nothing else
make_records 50
cp records.jsonl before.jsonl
check "a dry run" 0 migrate -n
is "counts" "$(counts)" "$(progress 50 0 0 0 50)"
also "and needs space" grep -q '^about .* records need .* for dinov3$' "$out"
holds "and changes nothing" test ! -e out
check "migrate" 0 migrate
is "counts" "$(counts)" "$(progress 50 0 0 0 50)"
holds "the lines" cmp records.jsonl wanted.jsonl
holds "the original" cmp records.jsonl.stage1.backup before.jsonl
is "the modules" "$(ls out)" "dinov3
stage2"
is "the tensors" "$(cachex ls --root out dinov3 | wc -l | tr -d ' ')" 50
before=$(ls -i records.jsonl)
check "again" 0 migrate
is "nothing is done" "$(counts)" "$(progress 0 0 0 50 50)"
is "the same file" "$(ls -i records.jsonl)" "$before"
check "quietly" 0 migrate -q
is "without a word" "$(cat "$out" "$err")" ""

# Verify
check "verify" 0 migrate --verify --pass dinov3 --pass migrate
is "finds nothing" "$(cat "$out")" \
	"records.jsonl: 50 records, 50 good in dinov3; 0 bad lines, 0 findings"
check "verify all that there is" 0 migrate --verify
is "finds nothing, as no other pass was asked for" "$(cat "$out")" \
	"records.jsonl: 50 records, 50 good in dinov3; 0 bad lines, 0 findings"
check "verify the others" 1 migrate --verify --pass vae --pass t5
is "ten are listed" "$(grep -c ': missing$' "$out")" 10
is "then they are counted" "$(tail -n 2 "$out")" "... and 90 findings more; --json lists all
records.jsonl: 50 records, 0 good in vae_latents, 0 good in t5_hidden; 0 bad lines, 100 findings"
check "verify in JSON" 1 migrate --verify --pass vae --pass t5 --json
is "an object each" "$(grep -c '"finding":"vae_latents: missing"' "$out")" 50
also "and one at the end" grep -q '"findings":100,"ok":false}' "$out"
check "verify where nothing is" 1 cachex migrate stage2 records.jsonl --out nowhere --verify
id=$(cachex ls --root out dinov3 | sed -n '3s/ .*//p')
cachex rm -qf --root out dinov3 "$id"
check "verify without a tensor" 1 migrate --verify --pass dinov3
also "names it" grep -q "^records.jsonl:[0-9]*: $id: dinov3: missing\$" "$out"

# What an encoder makes of what is missing
check "enrich" 0 env LOG="$scratch/log" "$CACHEX" migrate stage2 records.jsonl --out out \
	--shape 4 --pass dinov3 --encoder "dinov3=$encoder dinov3"
is "one record" "$(counts)" "$(progress 0 1 0 49 50)"
also "is told of" grep -qx "dinov3: 1 stored, 0 of them again, 49 there, 0 failed" "$out"
is "only that" "$(cat log)" "dinov3 $id"
check "verify again" 0 migrate --verify --pass dinov3

# All passes at once, with failures
make_records 12
id=$(sed -n '5s/.*"image_id": *"\([^"]*\)".*/\1/p' wanted.jsonl)
all() {
	migrate --encoder "vae=$encoder vae" --encoder "t5=$encoder t5" -j 2 "$@"
}
FAIL=$id; export FAIL
check "an encoder fails" 1 all
is "all migrated" "$(counts)" "$(progress 12 0 0 0 12)"
also "vae" grep -qx "vae_latents: 11 stored, 0 of them again, 0 there, 1 failed" "$out"
also "t5" grep -qx "t5_hidden: 11 stored, 0 of them again, 0 there, 1 failed" "$out"
holds "is listed" grep -q "\"$id\".*told to fail" out/vae_latents/failures.jsonl
holds "the lines" cmp records.jsonl wanted.jsonl
unset FAIL
check "again" 0 all
is "what was missing" "$(counts)" "$(progress 0 1 0 11 12)"
also "is made" grep -qx "t5_hidden: 1 stored, 0 of them again, 11 there, 0 failed" "$out"
holds "no failures are listed" test ! -e out/vae_latents/failures.jsonl
check "verify" 0 migrate --verify
WRONG=$id; export WRONG
cachex rm -qf --root out vae_latents "$id"
check "another shape" 1 all
holds "is a failure" grep -q 'has latents of' out/vae_latents/failures.jsonl
check "is missing" 1 migrate --verify
unset WRONG
DIE=$id; export DIE
check "an encoder dies" 1 all
holds "is a failure" grep -q "told to die of" out/vae_latents/failures.jsonl
unset DIE
check "and again" 0 all --json
also "in JSON" grep -q '"enriched":1,.*"vae":{"module":"vae_latents","stored":1,"again":0,"there":11,"failed":0}' "$out"
check "verify" 0 migrate --verify

# Passes one by one, other names
make_records 12
check "pass dinov3" 0 migrate --pass dinov3 --module feature
is "extracts" "$(counts)" "$(progress 0 0 12 0 12)"
is "and leaves the lines" "$(ls records.jsonl*)" "records.jsonl"
check "pass vae" 0 migrate --pass vae --encoder "vae=$encoder vae" --module vae=v \
	--module feature
is "enriches" "$(counts)" "$(progress 0 12 0 0 12)"
check "pass migrate" 0 migrate --pass migrate --module feature
is "migrates" "$(counts)" "$(progress 12 0 0 0 12)"
holds "the lines" cmp records.jsonl wanted.jsonl
check "verify" 0 migrate --verify --pass dinov3 --pass vae --module feature --module vae=v
cachex rm -qf --root out feature "$(cachex ls --root out feature | sed -n '1s/ .*//p')"
check "another dtype is other data" 1 migrate --verify --pass dinov3 --module feature --dtype f16
is "in each" "$(grep -c 'is f32\[4\], not f16\[4\]' "$out"), $(sed -n '$s/.*, //p' "$out")" "9, 12 findings"

# Parts of the lines
make_records 17
printf '{"bad": 1\n' >>records.jsonl
check "migrated on one machine" 3 migrate
encode() { cachex migrate stage2 records.jsonl --pass vae --encoder "vae=$encoder vae" "$@"; }
cp records.jsonl as.jsonl
tensors() { for id in $(cachex ls -1 --root "$1" vae_latents); do echo "$id $(cachex get --root "$1" vae_latents "$id" --format raw | cksum)"; done; }
check "the whole" 3 encode --out whole
told=
for i in 0 1 2; do
	check "part $i" $((i == 2 ? 3 : 0)) encode --out part$i --shard $i/3
	told="$told$(sed -n '1p;/stored/p' "$out" | tr '\n' ';') "
	tensors part$i >>tensors.parts
done
is "is told" "$told" "task 0/3 of the lines;vae_latents: 6 stored, 0 of them again, 0 there, 0 failed; task 1/3 of the lines;vae_latents: 6 stored, 0 of them again, 0 there, 0 failed; task 2/3 of the lines;vae_latents: 5 stored, 0 of them again, 0 there, 0 failed; "
is "they are the whole" "$(sort tensors.parts)" "$(tensors whole | sort)"
check "another number of parts" 0 env JOB_COMPLETION_INDEX=0 "$CACHEX" migrate stage2 records.jsonl \
	--pass vae --encoder "vae=$encoder vae" --out part0 --shard auto/2
is "goes on" "$(cat "$err"); $(grep stored "$out")" \
	"cachex: migrate: task 0/2, from JOB_COMPLETION_INDEX; vae_latents: 6 stored, 0 of them again, 3 there, 0 failed"
holds "the lines are as they were" cmp records.jsonl as.jsonl
check "in JSON" 0 encode --out part1 --shard 1/3 --json
also "in JSON" grep -q '"task":1,"tasks":3,"migrated_new":0,"enriched":0,"extracted":0,"skipped":6,' "$out"
(flock -s 9; encode --out part1 --shard 1/3 >"$out" 2>&1; echo $?) 9<records.jsonl >status
is "two at once share the file" "$(cat status)" 0
wrong "a pass that has no parts" 2 "cachex: migrate: --shard works only with --pass vae and --pass t5; the other passes assign image_ids in the order of the lines" \
	cachex migrate stage2 records.jsonl --out none --shard 0/2
wrong "verifying a part" 2 "cachex: migrate: --shard excludes --verify, --repair and --rollback" \
	cachex migrate stage2 records.jsonl --out none --verify --pass vae --shard 0/2
wrong "no task" 2 "cachex: migrate: --shard: '2/2': tasks of 2 are numbered 0 to 1" \
	cachex migrate stage2 records.jsonl --out none --pass vae --encoder vae=x --shard 2/2
also "nothing was made" test ! -e none

# Lines that are bad
cat >records.jsonl <<'end'
{"image_path": "a.jpg", "emb": [[1, 2]], "width": 640, "height": 480}
{"image_path": "b.jpg", "emb": [[1, NaN]], "width": 640, "height": 480}
{"image_path": "c.jpg", "emb": [[1, 2, 3]], "width": 640, "height": 480}
{"image_path": "c.jpg", "emb": [[1, "2"]], "width": 640, "height": 480}
{"image_path": "d.jpg", "emb": [[1, 1e39]], "width": 640, "height": 480}
{"image_path": "e.jpg", "emb": [[1, 2]]}
{"emb": [[1, 2]], "width": 640, "height": 480}
{"image_path": "f.jpg", "emb": null, "width": 640, "height": 100}
{"image_path": "g.jpg", "emb": [[1, 2
end
printf '{"image_path": "h.jpg", "emb": [[3, 4]], "wid' >>records.jsonl
rm -rf out records.jsonl.*
cp records.jsonl before.jsonl
bad() { cachex migrate stage2 records.jsonl --out out --field emb --shape 1,2 "$@"; }
check "bad lines" 3 bad
is "counts" "$(cat "$out" | sed 's/ rate=.*//; s|is /.*/|is |')" "$(progress 2 0 0 0 2)
8 bad lines, unchanged
1 record, with a ratio outside of 0.4 to 2.5
the original is records.jsonl.stage1.backup"
is "why" "$(cat "$err")" \
"cachex: migrate: records.jsonl:2:37: no such word in JSON
cachex: migrate: records.jsonl:3:32: emb is f32[1,3], not f32[1,2]
cachex: migrate: records.jsonl:4:32: emb: at [0,1]: not a number of this dtype
cachex: migrate: records.jsonl:5:32: emb: at [0,1]: too large for the dtype
cachex: migrate: records.jsonl:6:1: no height and width, and no --images to find them
cachex: migrate: records.jsonl:7:1: no image_path
cachex: migrate: records.jsonl:8: 640x100: the ratio 6.4 is outside of 0.4 to 2.5
cachex: migrate: records.jsonl:9:38: the text ends too early
cachex: migrate: records.jsonl:10:46: the text ends too early"
is "stay as they are" "$(sed -n '2,7p;9,$p' records.jsonl)" "$(sed -n '2,7p;9,$p' before.jsonl)"
is "the others do not" "$(sed -n '1p;8p' records.jsonl)" \
'{"image_path": "a.jpg", "width": 640, "height": 480, "image_id": "a", "aspect_bucket": "1216x832", "format_version": 2}
{"image_path": "f.jpg", "width": 640, "height": 100, "image_id": "f", "aspect_bucket": "1344x704", "format_version": 2}'
check "in JSON" 3 bad --json
also "an object each" grep -qx \
	'{"file":"records.jsonl","line":7,"column":1,"bad":"no image_path"}' "$out"
check "verify lists them" 1 bad --verify --pass dinov3 --pass migrate
is "all" "$(grep -c : "$out")" 10
also "and what is missing" grep -qx "records.jsonl:8: f: dinov3: missing" "$out"

# Lines of newer versions, and image_ids that are not of their image_path, stay
cat >records.jsonl <<'end'
{"image_path": "a/cat.jpg", "dinov3_embedding": [1, 2, 3, 4], "width": 640, "height": 480, "format_version": 3, "image_id": "cat"}
{"image_path": "a/dog.jpg", "dinov3_embedding": [1, 2, 3, 4], "width": 640, "height": 480, "image_id": "cat"}
{"image_path": "a/cow.jpg", "dinov3_embedding": [1, 2, 3, 4], "width": 640, "height": 480, "image_id": "a/cow.jpg#2"}
{"image_path": "a/pig.jpg", "width": 640, "height": 480, "image_id": "", "format_version": 2}
{"image_path": "a/hen.jpg", "width": 640, "height": 480, "image_id": 7}
{"format_version": 2.5}
{"image_path": "a/ox.jpg", "width": 640, "height": 480, "format_version": "3"}
{"image_path": "b/cow.jpg", "width": 640, "height": 480, "image_id": "a/cow.jpg#2"}
end
rm -rf out records.jsonl.*
cp records.jsonl before.jsonl
check "newer and foreign lines" 3 migrate
is "stay" "$(sed -n '1,2p;5,8p' records.jsonl)" "$(sed -n '1,2p;5,8p' before.jsonl)"
is "an id of its own path is kept" "$(sed -n 3,4p records.jsonl)" \
'{"image_path": "a/cow.jpg", "width": 640, "height": 480, "image_id": "a/cow.jpg#2", "aspect_bucket": "1216x832", "format_version": 2}
{"image_path": "a/pig.jpg", "width": 640, "height": 480, "image_id": "pig", "format_version": 2, "aspect_bucket": "1216x832"}'
is "are told" "$(cat "$err")" \
"cachex: migrate: records.jsonl:1: format_version 3 is newer than 2; the line does not change
cachex: migrate: records.jsonl:2: image_id 'cat' does not come from its image_path; the line does not change; -f replaces the image_id
cachex: migrate: records.jsonl:5: image_id '7' does not come from its image_path; the line does not change; -f replaces the image_id
cachex: migrate: records.jsonl:6: format_version 2.5 is newer than 2; the line does not change
cachex: migrate: records.jsonl:7:75: format_version is not a number
cachex: migrate: records.jsonl:8: image_id 'a/cow.jpg#2' does not come from its image_path; the line does not change; -f replaces the image_id"
is "and counted" "$(sed 's/ rate=.*//; s|is /.*/|is |' "$out")" "$(progress 2 0 0 0 2)
1 bad line, unchanged
2 records, of a newer version, unchanged
3 records, with an image_id that does not come from image_path, unchanged
the original is records.jsonl.stage1.backup"
check "in JSON" 3 migrate --json
also "as well" grep -q '"bad":1,"blank":0,"newer":2,"foreign_ids":3,' "$out"
check "in a dry run" 3 migrate -n --json
also "as well" grep -q '"skipped":2,"total":2,"bad":1,"blank":0,"newer":2,"foreign_ids":3,' "$out"
check "verify lists them" 1 migrate --verify --pass migrate
is "with the reasons" "$(cat "$out")" \
"records.jsonl:1: format_version 3 is newer than 2
records.jsonl:2: image_id 'cat' does not come from its image_path
records.jsonl:5: image_id '7' does not come from its image_path
records.jsonl:6: format_version 2.5 is newer than 2
records.jsonl:7: column 75: format_version is not a number
records.jsonl:8: image_id 'a/cow.jpg#2' does not come from its image_path
records.jsonl: 7 records; 1 bad line, 6 findings"
check "-f replaces ids" 3 migrate -f
is "of older lines" "$(sed -n '2p;5p;8p' records.jsonl)" \
'{"image_path": "a/dog.jpg", "width": 640, "height": 480, "image_id": "dog", "aspect_bucket": "1216x832", "format_version": 2}
{"image_path": "a/hen.jpg", "width": 640, "height": 480, "image_id": "hen", "aspect_bucket": "1216x832", "format_version": 2}
{"image_path": "b/cow.jpg", "width": 640, "height": 480, "image_id": "cow", "aspect_bucket": "1216x832", "format_version": 2}'
is "not of newer ones" "$(sed -n '1p;6,7p' records.jsonl)" "$(sed -n '1p;6,7p' before.jsonl)"
also "tells each" grep -qx "cachex: migrate: records.jsonl:2: image_id 'cat' is replaced by 'dog'" "$err"
i=0
while [ $((i += 1)) -le 25 ]; do
	printf '{"image_path": "%s.jpg", "width": 64, "height": 64, "image_id": "x%s"}\n' $i $i
done >records.jsonl
rm -rf out records.jsonl.*
check "many foreign ids" 3 migrate
is "ten are listed" "$(wc -l <"$err" | tr -d ' ')" 10
also "then they are counted" grep -q "^cachex: migrate: records.jsonl:10: image_id 'x10' .*; further ones are only counted$" "$err"
also "all" grep -qx "25 records, with an image_id that does not come from image_path, unchanged" "$out"
check "-f replaces all" 0 migrate -f
is "and says so" "$(tail -n 2 "$out" | sed 's|is /.*/|is |')" "25 records, with an image_id that did not come from image_path, replaced
the original is records.jsonl.stage1.backup"

# An image_path that no cache_id can be made of
long=$(head -c 65534 /dev/zero | tr '\0' L)
printf '{"image_path": "%s", "width": 64, "height": 64}\n' "$long" a >records.jsonl
rm -rf out records.jsonl.*
check "a long name" 3 migrate
is "is a bad line" "$(sed -n 's/^cachex: migrate: //p' "$err")" \
	"records.jsonl:1:1: an image_id of 65534 bytes is too long"
check "verify" 1 migrate --verify --pass migrate
is "goes on behind it" "$(cut -c -72 "$out")" \
"records.jsonl:1: an image_id of 65534 bytes is too long
records.jsonl: 1 record; 1 bad line, 1 finding"

# Sizes from images: of 24 x 16 pixels, and one that is not there
base64 -d >cat.png <<'end'
iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j
ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC
end
printf '%s\n' '{"image_path": "cat.png"}' '{"image_path": "x/dog.png", "height": 3}' \
	'{"image_path": "pipe"}' >records.jsonl
rm -rf out records.jsonl.*
check "images" 3 migrate --images .
also "one is not" grep -q "records.jsonl:2:1: no height and width, and ./x/dog.png: open: " "$err"
also "nor is a pipe" grep -q "records.jsonl:3:1: no height and width, and ./pipe: not an image" "$err"
holds "one is there" grep -q '"image_id": "cat", "aspect_bucket": "1216x832"' records.jsonl

# At most so many at a time
make_records 25
check "--limit" 0 migrate --limit 10
is "migrates so many" "$(grep -v ratio "$out" | sed 's/ rate=.*//; s|is /.*/|is |')" "$(progress 10 0 0 0 10)
15 lines, left to later runs: --limit is reached
the original is records.jsonl.stage1.backup"
is "lines" "$(sed 10q records.jsonl)" "$(sed 10q wanted.jsonl)"
is "tensors" "$(cachex ls --root out dinov3 | wc -l | tr -d ' ')" 10
check "and again, with an encoder" 0 migrate --limit 10 --encoder "t5=$encoder t5"
is "the same records" "$(counts)" "$(progress 0 10 0 0 10)"
is "the encoder has no others" "$(cachex ls --root out t5_hidden | wc -l | tr -d ' ')" 10
check "and again" 0 migrate --limit 10 --encoder "t5=$encoder t5"
is "the next ones" "$(counts)" "$(progress 10 0 0 10 20)"
check "all" 0 migrate --encoder "t5=$encoder t5"
is "the rest" "$(counts)" "$(progress 5 0 0 20 25)"
holds "the same lines as at once" cmp records.jsonl wanted.jsonl
check "verify knows the passes that were run" 0 migrate --verify
is "all of them" "$(cat "$out")" \
	"records.jsonl: 25 records, 25 good in dinov3, 25 good in t5_hidden; 0 bad lines, 0 findings"

# What --verify finds is made anew
damage() {
	cachex ls --root out -1 "$1" | sed -n "$2p"
}
vae() { migrate --encoder "vae=$encoder vae" --encoder "t5=$encoder t5" "$@"; }
make_records 12
cp records.jsonl before.jsonl
check "before it is harmed" 0 vae
cachex rm -qf --root out dinov3 "$(damage dinov3 2)"
printf '\223NUMPY\001\000\166\000%-117s\n\0\0\0\0' \
	"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }" >short.npy
printf '\223NUMPY\001\000\166\000%-117s\n\0\0\300\177\0\0\0\0\0\0\0\0\0\0\0\0' \
	"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" >nan.npy
cachex put -q --root out dinov3 "$(damage dinov3 3)" short.npy
cachex put -q --root out dinov3 "$(damage dinov3 4)" nan.npy
cachex put -q --root out t5_hidden "$(damage t5_hidden 5)" short.npy
cachex rm -qf --root out vae_latents "$(damage vae_latents 6)"
sed -i '7s/"aspect_bucket": *"[0-9x]*"/"aspect_bucket": "wide"/' records.jsonl
sed '7s/"aspect_bucket": *"[0-9x]*"/"aspect_bucket": "wide"/' wanted.jsonl >harmed.jsonl
holds "a line is another" cmp records.jsonl harmed.jsonl
check "verify" 1 migrate --verify
is "finds each" "$(tail -n 1 "$out")" \
	"records.jsonl: 12 records, 9 good in dinov3, 11 good in vae_latents, 11 good in t5_hidden; 0 bad lines, 6 findings"
check "--repair without encoders" 1 migrate --repair
is "restores arrays" "$(grep restored "$out")" "3 tensors, restored from the original lines"
is "and says what is left" "$(tail -n 1 "$out")" \
	"records.jsonl: 12 records, 12 good in dinov3, 11 good in vae_latents, 11 good in t5_hidden; 0 bad lines, 2 findings"
check "--repair with encoders" 0 vae --repair
is "leaves nothing" "$(tail -n 1 "$out")" \
	"records.jsonl: 12 records, 12 good in dinov3, 12 good in vae_latents, 12 good in t5_hidden; 0 bad lines, 0 findings"
bucket='s/"aspect_bucket": *"[0-9x]*"/BUCKET/'
is "the bucket as it was" "$(sed "$bucket" records.jsonl)" "$(sed "$bucket" wanted.jsonl)"
is "the same sizes" "$(grep -o '[0-9]*x[0-9]*' records.jsonl)" "$(grep -o '[0-9]*x[0-9]*' wanted.jsonl)"
cp -r out good
rm -rf out records.jsonl*; cp before.jsonl records.jsonl
migrate -q
for id in $(cachex ls --root out -1 dinov3); do
	cachex get --root out dinov3 "$id" --format raw >want.bytes
	cachex get --root good dinov3 "$id" --format raw >got.bytes
	cmp -s want.bytes got.bytes || echo "$id"
done >differs
is "each tensor is the one of its line" "$(cat differs)" ""
is "nothing is left of damage with a NaN" "$(migrate --verify | tail -n 1)" \
	"records.jsonl: 12 records, 12 good in dinov3; 0 bad lines, 0 findings"
for wrong in "--verify --repair" "--repair --rollback" "--limit 3 --verify" "--limit 3 --rollback" \
	"--repair -n" "--limit 0"; do
	# shellcheck disable=SC2086
	check "$wrong is refused" 2 migrate $wrong
done

# Paths that are there twice: which original line is whose is known by its number
printf '{"image_path": "a.jpg", "dinov3_embedding": [%s, 0, 0, 0], "width": 64, "height": 64}\n' \
	1 2 3 >records.jsonl
rm -rf out good records.jsonl.*
migrate -q
is "three ids of one path" "$(cachex ls --root out -1 dinov3 | tr '\n' ' ')" "a a.jpg a.jpg#2 "
cachex rm -qf --root out dinov3 a a.jpg 'a.jpg#2'
check "--repair" 0 migrate --repair
is "each has its own" "$(for id in a a.jpg 'a.jpg#2'; do
	cachex get --root out dinov3 "$id" --format raw | od -An -tf4 -N4; done | tr -d ' \n')" 123
sed -i 1d records.jsonl
migrate -q
cachex rm -qf --root out dinov3 a a.jpg 'a.jpg#2'
check "lines have moved since" 1 migrate --repair
is "nothing is guessed" "$(grep restored "$out")" ""

# Back to lines with arrays, and forth
make_records 30
migrate -q
cp records.jsonl second.jsonl
check "--rollback -n" 0 migrate --rollback -n
is "counts" "$(cat "$out")" \
	"records.jsonl: 30 lines rolled back, 0 without an array, 0 left unchanged, 0 not of version 2"
holds "and changes nothing" cmp records.jsonl second.jsonl
check "--rollback" 0 migrate --rollback
is "says where the lines are" "$(sed 's|is /.*/|is |' "$out")" \
	"records.jsonl: 30 lines rolled back, 0 without an array, 0 left unchanged, 0 not of version 2
the previous file is records.jsonl.stage2.backup"
holds "as they were" cmp records.jsonl.stage2.backup second.jsonl
is "each line has an array" "$(grep -c '"dinov3_embedding": *\[[^],]*,[^],]*,[^],]*,[^],]*\]' records.jsonl)" 30
is "and nothing of version 2" "$(grep -c 'image_id\|aspect_bucket\|format_version' records.jsonl)" 0
cp -r out before
rm -rf out
check "migrate in another place" 0 migrate
holds "the same lines" cmp records.jsonl second.jsonl
for id in $(cachex ls --root before -1 dinov3); do
	cachex get --root before dinov3 "$id" --format raw >want.bytes
	cachex get --root out dinov3 "$id" --format raw >got.bytes
	cmp -s want.bytes got.bytes || echo "$id"
done >differs
is "the same tensors, bit for bit" "$(cat differs)" ""
rm -rf before
check "roll back and migrate in the same place" 0 sh -c "
	'$CACHEX' migrate stage2 records.jsonl --out out --shape 4 --rollback &&
	'$CACHEX' migrate stage2 records.jsonl --out out --shape 4"
holds "the same lines" cmp records.jsonl second.jsonl
is "no other tensors" "$(cachex ls --root out dinov3 | wc -l | tr -d ' ')" 30
check "another directory" 4 cachex migrate stage2 records.jsonl --out elsewhere --rollback
is "is not made" "$(ls -d elsewhere 2>&1 | grep -c 'No such')" 1
cat >records.jsonl <<'end'
{"image_id":"x","format_version":2,"image_path":"a/x.jpg","aspect_bucket":"1x1","n":1}
{"image_path":"a/y.jpg","image_id":"other","format_version":2,"aspect_bucket":"1x1"}
{"image_path": "a/z.jpg" , "image_id": "z", "format_version": 2, "aspect_bucket": "1x1" }

{"image_path": "a/w.jpg", "image_id": "w", "format_version": 2, "aspect_bucket": "1x1"}
{"image_path": "a/v.jpg", "width": 1, "height": 1}
{bad
end
rm -rf out records.jsonl.*
printf '\223NUMPY\001\000\166\000%-117s\n\0\0\200\277\0\0\0\200\315\314\314\075\377\377\177\177' \
	"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }" >four.npy
cachex put -q --root out dinov3 x four.npy
cachex put -q --root out dinov3 other four.npy
cachex put -q --root out dinov3 w short.npy
check "--rollback of odd lines" 1 migrate --rollback
is "writes each" "$(cat records.jsonl)" \
'{"image_path":"a/x.jpg","n":1,"dinov3_embedding":[-1,-0,0.10000000149011612,3.4028234663852886e+38]}
{"image_path":"a/y.jpg","image_id":"other","dinov3_embedding":[-1,-0,0.10000000149011612,3.4028234663852886e+38]}
{"image_path": "a/z.jpg"  }

{"image_path": "a/w.jpg", "image_id": "w", "format_version": 2, "aspect_bucket": "1x1"}
{"image_path": "a/v.jpg", "width": 1, "height": 1}
{bad'
is "and says why" "$(sed 's|is /.*/|is |' "$out")" \
"records.jsonl:3: z: dinov3: missing: the line has no array
records.jsonl:5: w: dinov3: is f32[1], not f32[4]: the line does not change
records.jsonl: 2 lines rolled back, 1 without an array, 1 left unchanged, 2 not of version 2
the previous file is records.jsonl.stage2.backup"

# Where the backup goes, and whose directory it is
make_records 3
check "--backup" 0 migrate --backup kept
holds "is made" test -s kept
make_records 3
cp records.jsonl before.jsonl
ln -s . here
for own in records.jsonl here/records.jsonl records.jsonl.stage2.tmp; do
	check "--backup $own" 3 migrate --backup "$own"
	also "is refused" grep -q "$own: the backup needs a name of its own" "$err"
done
holds "before anything is changed" cmp records.jsonl before.jsonl
is "or written" "$(ls records.jsonl*)" records.jsonl
check "without" 0 migrate
cp records.jsonl other.jsonl
check "another file" 3 cachex migrate stage2 other.jsonl --out out --shape 4
also "says whose it is" grep -q "out/stage2 belongs to /.*/records.jsonl; -f continues with other.jsonl" "$err"
check "with -f" 0 cachex migrate stage2 other.jsonl --out out --shape 4 -f
make_records 3
echo mine >kept
check "a backup that is there" 3 migrate --backup kept
is "stays" "$(cat kept)" mine
ln -s records.jsonl linked.jsonl
check "a link" 0 cachex migrate stage2 linked.jsonl --out out --shape 4
holds "stays a link" test -h linked.jsonl
holds "to the new file" cmp records.jsonl wanted.jsonl

# One at a time; stopped by a signal, it goes on
make_records 3
: >hold
check "two at once" 0 sh -c "
	'$CACHEX' migrate stage2 records.jsonl --out out --shape 4 --encoder \
		'vae=touch started; while [ -e hold ]; do sleep 0.05; done; $encoder vae' &
	while [ ! -e started ] && kill -0 \$! 2>/dev/null; do sleep 0.05; done
	'$CACHEX' migrate stage2 records.jsonl --out out --shape 4; echo \$? >second
	rm hold; wait \$!"
is "the second is told so" "$(cat second)" 4
make_records 3
cp records.jsonl before.jsonl
check "another directory, at once" 4 flock records.jsonl "$CACHEX" migrate stage2 \
	records.jsonl --out out2 --shape 4
also "is told so" grep -q "records.jsonl: another migration is running" "$err"
holds "and writes nothing" cmp records.jsonl before.jsonl
make_records 3
: >hold; rm -f started
check "stopped" 0 sh -c "
	'$CACHEX' migrate stage2 records.jsonl --out out --shape 4 --encoder \
		'vae=touch started; while [ -e hold ]; do sleep 0.05; done; $encoder vae' \
		>stopped & pid=\$!
	while [ ! -e started ] && kill -0 \$! 2>/dev/null; do sleep 0.05; done
	kill -TERM \$pid; wait \$pid; echo \$? >status"
rm -f hold
is "says so" "$(cat status)" 143
check "goes on" 0 migrate --encoder "vae=$encoder vae"
is "with the same counts" "$(counts)" "$(progress 3 0 0 0 3)"
check "to the same end" 0 migrate --verify --pass dinov3 --pass vae --pass migrate
finish
