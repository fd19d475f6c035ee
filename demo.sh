#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh LIST: take the photographs that LIST names, one path a line, through cachex.
# What it prints is what was run and what that printed. Its files are in demo/.

set -eu
limit=24
here=$(cd "$(dirname "$0")" && pwd)
list=$1
cachex() { "$here/cachex" "$@"; }

# Only what an earlier run left there.
mkdir -p demo
rm -rf demo/modules demo/shards demo/samples demo/photographs.list demo/photograph.npy \
    demo/label.json demo/part.npy demo/value demo/dataset demo/warehouse demo/sheet.png \
    demo/photos.pdf demo/charts.pdf demo/report.html demo/token demo/point demo/corpus.model \
    demo/records.jsonl demo/records.jsonl.stage1.backup demo/stage2 demo/pages.txt \
    demo/dinov3.safetensors demo/webdataset demo/dinov3.npz

# Settings of the user's own would change what is shown.
for variable in $(env | sed -n 's/^\(CACHEX_[A-Z_]*\)=.*/\1/p'); do unset "$variable"; done
CACHEX_ROOT=demo/modules XDG_CONFIG_HOME=$here/demo/no-config
export CACHEX_ROOT XDG_CONFIG_HOME

title() { printf '\n%s\n' "$*"; }

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# A command as one would type it, then what it prints.
run() {
	printf '$ %s\n' "$*"
	"$@"
}

# The same, and how long it took.
timed() {
	start=$(now_ms) status=0
	run "$@" || status=$?
	took=$(($(now_ms) - start))
	printf '  (%d.%02d s)\n' $((took / 1000)) $((took % 1000 / 10))
	return "$status"
}

# same FILE FILE
same() {
	printf '$ cmp %s %s\n' "$1" "$2"
	cmp "$1" "$2"
	printf 'the same %s bytes\n' "$(wc -c <"$1" | tr -d ' ')"
}

# One photograph a name, as the name becomes the cache_id.
awk -F/ '{ stem = $NF; sub(/\.[^.]*$/, "", stem) } !seen[stem]++' "$list" |
    head -n "$limit" >demo/photographs.list
all=$(wc -l <"$list") taken=$(wc -l <demo/photographs.list)
title "$((taken)) photographs$([ "$taken" = "$all" ] || echo " of $((all))") in" \
    "$(sed 's,/[^/]*$,,' demo/photographs.list | sort -u | head -n 1)," \
    "$(tr '\n' '\0' <demo/photographs.list | xargs -0 cat | wc -c) bytes as JPEG or PNG"

title "Decode them and put them into the module \"photos\":"
# 3: some of them are no images after all; the others are stored.
timed cachex import photos --files-from demo/photographs.list || [ $? = 3 ]
run cachex ls photos
run cachex view photos -o demo/photos.pdf
run cachex stat photos

title "Read back every byte of it and compare with the checksums:"
timed cachex verify photos

# The largest number of photographs of one shape; a shard has one shape.
cachex ls photos --json >demo/ls.json
shape=$(sed -n 's/.*\("shape": *\[[0-9, ]*\]\).*/\1/p' demo/ls.json | sort | uniq -c |
    sort -rn | sed -n '1s/^ *[0-9]* //p')
[ -n "$shape" ] || { echo "demo.sh: no photograph could be read" >&2; exit 1; }
grep -F "$shape" demo/ls.json | sed -n 's/.*"id": *"\([^"\\]*\)".*/\1/p' >demo/ids
rm demo/ls.json
title "A shard holds tensors of one shape. Copy the $(wc -l <demo/ids | tr -d ' ') of the most" \
    "frequent one through pipes into a module of their own:"
while IFS= read -r id; do
	printf '$ cachex get photos %s | cachex put train %s\n' "$id" "$id"
	cachex get photos "$id" </dev/null | cachex put train "$id"
done <demo/ids
first=$(sed 1q demo/ids)
rm demo/ids

