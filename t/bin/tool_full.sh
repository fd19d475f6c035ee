#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Commands on a full disk, where lock.mdb is missing: they say so, and nothing else.
. "${srcdir:-.}/t/support/tap.sh"

# The rest runs again inside a mount name space of its own.
if [ "${T_INSIDE:-}" != 1 ]; then
	mkdir small
	if ! unshare -m sh -c 'mount -t tmpfs -o size=1m none "$1"' sh "$scratch/small" 2>/dev/null; then
		skip "a full disk" "no file system can be mounted here"
		finish
		exit 0
	fi
	T_INSIDE=1 T_SMALL=$scratch/small srcdir=$srcdir builddir=$builddir unshare -m sh "$srcdir/t/bin/tool_full.sh"
	exit
fi
mount -t tmpfs -o size=1m none "$T_SMALL" || exit 99
export CACHEX_ROOT="$T_SMALL/root"
printf 0123456789abcdef >f1
cachex put m k1 f1 --dtype u8 --shape 16
cachex put whole k1 f1 --dtype u8 --shape 16
cachex dump m -o m.jsonl
cachex export m shards >/dev/null
cp "$CACHEX_ROOT/m/data.mdb" before
rm "$CACHEX_ROOT/m/lock.mdb"
cat /dev/zero >"$T_SMALL/filler" 2>/dev/null

text="$CACHEX_ROOT/m/lock.mdb: allocate: No space left on device"
try() {
	wrong "$1" 4 "cachex: $1: $text" cachex "$@"
	also "$1: nothing is left" test ! -e "$CACHEX_ROOT/m/lock.mdb"
}
try get m k1
try verify m
try stat m
try has m k1
try put m k2 f1 --dtype u8 --shape 16
try rm -f m k1
try ls m
try dump m
try backup m "$scratch/backups"
try export m "$scratch/more"
try compact m
try recover m
try schema m
try set m policy=strict
try load m m.jsonl
try read m
try clear -f m
check "ls of the root: status" 4 cachex ls
is "ls of the root: the other module is there" "$(sed 's/  .*//' "$out")" whole
is "ls of the root: and a message" "$(cat "$err")" "cachex: ls: $text"
check "verify of the root: status" 4 cachex verify
also "verify of the root: the other module is good" grep -q '^whole: good' "$out"

check "a new module: status" 4 cachex put new k1 f1 --dtype u8 --shape 16
is "a new module: message" "$(cat "$err")" \
	"cachex: put: $CACHEX_ROOT/new/lock.mdb: allocate: No space left on device"
also "a new module: nothing is left" test ! -e "$CACHEX_ROOT/new"
also "data.mdb is as it was" cmp "$CACHEX_ROOT/m/data.mdb" before

rm "$T_SMALL/filler"
check "there is room again" 0 cachex verify
check "the record is there" 0 cachex has m k1
finish
