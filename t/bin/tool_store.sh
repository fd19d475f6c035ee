#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# push, publish, pull, gc, and ls and verify of a store: what many machines do to one
# directory, and what may go wrong there.
. "${srcdir:-.}/t/support/tap.sh"

producer="exec '$builddir/t/support/bad_producer' good"
# Lines of a letter each, so that all records have one shape.
for i in 0 1 2 3 4 5; do
	awk -v i=$i 'BEGIN { for (k = 0; k < 4 + i % 3; k++)
		print substr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ", i * 6 + k + 1, 1) }' >in$i
done
all="in0 in1 in2 in3 in4 in5"
# fill ROOT [OPTION...]: the module feats there, of a machine of its own.
fill() {
	root=$1; shift
	CACHEX_ROOT=$root cachex fill feats -q -b 1 --chunk 2 --exec "$producer" "$@" --from $all
}
on() { root=$1; shift; CACHEX_ROOT=$root "$CACHEX" "$@"; }
files() { (cd "$1" && find . -type f | LC_ALL=C sort); }
sums() { (cd "$1" && find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2); }
# The object of a shard, the N-th of the store.
object() { find "$1/obj" -type f | LC_ALL=C sort | sed -n "$2p"; }
age() { find "$@" -type f -exec touch -d '30 days ago' {} +; }

# One machine, to compare with
fill one -j 2
on one export -q feats whole --by-input
cachex read whole --batch 4 --sum >whole.sum

# Three machines, each with its own part of the inputs
for m in 0 1 2; do fill m$m --shard $m/3; done
refuse "a store that is not there" 1 "cachex: publish: file:st: No such file or directory" \
	cachex publish file:st
check "the first machine pushes" 0 on m0 push feats file:st
run=$(sed -n 's/^run \([0-9a-f]*\):.*/\1/p' "$out")
is "what is finished" "$(cat "$out")" \
	"run $run: 6 parts: 2 put, 4 unfinished; put 2 shards, 8.59 KiB"
also "nothing is left beside the module" test ! -e m0/.feats.push
wrong "too early" 1 \
	"cachex: publish: 4 of 6 receipts are missing: in1, in2, in4, …; nothing was published" \
	cachex publish st
check "the second, verbosely" 0 on m1 push -v feats "file://$PWD/st"
is "a line for each part" "$(sed '$d' "$out")" "there       in0
put         in1
unfinished  in2
there       in3
put         in4
unfinished  in5"
check "the third, as JSON" 0 on m2 push --json feats st
is "objects" "$(tail -n 1 "$out")" \
	"{\"run\":\"$run\",\"parts\":6,\"put\":2,\"there\":4,\"kept\":0,\"unfinished\":0,\"busy\":0,\"conflict\":0,\"shards\":2,\"bytes\":8928}"
check "published" 0 cachex publish st
is "a generation" "$(cat "$out")" \
	"generation 1: run $run, 6 parts, 30 samples in 6 shards, 26.0 KiB"
sums st >first
check "one machine with all inputs" 0 on one push feats other
is "makes the same run" "$(cat "$out")" \
	"run $run: 6 parts: 6 put; put 6 shards, 26.0 KiB"
check "published there" 0 cachex publish other
sums other >second
also "the same bytes under the same names" cmp first second

# Again: nothing changes
check "duplicate task" 0 on one push feats st
is "finds all there" "$(cat "$out")" "run $run: 6 parts: 6 there; put 0 shards, 0 B"
check "published twice" 0 cachex publish st --json
is "is there" "$(cat "$out")" \
	"{\"run\":\"$run\",\"generation\":1,\"there\":true,\"parts\":6,\"samples\":30,\"shards\":6,\"bytes\":26656}"
sums st >second
also "and not a byte changed" cmp first second

