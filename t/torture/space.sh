#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Full disks: writing commands on a file system of a few pages, then one page more, and so on
# until they succeed; and the same with a limit on the size of a file, which needs no root.
# Each ends with 4 and one line or does its work; modules verify, records
# that were there are, and nothing is left over.
. "${srcdir:-.}/t/support/tap.sh"

echo "# T_SEED=${T_SEED:=$(date +%s)}"
export SOURCE_DATE_EPOCH=1700000000
disk=$scratch/disk
mkdir "$disk"
# A mount of our own: nobody else sees it, and it ends with us.
if [ -z "${SPACE_MOUNTS:-}" ] && [ "$(id -u)" = 0 ] &&
	unshare -m sh -c 'mount -t tmpfs -o size=64k none "$1"' sh "$disk" 2>/dev/null; then
	cd / && rm -rf "$scratch"
	SPACE_MOUNTS=1 T_SEED=$T_SEED exec unshare -m sh "$srcdir/t/torture/space.sh"
fi
end=$(($(date +%s) + ${TORTURE_SECONDS:-0}))
mkdataset=$builddir/t/support/mkdataset
good="exec '$builddir/t/support/bad_producer' good"
u8() { printf %s "$3" | cachex --root "$1" put -q m "$2" --dtype u8 --shape "${#3}"; }

# What the commands start from.
mkdir made
u8 made/r a ayayay; u8 made/r b bee
cachex --root made/r get m a --format npy >made/a.npy
cachex --root made/r dump m >made/m.jsonl
"$mkdataset" make made/set 1
printf 'a\nb\n' >made/ids
plain=1 "$builddir/t/support/mkrecords" 3 1 >made/x.jsonl
# A module of samples, and one with a damaged record.
for module in same hurt; do
	for id in a b; do
		printf '%s-%s' "$module" $id |
			cachex --root made/r put -q $module $id --dtype u8 --shape 6
	done
done
at=$(LC_ALL=C grep -aob hurt-a made/r/hurt/data.mdb | head -n 1 | cut -d : -f 1)
printf W | dd of=made/r/hurt/data.mdb bs=1 seek="$at" conv=notrunc 2>/dev/null
runs=0 full=0
least=0
# The status of success: recover ends with 3 where a record was lost.
succeeds=0

# One run with so many KiB left on the disk, or allowed for a file; true when it has succeeded.
try() {
	left=$1; shift
	if [ $how = disk ]; then
		umount "$disk" 2>/dev/null
		mount -t tmpfs -o size=16m none "$disk" || exit 99
		cp -a made/. "$disk"
		mount -o "remount,size=$(($(du -sk "$disk" | cut -f 1) + left))k" "$disk" || exit 99
		blocks=unlimited
	else
		rm -rf "$disk"
		cp -a made "$disk"
		blocks=$((left * 2))
	fi
	(cd "$disk" && ulimit -f $blocks && exec timeout 60 "$CACHEX" --root r "$@") \
		>"$out" 2>"$err" </dev/null
	got=$?
	runs=$((runs + 1))
	why=
	[ $got != $succeeds ] || got=0
	if [ $got != 0 ]; then
		full=$((full + 1))
		[ $got = 4 ] || why="status $got"
		# load says how far it came, and migrate which lines it leaves out.
		[ "$(grep -vc -e ': stored [0-9]* records* before that$' -e ': the ratio ' "$err")" = 1 ] ||
			why="$why, $(wc -l <"$err") lines"
		grep -q '^cachex: ' "$err" || why="$why, no message"
		# migrate goes on from its own next time.
		leftover=$(find "$disk" -name '*.tmp*' ! -name '*.stage2.tmp')
		[ -z "$leftover" ] || why="$why, left $leftover"
	fi
	[ $how = limit ] || mount -o remount,size=16m "$disk"
	cachex --root "$disk/r" verify -q m >.verified 2>&1 || why="$why, $(cat .verified)"
	case $1 in
	rm | clear) ;;
	*) [ "$(cachex --root "$disk/r" get m b --format raw 2>&1)" = bee ] || why="$why, b is lost" ;;
	esac
	if [ -n "$why" ]; then
		echo "# $how, $left KiB: $*: $why"; show "$err"
		[ -z "${TORTURE_KEEP:-}" ] || cp -a "$disk" "$TORTURE_KEEP/space-$runs"
		bad=$((bad + 1))
	fi
	[ $got = 0 ]
}

# grows NAME COMMAND...
grows() {
	name=$1; shift
	bad=0 left=$least
	until try $left "$@" || [ $left -gt 4000 ] || [ $bad -gt 5 ]; do
		# Every page at first, then larger steps at random.
		if [ $how = disk ] && [ $left -lt 40 ]; then left=$((left + 4))
		else
			T_SEED=$(((T_SEED * 1103515245 + 12345) % 2147483648))
			left=$((left + 4 + 4 * (T_SEED / 65536 % (left / 4 + 2))))
		fi
	done
	[ $got = 0 ] || bad=$((bad + 1))
	result $bad "$name ($how), done with $left KiB"
}

all() {
	grows "put" put m c a.npy
	grows "a new module" put n c a.npy
	grows "rm" rm -f m a
	grows "clear" clear -f m
	grows "set" set m codec=lz4
	grows "load" load n m.jsonl
	grows "import" import n a.npy
	grows "copy" copy m n
	grows "merge" merge m n
	grows "compact" compact m --live-ratio 1
	grows "shrink" compact m --live-ratio 1 --shrink
	grows "backup" backup m b
	grows "get -o" get m a -o x.npy
	grows "dump -o" dump -f m -o x.jsonl
	grows "npz" export m x.npz
	grows "npy" export m x --format npy
	grows "safetensors" export m x.safetensors
	grows "webdataset" export m x --format webdataset
	grows "mds" export m x --format mds
	grows "view" view m a -o x.png
	grows "reading" get m a
	grows "twh1" export same x --format twh1
	grows "build" build --size 16x16 -j 1 set wh
	grows "fill" fill n --exec "$good" --ids ids -j 1
	grows "migrate" migrate stage2 x.jsonl --out out --shape 4
	succeeds=3
	grows "recover" recover hurt
	succeeds=0
}
both() {
	if [ -n "${SPACE_MOUNTS:-}" ]; then
		how=disk least=0; all
		umount "$disk"
	else
		skip "full disks" "no file system can be mounted here"
	fi
	# Less has no room for a message.
	how=limit least=4; all
}
both
while [ "$(date +%s)" -lt $end ]; do both; done
echo "# space: $runs runs, $full on a full disk"
finish
