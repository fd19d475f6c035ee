#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# has, rm, ls, stat and verify.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
put() { printf %s "$3" | cachex put "$1" "$2" --dtype u8 --shape "${#3}"; }

check "no root holds no modules" 0 cachex ls
is "none" "$(cat "$out" "$err")" ""
check "verify of nothing" 0 cachex verify
check "stat of nothing" 0 cachex stat
for command in 'ls m' 'stat m' 'verify m' 'has m k' 'rm -f m k' 'get m k' 'dump m' 'export m d'; do
	check "$command without the module" 1 cachex $command
	is "$command names it" "$(cat "$err")" "cachex: ${command%% *}: no module m in $root"
done
also "nothing was made" test ! -e "$root"

put m b/1 hello; put m a/1 abc; put m a/2 abcdef; put n k x

# has
check "has one" 0 cachex has m a/1
is "in silence" "$(cat "$out" "$err")" ""
check "has all" 0 cachex has m a/1 a/2 b/1
check "has not one" 1 cachex has m a/1 c
is "in silence, too" "$(cat "$out" "$err")" ""
check "has -v" 1 cachex has -v m c a/1 d
is "prints those missing" "$(cat "$out")" "c
d"
check "has --json" 1 cachex has m c a/1 --json
is "prints them all" "$(cat "$out")" '{"id":"c","found":false}
{"id":"a/1","found":true}'
is "a list on standard input" "$(printf 'a/1\nc\n\nb/1\nd' | cachex has m -v --stdin)" "c
d"
is "- is the same" "$(printf 'a/1\nc\n' | cachex has m -v -)" c
is "NUL-ended lists" "$(printf 'a/1\0c\nd\0' | cachex has m -v -z - | od -An -c | tr -d ' \n')" 'c\nd\0'
check "an empty list has all" 0 sh -c '"$1" has m - </dev/null' sh "$CACHEX"
check "no cache_id" 2 cachex has m
is "is named" "$(cat "$err")" "cachex: has: a cache_id is missing"
check "an empty cache_id" 2 cachex has m ''
is "is refused" "$(cat "$err")" "cachex: has: a cache_id is empty"

# ls
check "ls" 0 cachex ls
is "modules" "$(tr -s ' ' <"$out" | cut -d' ' -f1-3)" "m 3 records
n 1 record"
check "ls -l" 0 cachex ls -l
also "has more" grep -q '^m .* dead .* file$' "$out"
check "ls --json" 0 cachex ls --json
is "modules as JSON" "$(sed 's/_bytes":[0-9]*/_bytes":N/g; s/"bytes":[0-9]*/"bytes":N/' "$out")" \
'{"module":"m","records":3,"bytes":N,"dead_bytes":N,"file_bytes":N}
{"module":"n","records":1,"bytes":N,"dead_bytes":N,"file_bytes":N}'
check "ls -1" 0 cachex ls -1
is "names" "$(cat "$out")" "m
n"
check "ls m" 0 cachex ls m
is "records by cache_id" "$(cat "$out")" \
"a/1  u8[3]  3 B
a/2  u8[6]  6 B
b/1  u8[5]  5 B"
long=a-cache_id-of-more/than-twenty-four-letters
printf x | cachex put wide ä --dtype u8 --shape 1
printf x | cachex put wide "$long" --dtype u8 --shape ''
check "ls of long cache_ids" 0 cachex ls wide
is "columns fit" "$(cat "$out")" \
"$long  u8[]   1 B
ä                                            u8[1]  1 B"
awk 'BEGIN { for (i = 1; i <= 1201; i++)
	printf "{\"id\":\"%s\",\"dtype\":\"u8\",\"shape\":[1],\"data\":\"AA==\"}\n",
	    i <= 1200 ? 10000 + i : "a long one" }' | cachex load many
cachex ls many | awk '{ print length($0) }' | uniq -c | tr -s ' ' >"$out"
is "many rows come in batches, the last ones wider" "$(cat "$out")" " 1000 17
 201 22"
rm -r "$root/wide" "$root/many"
check "ls m a/" 0 cachex ls m a/
is "by prefix" "$(cut -c1-3 "$out")" "a/1
a/2"
check "ls m nothing" 1 cachex ls m nothing
is "no such prefix" "$(cat "$out")" ""
is "in commit order" "$(cachex ls m -1 --order commit)" "b/1
a/1
a/2"
check "ls -l m" 0 cachex ls -l m a/1
also "chunk and size on disk" grep -Eq '^a/1 +u8\[3\] +3 B +[0-9]+ B  none  chunk [0-9]+$' "$out"
check "ls --json m" 0 cachex ls m b --json
is "records as JSON" "$(sed 's/"chunk":[0-9]*/"chunk":N/' "$out")" \
'{"id":"b/1","dtype":"u8","shape":[5],"bytes":5,"stored_bytes":128,"codec":"none","chunk":N}'
is "ls -z" "$(cachex ls -z m a/ | tr '\0' '!')" "a/1!a/2!"
odd=$(printf 'q\tr\377\033[31m')
put odd "$odd" x
check "ls of odd bytes" 0 cachex ls odd
is "escapes them" "$(cut -c1-20 "$out")" 'q\x09r\xff\x1b[31m  '
is "-1 in a pipe does not" "$(cachex ls odd -1)" "$odd"
is "JSON has base64" "$(cachex ls odd --json | cut -d, -f1)" '{"id_base64":"cQly/xtbMzFt"'
is "a round trip of odd bytes" "$(cachex ls odd -z | cachex has odd -z -v - && echo all)" all
for hex in 355.240.200 300.200 364.220.200.200 342.202; do
	id=$(printf "\\$(echo "$hex" | sed 's/\./\\/g')")
	put utf8 "$id" x
