#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# FIFOs and devices in the place of files: nothing waits for one or reads without end.
# Modules that this user may not lock.
. "${srcdir:-.}/t/support/tap.sh"

printf 0123456789abcdef >f1
cachex put m k1 f1 --dtype u8 --shape 16
cachex put other k1 f1 --dtype u8 --shape 16
cachex export m shards >/dev/null
config=$XDG_CONFIG_HOME/cachex/config
mkdir -p "$XDG_CONFIG_HOME/cachex"

# Whatever hangs is stopped, with status 124.
soon() { timeout -k 5 20 "$CACHEX" "$@"; }

mkfifo "$config"
wrong "a FIFO as configuration" 2 "cachex: ls: $config: not a regular file" soon ls
rm "$config"; ln -s /dev/zero "$config"
wrong "/dev/zero as configuration" 2 "cachex: ls: $config: not a regular file" soon ls
rm "$config"; head -c 1048577 /dev/zero | tr '\0' '#' >"$config"
wrong "a large configuration" 2 "cachex: ls: $config: larger than 1 MiB" soon ls
head -c 1048576 /dev/zero | tr '\0' '#' >"$config"
check "one of 1 MiB" 0 soon ls
rm "$config"

mkfifo seen.token
wrong "a FIFO as token file" 3 "cachex: read: seen.token: is not a token, or is damaged; --restart starts again" \
	soon read m --token-file seen.token
rm -rf again; cp -r shards again; rm again/manifest.json; mkfifo again/manifest.json
check "a FIFO as manifest" 3 soon shard verify again
mkdir set; mkfifo set/value.json
check "a FIFO as value.json" 3 soon put v k set

# Data sets: what should be a file and is none is bad, and named.
special() { rm -f "$1"; case $kind in fifo) mkfifo "$1";; device) ln -s /dev/zero "$1";; esac; }
cachex get m k1 -o k1.npy
export CACHEX_ROOT=$PWD/root
cachex put two k1 f1 --dtype u8 --shape 16
cachex put two k2 f1 --dtype u8 --shape 16
for kind in fifo device; do
	rm -rf d; mkdir d; cp k1.npy d; special d/a.png; special d/b.npy
	wrong_files="cachex: import: d/a.png: not a regular file
cachex: import: d/b.npy: not a regular file"
	refuse "$kind among files" 3 "$wrong_files" soon import "files-$kind" d
	is "the others are stored" "$(sed 's/;.*//' "$out")" "1 stored, 0 skipped, 2 bad"
	rm -rf d; cachex export -q two d --format mds --shard-records 1
	special d/shard.00000.mds
	refuse "$kind as a shard of MDS" 3 "cachex: import: d/shard.00000.mds: not a regular file" \
		soon import "mds-$kind" d
	is "the others are read" "$(sed 's/;.*//' "$out")" "1 stored, 0 skipped, 1 bad"
	special d/index.json
	refuse "$kind as an index of MDS" 3 "cachex: import: d/index.json: not a regular file" \
		soon import "mds-$kind" d
	rm -rf d; cachex export -q two d --format webdataset --shard-records 1
	special d/shard-000000.tar
	refuse "$kind as a tar archive" 3 "cachex: import: d/shard-000000.tar: not a regular file" \
		soon import "tar-$kind" d
	is "the others are read" "$(sed 's/;.*//' "$out")" "1 stored, 0 skipped, 1 bad"
	rm -rf d; special d.safetensors; special d.npz
	refuse "$kind as safetensors" 3 "cachex: import: d.safetensors: not a regular file" \
		soon import none d.safetensors --format safetensors
	refuse "$kind as npz" 3 "cachex: import: d.npz: not a regular file" \
		soon import none d.npz --format npz
	rm -rf set2; "$builddir/t/support/mkdataset" make set2 2; special set2/a/labels/f0.json
	special set2/a/images/f1.png
	check "$kind as a label and as an image" 0 soon build --size 16x16 set2 "wh-$kind"
	is "are named" "$(sed -n 's/.*"reason":"\([a-z]*\)".*"detail":"\([^"]*\)".*/\1 \2/p' \
		"wh-$kind/current/rejected.jsonl")" "unparsable a/labels/f0.json: is not a regular file
undecodable a/images/f1.png: is not a regular file"
	special set2/classes.txt
	refuse "$kind as a list of classes" 3 "cachex: build: set2/classes.txt: not a regular file" \
		soon build --size 16x16 --layout voc set2 wh2
	rm set2/classes.txt; mkdir -p coco/annotations; special coco/annotations/a.json
	check "$kind as a file of COCO's" 3 soon build --size 16x16 coco wh3
	refuse "$kind as the file of COCO" 3 "cachex: build: coco/annotations/a.json: not a regular file" \
		soon build --size 16x16 --labels annotations/a.json coco wh3
	special "wh-$kind/current/rejected.jsonl"
	refuse "$kind as the list of rejected frames" 3 \
		"cachex: warehouse: wh-$kind/$(readlink "wh-$kind/current")/rejected.jsonl: not a regular file" \
		soon warehouse report "wh-$kind" -o report.html
	refuse "$kind among images" 3 "cachex: buckets: set2/a/images/f1.png: is not a regular file" soon buckets set2/a
done
unset CACHEX_ROOT

# Pipes stay what they were where a command reads as long as there is something.
mkfifo bytes; (cat f1 >bytes) &
check "a tensor from a pipe" 0 soon put m k2 bytes --dtype u8 --shape 16

if [ "$(id -u)" = 0 ] && ! setpriv --reuid 65534 true 2>/dev/null; then
	skip "a module that cannot be locked" "this user may lock all"
	finish
	exit 0
fi
lock=$XDG_CACHE_HOME/cachex/m/lock.mdb
chmod a=r "$lock" "$XDG_CACHE_HOME/cachex/m/data.mdb"
chmod a=rx "$XDG_CACHE_HOME/cachex/m" "$XDG_CACHE_HOME/cachex" "$XDG_CACHE_HOME" "$scratch"
chmod a+rw "$XDG_CACHE_HOME/cachex/other/"*
# Named from here: a build tree may be where another user cannot look.
other() {
	if [ "$(id -u)" = 0 ]; then setpriv --reuid 65534 --clear-groups "$CACHEX" "$@"; else "$CACHEX" "$@"; fi
}
if ! other --version >/dev/null 2>&1; then
	skip "a module that cannot be locked" "another user cannot run the tool here"
else
	text="$lock: readers write to it as well; let this user do so (chmod), or read a copy of the module: Permission denied"
	refuse "a module that cannot be locked" 4 "cachex: get: $text" other get m k1
	check "ls of the root: status" 4 other ls
	is "ls of the root: its line" "$(cat "$err")" "cachex: ls: $text"
	is "ls of the root: and the others'" "$(sed 's/  .*//' "$out")" other
fi
chmod -R u+rwX "$scratch"
finish
