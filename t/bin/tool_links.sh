#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Files that are written: what a link leads to, or another name of a file holds, stays.
. "${srcdir:-.}/t/support/tap.sh"

printf 0123456789abcdef >f1
cachex put m k1 f1 --dtype u8 --shape 16
cachex put m k2 f1 --dtype u8 --shape 16
cachex put v k1 --field a=f1 --field b=f1 --dtype u8 --shape 16 2>/dev/null
cachex export m shards >/dev/null
cachex get m k1 -o right.npy

# writes NAME FILE COMMAND...: with a link and then with another name in the place of FILE.
writes() {
	label=$1 file=$2; shift 2
	for kind in -s -f; do
		echo precious >victim
		mkdir -p "$(dirname "$file")"
		rm -f "$file"; ln $kind "$PWD/victim" "$file"
		check "$label, ln $kind" 0 "$@"
		is "$label, ln $kind: the other file stays" "$(cat victim)" precious
		also "$label, ln $kind: a new file" sh -c 'test -f "$1" && test ! -L "$1" && ! cmp -s "$1" victim' sh "$file"
	done
}
writes "get -o" got.npy cachex get m k1 -o got.npy -f
also "is the record" cmp got.npy right.npy
writes "dump -o" dump.jsonl cachex dump m -o dump.jsonl -f
writes "view -o" picture.png cachex view m k1 -f -o picture.png
writes "shard extract -f" samples/k1.npy cachex shard extract -f shards/shard-000000.twh1 -o samples
writes "read --npy -f" batches/batch-00000000.npy cachex read m --batch 2 --npy batches -f
writes "read --token-file" seen.token cachex read m --batch 1 --token-file seen.token --restart
writes "export -f, shards" out/shard-000000.twh1 cachex export m out -f
cp -r shards again; rm again/manifest.json; ln -s "$PWD/shards/manifest.json" again/manifest.json
cp shards/manifest.json manifest.before
cachex put m k3 f1 --dtype u8 --shape 16
check "export onto a link to a manifest" 0 cachex export m again -f
also "leaves what it leads to" cmp shards/manifest.json manifest.before
rm -rf again; mkdir again; echo precious >victim; ln -s "$PWD/victim" again/shard-000000.twh1.tmp.Xy3aB9
check "export with a link in the place of an unfinished shard" 0 cachex export m again -f
is "leaves what it leads to" "$(cat victim)" precious
cachex rm -f m k3
writes "export -f, npy" tree/k1.npy cachex export m tree --format npy -f
writes "export -f, npz" all.npz cachex export m all.npz -f
writes "export -f, safetensors" all.safetensors cachex export m all.safetensors -f
writes "export -f, webdataset" wds/shard-000000.tar cachex export m wds --format webdataset -f

# Directories of the output that are links: nothing is written or removed where they lead.
for i in 1 2 3 4 5 6 7 8; do cat f1; done >picture
cachex put b d/one f1 --dtype u8 --shape 16
cachex put images i1 picture --dtype u8 --shape 2,8,8
mkdir elsewhere
for how in "" --dry-run; do
	rm -rf tree; mkdir tree; ln -s ../elsewhere tree/d
	refuse "export -f $how into a linked directory, npy" 4 \
		"cachex: export: 'd/one': tree/d: exists, and is a symbolic link, through which nothing is written" \
		cachex export b tree --format npy -f $how
	for format in webdataset mds; do
		rm -rf tree; cachex export images tree --format $format --by-bucket --bucket-scale 16 >/dev/null
		bucket=$(ls tree); rm -r "tree/$bucket"; ln -s ../elsewhere "tree/$bucket"
		refuse "export -f $how into a linked directory, $format" 4 \
			"cachex: export: tree/$bucket: exists, and is a symbolic link, through which nothing is written" \
			cachex export images tree --format $format --by-bucket --bucket-scale 16 -f $how
	done
done
is "nothing is where they lead" "$(ls elsewhere)" ""
rm -rf tree; mkdir tree; ln -s ../elsewhere tree/bucket_8x8; echo precious >elsewhere/shard-000009.tar
check "export -f beside a linked bucket" 0 cachex export m tree --format webdataset -f
is "removes nothing where it leads" "$(cat elsewhere/shard-000009.tar)" precious
rm -rf real; mkdir real; ln -s real tree2
check "export into a directory that is named by a link" 0 cachex export b tree2 --format npy
also "writes there" test -f real/d/one.npy
finish
