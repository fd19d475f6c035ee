#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build --pack: the shards of a version written by many processes, which one machine would
# have made.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
"$mkdataset" make set 30
if ! command -v jq >/dev/null; then
	skip "build --pack" "jq is not installed"
	finish
	exit 0
fi

value() { jq -r "$1" "$out"; }
build() { cachex build set "$@" --size 48x32 --shard-size 16K; }
roots="--samples w0 --samples w1 --samples w2"
pack() { # WAREHOUSE I/N
	build "$1" --pack --shard "$2" $roots -q
}
files() { ls "$1/packed" 2>/dev/null | wc -l | tr -d ' '; }
# The version of these samples, made of shards that are packed: all but $2 of them.
same() { # WAREHOUSE LACKING NAME
	check "$3: the version" 0 build "$1" $roots --json
	is "$3: packs $2 more" "$(value '.shards - .shards_reused')" "$2"
	also "$3: it is that of one machine" diff -r single/current "$1/current"
	is "$3: has the same name" "$(readlink "$1/current")" "$(readlink single/current)"
	is "$3: leaves nothing else" "$(ls -A "$1")" ".lock
current
samples
$(readlink "$1/current")"
}

for i in 0 1 2; do build w$i --shard $i/3 -q; done
check "one machine" 0 build single --json
shards=$(value .shards)
also "makes enough shards" test "$shards" -gt 20

# What a packer says
check "a part" 0 build p2 --pack --shard 1/2 $roots
is "is told" "$(sed -n '1p; s/ *(.*//; /^  \(frames\|shards\)/p' "$out" | tr -s ' ')" \
"the shards of task 1/2 are packed; build without --pack and --shard to write the version
 frames 60
 shards $((shards / 2)) $(awk '/^  shards/ { print $3, $4 }' "$out")"
