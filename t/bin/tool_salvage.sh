#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# recover --salvage: what it says, its statuses, and that a failure leaves nothing.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
put() { printf %s "$3" | cachex put "$1" "$2" --dtype u8 --shape "${#3}"; }
# Write zeros over some pages of a module: MODULE FIRST COUNT
zero() { dd if=/dev/zero of="$root/$1/data.mdb" bs=4096 seek="$2" count="$3" conv=notrunc 2>/dev/null; }
# The bytes of a record: MODULE KEY
value() { cachex get "$1" "$2" --format raw; }
sum() { cksum <"$root/$1/data.mdb"; }

cachex set -c m auto-compact=off # old versions stay
for key in a b c; do put m $key "value-$key"; done
put m b value-2
cachex rm -f m c
before=$(sum m)

# A whole module
check "a whole module" 0 cachex recover --salvage m n
is "is told" "$(cat "$out")" "n: 2 records rescued
  keys with more than one version: 1"
is "nothing else" "$(cat "$err")" ""
check "the copy verifies" 0 cachex verify n
is "it has the newest versions" "$(value n a)$(value n b)" "value-avalue-2"
check "and no more" 1 cachex has n c
is "the module is as it was" "$(sum m)" "$before"
refuse "a second time" 3 "cachex: recover: salvage: $root/n: exists already; name a new module" cachex recover --salvage m n
check "the copy is as it was" 0 cachex verify n

# Without meta pages nothing opens it
zero m 0 2
check "no meta pages: verify" 3 cachex verify m
before=$(sum m)
check "no meta pages: dry run" 0 cachex recover --salvage -n m o --json
is "JSON" "$(cat "$out")" '{"module":"o","records":2,"stale":0,"undecided":0,"lost":0,"damaged":0,"unreadable":0,"schemas":0,"versions":1,"left":0,"inputs":0,"settings_lost":false,"uncertain":false}'
also "no module is made" test ! -e "$root/o"
check "no meta pages" 0 cachex recover --salvage m o
is "the same records" "$(cachex ls o)" "$(cachex ls n)"
check "a path of the directory" 0 cachex recover --salvage "$root/m" p
check "a path of the file" 0 cachex recover --salvage "$root/m/data.mdb" q
is "the same again" "$(cachex ls p; cachex ls q)" "$(cachex ls n; cachex ls n)"
is "nothing was written" "$(sum m)" "$before"
rm -f "$root/m/lock.mdb"
check "without a lock file" 0 cachex recover --salvage m s
also "none is made" test ! -e "$root/m/lock.mdb"

# A damaged record
at=$(grep -abo value-2 "$root/m/data.mdb" | sed -n '1s/:.*//p')
printf X | dd of="$root/m/data.mdb" bs=1 seek="$at" conv=notrunc 2>/dev/null
chunk=$(grep -abo LCCK "$root/m/data.mdb" | awk -F: -v at="$at" '$1 < at { page = int($1 / 4096) } END { print page }')
check "a damaged record" 3 cachex recover --salvage m u
is "is told" "$(cat "$out")" "m: chunk 4 on page $chunk: 1 damaged records
u: 1 record rescued
  keys lost: 1
  damaged records: 1
  keys left out, with old versions alone: 1"
check "the rest is there" 0 cachex has u a
check "the damaged one is not" 1 cachex has u b
check "old versions" 3 cachex recover --salvage --stale m r --json
is "are told" "$(cat "$out")" '{"module":"m","found":"chunk 4 on page '"$chunk"': 1 damaged records"}
{"module":"m","found":"key '"'b'"': an old version"}
{"module":"r","records":2,"stale":1,"undecided":0,"lost":1,"damaged":1,"unreadable":0,"schemas":0,"versions":0,"left":0,"inputs":0,"settings_lost":false,"uncertain":false}'
is "and taken" "$(value r b)" "value-b"
check "but not what was deleted" 1 cachex has r c

# What cannot be
refuse "no module" 1 "cachex: recover: $root/none: open: No such file or directory" cachex recover --salvage none t
refuse "one operand" 2 "cachex: recover: --salvage needs the name of a new module" cachex recover --salvage m
refuse "two without it" 2 "cachex: recover: too many operands: t" cachex recover m t
refuse "--stale alone" 2 "cachex: recover: --stale needs --salvage" cachex recover --stale m
refuse "a bad name" 2 "cachex: recover: module id '../x': must be 1 to 128 characters and start with a letter or digit" cachex recover --salvage m ../x
mkdir other && : >other/data.mdb
refuse "an empty file" 3 "cachex: recover: ./other/data.mdb: does not contain a page of a module" cachex recover --salvage ./other t
rm other/data.mdb && mkfifo other/data.mdb
refuse "a FIFO" 3 "cachex: recover: ./other/data.mdb: not a file" cachex recover --salvage ./other t
rm other/data.mdb && ln -s "$root/m/data.mdb" other/data.mdb
refuse "a link" 3 "cachex: recover: ./other/data.mdb: a symbolic link, not a file" cachex recover --salvage ./other t
also "nothing of these was made" test ! -e "$root/t"

cachex recover --help >"$out"
also "the help has it" grep -q -e --salvage "$out"

finish
