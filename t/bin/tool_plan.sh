#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# plan: where the examples of a batch stand, and what an order costs.
. "${srcdir:-.}/t/support/tap.sh"


# A module of chunks of five records, 128 bytes each: chunk N has the numbers N0 to N4.
chunk() {
	for i in 0 1 2 3 4; do
		echo "{\"id\":\"$1$i\",\"dtype\":\"u8\",\"shape\":[2],\"data\":\"AAE=\"}"
	done | cachex load m -q -
}
for c in 0 1 2 3 4 5 6 7; do chunk $c; done

# What batches ask for
check "show" 0 cachex plan m --batch 4 --show 1-2
is "a line an example" "$(cat "$out")" \
"batch reader example epoch  chunk      id   first   units  source
    1      0       4     0      0       1       4       1  m
    1      0       5     0      1       2       0       1  m
    1      0       6     0      1       2       1       1  m
    1      0       7     0      1       2       2       1  m
    2      0       8     0      1       2       3       1  m
    2      0       9     0      1       2       4       1  m
    2      0      10     0      2       3       0       1  m
    2      0      11     0      2       3       1       1  m"
check "the last batch" 0 cachex plan m --batch 32 --show 1-9 --readers 2
is "has no padding" "$(awk 'NR > 1 { print $2, $3 }' "$out" | tr '\n' ' ')" \
	"0 32 0 34 0 36 0 38 1 33 1 35 1 37 1 39 "
check "contiguous" 0 cachex plan m --batch 5 --show 0 --readers 2 --share contiguous
is "a part each" "$(awk 'NR > 1 { print $2, $3 }' "$out" | tr '\n' ' ')" "0 0 0 1 0 2 1 3 1 4 "
check "windows" 0 cachex plan m --batch 2 --window 7 --show 1 --json
is "cross chunks" "$(cat "$out")" \
'{"batch":1,"reader":0,"row":0,"example":2,"pieces":[{"source":"m","epoch":0,"chunk":2,"chunk_id":3,"first":4,"units":1},{"source":"m","epoch":0,"chunk":3,"chunk_id":4,"first":0,"units":5},{"source":"m","epoch":0,"chunk":4,"chunk_id":5,"first":0,"units":1}]}
{"batch":1,"reader":0,"row":1,"example":3,"pieces":[{"source":"m","epoch":0,"chunk":4,"chunk_id":5,"first":1,"units":4},{"source":"m","epoch":0,"chunk":5,"chunk_id":6,"first":0,"units":3}]}'
check "a window over many chunks" 0 cachex plan m --window 40 --show 0 --batch 1
is "has a line for each" "$(wc -l <"$out" | tr -d ' ')" 9
check "epochs" 0 cachex plan m --batch 20 --epochs inf --show 4
is "are numbered" "$(awk 'NR > 1 { print $4 }' "$out" | sort -u)" 2
check "a mixture" 0 cachex plan m --mix m=3 --batch 8 --mixture-block 8 --show 0 --json
is "by weight" "$(wc -l <"$out" | tr -d ' ')" 8

# The same examples for any number of readers
cachex plan m --shuffle block --block 2 --spread 3 --seed 5 --batch 7 --show 0-5 |
	awk 'NR > 1 { print $1, $3, $5, $7 }' | sort >one
is "forty of them" "$(wc -l <one | tr -d ' ')" 40
for readers in 2 3 4 5; do
	for split in strided contiguous; do
		cachex plan m --shuffle block --block 2 --spread 3 --seed 5 --batch 7 \
			--show 0-5 --readers $readers --share $split |
			awk 'NR > 1 { print $1, $3, $5, $7 }' | sort >many
		holds "$readers readers, $split" cmp one many
	done
done

# The cost
check "in order" 0 cachex plan m --batch 8
is "all of it" "$(cat "$out")" \
"m: order none
  batches examined     5, with 40 examples
  chunks a batch       mean 2.4, p50 2, p99 3, max 3
  places a batch       2.4
  bytes a batch        1.00 KiB
  examples a visit     3.3
  visited again        33.3 % within 16 batches
  read whole           1.50 times the bytes
  with 16    in memory 1.00 times the bytes"
