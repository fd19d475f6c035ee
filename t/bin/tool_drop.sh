#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# drop, rename, --no-create, and a fill that makes nothing.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
one() { printf x | cachex put "$1" k --dtype u8 --shape 1; }

one a; one b; one c
wrong "drop asks" 2 "cachex: drop: not a terminal, cannot ask for confirmation; use -f" cachex drop a
check "drop -n" 0 cachex drop -n a
is "says what" "$(cat "$err")" "cachex: drop: would drop a"
check "drop" 0 cachex drop -f a
also "the directory is gone" test ! -e "$root/a"
is "so are the others' names" "$(ls -A "$root" | tr '\n' ' ')" "b c "
wrong "drop of nothing" 1 "cachex: drop: no module a in $root; did you mean b?" \
	cachex drop -f a
wrong "a bad name" 2 "cachex: drop: module id '../b': must be 1 to 128 \
characters and start with a letter or digit" cachex drop -f ../b
check "of several" 1 cachex drop -f b a c
is "all that are there" "$(ls -A "$root")" ""
one a
check "--json" 0 cachex drop -f a --json
is "is an object" "$(cat "$out")" '{"module":"a","dry_run":false}'

mkdir "$root/data"; touch "$root/data/precious"
check "a directory that is not a module" 3 cachex drop -f data
also "stays" test -e "$root/data/precious"
one a; mkdir "$root/a/mine"
check "a module with a directory in it" 3 cachex drop -f a
also "stays" cachex has a k
rmdir "$root/a/mine"
head -c 100 /dev/urandom >"$root/a/data.mdb"
check "a damaged module" 0 cachex drop -f a
rm -rf "$root/data"

# rename
one a
before=$(cachex stat a --json | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
check "rename" 0 cachex rename a d
is "the records are there" "$(cachex get d k --format raw)" x
is "the uuid stays" "$(cachex stat d --json | sed 's/.*"uuid":"\([^"]*\)".*/\1/')" "$before"
check "verify" 0 cachex verify -q d
check "writing" 0 one d
is "no other" "$(ls -A "$root")" d
one e
wrong "onto another" 2 "cachex: rename: $root/e: exists; cachex drop removes a module, cachex merge joins two" \
	cachex rename d e
also "changes neither" cachex has d k
wrong "of nothing" 1 "cachex: rename: no module a in $root; did you mean d?" cachex rename a z
check "a bad name" 2 cachex rename d ../up
check "--json" 0 cachex rename e f --json
is "is an object" "$(cat "$out")" '{"from":"e","to":"f"}'

# Another process has it open: `load` holds it until its input ends.
mkfifo lines
"$CACHEX" load d lines 2>/dev/null &
loader=$!
exec 7>lines
echo '{"id":"one","dtype":"u8","shape":[1],"data":"eA=="}' >&7
until ls -l "/proc/$loader/fd" 2>/dev/null | grep -q d/data.mdb; do kill -0 $loader || break; done
# Until it has opened it, the answer is that somebody is opening it.
until cachex rename d g 2>&1 | grep -q another; do kill -0 $loader || break; done
wrong "drop of an open one" 4 "cachex: drop: $root/d: another process has the module open" \
	cachex drop -f d
wrong "rename of an open one" 4 "cachex: rename: $root/d: another process has the module open" \
	cachex rename d g
exec 7>&-
wait
check "the writer went on" 0 cachex has d one
check "when it has ended" 0 cachex rename d g

# Two that open, write and drop the same name at once: whoever succeeds is whole.
churn() { for i in 1 2 3 4 5 6 7 8 9 10; do one h 2>/dev/null; cachex drop -f h 2>/dev/null; done; }
churn & churn & churn & wait
check "after a race" 0 one h
check "the module is sound" 0 cachex verify -q h
is "nothing is left over" "$(ls -A "$root" | grep -c dropped)" 0

# --no-create
printf x >x.raw; cachex dump h >h.jsonl; cachex get h k -o k.npy
while read -r name command; do
	refuse "$name --no-create" 1 "cachex: $name: no module new in $root" cachex $name $command --no-create
	also "$name --no-create: makes none" test ! -e "$root/new"
done <<END
put new k x.raw --dtype u8 --shape 1
load new h.jsonl
import new k.npy
fill new --ids h.jsonl --exec true
copy h new
merge h new
END
check "put --no-create into one that is there" 0 cachex put h l x.raw --dtype u8 --shape 1 --no-create

# A producer that does not exist
echo id1 >ids; echo '{"id":"id1"}' >lines.jsonl
check "fill --ids by no program" 1 cachex fill new --ids ids --exec /no/such/program
also "leaves no module" test ! -e "$root/new"
check "fill --from by no program" 1 cachex fill new --from lines.jsonl --exec /no/such/program
also "leaves no module" test ! -e "$root/new"
check "fill of one that is there" 1 cachex fill h --ids ids --exec /no/such/program
also "keeps it" cachex has h k
finish
