#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Each file of each format that is made of several files is taken away, or cannot be opened
# any more, at each moment at which a command looks at it or opens it: the command does all of
# its work, or ends with a status that is documented and a message that names the file.
. "${srcdir:-.}/t/support/tap.sh"

shim=$builddir/.libs/losing.so
mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
if ! LD_PRELOAD=$shim "$CACHEX" --version >/dev/null 2>&1; then
	skip "files that are lost" "a library cannot be preloaded here"
	finish
	exit 0
fi
lost=$scratch/.lost
cases=0

# lose HOW N FILE COMMAND...: runs it without the file; see t/support/losing.c
lose() {
	moment="$1 $2 $scratch/work/$3"; shift 3
	rm -rf "$lost"
	LD_PRELOAD=$shim CACHEX_TEST_LOSE=$moment CACHEX_TEST_LOST=$lost "$@" >"$out" 2>"$err" </dev/null
}

# Is the end of a command right? HOW N FILE STATUS. $but has those that are right as they are,
# one a line, N being any number where it is *.
is_right() {
	base=$(basename "$3" | sed 's/\.\(png\|json\|txt\|xml\)$//')
	# What LMDB opens is a directory.
	case $base in *.mdb) base=$(basename "$(dirname "work/$3")") ;; esac
	for n in "$2" '*'; do
		printf '%s\n' "$but" | grep -qxF "$1 $n $3 $4" && return 0
	done
	case $4 in
	0) cmp -s "$scratch/.whole" "$out" || { $listed && grep -qF "$base" "$out"; } ;;
	4) grep -qF "$base" "$out" "$err" ;;
	1 | 3) [ "$1" != deny ] && grep -qF "$base" "$out" "$err" ;;
	*) false ;;
	esac
}

# each NAME DIR COMMAND...: what the command prints is its work. It reads the directory work,
# a copy of DIR.
but='' listed=false
each() {
	name=$1 dir=$2; shift 2
	(cd "$dir" && find . ! -type d | sed 's/^..//' | sort) >"$scratch/.files"
	rm -rf work && cp -a "$dir" work
	check "$name" 0 "$@"
	mv "$out" "$scratch/.whole"
	for how in look open deny; do
		failed=0
		while read -r file; do
			for times in 1 2 3 4 5 6 7 8 9; do
				rm -rf work && cp -a "$dir" work
				lose $how $times "$file" "$@"
				got=$?
				# Never so often.
				[ -e "$lost" ] || [ -L "$lost" ] || break
				cases=$((cases + 1))
				is_right $how $times "$file" $got && continue
				failed=1
				echo "#   $how $times $file $got"; show "$err"
			done
		done <"$scratch/.files"
		result $failed "$name: $how"
	done
	but='' listed=false
}

u8() { printf %s "$2" | cachex --root "$root" put -q m "$1" --dtype u8 --shape "${#2}"; }
root=$scratch/root
for id in a b; do u8 $id "x$id"; done
export XDG_CACHE_HOME="$scratch/other"
cachex_root() { cachex --root "$root" "$@"; }

# ---- imports

cat >import <<E
rm -rf "$scratch/made"
"$CACHEX" --root "$scratch/made" import -q n "\$@" && "$CACHEX" --root "$scratch/made" dump n
E
cachex_root export -q m wds --format webdataset --shard-records 1
# What format the directory has is found out first: then it is as if it had never been there.
but='look 1 shard-000000.tar 0
look 1 shard-000001.tar 0'
each "import of WebDataset" wds sh import work
each "import of WebDataset that is named" wds sh import work --format webdataset
cachex_root export -q m mds --format mds --shard-records 1
each "import of MDS" mds sh import work
mkdir -p files/s
cachex_root get m a >files/a.npy
cachex_root get m b >files/s/b.npy
each "import of files" files sh import work
printf '%s\n' work/a.npy work/s/b.npy >list
each "import of a list of files" files sh import @list
mkdir named
cachex_root export -q m named/x.npz
u8 c xc; cachex_root rm -qf m a b
cachex_root export -q m named/y.safetensors
u8 a xa; u8 b xb; cachex_root rm -qf m c
each "import of archives" named sh import work/x.npz work/y.safetensors
cachex_root export -q m env --format lmdb
: >env/lock.mdb
each "import of LMDB" env sh import work

# ---- shards

cachex_root export -q m shards --shard-size 4K
each "shard verify" shards cachex shard verify work
each "read of shards" shards cachex read work
# Without a manifest the shards that are there are drawn.
but='look 1 manifest.json 0'
each "view of shards" shards sh -c 'rm -f x.png; "$0" view work -o x.png && cat x.png' "$CACHEX"
each "inspect of shards" shards cachex warehouse inspect work
each "verify of shards" shards cachex warehouse verify work

