#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Parts of one list of inputs, filled in modules of several roots, and merged into one.
. "${srcdir:-.}/t/support/tap.sh"

producer="exec '$builddir/t/support/bad_producer' good"
parts='s0.txt s1.txt s2.txt s3.txt s4.txt s5.txt s6.txt'
for i in 0 1 2 3 4 5 6; do seq -f "$i-%g" $((i * 7)) >s$i.txt; done
fill() { cachex fill "$@" -q --exec "$producer" --chunk 5 -j 2 --from $parts; }
order() { cachex "$@" stat m --json | sed 's/.*"inputs":\({[^}]*}\).*/\1/'; }

# What one machine makes, and three
fill m
for i in 0 1 2; do fill m --root node$i --shard $i/3; done

check "a dry run" 0 cachex merge --inputs -n ./node0/m ./node1/m ./node2/m new
is "says what would be" "$(cat "$out")" \
	"new: 7 inputs to be merged, 0 there; 32 chunks, 147 records, 18.4 KiB"
check "makes nothing" 1 cachex stat new
check "merge" 0 cachex --root all merge --inputs ./node0/m ./node1/m ./node2/m m
is "says what it did" "$(cat "$out")" \
	"m: 7 inputs merged, 0 there; 32 chunks, 147 records, 18.4 KiB"
check "it is whole" 0 cachex --root all verify m
is "it is filled as that of one machine" "$(order --root all)" "$(order)"
is "the same records in the same order" "$(cachex --root all read m)" "$(cachex read m)"
is "the same shuffled" "$(cachex --root all read m --shuffle full -1)" "$(cachex read m --shuffle full -1)"
cachex read m --shuffle full --batch 8 -1 >whole
cachex read m --shuffle full --batch 8 -1 --batches 4 --token-file token >first
cachex --root all read m --shuffle full --batch 8 -1 --token-file token -q >rest
also "a token of one goes on in the other" sh -c 'cat first rest | cmp - whole'
check "once more" 0 cachex --root all merge --inputs ./node0/m ./node1/m ./node2/m m --json
is "changes nothing" "$(cat "$out")" \
	'{"module":"m","inputs":0,"there":7,"chunks":0,"records":0,"bytes":0}'
check "into a part, by its path" 0 cachex --root nowhere merge --inputs ./node0/m "$PWD/node2/m" ./node1/m/ -q
is "is all of it" "$(cachex --root node1 read m)" "$(cachex read m)"

# Refused, and nothing is left
refuse "an input that is finished nowhere" 1 "cachex: merge: input s1.txt is not finished: it has 0 chunks in ./node0/m
cachex: merge: input s4.txt is not finished: it has 0 chunks in ./node0/m
cachex: merge: none of the modules has finished 2 of 7 inputs, such as s1.txt, which has 0 chunks in ./node0/m" \
	cachex merge --inputs ./node0/m ./node2/m new
check "no module is left" 1 cachex stat new
mkdir x
for i in 0 1 2 3 4 5; do cp s$i.txt x; done
(cd x && parts='s0.txt s1.txt s2.txt s3.txt s4.txt s5.txt' && fill m --root .)
refuse "another list" 3 "cachex: merge: ./x/m has 6 inputs, and ./node0/m has 7" \
	cachex merge --inputs ./node0/m ./x/m new
echo more >>x/s3.txt
cp s6.txt x
(cd x && cachex drop -qf --root . m && fill m --root . --shard 0/3)
refuse "a shard that was changed" 3 \
	"cachex: merge: input s3.txt has another fingerprint in ./x/m than in ./node0/m" \
	cachex merge --inputs ./node0/m ./x/m new
echo '{"id":"a","dtype":"u8","shape":[1],"data":"AA=="}' | cachex --root p load -q p -
refuse "plain records" 3 "cachex: merge: ./p/p has no inputs" \
	cachex merge --inputs ./p/p new
check "no module is left either" 1 cachex stat new
refuse "a module that is not there" 1 "cachex: merge: no module n in ./node0; did you mean m?" \
	cachex merge --inputs ./node0/n new
refuse "a target that is a source" 3 "cachex: merge: ./node0/m is both source and target" \
	cachex merge --inputs ./node0/m ./node0/m
refuse "a target that must be there" 1 "cachex: merge: no module new in $XDG_CACHE_HOME/cachex" \
	cachex merge --inputs --no-create m new
wrong "not with --prefix" 2 "cachex: merge: --inputs merges whole inputs; use it without --prefix" \
	cachex merge --inputs --prefix a m new
wrong "not with --conflict" 2 "cachex: merge: --inputs merges whole inputs; use it without --conflict" \
	cachex merge --inputs --conflict keep m new
refuse "a name that no module has" 2 "cachex: merge: module id '..': must be 1 to 128 characters and start with a letter or digit" \
	cachex merge --inputs ./node0/.. new

# A damaged record: it is named, and nothing is published
cp -r node2 broken2
for at in $(grep -abo s5.txt:3 broken2/m/data.mdb | cut -d : -f 1); do
	printf X | dd of=broken2/m/data.mdb bs=1 seek="$at" conv=notrunc 2>/dev/null
done
check "a damaged record" 3 cachex merge --inputs ./broken2/m ./node0/m ./node1/m new
also "names it" grep -q "^cachex: merge: ./broken2/m: chunk [0-9]* of input s5.txt: a record is damaged$" "$err"
is "nothing is published" "$(cachex stat new --json | sed 's/.*"published":\([0-9]*\).*/\1/')" 0
check "with a good one it goes on" 0 cachex merge --inputs ./node0/m ./node1/m ./node2/m new -q
is "to the whole" "$(cachex read new)" "$(cachex read m | sed 's/"m"/"new"/')"
finish
