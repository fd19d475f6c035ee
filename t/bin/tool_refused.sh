#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the system refuses is neither bad data nor nothing: it ends a command with status 4,
# or is counted apart with --keep-going.
. "${srcdir:-.}/t/support/tap.sh"

shim=$builddir/.libs/refusing.so
mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
if ! LD_PRELOAD=$shim "$CACHEX" --version >/dev/null 2>&1; then
	skip "refused" "a library cannot be preloaded here"
	finish
	exit 0
fi
# refusing CALL END ARGUMENT...: of cachex; that call fails about files whose path ends so
refusing() {
	call=$1 end=$2
	shift 2
	LD_PRELOAD=$shim CACHEX_TEST_REFUSE="$call $end" "$CACHEX" "$@"
}
# The counts that import prints.
counts() { sed 's/;.*//' "$out"; }

u8() { printf %s "$3" | cachex put -q "$1" "$2" --dtype u8 --shape "${#3}"; }
u8 m a ay; u8 m b bee
mkdir -p d/e
cachex get m a >d/a.npy
cachex get m b >d/e/b.npy

# import
check "a file that stat refuses is read all the same" 0 refusing stat d/a.npy import -q one d
is "all is stored" "$(cachex ls -1 one | tr '\n' ' ')" "a b "
refuse "a name that may be a directory" 4 "cachex: import: d/e: Input/output error" \
	refusing stat d/e import two d
also "nothing is stored" test ! -e "$XDG_CACHE_HOME/cachex/two"
refuse "a file that cannot be read" 4 "cachex: import: d/a.npy: read: Input/output error" \
	refusing read d/a.npy import three d -j 1
is "it is counted" "$(counts)" "0 stored, 0 skipped, 0 bad, 1 unreadable"
refuse "--keep-going" 4 "cachex: import: d/a.npy: read: Input/output error" \
	refusing read d/a.npy import four d -k -j 1
is "stores the others" "$(counts)" "1 stored, 0 skipped, 0 bad, 1 unreadable"
check "--keep-going --json" 4 refusing read d/a.npy import five d -k --json
is "counts it apart" "$(sed 's/\("unreadable":[0-9]*\).*/\1/' "$out")" '{"stored":1,"skipped":0,"bad":0,"unreadable":1'
refuse "--keep-going past a directory" 4 "cachex: import: d/e: Input/output error" \
	refusing stat d/e import -q six d -k
is "the others" "$(cachex ls -1 six)" a
cachex export -q m x.npz
refuse "an archive that cannot be read" 4 "cachex: import: x.npz: read: Input/output error" \
	refusing read x.npz import seven x.npz

# What cannot be read of a set of shards is no record: --skip-existing does not know it.
cachex export -q m mds --format mds --shard-records 1
u8 there shard.00000.mds x; u8 there "$PWD/tars/a.tar" x; u8 there a ay
refuse "a shard of MDS that cannot be read" 4 \
	"cachex: import: mds/shard.00000.mds: read: Input/output error" \
	refusing read mds/shard.00000.mds import there mds --skip-existing
is "it is counted" "$(counts)" "0 stored, 0 skipped, 0 bad, 1 unreadable"
refuse "--keep-going past a shard" 4 \
	"cachex: import: mds/shard.00000.mds: read: Input/output error" \
	refusing read mds/shard.00000.mds import there mds --skip-existing -k
is "stores the others" "$(counts)" "1 stored, 0 skipped, 0 bad, 1 unreadable"
refuse "an index of MDS that stat refuses" 4 \
	"cachex: import: mds/index.json: stat: Input/output error" \
	refusing stat mds/index.json import nine mds
rm -r mds; cachex export -q m mds --format mds; gzip -9 mds/shard.00000.mds
sed 's/"compression": null/"compression": "gz"/g; s/"zip_data": null/"zip_data": '\
'{"basename": "shard.00000.mds.gz", "bytes": '"$(wc -c <mds/shard.00000.mds.gz | tr -d ' ')"', "hashes": {}}/' \
	mds/index.json >edited && mv edited mds/index.json
check "a compressed shard" 0 cachex import -q ten mds
nowhere() { TMPDIR=$PWD/nowhere "$CACHEX" "$@"; }
refuse "no place to inflate a shard to" 4 \
	"cachex: import: mds/shard.00000.mds.gz: $PWD/nowhere: temporary file: No such file or directory" \
	nowhere import eleven mds