check "as JSON" 0 cachex plan m --batch 8 --json --readers 2
is "the same" "$(cat "$out")" \
'{"order":"none","batches":5,"examples":40,"chunks":2.4,"chunks_p50":2,"chunks_p99":3,"chunks_max":3,"runs":2.4,"bytes":1024,"stored_bytes":5120,"examples_a_visit":3.33333,"within":16,"again":0.333333,"read_whole":1.5,"cache_chunks":16,"read_cached":1,"readers":[{"reader":0,"chunks":2.2,"bytes":512},{"reader":1,"chunks":2.2,"bytes":512}],"imbalance":1}'
check "nothing in memory" 0 cachex plan m --batch 8 --cache-chunks 0 --json
also "reads chunks again" grep -q '"read_whole":1.5,"cache_chunks":0,"read_cached":1.5' "$out"
check "one chunk in memory" 0 cachex plan m --batch 8 --cache-chunks 1 --json
also "is enough in order" grep -q '"read_cached":1,' "$out"
check "one batch a chunk" 0 cachex plan m --batch 5 --json
also "comes once" grep -q '"again":0,"read_whole":1,' "$out"
check "epochs" 0 cachex plan m --batch 5 --epochs 2 --json --within 8
also "come again" grep -q '"batches":16,.*"within":8,"again":0.5,' "$out"
check "and not within fewer" 0 cachex plan m --batch 5 --epochs 2 --json --within 7
also "than there are" grep -q '"again":0,' "$out"
check "some batches" 0 cachex plan m --batch 1 --over 8 --json
also "are looked at" grep -q '"batches":8,"examples":8,' "$out"
check "an order for ever" 0 cachex plan m --batch 4 --idealised 2 --json
also "once over it" grep -q '"order":"R\*","idealised":2,"batches":11,' "$out"
check "three readers" 0 cachex plan m --batch 8 --readers 3
is "have not the same" "$(tail -n 4 "$out")" \
"  reader 0             2.2 chunks, 384 B a batch
  reader 1             2.2 chunks, 384 B a batch
  reader 2             1.6 chunks, 256 B a batch
  imbalance            1.125"
check "a disk" 0 cachex plan m --batch 8 --disk-mbps 1 --seek-ms 100
is "an epoch" "$(tail -n 1 "$out")" \
"  an epoch             1.21 s, at 1 MB/s and 100 ms a place, nothing in memory"
check "several orders" 0 cachex plan m --batch 8 --compare
is "are a line each" "$(awk '{ print $1 }' "$out" | tr '\n' ' ')" "order none block era full R*=16 "
is "in order it is as before" "$(sed -n 2p "$out" | tr -s ' ')" \
	"none 2.4 3 3 2.4 1.00 KiB 33.3% 1.50 1.00"
check "R* of the readers" 0 cachex plan m --batch 8 --compare --readers 4 --json
is "as JSON" "$(sed -n 's/.*"order":"R\*","idealised":\([0-9]*\).*/\1/p' "$out")" 4
check "deleted records" 0 cachex rm -f m 00 01 02
check "are no examples" 0 cachex plan m --show 0 --batch 3
is "of what is left" "$(awk 'NR > 1 { print $5, $7 }' "$out" | tr '\n' ' ')" "0 0 0 1 1 0 "