title "Export it as TWH1 shards with a manifest, and check them:"
timed cachex export train demo/shards
run cachex shard inspect demo/shards/*.twh1
timed cachex shard verify demo/shards

title "Bit for bit: a photograph from the module and the same one from the shard:"
run cachex get photos "$first" -o demo/photograph.npy
run cachex shard extract demo/shards/*.twh1 --sample 0 -o demo/samples
for sample in demo/samples/*.npy; do same demo/photograph.npy "$sample"; done

title "A structured value: a photograph with plain data beside it, in one record:"
printf '{"name": "%s", "boxes": [[0, 0, 16, 16]], "score": 0.5}\n' "$first" >demo/label.json
run cachex put labelled example --field image=demo/photograph.npy --field label=@demo/label.json
run cachex ls labelled
run cachex get labelled example
run cachex get labelled example --field label.boxes.0
run cachex get labelled example --field image -o demo/part.npy
same demo/photograph.npy demo/part.npy
run cachex get labelled example -o demo/value/
run cachex put labelled again demo/value

title "The photographs with the codec that shrinks each best; they come out bit for bit:"
timed cachex compact photos --recode auto --live-ratio 1
run cachex schema photos
run cachex get -f photos "$first" -o demo/part.npy
same demo/photograph.npy demo/part.npy

title "Forget one, and give its space back:"
run cachex rm -f photos "$first"
timed cachex compact photos --live-ratio 1 --shrink
timed cachex verify photos

title "A warehouse: the photographs without labels, all of one size, as shards to train from:"
mkdir -p demo/dataset/day1 demo/dataset/day2
awk -v half="$(((taken + 1) / 2))" '{ print NR <= half ? "day1" : "day2", $0 }' \
    demo/photographs.list | while read -r day photograph; do
	cp "$photograph" "demo/dataset/$day/"
done
# Where a photograph of the list is none, that frame is passed over and the others are built.
timed cachex build demo/dataset demo/warehouse --unlabelled --size 384
run cachex warehouse inspect demo/warehouse
timed cachex warehouse verify demo/warehouse
run cachex view demo/warehouse -o demo/sheet.png
run cachex warehouse report demo/warehouse -o demo/report.html
run cachex warehouse report demo/warehouse -o demo/charts.pdf

title "One photograph more; only what it touches is made again:"
cp "$(sed 1q demo/photographs.list)" demo/dataset/day2/again.jpg
timed cachex build demo/dataset demo/warehouse --unlabelled --size 384
run cachex warehouse list demo/warehouse

title "Train from it: batches that are the same for any number of readers, and go on from a token:"
run cachex read demo/warehouse --batch 4 --shuffle full --seed 1 --reader 0/2 --batches 0-1
run cachex read demo/warehouse --batch 4 --shuffle full --seed 1 --reader 1/2 --batches 0-1
run cachex read demo/warehouse --batch 4 --sum --token-file demo/token --batches 2
run cachex read demo/warehouse --batch 4 --sum --token-file demo/token --batches 2

title "A corpus of text, this project's pages, as byte-level tokens; what an order on it would cost:"
run examples/text_cache -k 4 demo/modules corpus man
run cachex follow corpus --status
run cachex plan corpus --window 256 --batch 32 --compare

title "Train on it with two readers for 50 batches, go on with three: the same model:"
run examples/train -q -r 2 -s 50 -c demo/point demo/modules corpus
run examples/train -q -r 3 -c demo/point demo/modules corpus | tee demo/corpus.model
run examples/train -q -r 1 demo/modules corpus | grep -Fx "$(tail -n 1 demo/corpus.model)"

title "Fill a module by a program of one's own, here two tokenizers side by side; then again:"
find man -name '*.1' | LC_ALL=C sort | xargs cat >demo/pages.txt
timed cachex fill lines --exec "$here/examples/producer" -j 2 --from demo/pages.txt --expect 'u16[*]'
run cachex fill lines --exec "$here/examples/producer" -j 2 --from demo/pages.txt --expect 'u16[*]'
run cachex follow lines --status

title "Which aspect buckets the photographs fall into, and which three would suit them:"
run cachex buckets demo/dataset
run cachex buckets demo/dataset --analyze 3

title "Records with their embeddings inside, 1,024 numbers each, brought to Stage 2:"
awk -F/ '{
	printf "{\"image_path\": \"%s\", \"dinov3_embedding\": [", $NF
	for (i = 0; i < 1024; i++)
		printf "%s%.6f", i ? ", " : "", sin(NR * i)
	printf "], \"caption\": \"photograph %d\", \"height\": %d, \"width\": 1024}\n", NR, 768 + 64 * (NR % 5)
}' demo/photographs.list >demo/records.jsonl
run wc -c demo/records.jsonl
timed cachex migrate stage2 demo/records.jsonl --out demo/stage2
run head -n 1 demo/records.jsonl
run cachex migrate stage2 demo/records.jsonl --out demo/stage2 --pass dinov3 --verify

title "Out to other systems, and in again:"
timed cachex --root demo/stage2 export dinov3 demo/dinov3.safetensors
run cachex import embeddings demo/dinov3.safetensors
run cachex --root demo/stage2 export dinov3 demo/dinov3.npz
run cachex export embeddings demo/webdataset --format webdataset --shard-records 16
run cachex import again demo/webdataset
run cachex get -f again "$first" -o demo/part.npy
run cachex --root demo/stage2 get -f dinov3 "$first" -o demo/photograph.npy
same demo/photograph.npy demo/part.npy

title "Go on from here with"
printf '  export CACHEX_ROOT=%s/demo/modules\n  %s/cachex help\n' "$here" "$here"
