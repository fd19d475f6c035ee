#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# backup: hot copies of modules, plain and compact.
. "${srcdir:-.}/t/support/tap.sh"

put() { printf %s "$2" | cachex put m "$1" --dtype u8 --shape "${#2}"; }

for i in 1 2 3 4 5 6 7 8 9 10 11 12; do put "k$i" "value $i"; done
cachex rm -f m k3 k4
cachex dump m >expected
check "backup" 0 cachex backup m plain
is "says nothing" "$(cat "$out" "$err")" ""
is "holds only the data" "$(ls plain/m)" "data.mdb"
check "the copy is sound" 0 cachex --root plain verify m
is "and the same" "$(cachex --root plain dump m)" "$(cat expected)"
check "compact" 0 cachex backup -c m small
check "the compact copy is sound" 0 cachex --root small verify m
is "and the same too" "$(cachex --root small dump m)" "$(cat expected)"
also "and smaller" test "$(stat -c %s small/m/data.mdb)" -lt "$(stat -c %s plain/m/data.mdb)"
check "a compact copy takes writes" 0 sh -c 'printf new | "$1" --root small put m k13 --dtype u8 --shape 3' sh "$CACHEX"
check "and is sound afterwards" 0 cachex --root small verify m
check "never replaces" 2 cachex backup m plain
is "names what stands there" "$(cat "$err")" \
	"cachex: backup: plain/m/data.mdb: exists; backup does not replace files"
is "the first copy is as it was" "$(cachex --root plain dump m)" "$(cat expected)"
check "dry run" 0 cachex backup -n m none
is "says what it would do" "$(cat "$err")" "cachex: backup: would copy m to none/m"
also "writes nothing" test ! -e none
check "no such module" 1 cachex backup x none
touch file
check "no directory" 4 cachex backup m file
also "leaves nothing" test ! -s file
# Interrupted: the next one begins anew.
mkdir -p again/m && echo rubbish >again/m/data.mdb.tmp.a1B2c3
check "after a killed one" 0 cachex backup m again
is "is the same" "$(cachex --root again dump m)" "$(cat expected)"
is "nothing else is left" "$(ls again/m | grep -v lock.mdb)" "data.mdb"
finish