mkdir tars
cachex export -q m tars/a.tar --format webdataset
cp tars/a.tar tars/b.tar
refuse "a tar archive of several that cannot be read" 4 \
	"cachex: import: $PWD/tars/a.tar: read: Input/output error" \
	refusing read tars/a.tar import there "$PWD/tars" --skip-existing
is "it is counted" "$(counts)" "0 stored, 0 skipped, 0 bad, 1 unreadable"
refuse "--keep-going past an archive" 4 \
	"cachex: import: tars/a.tar: read: Input/output error" \
	refusing read tars/a.tar import twelve tars -k
is "stores the others" "$(counts)" "2 stored, 0 skipped, 0 bad, 1 unreadable"

# load
cachex dump m -o m.jsonl
refuse "a dump that cannot be read again" 4 "cachex: load: m.jsonl: seek: Input/output error" \
	refusing seek m.jsonl load eight m.jsonl

# build
"$mkdataset" make set 2
build() { refusing read a/images/f1.png build --size 16x16 -j 1 set wh "$@"; }
refuse "an image that cannot be read" 4 \
	"cachex: build: a/images/f1.png: Input/output error" build
also "no version" test ! -e wh/current
check "--keep-going" 0 build -k --json
if command -v jq >/dev/null; then
	is "leaves its frame out, as unreadable" "$(jq -c '[.samples,.rejected.unreadable,.rejected.undecodable // 0]' "$out")" \
		"[$(( $(jq .frames "$out") - $(jq '.rejected | add' "$out") )),1,0]"
else
	skip "leaves its frame out, as unreadable" "jq is not installed"
fi
also "says why" grep -q '"name":"f1".*"reason":"unreadable","detail":"a/images/f1.png: Input/output error"' \
	wh/current/rejected.jsonl
check "the next build" 0 cachex build -q --size 16x16 -j 1 set wh
also "takes it in" sh -c '! grep -q unreadable wh/current/rejected.jsonl'
refuse "a label that cannot be read" 4 "cachex: build: a/labels/f1.json: Input/output error" \
	refusing read a/labels/f1.json build -q --clear --size 16x16 -j 1 set wh
refuse "nor for buckets of the data's shapes" 4 \
	"cachex: build: a/images/f1.png: read: Input/output error" build --buckets 2 --clear
mv set/a set/.a && ln -s .a set/a
refuse "a link to a directory that stat refuses" 4 \
	"cachex: build: set/a: Input/output error" \
	refusing stat a build -q --clear --size 16x16 -j 1 set wh
rm set/a && mv set/.a set/a

# buckets
refuse "buckets" 4 "cachex: buckets: set/a/images/f1.png: read: Input/output error" \
	refusing read f1.png buckets set/a/images/f1.png set/a/images/f0.png
check "buckets --keep-going" 4 refusing read f1.png buckets -k set/a/images/f1.png \
	set/a/images/f0.png --json
is "counts the others" "$(sed 's/,"outside.*//' "$out")" '{"images":1,"bad":0,"unreadable":1'

# fill: a producer's pipe that the system refuses is not the producer's failure
printf 'a\nb\n' >ids
export BAD_PRODUCER="$builddir/t/support/bad_producer"
producer='unset CACHEX_TEST_REFUSE; exec "$BAD_PRODUCER" good'
for call in read write; do
	refuse "a pipe that fails to $call" 4 \
		"cachex: fill: producer '$producer': pipe: Input/output error" \
		refusing $call pipe fill -q filled --exec "$producer" --ids ids -j 1
done
check "the same without a fault" 0 cachex fill -q filled --exec "$producer" --ids ids -j 1
is "stores all" "$(cachex ls -1 filled | tr '\n' ' ')" "a b "

# modules
refusing stat m/data.mdb ls -1 >listed
is "a module that stat refuses is one" "$(grep -cx m listed)" 1

# warehouse
version=$(readlink wh/current)
refuse "a manifest that stat refuses" 4 \
	"cachex: warehouse: wh/$version/manifest.json: Input/output error" \
	refusing stat manifest.json warehouse inspect "wh/$version"
refuse "a version that stat refuses" 4 "cachex: warehouse: $version: Input/output error" \
	refusing stat "$version" warehouse list wh
cachex build -q --size 8x8 -j 1 set wh
versions=$(ls -d wh/v*-*)
refuse "prune that cannot tell which version is current" 4 \
	"cachex: warehouse: wh/current: Input/output error" \
	refusing readlink wh/current warehouse prune -f wh --keep 1
is "removes none" "$(ls -d wh/v*-*)" "$versions"
finish
