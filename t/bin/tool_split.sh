#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Splits: parts of modules and warehouses, by cache_id and by run.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
words() { tr '\n' ' ' <"$out"; }

# A module
for i in $(seq 1 200); do
	echo "{\"id\":\"r$i\",\"dtype\":\"u8\",\"shape\":[1],\"data\":\"AA==\"}"
done >records.jsonl
head -n 120 records.jsonl | cachex load -q m -
spec=train=0.7,val=0.2,test=0.1
for part in train val test; do
	cachex read m --split $spec --part $part -1 >$part
done
is "parts are disjoint, and all of it" "$(sort train val test | uniq -c | awk '$1 == 1' | wc -l | tr -d ' ')" 120
also "the order is that of the module" sh -c 'cachex=$1; "$cachex" read m -1 | grep -xFf train | cmp - train' sh "$CACHEX"
also "most are in the largest" test "$(wc -l <train)" -gt 60
tail -n 80 records.jsonl | cachex load -q m -
for part in train val test; do
	cachex read m --split $spec --part $part -1 | head -n "$(wc -l <$part)" >again
	holds "$part stays when records are added" cmp $part again
done
check "shares as whole numbers" 0 cachex read m --split train=7,val=2,test=1 --part train -1
also "are the same" sh -c 'head -n "$(wc -l <train)" "$1" | cmp - train' sh "$out"
check "another seed" 0 cachex read m --split $spec --part train --split-seed 1 -1
also "is another split" sh -c '! head -n "$(wc -l <train)" "$1" | cmp -s - train' sh "$out"
check "shuffled, by two readers" 0 sh -c 'for r in 0/2 1/2; do
	"$1" read m --split '$spec' --part val --shuffle full --reader $r --batch 8 -1; done' sh "$CACHEX"
sort "$out" >shuffled
cachex read m --split $spec --part val -1 | sort >whole
also "is the same part" cmp shuffled whole

check "a token" 0 cachex read m --split $spec --part val --batch 4 --batches 1 -1 --token-file token
check "goes on" 0 cachex read m --split $spec --part val --batch 4 --batches 1 -1 --token-file token
check "in its part only" 3 cachex read m --split $spec --part test --batch 4 --token-file token

wrong "a split without a part" 2 "cachex: read: --split needs --part, the part to read; --share is for how readers divide a batch" cachex read m --split strided
wrong "a part of nothing" 2 "cachex: read: $XDG_CACHE_HOME/cachex/m: part 'val' needs a split" cachex read m --part val
wrong "a part that is none" 2 "cachex: read: split: there is no part 'tests', only train, val, test" \
	cachex read m --split $spec --part tests
wrong "shares that do not sum to 1" 2 \
	"cachex: read: split: 'train=0.9,val=0.2': the shares sum to 1, or are whole numbers" \
	cachex read m --split train=0.9,val=0.2 --part val

# A warehouse says how it was split
"$mkdataset" make set 10
check "build" 0 cachex build set wh --size 48x32 --shard-version 2 --split train=0.5,val=0.5 -q
cachex read ./wh/current/ -1 | sort >all
for part in train val; do cachex read ./wh/current/ --part $part -1 >w$part; done
is "its parts are all of it" "$(sort wtrain wval)" "$(cat all)"
also "and it is the same as said" sh -c '"$1" read ./wh/current/ --split val=1,train=1 --part val -1 | sort >x; sort wtrain | cmp - x' sh "$CACHEX"
also "the recipe has it" grep -q 'split\\":\\"train=0.5,val=0.5\\"' wh/current/manifest.json
check "by run" 0 cachex build set runs --size 48x32 --shard-version 2 --split a=1,b=1,c=1 --split-by run -q
wrong "a part that no run is in" 2 "cachex: read: ./runs/current/: has no examples for a stream: no data" \
	cachex read ./runs/current/ --part a -1
is "each run is in one part" "$(cachex read ./runs/current/ --part b -1 | wc -l) $(cachex read ./runs/current/ --part c -1 | wc -l)" "8 8"
is "and all are" "$({ cachex read ./runs/current/ --part b -1; cachex read ./runs/current/ --part c -1; } | sort)" "$(cat all)"
wrong "version 1 has no ids" 2 "cachex: build: --split needs the metadata of samples" cachex build set none --size 48x32 --shard-version 1 --split a=1

# Several sizes: a batch is of one
check "build with buckets" 0 cachex build set sizes --size 48x32 --buckets 48x32,32x48,16x16 --shard-version 2 -q
check "a stream of all" 0 cachex read ./sizes/current/ --batch 3 --shuffle full --npy npy
# A cache_id begins with a hash of how the sample was made.
sed 's|[^/]*/||' all >names
is "has each sample once" "$(cachex read ./sizes/current/ --batch 3 --shuffle full -1 | sed 's|[^/]*/||' | sort)" "$(cat names)"
is "two readers see them too" "$(for r in 0/2 1/2; do
	cachex read ./sizes/current/ --batch 3 --shuffle full --reader $r -1; done | sed 's|[^/]*/||' | sort)" "$(cat names)"
check "plan takes it" 0 cachex plan ./sizes/current/ --batch 3 --shuffle full
finish