# Shards
cachex export -q m shards --shard-size 4K
check "shards" 0 cachex plan ./shards --show 0 --batch 2
is "are chunks" "$(awk 'NR > 1 { print $5, $7, $9 }' "$out" | tr '\n' ' ')" \
	"0 0 ./shards $(test "$(ls shards/*.twh1 | wc -l)" -gt 30 && echo 1 0 || echo 0 1) ./shards "
check "their cost" 0 cachex plan ./shards --json
also "their bytes" grep -q '"examples":37,' "$out"
one=$(ls shards/*.twh1 | head -n 1)
check "one shard" 0 cachex plan "$one" --json
also "has some of them" grep -q '"examples":[1-9]' "$out"
check "a directory without a slash" 0 cachex plan shards --show 0
mkdir m
check "a module comes before a directory" 0 cachex plan m --show 0
also "of its name" grep -q ' m$' "$out"

# Shares: which chunks readers have
for c in 0 1 2 3 4 5 6 7; do
	for i in 0 1 2 3 4; do
		echo "{\"id\":\"$c$i\",\"dtype\":\"u8\",\"shape\":[2],\"data\":\"AAE=\"}"
	done | cachex load nodes -q -
done
check "shares" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --readers 4 --batch 8 --ahead 0
is "what readers have" "$(cat "$out")" \
"nodes: 4 shares, 1 a reader, in windows of 1 chunk
  chunks       8, the largest 640 B
  least cache  for 1 times 1 chunks, and 0 ahead
reader  chunks       bytes  least cache         LRU      Belady     at best  requests
     0       2    1.25 KiB        640 B           -           -           -         -
     1       2    1.25 KiB        640 B           -           -           -         -
     2       2    1.25 KiB        640 B           -           -           -         -
     3       2    1.25 KiB        640 B           -           -           -         -
   all       8    5.00 KiB                        -           -           -         -"
check "with a cache" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --readers 2 --batch 8 \
	--ahead 1 --cache-size 2K --epochs 5
# Of the three chunks that have room, the two of both shares are in use: 20 visits.
is "what they fetch" "$(tail -n 5 "$out")" \
"  fetched      in 5 epochs, with 2.00 KiB of cache a reader
reader  chunks       bytes  least cache         LRU      Belady     at best  requests
     0       4    2.50 KiB     1.88 KiB    8.12 KiB    6.88 KiB    4.50 KiB        11
     1       4    2.50 KiB     1.88 KiB    7.50 KiB    6.88 KiB    4.50 KiB        11
   all       8    5.00 KiB                 15.6 KiB    13.8 KiB    9.00 KiB        22"
check "as JSON" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --readers 2 --batch 8 \
	--ahead 1 --cache-size 2K --epochs 5 --json
is "the same" "$(cat "$out")" \
'{"order":"shares","shares":4,"spread":1,"ahead":1,"cache_readers":1,"chunks":8,"largest_chunk":640,"epochs":5,"cache_size":2048,"readers":[{"reader":0,"chunks":4,"bytes":2560,"least_cache":1920,"enough":true,"fetched_lru":8320,"fetched_belady":7040,"fetched_best":4608,"requests":11},{"reader":1,"chunks":4,"bytes":2560,"least_cache":1920,"enough":true,"fetched_lru":7680,"fetched_belady":7040,"fetched_best":4608,"requests":11}],"bytes":5120,"fetched_lru":16000,"fetched_belady":14080,"fetched_best":9216,"requests":22}'
# Readers that share a cache are like one reader with all of their shares.
together="nodes --shuffle block --shares 8 --spread 1 --batch 8 --epochs 5 --seed 3"
check "readers that share a cache" 0 cachex plan $together --readers 8 --cache-readers 4 --ahead 0 --cache-size 2560
is "what they fetch together" "$(cat "$out")" \
"nodes: 8 shares, 1 a reader, in windows of 1 chunk
  chunks       8, the largest 640 B
  caches       2, each of 4 readers
  least cache  for 4 times 1 chunks, and 0 ahead
  fetched      in 5 epochs, with 2.50 KiB of cache each
reader  chunks       bytes  least cache         LRU      Belady     at best  requests
   0-3       4    2.50 KiB     2.50 KiB    2.50 KiB    2.50 KiB    2.50 KiB         4
   4-7       4    2.50 KiB     2.50 KiB    2.50 KiB    2.50 KiB    2.50 KiB         4
   all       8    5.00 KiB                 5.00 KiB    5.00 KiB    5.00 KiB         8"
together="nodes --shuffle block --shares 4 --spread 1 --batch 8 --epochs 5 --seed 3 --cache-size 4K --rate 8
	--store-mbps 1 --store-ms 100"
check "one reader" 0 cachex plan $together --ahead 0 --json
one=$(sed 's/.*"readers":\[\([^]]*\)\].*/\1/; s/"mbps.*//' "$out")
also "that evicts" grep -q '"chunks":8,.*"fetched_lru":[0-9]*,"fetched_belady":\([0-9]*\),"fetched_best":[0-9]*,"requests":[1-9][0-9]' "$out"
check "four that share its cache" 0 cachex plan $together --ahead 0 --readers 4 --cache-readers 4 --json
is "fetch as much" "$(sed 's/.*"readers":\[\([^]]*\)\].*/\1/; s/"mbps.*//' "$out")" "$one"
also "which is said" grep -q '"cache_readers":4,' "$out"
check "two and two" 0 cachex plan $together --ahead 0 --readers 4 --cache-readers 2 --json --report pairs.html
is "by their first readers" "$(grep -o '"reader":[0-9]*' "$out" | tr '\n' ' ')" '"reader":0 "reader":2 '
is "and in the page" "$(grep -o '<td class="n">[0-9]*-[0-9]*</td>' pairs.html | tr -d '\n')" \
	'<td class="n">0-1</td><td class="n">2-3</td>'
also "which draws the first ones" grep -q 'readers 0-1: the batches in which each chunk is in use' pairs.html
# Shares of 4 records: chunks of 5 are divided, and count once for readers that share a cache.
for i in 0 1; do
	cachex plan nodes --shuffle block --shares 10 --readers 10 --batch 40 --show 0 |
		awk -v i=$i 'NR > 1 && int($2 / 5) == i { print $5 }' | sort -u | wc -l | tr -d ' '
done >chunks
check "divided chunks" 0 cachex plan nodes --shuffle block --shares 10 --readers 10 --batch 40 --cache-readers 5 --json
is "count once" "$(grep -o '"chunks":[0-9]*' "$out" | cut -d: -f2 | sed 1d)" "$(cat chunks)"
wrong "a cache for a part of the readers" 2 "cachex: plan: --cache-readers: 4 readers are not a multiple of 3" \
	cachex plan nodes --shuffle block --shares 4 --readers 4 --cache-readers 3
wrong "readers of no cache" 2 "cachex: plan: --cache-readers needs --shares" \
	cachex plan nodes --readers 2 --cache-readers 2
check "less than the least" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --readers 2 \
	--batch 8 --ahead 1 --cache-size 1K --epochs 5
is "is said" "$(tail -n 1 "$out")" \
	"with less than the least cache, chunks are fetched again within an epoch"
check "all in the cache" 0 cachex plan nodes --shuffle block --shares 4 --batch 8 --cache-size 1M \
	--epochs 9 --json
also "is fetched once" grep -q '"least_cache":5120,"enough":true,"fetched_lru":5120,"fetched_belady":5120,"fetched_best":5120' "$out"
# Two chunks are ahead, and four are needed at once: the last two of each four are asked for late.
check "a store that answers late" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --batch 8 \
	--cache-size 1M --ahead 2 --rate 8 --store-mbps 1 --store-ms 100 --json
also "is waited for" grep -q '"requests":8,"mbps":0.001024,"stalled_seconds":0.3032}' "$out"
check "and in words" 0 cachex plan nodes --shuffle block --shares 4 --spread 1 --batch 8 \
	--cache-size 1M --ahead 2 --rate 8 --store-mbps 1 --store-ms 100
is "a line" "$(tail -n 1 "$out")" \
	"   all       8    5.00 KiB                 5.00 KiB    5.00 KiB    5.00 KiB         8     0.0    0.30 s"
# The page of it: each number in a cell is that of the JSON.
drawn="nodes --shuffle block --shares 4 --spread 1 --readers 2 --batch 8 --ahead 1 --cache-size 2K \
	--epochs 5 --rate 8 --store-mbps 1 --store-ms 100"
check "--report" 0 cachex plan $drawn --report plan.html --json
cells() { # FIRST: the numbers of the rows that begin with this one, without commas
	sed -n "s|^<tr[^>]*><td class=\"n\">$1</td>||p" plan.html |
		sed 's|</td></tr>$||; s|^<td class="n">||; s|</td><td class="n">| |g; s|,||g'
}
if command -v jq >/dev/null 2>&1; then
	is "bytes by the size of the cache" "$(cells 2,048)" \
		"$(jq -r '.readers[0] | "\(.fetched_lru) \(.fetched_belady) \(.fetched_best)"' "$out")"
	for r in 0 1; do
		is "reader $r" "$(cells $r | grep ' ')" "$(jq -r ".readers[$r] |"' [.chunks, .bytes,
			.least_cache, .fetched_lru, .fetched_belady, .fetched_best, .requests,
			.mbps, .stalled_seconds] | map(tostring) | join(" ")' "$out")"
	done
	is "the stall of this store" "$(cells 1 | grep -v ' ')" \
		"$(jq '.readers[0].stalled_seconds' "$out")"
