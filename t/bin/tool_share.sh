#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cachex set share: the modes of a module, those of files that are made in it later, and
# what other users can do.
. "${srcdir:-.}/t/support/tap.sh"

root=$scratch/r
modes() { stat -c %a "$root/$1" "$root/$1/data.mdb" "$root/$1/lock.mdb" | tr '\n' ' '; }
u8() { printf %s "$3" | "$CACHEX" --root "$root" put -q "$1" "$2" --dtype u8 --shape "${#3}"; }
tool() { "$CACHEX" --root "$root" "$@"; }
share() { tool set "$1" | sed -n 's/^share=//p'; }

umask 022
u8 m a ay; u8 m b bee
is "by itself" "$(share m)" owner
check "group" 0 tool set m share=group
is "its modes" "$(modes m)" "2770 660 660 "
is "is shown" "$(share m)" group
is "as JSON" "$(tool set m --json | sed 's/.*\("share":"[a-z]*"\).*/\1/')" '"share":"group"'
is "by stat" "$(tool stat m | sed -n 's/^ *share *//p')" group
check "all" 0 tool set m share=all
is "its modes" "$(modes m)" "2775 664 666 "
is "is shown" "$(share m)" all
check "other settings" 0 tool set m codec=none
is "leave them" "$(modes m)" "2775 664 666 "
check "-n" 0 tool set m share=owner -n
is "changes nothing" "$(modes m)" "2775 664 666 "
wrong "another word" 2 "cachex: set: share: 'world' is not one of owner|group|all" \
	tool set m share=world
also "-c" tool set -c new share=group
is "makes it so" "$(modes new)" "2770 660 660 "
touch "$scratch/mine"; chmod 600 "$scratch/mine"; ln -s "$scratch/mine" "$root/m/link"
check "with a link in it" 0 tool set m share=all
is "which is not followed" "$(stat -c %a "$scratch/mine")" 600
rm "$root/m/link"
wrong "no module" 1 "cachex: set: no module absent in $root" tool set absent share=all

# Whatever the umask of who makes files later.
for umask in 022 077 000; do
	umask $umask
	for to in group:"2770 660 660 " all:"2775 664 666 "; do
		tool set m share="${to%%:*}"
		rm -f "$root/m/lock.mdb"
		u8 m c cee
		is "$umask, $to: lock.mdb anew" "$(modes m)" "${to#*:}"
		tool rm -f m c
		tool compact m --shrink -q
		is "$umask, $to: shrunk" "$(modes m)" "${to#*:}"
		rm -rf saved
		tool backup m saved
		"$CACHEX" --root saved ls m >/dev/null
		is "$umask, $to: a backup" "$(stat -c %a saved/m saved/m/data.mdb saved/m/lock.mdb |
			tr '\n' ' ')" "${to#*:}"
		"$CACHEX" --root saved verify -q m || echo "# not good"
	done
done
umask 077
printf 'hay needle hay..' | tool put hurt k --dtype u8 --shape 16
u8 hurt l whole
tool set hurt share=all codec=none
at=$(LC_ALL=C grep -abo needle "$root/hurt/data.mdb" | head -n 1 | cut -d : -f 1)
printf X | dd of="$root/hurt/data.mdb" bs=1 seek="$at" conv=notrunc status=none
check "recover" 3 tool recover hurt
is "keeps them" "$(modes hurt)" "2775 664 666 "
check "owner" 0 tool set m share=owner
is "its modes" "$(modes m)" "700 600 600 "
is "is shown" "$(share m)" owner

# ---- other users ---------------------------------------------------------------------
chmod 755 "$scratch"
if [ "$(id -u)" != 0 ] || ! setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
	skip "other users" "not root, or setpriv cannot change the user"
	finish
	exit 0
fi
member() { (umask 077; exec setpriv --reuid 65533 --regid 65532 --groups 4242 "$CACHEX" --root "$root" "$@"); }
stranger() { (umask 077; exec setpriv --reuid 65534 --regid 65534 --clear-groups "$CACHEX" --root "$root" "$@"); }
if ! stranger --version >/dev/null 2>&1; then
	skip "other users" "another user cannot run $CACHEX"
	finish
	exit 0
fi
chmod 755 "$root"
chgrp -R 4242 "$root/m"
printf x >"$scratch/x"; chmod 644 "$scratch/x"
check "owner: one of the group cannot read" 4 member get m a --format raw
tool set m share=group
check "group: reads" 0 member get m a --format raw
is "what is there" "$(cat "$out")" ay
check "group: writes" 0 member put m d "$scratch/x" --dtype u8 --shape 1
check "group: a stranger cannot read" 4 stranger get m a --format raw
check "group: compacts" 0 member compact m --live-ratio 1 --shrink -q
is "group: and the modes stay" "$(modes m)" "2770 660 660 "
is "group: and the group" "$(stat -c %g "$root/m/data.mdb")" 4242
rm "$root/m/lock.mdb"
check "group: makes lock.mdb" 0 member get m a --format raw
is "group: for all of it" "$(stat -c '%a %g' "$root/m/lock.mdb")" "660 4242"
check "group: the owner goes on" 0 tool get m d --format raw
tool set m share=all
check "all: a stranger reads" 0 stranger get m a --format raw
check "all: and verifies" 0 stranger verify m -q
check "all: but does not write" 4 stranger put m e "$scratch/x" --dtype u8 --shape 1
check "all: one of the group does" 0 member put m e "$scratch/x" --dtype u8 --shape 1
check "only the owner shares" 4 member set m share=owner
is "all: as before" "$(modes m)" "2775 664 666 "
finish
