#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Of several files one that is gone, or that is a symbolic link to nothing, is neither the
# end of them nor nothing: it is reported, and the status says so.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
producer="'$builddir/t/support/bad_producer' good"
export SOURCE_DATE_EPOCH=1700000000
u8() { printf %s "$3" | cachex put -q "$1" "$2" --dtype u8 --shape "${#3}"; }
# The counts that import prints.
counts() { sed 's/;.*//' "$out"; }
ids() { cachex ls -1 "$1" | tr '\n' ' '; }
away() { mv "$1" "$1.away"; ln -s nowhere "$1"; }
back() { rm "$1"; mv "$1.away" "$1"; }

for id in a b c d e f; do u8 m $id "x$id"; done

# ---- WebDataset

cachex export -q m wds --format webdataset --shard-records 2
for lost in 0 1 2; do
	away wds/shard-00000$lost.tar
	refuse "archive $lost is a link to nothing" 3 \
		"cachex: import: wds/shard-00000$lost.tar: open: No such file or directory" \
		cachex import wds$lost wds
	is "the others are stored" "$(counts)" "4 stored, 0 skipped, 1 bad"
	back wds/shard-00000$lost.tar
done
is "those of all the others" "$(ids wds0), $(ids wds1), $(ids wds2)" "c d e f , a b e f , a b c d "
ln -s nowhere wds/bucket_9
refuse "a group of archives that is a link to nothing" 3 \
	"cachex: import: wds/bucket_9: open: No such file or directory" cachex import group wds
is "all others are stored" "$(counts)" "6 stored, 0 skipped, 1 bad"
rm wds/bucket_9
mkdir none
ln -s nowhere none/x.tar
refuse "nothing but a link to nothing" 3 \
	"cachex: import: none/x.tar: open: No such file or directory" cachex import none none

# ---- MDS, LMDB

cachex export -q m mds --format mds
away mds/index.json
refuse "an index that is a link to nothing" 4 \
	"cachex: import: mds/index.json: a symbolic link to nothing: No such file or directory" \
	cachex import mds mds
back mds/index.json
away mds/shard.00000.mds
refuse "a shard that is one" 3 \
	"cachex: import: mds/shard.00000.mds: open: No such file or directory" cachex import mds mds
mkdir env
ln -s data.mdb env/data.mdb
refuse "a link to itself" 4 \
	"cachex: import: env/data.mdb: a symbolic link to nothing: Too many levels of symbolic links" \
	cachex import env env

# ---- files one by one

mkdir files
cachex get m a >files/a.npy
cachex get m b >files/c.npy
ln -s nowhere files/b.npy
refuse "a file in a directory" 3 "cachex: import: files/b.npy: open: No such file or directory" \
	cachex import files files
is "the others are stored" "$(ids files)" "a c "
printf '%s\n' files/a.npy files/b.npy files/c.npy >list
refuse "a file in a list" 4 "cachex: import: files/b.npy: No such file or directory" \
	cachex import listed @list
refuse "a list that is a link to nothing" 4 "cachex: import: gone: open: No such file or directory" \
	sh -c 'ln -s nowhere gone && exec "$0" import listed @gone' "$CACHEX"
cachex export -q m x.npz
cachex export -q m y.safetensors
ln -s nowhere z.npz
refuse "archives that are named" 4 "cachex: import: z.npz: No such file or directory" \
	cachex import named x.npz z.npz y.safetensors

# ---- shards

cachex export -q m shards --shard-size 4K
away shards/shard-000000.twh1
refuse "a stream" 3 \
	"cachex: read: ./shards/shard-000000.twh1: open: No such file or directory" cachex read ./shards
check "verify" 3 cachex shard verify shards
back shards/shard-000000.twh1
ln -s nowhere shards/bucket_9
refuse "a sheet" 4 \
	"cachex: view: shards/bucket_9: a symbolic link to nothing: No such file or directory" \
	sh -c 'rm shards/manifest.json; exec "$0" view shards -o x.png' "$CACHEX"

# ---- labels

"$mkdataset" make set 4
build() { cachex build -q --size 16x16 -j 1 --layout "$1" "$2" wh-"$3"; }
check "a dataset" 0 build capture set all
ln -s nowhere set/z
refuse "a run that is a link to nothing" 4 \
	"cachex: build: set/z: a symbolic link to nothing: No such file or directory" build capture set run
rm set/z
away set/a/labels
refuse "its labels" 4 \
	"cachex: build: set/a/labels: a symbolic link to nothing: No such file or directory" build capture set labels
refuse "those of images" 4 \
	"cachex: build: set/a/labels: a symbolic link to nothing: No such file or directory" build yolo set labels
refuse "where all images are taken" 4 \
	"cachex: build: set/a/labels: a symbolic link to nothing: No such file or directory" build unlabelled set labels
back set/a/labels
rm -r set/a/labels.away 2>/dev/null
mkdir -p yolo/images/train yolo/labels
cp set/a/images/f0.png yolo/images/train/
echo '0 0.5 0.5 0.5 0.5' >yolo/f0.txt
ln -s nowhere yolo/labels/train
refuse "labels beside the images" 4 \
	"cachex: build: yolo/labels/train: a symbolic link to nothing: No such file or directory" build yolo yolo yolo
rm yolo/labels/train
mkdir yolo/labels/train
mv yolo/f0.txt yolo/labels/train/
ln -s nowhere yolo/classes.txt
refuse "names of classes" 4 \
	"cachex: build: yolo/classes.txt: a symbolic link to nothing: No such file or directory" build yolo yolo yolo
rm yolo/classes.txt
check "without" 0 build yolo yolo yolo
ln -s nowhere set/a/labels/f9.json
check "a label that is one" 0 build capture set label
also "is a frame that is rejected" grep -q '"name":"f9"' wh-label/current/rejected.jsonl
refuse "sizes of images" 4 \
	"cachex: buckets: yolo/z: a symbolic link to nothing: No such file or directory" \
	sh -c 'ln -s nowhere yolo/z; exec "$0" buckets yolo' "$CACHEX"

# ---- inputs of a fill: one goes when the first batch is asked for

seq 1 300 >one.txt
seq 1 300 >two.txt
refuse "an input that goes while others are read" 3 \
	"cachex: fill: two.txt stops: two.txt: open: No such file or directory" \
	cachex fill -q t --exec "rm -f two.txt; exec $producer" --from one.txt two.txt -j 1 -b 1
finish