fi
is "a span for each visit" "$(grep -c '<rect class="span' plan.html)" 20
also "of all" grep -q 'a row for each; all 20 visits; dotted lines between epochs' plan.html
is "those that are fetched" "$(grep -c '<rect class="span s2"' plan.html)" 11
! command -v python3 >/dev/null 2>&1 || is "well-formed" "$(python3 -c 'import sys, xml.dom.minidom
xml.dom.minidom.parse(sys.argv[1])' plan.html 2>&1 || echo no)" ""
wrong "a page that is there" 2 "cachex: plan: plan.html: exists; -f replaces it" \
	cachex plan $drawn -q --report plan.html
cp plan.html before.html
check "is replaced" 0 cachex plan $drawn --report plan.html -f
check "by the same bytes" 0 cmp plan.html before.html
wrong "a page without a cache" 2 "cachex: plan: --report needs --cache-size" \
	cachex plan nodes --shuffle block --shares 4 --report p.html
wrong "a rate without a cache" 2 "cachex: plan: --rate needs --cache-size" \
	cachex plan nodes --shuffle block --shares 4 --rate 8
wrong "a store without a rate" 2 "cachex: plan: --store-ms needs --store-mbps, and --store-mbps needs --rate" \
	cachex plan nodes --shuffle block --shares 4 --cache-size 1M --store-mbps 8