# Of one module by several processes at once
jobs='' ended=0
for i in 0 1 2 3; do CACHEX_ROOT=one "$CACHEX" push -q feats atonce 2>"atonce.$i" & jobs="$jobs $!"; done
for job in $jobs; do wait "$job" || ended=$((ended + 1)); done
is "pushes of one module at once" "$ended$(cat atonce.?)" 0
is "put all parts" "$(files atonce | grep -c 'run/.*/0')" 6
also "and leave nothing" test ! -e one/.feats.push

# A receipt, exactly
is "a receipt" "$(sed 's/"sha256": "[0-9a-f]*"/"sha256": "S"/; s/"recipe": ".*"/"recipe": "R"/; s/"fingerprint": "[0-9a-f]\{32\}"/"fingerprint": "F"/' "st/run/$run/000001.json")" \
'{
  "bytes": 4464,
  "fingerprint": "F",
  "index": 1,
  "lines": 5,
  "manifests": [
    {
      "bytes": 1076,
      "sha256": "S"
    }
  ],
  "part": "in1",
  "receipt_version": 1,
  "recipe": "R",
  "samples": 5,
  "shards": 1
}'
is "its run is the hash of the recipe" "$(sha256sum <"st/run/$run/recipe.json" | cut -c -16)" "$run"
is "a shard is called by its hash" \
	"$(sha256sum <"$(object st 1)" | cut -c -64).twh1" "$(basename "$(object st 1)")"

# Pulled
check "pull" 0 cachex pull st out
is "says what it fetched" "$(cat "$out")" \
	"generation 1: 30 samples in 6 shards, 26.0 KiB; fetched 6, 26.0 KiB"
check "it is a set of shards" 0 cachex shard verify out
check "that is read" 0 cachex read out --batch 4 --sum
also "as one machine's" cmp "$out" whole.sum
check "pull again" 0 cachex pull st out --json
is "keeps what is good" "$(cat "$out")" \
	'{"directory":"out","generation":1,"samples":30,"shards":6,"bytes":26656,"fetched":0,"fetched_bytes":0,"kept":6,"removed":0}'
rm out/manifest.json "$(object out 2)"
printf X | dd of="$(object out 1)" bs=1 seek=100 conv=notrunc 2>/dev/null
: >"$(object out 3).tmp.abcdef"
check "a pull that was stopped goes on" 0 cachex pull st out
is "with what is missing or wrong" "$(sed "s/2, .*/2/" "$out")" \
	"generation 1: 30 samples in 6 shards, 26.0 KiB; fetched 2"
check "all is good" 0 cachex shard verify out
is "and no file is left" "$(files out | grep -c tmp)" 0
wrong "no such generation" 1 "cachex: pull: st: has no generation 7" cachex pull st@7 out7
wrong "a directory of other shards" 3 \
	"cachex: pull: whole/manifest.json: belongs to another set of shards; choose another directory, or remove it" \
	cachex pull st whole
also "which stays" cachex shard verify whole
# Other files of the directory, and stores, are not its own.
mkdir -p mine/sub; echo 1 >mine/notes.tmp.abcdef; echo 2 >mine/sub/a.tmp.abcdef
check "a directory with files" 0 cachex pull st mine
is "which stay" "$(cat mine/notes.tmp.abcdef mine/sub/a.tmp.abcdef)" "1
2"
cp -r other full; echo 1 >full/obj/keep.tmp.abcdef
mkdir -p full/obj/00; echo x >full/obj/00/$(printf %064d 0).twh1
sums full >full.sums
wrong "a store" 3 \
	"cachex: pull: full: is a store, as it has manifest/0000000001.json; choose another directory" \
	cachex pull st full