done
is "what is no UTF-8 is base64 in JSON" "$(cachex ls utf8 --json | grep -c '^{"id_base64":')" 4
put utf8 "$(printf '\355\237\277\364\217\277\277')" x
is "what is, is not" "$(cachex ls utf8 --json | grep -c '^{"id":')" 1

# stat
check "stat m" 0 cachex stat m
is "records" "$(sed -n 's/^  records *//p' "$out")" 3
also "a uuid" grep -Eq '^  uuid +[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' "$out"
also "a date" grep -Eq '^  made +20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$' "$out"
check "stat --json" 0 cachex stat m n --json
is "a line a module" "$(cut -d, -f1 "$out")" '{"module":"m"
{"module":"n"'
also "with numbers" grep -q '"generation":3,"records":3,"dead_records":0,"schemas":1,"chunks":3,' "$out"
check "stat of all" 0 cachex stat
is "all" "$(grep -v '^  ' "$out")" "m
n
odd
utf8"
check "stat of one that is not there" 1 cachex stat m gone n
is "shows the others" "$(grep -v '^  ' "$out")" "m
n"

# rm
check "rm without a terminal" 2 cachex rm m a/1
is "asks for -f" "$(cat "$err")" "cachex: rm: not a terminal, cannot ask for confirmation; use -f"
check "rm of a list" 2 sh -c 'echo a/1 | "$1" rm m -' sh "$CACHEX"
check "rm -n" 0 cachex rm -n m a/1
is "says what it would do" "$(cat "$err")" "cachex: rm: would delete 'a/1'"
check "it did nothing" 0 cachex has m a/1
check "rm -f" 0 cachex rm -f m a/1
is "says nothing" "$(cat "$out" "$err")" ""
check "it is gone" 1 cachex has m a/1
check "rm of what is not there" 1 cachex rm -fv m a/1 a/2
is "names it and goes on" "$(cat "$err")" "cachex: rm: 'a/1' is not in m
cachex: rm: deleted 'a/2'"
check "a dry run of that" 1 cachex rm -n m a/1
check "a list on standard input" 0 sh -c '"$1" ls -z odd | "$1" rm odd -f -z -' sh "$CACHEX"
is "empties it" "$(cachex ls odd)" ""
is "the chunks of deleted records are gone" "$(cachex stat m --json | grep -o '"dead_records":[0-9]*')" '"dead_records":0'
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
	export NO_COLOR=1
	echo n | script -qec "'$CACHEX' rm m b/1" tty >/dev/null
	is "no is 1" $? 1
	also "it asks on a terminal" grep -aq "delete 'b/1' of m? \[y/N\]" tty
	check "and is no" 0 cachex has m b/1
	echo y | script -qec "'$CACHEX' rm m b/1" tty >/dev/null
	is "yes is 0" $? 0
	check "and is yes" 1 cachex has m b/1
else
	skip "it asks on a terminal" "no script(1)"
fi

# verify
put m b/1 hello
check "verify" 0 cachex verify m
also "good" grep -Eq '^m: good; [0-9]+ chunks?, [0-9]+ records? \(1 live\), [0-9.]+ ' "$out"
check "verify all" 0 cachex verify
is "all of them" "$(cut -d: -f1 "$out")" "m
n
odd
utf8"
check "verify --json" 0 cachex verify n --json
is "JSON" "$(sed 's/"bytes":[0-9]*/"bytes":N/' "$out")" \
'{"module":"n","ok":true,"chunks":1,"records":1,"live":1,"bytes":N,"damaged":0}'
# The record's five bytes stand once in the file; one of them is changed.
LC_ALL=C grep -abo hello "$root/m/data.mdb" | tail -n 1 | cut -d: -f1 >at
for at in $(LC_ALL=C grep -abo hello "$root/m/data.mdb" | cut -d: -f1); do
	printf J | dd of="$root/m/data.mdb" bs=1 seek="$at" conv=notrunc 2>/dev/null
done
check "damage" 3 cachex verify m
also "is named" grep -q "^m: .*b/1" "$out"
also "and counted" grep -Eq '^m: [1-9][0-9]* damaged; ' "$out"
check "damage as JSON" 3 cachex verify m --json
also "is a line" grep -q '^{"module":"m","damage":"' "$out"
also "before the result" grep -q '^{"module":"m","ok":false,' "$out"
check "damage elsewhere does not matter" 0 cachex verify n
check "get of a damaged record" 3 cachex get m b/1 -o damaged.npy
also "names it" grep -q "^cachex: get: .*b/1" "$err"
also "writes nothing" test ! -e damaged.npy

# What is no module
mkdir -p "$root/empty" "$root/text"
echo text >"$root/text/data.mdb"
check "a directory that is no module" 1 cachex ls empty
check "a root below a file" 4 sh -c \
	'printf x | "$1" put --root "$2" m k --dtype u8 --shape 1' sh "$CACHEX" "$root/text/data.mdb/sub"
also "is named" grep -q "^cachex: put: $root/text/data.mdb" "$err"
check "a file that is no module" 3 cachex ls text
also "is named" grep -q "$root/text" "$err"
is "in one line" "$(wc -l <"$err" | tr -d ' ')" 1
for bad in .m 'a b' a/b ..; do
	check "module_id '$bad'" 2 cachex ls "$bad"
done
finish