check "more shares than chunks" 0 cachex plan nodes --shuffle block --shares 10 --readers 10 --batch 10 --json
is "cut them" "$(grep -o '"chunks":[0-9]*' "$out" | tr '\n' ' ' | cut -d' ' -f2-)" \
	"$(for r in 0 1 2 3 4 5 6 7 8 9; do
		printf '"chunks":%d ' "$(cachex plan nodes --shuffle block --shares 10 --readers 10 --batch 40 --show 0 |
			awk -v r=$r 'NR > 1 && $2 == r { print $5 }' | sort -u | wc -l)"
	done)"
for options in "--batch 10 --readers 5" "--batch 20 --readers 2" "--batch 10 --readers 1"; do
	cachex plan nodes --shuffle block --shares 10 --spread 2 --seed 5 $options --epochs 3 --show 0-20 |
		awk 'NR > 1 { print $3, $4, $5, $7 }' | sort -n >many
	test -e numbers || cp many numbers
	holds "shares, $options" cmp numbers many
done
is "numbers of three epochs" "$(wc -l <numbers | tr -d ' ')" 120
wrong "readers that do not divide them" 2 "cachex: plan: --readers: 4 shares are not a multiple of 3 readers" \
	cachex plan nodes --shuffle block --shares 4 --readers 3
