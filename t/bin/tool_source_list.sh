#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Lists: modules and sets of shards in a given order, as one source.
. "${srcdir:-.}/t/support/tap.sh"

words() { tr '\n' ' ' <"$out"; }
# A chunk with a record of u8[1,1,2] for each cache_id, which is a letter: that letter twice.
records() { # MODULE ID...
	module=$1
	shift
	for id; do
		echo "{\"id\":\"$id\",\"dtype\":\"u8\",\"shape\":[1,1,2],\"data\":\"$(printf %s "$id$id" | base64)\"}"
	done | cachex load -q "$module" -
}
# Everything in one module, to compare with.
records whole a b c
records whole d e
records whole f g h i
records whole j
records first a b c
records first d e
records shards f g h i
records last j
cachex export -q shards ./set
cachex drop -f shards

check "modules and shards" 0 cachex read first ./set last -1
is "in the order that is given" "$(words)" "a b c d e f g h i j "
check "in another order" 0 cachex read last ./set first -1
is "too" "$(words)" "j f g h i a b c d e "
check "with commas" 0 cachex read last,./set,first -1
is "the same" "$(words)" "j f g h i a b c d e "

# As one module
for order in "" "--shuffle full --seed 3" "--shuffle block --block 2 --spread 2 --epochs 3" \
	"--idealised 2 --limit 40" "--window 3" "--shuffle block --shares 2"; do
	for reader in 0/1 0/2 1/2; do
		cachex read first ./set last $order --batch 4 --reader $reader --field . --sum >list
		cachex read whole $order --batch 4 --reader $reader --field . --sum >one
		holds "as one module: ${order:-in order}, $reader" cmp list one
	done
done
cachex plan whole --shuffle block --shares 2 --batch 4 --readers 2 --show 0-3 |
	awk 'NR > 1 { print $1, $2, $3, $4, $5, $7, $8 }' >one
cachex plan first ./set last --shuffle block --shares 2 --batch 4 --readers 2 --show 0-3 |
	awk 'NR > 1 { print $1, $2, $3, $4, $5, $7, $8 }' >list
holds "plan says which chunks" cmp list one
check "and what they cost" 0 cachex plan first ./set last --batch 10
is "by its names" "$(head -n 1 "$out")" "first,./set,last: order none"
is "one chunk of each commit and shard" "$(grep 'chunks a batch' "$out" | awk '{ print $4 }')" \
	"$(cachex plan whole --batch 10 | grep 'chunks a batch' | awk '{ print $4 }')"

# Parts and mixtures
check "a part of a split" 0 cachex read first ./set last --split x=1,y=1 --part x -1
cp "$out" part
cachex read whole --split x=1,y=1 --part x -1 >one
holds "is that of all" cmp part one
cachex read whole --mix last=2 --mixture-block 6 --limit 12 --field . --sum >one
cachex read first ./set last --mix last=2 --mixture-block 6 --limit 12 --field . --sum >list
holds "in a mixture" cmp list one
cachex read last --mix whole=2 --mixture-block 6 --limit 12 --json | sed 's/"source":"[^"]*",//' >one
cachex read last --mix first,./set,last=2 --mixture-block 6 --limit 12 --json >list
is "has its names" "$(grep -c '"source":"first,./set,last"' list)" 8
sed -i 's/"source":"[^"]*",//' list
holds "mixed in" cmp list one

# Joins in a list
records partner j e c d b a
check "joins" 0 cachex read first+partner last+partner --missing drop -1
is "follow each other" "$(words)" "a b c d e j "
check "have the same names of fields" 3 cachex read first+partner last+partner --sum
is "or are an error" "$(cat "$err")" \
"cachex: read: last+partner: field first begins with none of these modules"

# Tokens
read_on() { cachex read "$@" --batch 2 --batches 1 -1 --token-file token; }
check "a token" 0 read_on first ./set last
check "goes on" 0 read_on first ./set last
is "with the next" "$(words)" "c d "
check "not in another order" 3 read_on first last ./set
is "and says so" "$(tail -n 1 "$err")" \
"cachex: read: token: does not belong to first,last,./set; give its own source; --restart starts again"
records last k
check "after the last has grown" 0 read_on first ./set last
is "it goes on" "$(words)" "e f "
records first z
check "after another has grown" 1 read_on first ./set last
is "it is refused" "$(tail -n 1 "$err")" \
"cachex: read: token: records that were read have changed in first,./set,last since; --restart starts again"

# Following
check "the last may grow" 1 cachex read first last --follow --timeout 0 --batch 4 -1
is "what is there is read" "$(words)" "a b c d e z j k "

# What cannot be listed
check "no such source" 1 cachex read first nobody
is "is named" "$(sed 's/ in .*//' "$err")" "cachex: read: no module nobody"
refuse "a name that is empty" 2 "cachex: read: 'first,,last': a source in the list has no name" \
	cachex read first,,last
check "follow takes no lists" 2 cachex follow first,last
check "plan takes no joins in a list" 2 cachex plan last first+partner
printf '{"id":"x","dtype":"f32","shape":[1],"data":"AACAPw=="}\n' | cachex load -q floats -
check "other fields" 3 cachex read first floats --sum --field .
is "are errors of the member" "$(sed 's/.*\(floats: key .*\)/\1/' "$err")" \
"floats: key 'x': field '.' is f32[1], and u8[1,1,2] in other records of the batch"
cachex set -c lengths length=. >/dev/null
records lengths a
check "another length field" 2 cachex read first lengths
is "is said" "$(sed 's/of [^ ]*\/\(first\|lengths\)/of \1/g' "$err")" \
"cachex: read: list: the length field of first is '', and that of lengths is '.'"
finish