rm full/manifest/*; grep -v manifest/ full.sums >full2.sums
check "one without a generation" 3 cachex pull st full
also "too" grep -q "^cachex: pull: full: is a store, as it has run/$run/" "$err"
sums full | cmp -s - full2.sums; is "nothing of it is changed" "$?" 0
rm -r full mine

# ls and verify
check "ls" 0 cachex ls file:st
is "generations and runs" "$(sed 's/ *$//' "$out")" "generation 1  $run  6 parts  30 samples  6 shards  26.0 KiB
run  $run  6 of 6 parts"
check "ls --json" 0 cachex ls file:st --json
is "as JSON" "$(sed 's/"published_at_ms":[0-9]*/"published_at_ms":N/' "$out")" \
	"{\"generation\":1,\"run\":\"$run\",\"parts\":6,\"samples\":30,\"shards\":6,\"bytes\":26656,\"published_at_ms\":N}
{\"run\":\"$run\",\"parts\":6,\"receipts\":6,\"producer\":\"\"}"
check "ls of a generation" 0 cachex ls file:st 1
is "its parts" "$(sed 's/  [0-9a-f]\{64\}  /  S  /' "$out" | head -n 2)" "in0  S  4 samples  1 shard  4.30 KiB
in1  S  5 samples  1 shard  4.36 KiB"
check "verify" 0 cachex verify file:st
is "all is there" "$(cat "$out")" "file:st: good; 1 generation, 6 shards, 26.0 KiB"
check "verify --deep --json" 0 cachex verify file:st --deep --json
is "and right" "$(cat "$out")" \
	'{"store":"file:st","ok":true,"deep":true,"generations":1,"manifests":6,"shards":6,"bytes":26656,"damaged":0}'

# A damaged object: found when it is pulled, named with its part
cp -r st bad
object=$(object bad 2); shard=${object#bad/}
part=$(grep -l "${shard##*/}" bad/part/*/*.json | xargs sed -n 's/.*"dataset_root": "\(.*\)",/\1/p')
printf X | dd of="$object" bs=1 seek=100 conv=notrunc 2>/dev/null
check "of a damaged object" 3 cachex pull bad damaged
is "pull names object and part" "$(sed 's/SHA-256 is [0-9a-f]*…/SHA-256 is X…/' "$err")" \
	"cachex: pull: part $part: bad: $shard: SHA-256 is X…, and should be $(basename "$shard" | cut -c -12)…"
also "no shard of it is there" test ! -e "damaged/$shard"
also "and no manifest" test ! -e damaged/manifest.json
check "verify does not read" 0 cachex verify file:bad
check "verify --deep does" 3 cachex verify file:bad --deep
is "and names it" "$(sed 's/SHA-256 is [0-9a-f]*…/SHA-256 is X…/' "$out")" \
	"file:bad: part $part: $shard: SHA-256 is X…, and should be $(basename "$shard" | cut -c -12)…
file:bad: 1 damaged; 1 generation, 6 shards, 26.0 KiB read"
check "push does not look at it" 0 on one push feats bad
check "push --check puts it again" 0 on one push feats bad --check
is "that one" "$(cat "$out")" "run $run: 6 parts: 6 there; put 1 shard, $(if [ "$(stat -c %s "$object")" = 4400 ]; then echo 4.30; else echo 4.36; fi) KiB"
check "all is well again" 0 cachex verify file:bad --deep

# Another good shard in its place
cp "$(object bad 3)" "$object"
check "of a swapped object" 3 cachex pull bad damaged
also "the message names it" grep -q "bad.*$shard: \(SHA-256 is\|has [0-9]* bytes, not\)" "$err"
check "verify --deep finds it" 3 cachex verify file:bad --deep
check "it is mended" 0 on one push -q feats bad --check

# Cut short, and missing
truncate -s 100 "$object"
check "of one that is cut short" 3 cachex verify file:bad
is "verify says so" "$(head -n 1 "$out" | sed 's/not [0-9]*/not N/')" \
	"file:bad: part $part: $shard: has 100 bytes, not N"
rm "$object"
check "of a missing one" 3 cachex verify file:bad
is "too" "$(head -n 1 "$out")" "file:bad: part $part: $shard: is missing"
wrong "pull" 3 "cachex: pull: part $part: bad/$shard: is missing" cachex pull bad damaged
rm bad/manifest/*
wrong "publish" 3 "cachex: publish: bad/$shard: part $part: the object is missing; push the part again with --check" \
	cachex publish bad
also "publishes nothing" test ! -e bad/manifest/0000000001.json
check "mended again" 0 on one push -q feats bad --check
check "it can be published" 0 cachex publish bad

# Damaged texts
sed -i 's/"samples": 5/"samples": 6/' "bad/run/$run/000001.json"
rm bad/manifest/*
wrong "a receipt that does not fit its manifests" 3 \
	"cachex: publish: part in1: its receipt counts 6 samples, and its manifests 5" cachex publish bad
echo '{' >"bad/run/$run/000001.json"
check "a receipt that is cut" 3 cachex publish bad
also "is named" grep -q "bad: run/$run/000001.json: line" "$err"
check "gc touches nothing then" 3 cachex gc bad --older 0s
is "gc says so" "$(sed 's/: line.*//' "$err")" "cachex: gc: nothing was removed: run/$run/000001.json"
check "it is put again" 0 on one push -q feats bad --check
check "and published" 0 cachex publish bad
cp "bad/run/$run/000002.json" "bad/run/$run/000001.json"
wrong "a receipt of another part" 3 \
	"cachex: publish: bad/run/$run/000001.json: the receipt is for another run or part" cachex publish bad
sed -i 's/"producer": ""/"producer": "x"/' "bad/run/$run/recipe.json"
wrong "another recipe" 3 "cachex: publish: bad/run/$run/recipe.json: its SHA-256 differs from its name" \
	cachex publish bad
sed -i 's/"total": 30/"total": 31/' bad/manifest/0000000001.json
check "a generation that was changed" 3 cachex pull bad damaged
also "is named too" grep -q "^cachex: pull: bad: manifest/0000000001.json: the file was changed" "$err"

# A producer that is not deterministic
fill unlike --kind files --id 'other-{stem}'
cp -r other race
rm race/manifest/* "race/run/$run/000003.json"
check "the first of two unlike ones" 0 on unlike push feats race
rm "race/run/$run/000003.json"
on one push -q feats race
check "a conflict" 3 on unlike push feats race --check
is "names the part, and who is asked" "$(sed 's/[0-9a-f]\{64\}/S/g' "$err" | sed -n 4p)" \
	"cachex: push: part in3: different values were pushed: 4 samples in S, and 4 in S here; the producer is not deterministic, or is another one"
is "for each part" "$(grep -c . "$err")" 6
check "--first-wins" 0 on unlike push feats race --check --first-wins
is "keeps the first" "$(sed 's/;.*//' "$out")" "run $run: 6 parts: 6 kept"
check "which is published" 0 cachex publish race
also "as if nobody else had pushed" cmp race/manifest/0000000001.json st/manifest/0000000001.json

# Another content of an input
cp in2 in2.kept; seq 11 16 >in2
fill changed
check "an input that was changed" 3 on changed push feats race
also "is a conflict" grep -q "^cachex: push: part in2: this input was pushed with different content: fingerprint [0-9a-f]\{16\}, and [0-9a-f]\{16\} here$" "$err"
cp in2.kept in2

# Another recipe is another run, and never mixes in
check "another producer" 0 on one push feats st --producer 'embed 2'
second=$(sed -n 's/^run \([0-9a-f]*\):.*/\1/p' "$out")
also "is another run" test "$second" != "$run"
is "whose shards are there" "$(sed 's/^[^;]*; //' "$out")" "put 0 shards, 0 B"
printf 'embed 2' >text
check "the text of a file" 0 on one push feats st --producer @text
is "is the same run" "$(cat "$out")" "run $second: 6 parts: 6 there; put 0 shards, 0 B"
check "two runs" 2 cachex publish st
also "need a choice" grep -q "^cachex: publish: st: has 2 runs, .*, .*; choose one with --recipe$" "$err"
check "--recipe" 0 cachex publish st --recipe "$(echo "$second" | cut -c -8)"
is "makes the next generation" "$(sed 's/,.*//' "$out")" "generation 2: run $second"
wrong "no such run" 1 "cachex: publish: st: has no run 0123456789abcdefz" \
	cachex publish st --recipe 0123456789abcdefz
check "the first one again" 0 cachex publish st --recipe "$run"
is "is a generation of its own" "$(sed 's/,.*//' "$out")" "generation 3: run $run"
check "pull of an older one" 0 cachex pull st@1 pinned
also "is the pinned one" cmp pinned/manifest.json out/manifest.json

# gc
check "gc finds nothing young" 0 cachex gc st
is "and says so" "$(cat "$out")" \
	"removed 0 generations, 0 runs, 0 manifests of parts, 0 shards, 0 unfinished files; 0 B"
mkdir -p st/obj/00
orphan=0000000000000000000000000000000000000000000000000000000000000000
echo orphan >st/obj/00/$orphan.twh1
echo part >st/obj/00/$orphan.twh1.tmp.abcdef
age st
echo young >st/obj/00/$orphan.json.tmp.abcdef
touch st/manifest/0000000003.json
check "gc -n" 0 cachex gc st --keep 1 -n
is "would remove" "$(sed 's/;.*//' "$out")" \
	"would remove 2 generations, 1 run, 0 manifests of parts, 1 shard, 1 unfinished file"
is "nothing" "$(ls st/manifest | wc -l)" 3
check "gc" 0 cachex gc st --keep 1 --json
is "removes it" "$(sed 's/"bytes":[0-9]*/"bytes":N/' "$out")" \
	'{"generations":2,"runs":1,"manifests":0,"shards":1,"unfinished":1,"bytes":N,"dry_run":false}'
is "what is left" "$(ls st/manifest st/run | tr '\n' ' ')" "st/manifest: 0000000003.json  st/run: $run "
check "the rest is whole" 0 cachex verify file:st --deep
check "its number goes on" 0 cachex publish st
is "from there" "$(sed 's/:.*//' "$out")" "generation 3 (there)"
# What an unpublished run names stays, however old.
fill half --shard 0/2
on half push -q feats st --producer later
age st
check "a run that is not published" 0 cachex gc st --keep 1 --older 1s
check "stays" 0 cachex ls file:st
also "with its receipts" grep -q "^run  .*3 of 6 parts  later$" "$out"
check "and its shards" 0 cachex verify file:st --deep
wrong "an age that is none" 2 "cachex: gc: --older: 7 is not an age, such as 30s, 15m, 12h or 7d" \
	cachex gc st --older 7

# A directory of shards
on one export -q feats plain --shard-size 4096 --order published
check "a set is pushed" 0 cachex push ./plain sets
is "as one part" "$(sed 's/^run [0-9a-f]*: \(.*\); put.*/\1/' "$out")" "1 part: 1 put"
check "export pushes its shards" 0 on one export -q feats plain3 --shard-size 4096 \
	--order published --push sets
also "which are there" test "$(find sets/obj -type f | wc -l)" -eq "$(find plain -name '*.twh1' | wc -l)"
wrong "a producer of nothing that is pushed" 2 "cachex: export: --producer needs --push" \
	on one export feats plain3 --producer x
wrong "another format" 2 "cachex: export: --push does not apply to npz" \
	on one export feats a.npz --push sets
check "and published" 0 cachex publish sets
check "and pulled" 0 cachex pull sets plain2
cachex read plain --batch 4 --sum >plain.sum
check "it reads" 0 cachex read plain2 --batch 4 --sum
also "the same" cmp "$out" plain.sum
check "by input" 0 cachex push ./whole sets
is "a part each" "$(sed 's/^run [0-9a-f]*: \(.*\); put.*/\1/' "$out")" "6 parts: 6 put"
# A union of sets, and sets that were pulled
cachex shard union -q both whole plain
check "a union is pushed" 0 cachex push ./both unions -v
is "as the series of its sets" "$(sed '$d' "$out")" "put         ../whole/in0.shards
put         ../whole/in1.shards
put         ../whole/in2.shards
put         ../whole/in3.shards
put         ../whole/in4.shards
put         ../whole/in5.shards
put         ../plain"
check "published" 0 cachex publish unions
check "and pulled" 0 cachex pull unions both2
cachex read both --batch 4 --sum >both.sum
check "it reads" 0 cachex read both2 --batch 4 --sum
also "in the order of the union" cmp "$out" both.sum
check "again" 0 cachex push ./both unions
is "all is there" "$(sed 's/^run [0-9a-f]*: //' "$out")" "7 parts: 7 there; put 0 shards, 0 B"
cp -r plain cut
cachex shard union -q cuts whole cut
printf X >>cut/manifest.json
check "a damaged manifest of a part" 3 cachex push ./cuts unions
is "is named" "$(cat "$err")" \
	"cachex: push: ./cuts/../cut/manifest.json: SHA-256 differs from the manifest that names it"
check "what was pulled is pushed" 0 cachex push ./out again
is "as one part" "$(sed 's/^run [0-9a-f]*: //' "$out")" "1 part: 1 put; put 6 shards, 26.0 KiB"
check "published" 0 cachex publish again
check "pulled" 0 cachex pull again out3
check "it reads" 0 cachex read out3 --batch 4 --sum
also "in the same order" cmp "$out" whole.sum
on one export -q feats nosums --by-input --no-sha256
check "one without SHA-256" 0 cachex push ./nosums sets2
check "published too" 0 cachex publish sets2
check "is found by its content" 0 cachex verify file:sets2 --deep
printf X | dd of=whole/in1.shards/shard-000000.twh1 bs=1 seek=100 conv=notrunc 2>/dev/null
check "a damaged shard is not pushed" 3 cachex push ./whole sets3
also "but named" grep -q "^cachex: push: part in1.shards: ./whole/in1.shards/shard-000000.twh1: SHA-256 is" "$err"
is "and has no name there" "$(files sets3 | grep -c obj)" 1
check "a module of another root by its path" 0 cachex push "$PWD/one/feats" bypath
is "is that module" "$(sed 's/;.*//' "$out")" "run $run: 6 parts: 6 put"

# Equal shards are one object
for i in 0 1; do printf '\0\0\0\0' | cachex put -q same a$i --dtype u8 --shape 4096 2>/dev/null ||
	head -c 4096 /dev/zero | cachex put -q same a$i --dtype u8 --shape 4096; done
cachex export -q same twice --no-metadata --shard-size 4096
if [ "$(ls twice/*.twh1 | wc -l)" = 2 ]; then
	cachex push -q ./twice dup && cachex publish -q dup
	check "equal shards" 0 cachex pull dup twice2
	check "are one file" 0 cachex shard verify twice2
	cachex read twice --batch 2 --sum >twice.sum
	check "and read" 0 cachex read twice2 --batch 2 --sum
	also "as two" cmp "$out" twice.sum
else
	skip "equal shards" "they are in one"
fi

# Tasks that fill and push in one command
check "a task fills and pushes" 0 fill task --shard 0/3 --push tasks
is "its parts alone" "$(cd tasks && find run -name '0*.json' | sed 's,.*/,,' | LC_ALL=C sort)" \
	"000000.json
000003.json"
CACHEX_ROOT=task3 check "another one, of more" 0 cachex fill feats -b 1 --chunk 2 \
	--exec "$producer" --shard 0/1 --push tasks --from $all
is "does what is left" "$(sed 's/;.*//' "$out" | tail -n 3)" "22 stored, 0 failed, 0 bad
6 inputs: 4 finished, 0 stopped, 0 left to others, 2 in the store before
run $run: 6 parts: 4 put, 2 there"
rm -r task3
check "once more, as JSON" 0 on task3 fill feats --json --exec false --push tasks --from $all
is "nothing is started" "$(jq -c '[.stored, .started, .inputs, .in_store]' "$out" |
	head -n 1)" "[0,0,0,6]"
check "of a dry run" 0 on task4 fill feats -n --exec false --push tasks --from $all
is "nothing is missing" "$(cat "$out")" \
	"0 missing, 0 bad; 0 of 0 inputs finished"
cachex publish -q tasks && cachex publish -q other
is "the generation is that of the machines" "$(cat tasks/manifest/*1.json | cksum)" \
	"$(cat other/manifest/*1.json | cksum)"
check "a program that is another one" 0 on task5 fill feats -q -b 1 --chunk 2 \
	--producer 'another one' --exec "$producer" --push tasks --from $all
is "has a run of its own" "$(ls tasks/run | wc -l)" 2
check "a producer that fails" 1 on task6 fill feats -q -b 1 --exec false --push new --from $all
is "pushes nothing" "$(find new -name '0*.json')" ""
wrong "no list of ids" 2 "cachex: fill: --push needs --from" cachex fill feats --ids in0 --exec false --push new
wrong "no store, no fill" 2 \
	"cachex: fill: gs://b/x: no such kind of store; s3://BUCKET/PREFIX and file:///DIR are" \
	on task7 fill feats --exec "$producer" --push gs://b/x --from $all
also "and no module" test ! -e task7

# What is refused
wrong "another kind of store" 2 "cachex: pull: gs://b/x: no such kind of store; s3://BUCKET/PREFIX and file:///DIR are" \
	cachex pull gs://b/x o
wrong "a host" 2 "cachex: pull: file://host/x: names a host; file:///DIR is a directory of this one" \
	cachex pull file://host/x o
wrong "no hex" 2 "cachex: pull: file:a%2: % begins no byte in hex; %25 is a percent sign" \
	cachex pull file:a%2 o
mkdir 'a b'; cp -r other/. 'a b'
check "a blank" 0 cachex ls file:a%20b
echo x >file
wrong "a file" 2 "cachex: push: file: not a directory" on one push feats file
head -c 4 /dev/zero | cachex put -q puts a --dtype u8 --shape 4
wrong "a module of plain puts" 2 \
	"cachex: push: puts: the module has no inputs and so no parts; use cachex export and push the shards" \
	cachex push puts st
check "the path of a module" 0 cachex push --json ./one/feats/ slashes
is "with slashes at its end" "$(tail -n 1 "$out" | jq .put)" 6
check "from inside of it" 0 sh -c 'cd one/feats && exec "$1" push --json ./ ../../dots' - "$CACHEX"
is "has a name as well" "$(tail -n 1 "$out" | jq .put)" 6
wrong "no module" 1 "cachex: push: no module nope in $HOME/xdg-cache/cachex" cachex push nope st
mkdir nope
wrong "a directory without a slash" 1 \
	"cachex: push: no module nope in $HOME/xdg-cache/cachex; to push the directory, write ./nope" \
	cachex push nope st
rmdir nope
check "no set" 4 cachex push ./st st
wrong "no generation" 2 "cachex: ls: x: is not the number of a generation" cachex ls file:st x
mkdir empty
wrong "nothing published" 1 "cachex: pull: empty: nothing was published there" cachex pull empty o
wrong "no run" 1 "cachex: publish: empty: has no run" cachex publish empty
wrong "an empty store has nothing to verify" 1 "cachex: verify: file:empty: nothing was pushed there" \
	cachex verify file:empty
if [ "$(id -u)" != 0 ]; then
	mkdir locked; chmod 500 locked
	check "a store that cannot be written" 4 on one push feats locked
fi
finish