wrong "the other split" 2 "cachex: plan: --share: with --shares a reader has every R'th share" \
	cachex plan nodes --shuffle block --shares 4 --share contiguous
wrong "another shuffle" 2 "cachex: plan: stream: shares need the shuffle in blocks" \
	cachex plan nodes --shares 4
wrong "too many shares" 2 "cachex: plan: $XDG_CACHE_HOME/cachex/nodes: 40 examples are too few for 64 shares" \
	cachex plan nodes --shuffle block --shares 64
wrong "a batch that is no multiple" 2 "cachex: plan: stream: a batch of 256 examples is not a multiple of 3 shares" \
	cachex plan nodes --shuffle block --shares 3
wrong "compared" 2 "cachex: plan: --shares and --compare exclude each other" \
	cachex plan nodes --shuffle block --shares 4 --compare
wrong "a cache without shares" 2 "cachex: plan: --cache-size needs --shares" \
	cachex plan nodes --cache-size 1M

# Bytes are those that reading counts, in any order.
seed=${T_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "# seed $seed"
random() { # random N: below N
	seed=$(( (seed * 1103515245 + 12345) % 2147483648 ))
	number=$(( seed / 65536 % $1 ))
}
records() { # records MODULE CHUNKS: of 1 to 40 or 1 to 4000 elements
	for chunk in $(seq "$2"); do
		set -- "$1" "$2"
		for record in 1 2 3 4; do
			random 5
			test "$number" = 0 && random 4000 || random 40
			head -c $((number + 1)) /dev/zero | "$CACHEX" put -q "$1" "$chunk.$record" \
				--dtype u8 --shape $((number + 1)) || return
		done
	done
}
sums() { # sums OPTION...: of all readers, bytes of the records that were read
	total=0
	for r in $(seq 0 $((readers - 1))); do
		"$CACHEX" read "$module" "$@" --reader $r/$readers $form --stats --json \
			2>stats >/dev/null || sed "s/^/# /" stats >&2
		total=$((total + $(sed -n 's/.*"stored_bytes":\([0-9]*\).*/\1/p' stats)))
	done
}
structures() { # structures MODULE CHUNKS: tokens and as many marks, a picture, a caption
	for chunk in $(seq "$2"); do
		for record in 1 2 3; do
			random 4
			test "$number" = 0 && random 30000 || random 40
			tokens=$(seq -s , 0 "$number")
			random 9000
			printf '{"id":"%s","tokens":[%s],"marks":[%s],"picture":[%s],"caption":"%s"}\n' \
				"$chunk.$record" "$tokens" "$tokens" "$(seq -s , 0 "$number")" \
				"$(seq -s ' ' "$chunk")"
		done | "$CACHEX" load -q "$1" --id-field id - || return
	done
}
records plain 8
check "a module with lengths" 0 cachex set -c long length=.
records long 8
check "structures with lengths" 0 cachex set -c parts length=tokens
structures parts 6
check "coded ones" 0 cachex set -c coded length=tokens codec=lz4
structures coded 4
wrongs=0
for round in $(seq 30); do
	random 4
	case $number in
	0) module=plain others=long ;;
	1) module=long others=plain ;;
	2) module=parts others=coded ;;
	3) module=coded others=parts ;;
	esac
	random 3; readers=$((number + 1))
	random 9; options="--batch $((number + 1)) --limit 60"
	window=
	random 4
	if test $number -gt 0; then
		random 300; window=$((number + 1))
		options="$options --window $window"
		random 2; test $number = 0 && random $window && options="$options --stride $((number + 1))"
	fi
	random 6
	case $number in
	0) options="$options --shuffle full --seed $round --epochs 2" ;;
	1) options="$options --shuffle block --block 3 --spread 2 --epochs 3" ;;
	2) options="$options --shuffle era --era-first 4" ;;
	3) options="$options --idealised 3" ;;
	4) test $module != plain -o -z "$window" && options="$options --mix $others=2 --weight 3" ;;
	esac
	case "$options" in
	*--mix*plain* | *--mix*long*) test -n "$window" && options="$options --length ." ;;
	esac
	random 2; test $number = 0 && options="$options --share contiguous"
	random 3; test $number = 0 && options="$options --part a --split a=2,b=1 --split-seed $round"
	random 3; test $number = 0 && options="$options --verify never"
	# Windows of tensors of many shapes are no arrays.
	form=--sum what=
	random 4; { test $number = 0 || test $module = plain; } && form=--ids what=--ids
	if test $form = --sum; then
		case $module in parts | coded)
			random 4
			case $number in
			0) options="$options --field tokens" ;;
			1) options="$options --field marks --field tokens" ;;
			2) test -z "$window" && options="$options --field picture" ;;
			esac ;;
		esac
	fi
	sums $options
	planned=$("$CACHEX" plan "$module" $options $what --readers $readers --over 1000 --json |
		sed -n 's/.*"stored_bytes":\([0-9]*\).*/\1/p')
	test "$planned" = "$total" -a "$total" -gt 0 && continue
	echo "#   $module of $readers readers, $options $form: planned $planned, read $total"
	wrongs=$((wrongs + 1))
