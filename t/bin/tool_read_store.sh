#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# read and plan of a generation of a store, through a directory of copies.
. "${srcdir:-.}/t/support/tap.sh"

# 400 records of 500 bytes: shards of 4 KiB at least.
for i in $(seq 100 499); do
	printf '{"id":"r%d","dtype":"u8","shape":[500],"data":"%s"}\n' "$i" \
		"$(printf '%0500d' "$i" | base64 -w 0)"
done >records.jsonl
cachex load -q feats records.jsonl
cachex export -q feats shards --shard-size 8K --push st
cachex publish -q st
shards=$(find shards -name '*.twh1' | wc -l)
order="--shuffle block --shares 2 --spread 2 --batch 4 --epochs 3 --seed 4"

# count NAME FILE: a number of the statistics.
count() { jq "select(.store).store.$1" "$2"; }

cachex read ./shards $order --sum --json >want
check "all of it" 0 cachex read file:st $order --cache c --cache-size 1M --sum --stats --json
is "the same batches" "$(cat "$out")" "$(cat want)"
is "each shard is fetched once, and the manifest" "$(count fetched "$err")" "$((shards + 1))"
is "no ranges" "$(count range_requests "$err")" 0
is "of generation" "$(count generation "$err")" 1
check "again" 0 cachex read file:st $order --cache c --cache-size 1M --sum --stats --json
is "the same again" "$(cat "$out")" "$(cat want)"
is "nothing is fetched" "$(count fetched "$err")" 0
check "without words" 0 cachex read file:st $order --cache c --cache-size 1M --sum --stats
also "the least cache is said" grep -q "^  least cache  *[0-9]" "$err"

# A cache that holds some of it: what the plan says, within the room of the manifest.
for size in 160K 200K; do
	rm -r c
	check "with $size" 0 cachex read file:st $order --cache c --cache-size $size --sum \
		--stats --json
	is "the same with $size" "$(cat "$out")" "$(cat want)"
	planned=$(cachex plan file:st $order --cache c2 --cache-size $size --json |
		jq '.readers[0].requests')
	fetched=$(($(count fetched "$err") - 1))
	also "fetched $fetched, planned $planned" test $((fetched - planned)) -le $((planned / 20 + 2)) \
		-a $((planned - fetched)) -le $((planned / 20 + 2))
	also "copies were evicted" test "$(count evicted "$err")" -gt 0
	holds "within the limit" test "$(find c/obj c/part c/tmp -type f -printf '%k\n' |
		awk '{ s += $1 } END { print s }')" -le "${size%K}"
done

# A batch with the end of one window and the beginning of the next needs the shards of both, more
# than fit. Only such a batch reads by ranges: 100 rows, and what three shards say of themselves
# in three requests each. There are at most three windows in each of two epochs.
data=$(printf '%04096d' 0 | base64 -w 0)
seq 10000 14095 | sed "s/.*/{\"id\":\"r&\",\"dtype\":\"u8\",\"shape\":[4096],\"data\":\"$(
	echo "$data" | sed 's,/,\\/,g')\"}/" | cachex load -q large -
cachex export -q large shards4 --shard-size 2M --push st4
cachex publish -q st4
windows="--shuffle block --shares 1 --spread 3 --batch 100 --epochs 2"
cachex read ./shards4 $windows --seed 4 --sum --json >want4
check "windows that end within batches" 0 cachex read file:st4 $windows --seed 4 -j 0 \
	--fetch-ahead 1 --cache c4 --cache-size 9M --sum --stats --json
is "the same batches" "$(cat "$out")" "$(cat want4)"
also "some rows are read by ranges" test "$(count range_requests "$err")" -gt 0
also "and no more than in those batches" test "$(count range_requests "$err")" -le $((2 * 3 * (100 + 3 * 3)))

# Lists, and parts of splits: with room for as many shards the plan needs no more, and reading
# little more, as it fetches ahead. The least cache is the same, in blocks.
sed 's/"id":"r/"id":"s/' records.jsonl | cachex load -q others -
cachex export -q others shards3 --shard-size 8K --push st3
cachex publish -q st3
shard=$(stat -c %s shards/shard-000000.twh1)
compare() { # compare WHAT MANIFESTS OPERAND...: through caches of 40 shards
	what=$1 manifests=$2
	shift 2
	rm -rf c
	check "$what: plan" 0 cachex plan "$@" $order --cache c2 --cache-size $((40 * shard)) --json
	planned=$(jq '.readers[0].requests' "$out")
	least=$(jq '.readers[0].least_cache' "$out")
	blocks=$(((shard + 4095) / 4096 * 4096))
	check "$what: read" 0 cachex read "$@" $order --cache c --cache-size $((40 * blocks)) --sum \
		--stats --json
	fetched=$(($(count fetched "$err") - manifests))
	also "$what: fetched $fetched, planned $planned" test $fetched -ge "$planned" -a \
		$fetched -le $((planned + planned / 20))
	also "$what: shards were fetched again" test $fetched -gt \
		"$(cachex plan "$@" $order --cache c2 --json | jq '.readers[0].chunks')"
	is "$what: the least cache" "$(count least_cache "$err")" $((least / shard * blocks))
}
part="--part train --split train=0.5,val=0.5"
compare "a list" 2 file:st file:st3
compare "a part" 1 file:st $part
compare "a list with a part" 2 file:st file:st3 $part