is "is not published" "$(ls -A p2)" packed
is "has a file a shard" "$(files p2)" $((shards / 2))
is "which its name describes" "$(cd p2/packed && sha256sum * | sed 's/^\([0-9a-f]*\) *[0-9a-f]*-\1\.twh1$/good/' | sort -u)" good
touch -d '2024-01-01' p2/packed/*
check "the part again" 0 build p2 --pack --shard 1/2 $roots --json
is "is there" "$(value '[.task,.tasks,.shards,.shards_reused,.bytes_read,.up_to_date]|tojson')" \
	"[1,2,$((shards / 2)),$((shards / 2)),0,false]"
is "and is not written again" "$(find p2/packed -newermt '2024-01-02' -name '*.twh1' | wc -l | tr -d ' ')" 0
check "the other part, from the environment" 0 env SLURM_ARRAY_TASK_ID=3 SLURM_ARRAY_TASK_MIN=3 \
	SLURM_ARRAY_TASK_MAX=4 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=2 \
	"$CACHEX" build set p2 --size 48x32 --shard-size 16K --pack --shard auto $roots
is "is the first" "$(cat "$err")" "cachex: build: task 0/2, from SLURM_ARRAY_TASK_ID"
is "all are there" "$(files p2)" "$shards"
same p2 0 "2 packers"
check "a packer that comes late" 0 build p2 --pack --shard 0/2 $roots
is "finds the version" "$(sed 's/-[0-9a-f]*:/:/' "$out")" \
	"p2/v20231114: up to date, 48 samples in $shards shards"
is "and packs nothing" "$(ls p2 | grep -c packed)" 0

# Other numbers of packers
check "1 packer" 0 build p1 --pack $roots
is "says so" "$(head -n 1 "$out")" "all shards are packed; build without --pack to write the version"
same p1 0 "1 packer"
for i in 2 0 1; do pack p3 $i/3; done
same p3 0 "3 packers"
for i in 0 1 2 3 4 5 6; do pack p7 $i/7 & done; wait
same p7 0 "7 packers at once"

# One is killed, another one runs twice at the same time, and the number changes
"$CACHEX" build set k --size 48x32 --shard-size 16K -j 1 --pack --shard 0/3 $roots -q & killed=$!
tries=0
until [ "$(files k)" -gt 0 ] || [ $((tries += 1)) -gt 6000 ]; do sleep 0.01; done
kill -KILL $killed 2>/dev/null
wait $killed 2>/dev/null
rm -f "k/packed/$(ls k/packed | grep 'twh1$' | head -n 1)"
for i in 1 1 1; do pack k $i/3 & done; wait
for i in 3 4 0 1 2; do pack k $i/5; done
is "a killed and a repeated packer, of 3 and then of 5" "$(ls k/packed | grep -c 'twh1$')" "$shards"
same k 0 "killed, repeated, another number"
# Of the shards of a killed one some are there, and of one a beginning.
pack left 0/2
first=$(ls left/packed | head -n 1)
head -c 5000 "left/packed/$first" >"left/packed/${first%%-*}.twh1.tmp.a1B2c3"
rm "left/packed/$first"
same left $((shards / 2 + 1)) "a packer that never came"

# More warehouses than one may be read, in any order, also the one that is written to
check "one warehouse packs its own samples" 0 cachex build set own --size 48x32 --shard-size 16K --shard 0/1
rm -rf own/current own/v*
check "with itself as source" 0 build own --pack --shard 0/2 --samples own
check "by two" 0 build own --pack --shard 1/2 --samples own
check "the version" 0 build own --json
is "has them all" "$(value '.shards - .shards_reused')" 0
also "is the same" diff -r single/current own/current
build order --pack --samples w2 --samples w0 --samples w1 -q
same order 0 "another order of the warehouses"

# Sizes in series, and shards without metadata
buckets() { cachex build set "$@" --buckets 48x32,32x48 --shard-size 16K; }
for i in 0 1; do buckets b$i --shard $i/2 -q; done
buckets bsingle -q
for i in 0 1 2; do buckets bp --pack --shard $i/3 --samples b0 --samples b1 -q; done
check "series" 0 buckets bp --samples b0 --samples b1 --json
is "are packed" "$(value '.shards - .shards_reused')" 0
also "are the same" diff -r bsingle/current bp/current
for options in "--shard-version 1" --no-metadata "--dtype u8"; do
	build other $options -q
	build packed-other $options --pack --shard 0/2 $roots -q
	build packed-other $options --pack --shard 1/2 $roots -q
	check "$options" 0 build packed-other $options $roots --json
	is "$options: is packed" "$(value '.shards - .shards_reused')" 0
	also "$options: is the same" diff -r other/current packed-other/current
done

# A next version: what current has is not packed again
build packed-other $roots -q
check "a next version" 0 build packed-other --pack $roots --max-boxes 3 --json
is "of other samples" "$(value '.shards_reused')" 0
build packed-other $roots --max-boxes 3 -q
image=$(find set -name '*.png' | sort | sed -n 8p)
cp "$(find set -name '*.png' | sort | sed -n 3p)" "$image"
touch -d '2024-01-01' "$image"
wrong "samples that are not what they were" 1 \
"cachex: build: a/f15: no warehouse of --samples has its current state; run the build of its task first" \
	build packed-other --pack --max-boxes 3 $roots
for i in 0 1 2; do build w$i --shard $i/3 -q; done
label=$(find set -name '*.json' | sort | sed -n 9p)
cp "$label" label
sed 's/0\.25/0.75/' label >"$label"
also "a label" sh -c '! cmp -s label "$1"' sh "$label"
check "that changed" 1 build packed-other --pack --max-boxes 3 $roots
is "is named, too" "$(cat "$err")" \
	"cachex: build: a/f16: no warehouse of --samples has its current state; run the build of its task first"
rm "$label"
check "one that is gone" 1 build packed-other --pack --max-boxes 3 $roots
cp label "$label"
also "nothing was packed" test ! -e packed-other/packed
check "the shards of a changed frame" 0 build packed-other --pack --max-boxes 3 $roots --json
also "are all that is packed" test "$(value '.shards - .shards_reused')" = "$(files packed-other)"
also "which are few" test "$(files packed-other)" -le 3
rm -rf packed-other

# Samples that change between two packers: what is not of the version is not taken
rm -rf single changed
cp "$(find set -name '*.png' | sort | sed -n 12p)" "$image"
touch -d '2024-02-01' "$image"
pack changed 0/2 2>"$err"
is "a changed sample, one machine" "$(cat "$err")" \
	"cachex: build: a/f15: no warehouse of --samples has its current state; run the build of its task first"
for i in 0 1 2; do build w$i --shard $i/3 -q; done
pack changed 0/2
cp "$(find set -name '*.png' | sort | sed -n 20p)" "$image"
touch -d '2024-03-01' "$image"
for i in 0 1 2; do build w$i --shard $i/3 -q; done
pack changed 1/2
build single -q
check "the version of the last" 0 build changed $roots --json
also "packs the one or two shards that changed" test "$(value '.shards - .shards_reused')" -le 2
also "and is that of one machine" diff -r single/current changed/current
is "the others are gone" "$(ls changed | grep -c packed)" 0

# A damaged shard is packed again
for mark in truncated other; do
	rm -rf damaged
	pack damaged 0/1
	victim=damaged/packed/$(ls damaged/packed | sed -n 4p)
	case $mark in
	truncated) truncate -s 5000 "$victim" ;;
	other) cp "damaged/packed/$(ls damaged/packed | sed -n 5p)" "$victim" ;;
	esac
	cp -r damaged repacked
	same damaged 1 "a shard that is $mark"
	check "$mark: packers" 0 build repacked --pack $roots --json
	is "$mark: write it again" "$(value '.shards - .shards_reused')" 1
	is "$mark: as it was" "$(cd repacked/packed && sha256sum * | sed 's/^\([0-9a-f]*\) *[0-9a-f]*-\1\.twh1$/good/' | sort -u)" good
	rm -rf repacked
done
# One whose header is good: all bytes are read when asked
pack flipped 0/1
victim=flipped/packed/$(ls flipped/packed | sed -n 4p)
printf '\377\377\377' | dd of="$victim" bs=1 seek=1000 conv=notrunc 2>/dev/null
check "changed bytes, with --rehash" 0 build flipped $roots --rehash --json
is "are found" "$(value '.shards - .shards_reused')" 1
also "and packed again" diff -r single/current flipped/current

# Bad input
pack twins 0/1
file=$(ls twins/packed | sed -n 2p)
twin=$(echo "$file" | sed 's/[0-9a-f]\.twh1$/x.twh1/; s/x\.twh1$/'"$(echo "$file" | sed 's/.*\(.\)\.twh1$/\1/' | tr 0-9a-f 1-9a-f0)"'.twh1/')
cp "twins/packed/$file" "twins/packed/$twin"
set -- $(printf '%s\n' "$file" "$twin" | sort)
for how in --pack ""; do
	refuse "two of the same samples $how" 3 \
"cachex: build: twins/packed: $1 and $2 are of the same samples and differ: remove both" \
		build twins $how $roots
done
also "nothing is published" test ! -e twins/current
echo mine >twins/packed/notes
rm "twins/packed/$1" "twins/packed/$2"
check "without them" 0 build twins $roots --json
is "one is packed" "$(value '.shards - .shards_reused')" 1
is "a file of somebody else stays" "$(ls twins/packed)" notes
wrong "a part whose samples are not there" 1 \
"cachex: build: a/f1: no warehouse of --samples has its current state; run the build of its task first" \
	build none --pack --shard 0/2 --samples w0 --samples w2
wrong "other options" 3 "cachex: build: w0: its samples have other options, or are of another dataset" \
	cachex build set none --size 40x40 --pack $roots
wrong "no warehouse" 4 "cachex: build: nothing: has no samples" build none --pack --samples nothing
also "nothing is packed" test ! -e none
wrong "no task" 2 "cachex: build: --shard: '2/2': tasks of 2 are numbered 0 to 1" build none --pack --shard 2/2 $roots
wrong "no samples" 2 "cachex: build: --pack: give the warehouses of the samples to pack with --samples" \
	build none --pack --shard 0/2
wrong "--clear" 2 "cachex: build: --pack excludes --clear; clear first, without it" build none --pack --clear $roots
wrong "a limit" 1 "cachex: build: set: empty 12 of 60 frames, limit 3" build none --pack --max-empty 3 -q $roots
check "a dry run" 0 build none --pack -n $roots
also "nothing is made" test ! -e none
mkdir file && echo x >file/packed
check "a file in the place of the directory" 4 build file --pack $roots
pack cleared 0/1
check "--clear" 0 build cleared --clear $roots --json
is "forgets what was packed" "$(value .shards_reused) $(ls cleared | grep -c packed)" "0 0"

# The version is a set of shards like any other
cachex push -q ./k/current store
check "it is published in a store" 0 cachex publish -q store
check "and pulled" 0 cachex pull -q store pulled
is "its samples are the same" "$(cachex read ./pulled --sum)" \
	"$(cachex read ./k/current --sources ignore --sum)"
finish