# ---- datasets: a frame that cannot be a sample is listed as one that is rejected

cat >build <<E
rm -rf wh
"$CACHEX" build -q --size 16x16 -j 1 "\$@" work wh && cat wh/current/rejected.jsonl &&
	"$CACHEX" dump --root wh samples && "$CACHEX" warehouse inspect wh | grep -v fingerprint
E
"$mkdataset" make set 1
listed=true
each "build of a capture" set sh build --layout capture
listed=true
each "build without labels" set sh build --layout unlabelled
mkdir -p yolo/images yolo/labels
cp set/a/images/f0.png yolo/images/
cp set/a/images/f0.png yolo/images/f1.png
echo '0 0.5 0.5 0.5 0.5' >yolo/labels/f0.txt
cp yolo/labels/f0.txt yolo/labels/f1.txt
echo cat >yolo/classes.txt
# Names of classes are read if there are any.
but='look 1 classes.txt 0
open 1 classes.txt 0'
listed=true
each "build of YOLO" yolo sh build --layout yolo
mkdir -p coco/images
cp yolo/images/*.png coco/images/
cat >coco/x.json <<'E'
{"images":[{"id":1,"file_name":"images/f0.png","width":40,"height":30},
{"id":2,"file_name":"images/f1.png","width":40,"height":30}],
"annotations":[{"id":1,"image_id":1,"category_id":1,"bbox":[1,1,9,9]},
{"id":2,"image_id":2,"category_id":1,"bbox":[1,1,9,9]}],"categories":[{"id":1,"name":"cat"}]}
E
listed=true
each "build of COCO" coco sh build --layout coco
mkdir -p voc/JPEGImages voc/Annotations
cp yolo/images/*.png voc/JPEGImages/
for i in 0 1; do cat >voc/Annotations/f$i.xml <<E
<annotation><filename>f$i.png</filename><size><width>40</width><height>30</height><depth>3</depth></size>
<object><name>cat</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>9</xmax><ymax>9</ymax></bndbox></object>
</annotation>
E
done
listed=true
each "build of VOC" voc sh build --layout voc

# ---- warehouses

cachex build -q --size 16x16 -j 1 set warehouse
version=$(cd warehouse && echo v2*)
for words in "inspect work" "verify work --sources ignore" "list work" "compare work warehouse"; do
	case $words in
	inspect*) but="look 1 $version/sources.txt 0
open 1 $version/sources.txt 0" ;; # whether the sources are the same is said not to be known
	list*) but="look 1 current 0
look 1 $version/manifest.json 0" ;; # it is in the list, without one
	esac
	each "warehouse $words" warehouse cachex warehouse $words
done
rm -rf work && cp -a warehouse work
rm work/$version/rejected.jsonl
check "a list that is missing is damage" 3 cachex warehouse verify -q work
is "and is named" "$(cat "$out")" \
	"work/$version/rejected.jsonl: open: No such file or directory
work/$version: 1 finding"
each "warehouse report" warehouse sh -c 'rm -f x.html; "$0" warehouse report work -o x.html && cat x.html' "$CACHEX"
but='look 1 current 3'
each "read of a warehouse" warehouse cachex read work
but='look 1 current 3'
each "view of a warehouse" warehouse sh -c 'rm -f x.png; "$0" view work -o x.png && cat x.png' "$CACHEX"
each "sources compared" set cachex warehouse verify warehouse --sources stat --dataset work
each "sources compared by content" set cachex warehouse verify warehouse --sources content --dataset work

# ---- modules: one whose data.mdb is gone is none, which is status 1; lock.mdb is made anew

for words in "get m a" "verify m" "recover m" "export m - --format npz" "read m"; do
	but='look * m/data.mdb 1
open * m/data.mdb 1'
	each "$words" root cachex --root work $words
done
# A put makes a module where none is.
for words in "rm -f m a" "compact m" "put -q m c x.npy" "copy m n" "rename m n"; do
	but='look * m/data.mdb 1
look 1 m/data.mdb 0
open * m/data.mdb 1'
	cp files/a.npy x.npy
	each "$words" root sh -c '"$0" --root work "$@" && "$0" --root work verify' "$CACHEX" $words
done

# ---- inputs of a fill

mkdir inputs
seq 1 30 >inputs/one.txt
seq 31 50 >inputs/two.txt
cat >fill <<E
rm -rf "$scratch/made"
"$CACHEX" --root "$scratch/made" fill -q t --exec "'$builddir/t/support/bad_producer' good" \\
	--from work/one.txt work/two.txt -j 1 -b 10 && "$CACHEX" --root "$scratch/made" ls -1 t
E
# One that stops while the others go on is status 3, whatever stopped it.
but='deny * one.txt 3
deny * two.txt 3'
each "inputs of a fill" inputs sh fill
echo "# lost: $cases"
finish