done
is "bytes are those that reading counts" "$wrongs" 0

# A set of many shards: those that were looked at are not kept open. 4 GiB of them are mapped,
# a few at a time, in less address space.
head -c 4194304 /dev/zero >zeros
for i in 1 2 3 4; do cachex put -q zeros $i zeros --dtype u8 --shape 4194304; done
cachex export -q zeros wide --shard-size 4M
cachex shard union -q wides $(for i in $(seq 264); do echo wide; done)
set -- --shuffle full --batch 8 --open-shards 4
if (ulimit -v 700000 && cachex plan ./wide "$@" >small 2>&1); then
	check "a set of many shards" 0 sh -c 'ulimit -v 700000; exec "$@"' sh "$CACHEX" plan ./wides "$@" --json
	is "all of them are looked at" "$(jq -c '[.batches, .examples]' "$out")" "[132,1056]"
else
	skip "a set of many shards" "this build needs more address space"
	skip "all of them are looked at" "this build needs more address space"
fi
rm -r zeros wides wide

# Options
wrong "no such source" 1 "cachex: plan: no module n in $XDG_CACHE_HOME/cachex, and no file or directory of that name" \
	cachex plan n
wrong "no such batch" 1 "cachex: plan: no batch 10; the last is 9" \
	cachex plan m --batch 4 --show 10
wrong "no batch" 2 "cachex: plan: --show: 'x' is neither BATCH nor BATCH-LAST" cachex plan m --show x
wrong "batches the wrong way" 2 "cachex: plan: --show: '3-2' is neither BATCH nor BATCH-LAST" \
	cachex plan m --show 3-2
wrong "no time" 2 "cachex: plan: --seek-ms: 'long' is not a number" cachex plan m --seek-ms long
wrong "no epochs" 2 "cachex: plan: --epochs: '0' is neither a number from 1 nor inf" \
	cachex plan m --epochs 0
wrong "no weight" 2 "cachex: plan: --mix: 'm=0' is not SOURCE[=WEIGHT], a with a weight of 1 or more" \
	cachex plan m --mix m=0
wrong "ids and fields" 2 "cachex: plan: --ids and --field exclude each other" \
	cachex plan m --ids --field .
wrong "both" 2 "cachex: plan: --show and --compare exclude each other" \
	cachex plan m --show 0 --compare
check "what contradicts itself" 2 cachex plan m --idealised 4 --shuffle full
is "is a line" "$(wc -l <"$err" | tr -d ' ')" 1
check "an order without examples" 2 cachex plan m --window 100 --drop-short
is "is a line, too" "$(wc -l <"$err" | tr -d ' ')" 1
check "a variable" 0 env CACHEX_PLAN_BATCH=5 CACHEX_PLAN_JSON=1 "$CACHEX" plan m --json
also "is an option" grep -q '"batches":8,' "$out"
finish