# Two readers that share a cache fetch a shard once, also one that is divided between them.
rm -r c
fetched=-1 shares="--shuffle block --shares 4 --batch 4 --epochs 3 --seed 4"
for r in 0 1; do
	check "reader $r of a cache" 0 cachex read file:st $shares --cache c --cache-size 1M \
		--reader $r/4 --sum --stats --json
	fetched=$((fetched + $(count fetched "$err")))
done
check "their plan" 0 cachex plan file:st $shares --cache c2 --cache-size 1M --readers 4 \
	--cache-readers 2 --json
is "has each shard once" "$(jq -c '.readers[0] | [.chunks, .requests]' "$out")" "[$fetched,$fetched]"
also "some were both readers'" test "$fetched" -lt "$(cachex plan file:st $shares --cache c2 \
	--readers 4 --json | jq '.readers[0].chunks + .readers[1].chunks')"

# Less than the least: rows by ranges, each block verified.
rm -r c
check "too small a cache" 0 cachex read file:st $order --cache c --cache-size 48K --sum --stats --json
is "the same by ranges" "$(cat "$out")" "$(cat want)"
is "and said" "$(count by_ranges "$err")" true
is "before" "$(jq -r 'select(.note).note.message' "$err")" "file:st: the cache is smaller than \
what a reader needs at once, so rows are read by ranges; cachex plan prints the least cache"
also "ranges were asked for" test "$(count range_requests "$err")" -gt 0

# Readers, and a token that goes from one to the other.
rm -r c
for r in 0 1; do
	cachex read file:st $order --cache c --cache-size 1M --reader $r/2 --ids
done | sort >got
cachex read ./shards $order --ids | sort >ids
holds "two readers have all" cmp got ids
check "a part" 0 cachex read file:st $order --cache c --cache-size 1M --sum --json --batches 31 --token-file t
cp "$out" first
check "the rest, through another cache" 0 cachex read file:st $order --cache c3 --cache-size 1M --sum --json --token-file t
is "together" "$(cat first "$out")" "$(cat want)"
check "other orders" 0 cachex read file:st --shuffle full --cache c --cache-size 1M --sum
is "a full shuffle" "$(cat "$out")" "$(cachex read ./shards --shuffle full --sum)"
check "in order" 0 cachex read file:st --cache c --cache-size 64K --sum
is "no shuffle" "$(cat "$out")" "$(cachex read ./shards --sum)"
check "the default cache" 0 cachex read file:st --batch 400 --sum
holds "is in the root" test -d "$XDG_CACHE_HOME/cachex/.copies/obj"

# Generations
cachex load -q more records.jsonl
cachex rm -q -f more r100
run=$(cachex export more shards2 --shard-size 16K --push st --producer two | sed -n 's/^run \([0-9a-f]*\):.*/\1/p')
cachex publish -q st --recipe "$run"
check "the first generation" 0 cachex read file:st $order --generation 1 --cache c --cache-size 1M --sum --json
is "is still there" "$(cat "$out")" "$(cat want)"
is "the newest one has a record less" "$(cachex read file:st --cache c --ids | wc -l)" 399

# Damage
object=$(find st/obj -type f | sort | head -n 1)
cp "$object" kept
printf 'x' | dd of="$object" bs=1 seek=5000 conv=notrunc 2>/dev/null
rm -rf c
check "a damaged object" 3 cachex read file:st $order --generation 1 --cache c --cache-size 1M --sum
also "is named with its part" grep -q "^cachex: read: file:st/${object#st/}, part \.: its SHA-256 is [0-9a-f]\{64\}$" "$err"
cp kept "$object"
check "and when it is mended" 0 cachex read file:st $order --generation 1 --cache c --cache-size 1M --sum --json
is "all is there" "$(cat "$out")" "$(cat want)"
copy=c/${object#st/}
printf 'x' | dd of="$copy" bs=1 seek=5000 conv=notrunc 2>/dev/null
check "a damaged copy" 0 cachex read file:st $order --generation 1 --cache c --cache-size 1M --sum --stats --json
is "is mended" "$(cat "$out")" "$(cat want)"
holds "and the copy is right again" cmp "$copy" "$object"

# Bad input
wrong "no such generation" 4 "cachex: read: file:st: has no generation 99" \
	cachex read file:st --generation 99 --cache c
wrong "no store" 4 "cachex: read: file:none: has no generation yet" cachex read file:none --cache c
wrong "another scheme" 2 "cachex: read: ftp://st: no such kind of store; s3://BUCKET/PREFIX and file:///DIR are" \
	cachex read ftp://st --cache c
wrong "a cache that is a file" 4 "cachex: read: records.jsonl: open: Not a directory" \
	cachex read file:st --cache records.jsonl
finish
