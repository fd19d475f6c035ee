#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Two containers that count their processes alone, and one module: LMDB tells readers apart
# by their process ids, so that the second process with one id is refused, in plain words.
. "${srcdir:-.}/t/support/tap.sh"

if ! unshare -p -f --kill-child true 2>/dev/null; then
	skip "two containers" "no process id namespace can be made"
	finish
	exit
fi
printf hello | cachex put words greeting --dtype u8 --shape 5

# The first process of each container has the id 1. The first one waits for more records.
unshare -p -f --kill-child "$CACHEX" follow words -1 --timeout 300 >followed 2>&1 & first=$!
while [ ! -s followed ] && kill -0 $first 2>/dev/null; do :; done
check "a process of another container with the same id" 4 \
    unshare -p -f "$CACHEX" get words greeting --format raw
is "is refused with the reason" "$(cat "$err")" "cachex: get: $XDG_CACHE_HOME/cachex/words: open:\
 a process with the same id, in another container, has the module open; let the containers\
 share process ids"
check "one that shares the process ids reads" 0 cachex get words greeting --format raw
is "the record" "$(cat "$out")" hello
kill -KILL $first
wait $first 2>/dev/null
check "when the first one has ended, the second one reads" 0 \
    unshare -p -f "$CACHEX" get words greeting --format raw
is "the same record" "$(cat "$out")" hello
finish
