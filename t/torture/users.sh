#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Another user's modules, directories and files: every command ends with a documented status
# and one clear line, nothing is left or lost, and listings go on.
. "${srcdir:-.}/t/support/tap.sh"

echo "# T_SEED=${T_SEED:-0}"
if [ "$(id -u)" = 0 ] && ! setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	skip "users" "setpriv cannot change the user"
	finish
	exit 0
fi
# as_other COMMAND...: as a user who owns nothing here; without root as this one, for whom the
# owner's permissions are taken away as well.
if [ "$(id -u)" = 0 ]; then
	as_other() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
else
	as_other() { "$@"; }
fi
if ! as_other test -x "$CACHEX"; then
	skip "users" "another user cannot run $CACHEX"
	finish
	exit 0
fi
chmod 755 "$scratch"
failed=
result() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then echo "ok $count - $2"; else echo "not ok $count - $2"; failed=yes; fi
}
# What failed stays in TORTURE_KEEP, if that is set.
leave() {
	chmod -R u+rwX "$scratch"
	cd /
	if [ -n "$failed" ] && [ -n "${TORTURE_KEEP:-}" ]; then mv "$scratch" "$TORTURE_KEEP/users"; fi
	rm -rf "$scratch"
}
trap leave EXIT
other() { as_other "$CACHEX" --root r "$@"; }
u8() { printf %s "$3" | cachex --root r put -q "$1" "$2" --dtype u8 --shape "${#3}"; }

commands=0
# ends NAME STATUSES COMMAND...: with one of these statuses; if not 0, one line of cachex's
ends() {
	name=$1 want=$2; shift 2
	commands=$((commands + 1))
	other "$@" >"$out" 2>"$err" </dev/null
	got=$?
	# It says so where the system's cache of fonts is old, and a user has no directory.
	sed -i '/^Fontconfig error: No writable cache directories$/d' "$err"
	case " $want " in
	*" $got "*) good=0 ;;
	*) good=1 ;;
	esac
	[ "$got" = 0 ] || { [ "$(grep -c '^cachex: ' "$err")" = 1 ] &&
	    [ "$(wc -l <"$err")" = 1 ]; } || good=1
	result $good "$name: $*"
	[ $good = 0 ] || { echo "#   status $got, of $want"; show "$out"; show "$err"; }
}

mkdir r
u8 good a ay; u8 good b bee
u8 hurt a damaged
at=$(LC_ALL=C grep -aob damaged r/hurt/data.mdb | head -n 1 | cut -d : -f 1)
printf W | dd of=r/hurt/data.mdb bs=1 seek="$at" conv=notrunc 2>/dev/null
u8 locked a ay
u8 shut a ay
u8 deaf a ay
cachex --root r get good a --format npy >a.npy
cachex --root r dump good >good.jsonl
find r -name data.mdb | sort | xargs cksum >before
chmod -R a+rX,a-w r
# Readers lock, so that they need to write this.
chmod a+w r/good/lock.mdb r/hurt/lock.mdb
chmod 000 r/locked/lock.mdb
chmod 000 r/shut
chmod 000 r/deaf/data.mdb

ends "readable" 0 get good a --format raw
ends "readable" 0 stat good
ends "readable" 0 verify good
ends "readable" 0 dump good
ends "not writable" 4 put good c a.npy
ends "not writable" 4 rm -f good a
ends "not writable" 4 load good good.jsonl
ends "not writable" 4 import good a.npy
ends "not writable" 4 compact good --live-ratio 1
ends "not writable" 4 clear -f good
ends "not writable, and sound" 0 recover good
ends "not writable" 4 recover hurt
ends "not writable" 4 set good codec=lz4
ends "no room for a new module" 4 put new a a.npy
ends "no room for a copy" 4 copy good new
ends "no room for a backup" 4 backup good r/b
for module in locked shut deaf; do
	for command in "get $module a" "has $module a" "stat $module" "verify $module" \
		"dump $module" "ls $module" "put $module c a.npy" "rm -f $module a" \
		"compact $module" "schema $module" "recover $module" "read $module" \
		"plan $module" "backup $module /tmp/none" "copy $module new" \
		"export $module none.npz" "view $module a -o none.png"; do
		# shellcheck disable=SC2086
		ends "a module that is closed to us" 4 $command
	done
done
other ls -1 >listed 2>said
also "ls goes on" grep -qx good listed
other ls >listed 2>said </dev/null
is "ls ends with" $? 4
also "and lists the others" grep -q '^good ' listed
is "a line for each that is closed" "$(grep -c '^cachex: ls: ' said)" 3
also "no other lines" sh -c '! grep -v "^cachex: ls: " said'

mkdir closed && chmod 555 closed
ends "an output that cannot be written" 4 get good a -o closed/x.npy
ends "an output that cannot be written" 4 dump good -o closed/x.jsonl
ends "an output that cannot be written" 4 export good closed/x.npz
ends "an output that cannot be written" 4 export good closed/x --format npy
ends "an output that cannot be written" 4 view good a -o closed/x.png
mkdir pictures
ends "an output that cannot be written" 4 build pictures closed/wh --layout unlabelled
is "nothing is left" "$(ls -A closed)" ""
cp a.npy secret.npy && chmod 000 secret.npy
ends "an input that cannot be read" 4 put good c secret.npy
ends "an input that cannot be read" 4 load good secret.npy
ends "an input that cannot be read" 4 import -n new secret.npy
ends "an input that cannot be read" 4 buckets secret.npy
ends "an input that cannot be read" 4 view secret.npy -o closed/x.png
chmod -R u+rwX r
find r -name data.mdb | sort | xargs cksum >after
is "all modules are as they were" "$(cat after)" "$(cat before)"
echo "# users: 1 rounds, $commands commands"
finish
