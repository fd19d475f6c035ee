#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# dump and load: a module as JSON lines.
. "${srcdir:-.}/t/support/tap.sh"

put() { printf %s "$2" | cachex put m "$1" --dtype "$3" --shape "$4"; }

put b abcd f32 1
put a abcdef u8 2,3
put "$(printf 'q\377')" x bool ''
put 'é"' '' bf16 0
cat >expected <<'END'
{"id":"a","dtype":"u8","shape":[2,3],"data":"YWJjZGVm"}
{"id":"b","dtype":"f32","shape":[1],"data":"YWJjZA=="}
{"id_base64":"cf8=","dtype":"bool","shape":[],"data":"eA=="}
{"id":"é\"","dtype":"bf16","shape":[0],"data":""}
END
check "dump" 0 cachex dump m
is "by cache_id" "$(cat "$out")" "$(cat expected)"
check "dump -o" 0 cachex dump m -o dump.jsonl
also "the same in a file" cmp dump.jsonl expected
check "dump -n" 0 cachex dump m -n -o none.jsonl
is "says what it would do" "$(cat "$out" "$err")" \
	"cachex: dump: would write 4 records to none.jsonl"
also "writes nothing" test ! -e none.jsonl
check "load" 0 cachex load n dump.jsonl
is "says nothing" "$(cat "$out" "$err")" ""
is "the module is the same" "$(cachex dump n)" "$(cat expected)"
check "load from a pipe" 0 sh -c '"$1" dump m | "$1" load -v o' sh "$CACHEX"
is "-v counts" "$(cat "$err")" "cachex: load: 4 records stored, 0 skipped"
is "the same again" "$(cachex dump o)" "$(cat expected)"
check "load < file" 0 sh -c '"$1" load p - <dump.jsonl' sh "$CACHEX"
is "the same as well" "$(cachex dump p)" "$(cat expected)"

# What is large, and larger than the encoder's block
head -c 100000 /dev/urandom >large
check "put 100,000 bytes" 0 cachex put big large large --dtype u8 --shape 100000
check "dump and load them" 0 sh -c '"$1" dump big | "$1" load big2' sh "$CACHEX"
check "get them" 0 cachex get big2 large --format raw
also "the same bytes" cmp "$out" large

# Switches
echo '{"id":"a","dtype":"u8","shape":[1],"data":"eg=="}' >a.jsonl
check "--skip-existing" 0 cachex load n a.jsonl --skip-existing -v
is "skips" "$(cat "$err")" "cachex: load: 0 records stored, 1 skipped"
is "the old one" "$(cachex get n a --format raw)" abcdef
check "without it" 0 cachex load n a.jsonl
is "the new one" "$(cachex get n a --format raw)" z
check "dry run" 0 cachex load -n new a.jsonl
is "counts" "$(cat "$err")" "cachex: load: 1 record good, 0 skipped"
also "makes no module" test ! -e "$XDG_CACHE_HOME/cachex/new"
check "dry run from a pipe" 0 sh -c 'cat a.jsonl | "$1" load -n new' sh "$CACHEX"
also "makes none either" test ! -e "$XDG_CACHE_HOME/cachex/new"
printf '\n%s\n\n' "$(cat a.jsonl)" >blank.jsonl
check "empty lines do not matter" 0 cachex load blank blank.jsonl
printf '%s' '{"shape":[ 1 ],"data":"eg==", "extra":1,"dtype":"uint8","id":"\u0061\u0000"}' >other.jsonl
check "other orders, other names, no newline" 0 cachex load other other.jsonl
is "are the same" "$(cachex dump other)" '{"id":"a\u0000","dtype":"u8","shape":[1],"data":"eg=="}'

# Bad lines: the whole file is checked before anything is stored.
while IFS='	' read -r line message; do
	printf '%s\n%s\n' "$(cat a.jsonl)" "$line" >bad.jsonl
	check "$line" 3 cachex load bad bad.jsonl
	is "$message" "$(cat "$err")" "cachex: load: bad.jsonl:2: $message"
done <<'END'
[1]	not a JSON object
{"dtype":"u8","shape":[1],"data":"eg=="}	a record has either id or id_base64
{"id":"a","id_base64":"YQ==","dtype":"u8","shape":[1],"data":"eg=="}	a record has either id or id_base64
{"id":1,"dtype":"u8","shape":[1],"data":"eg=="}	id is not text
{"id":"","dtype":"u8","shape":[1],"data":"eg=="}	the cache_id has 0 bytes, not 1 to 65536
{"id_base64":"YQ=","dtype":"u8","shape":[1],"data":"eg=="}	id_base64 is not base64
{"id_base64":"YR==","dtype":"u8","shape":[1],"data":"eg=="}	id_base64 is not base64
{"id":"a","shape":[1],"data":"eg=="}	dtype is missing or not text
{"id":"a","dtype":"u9","shape":[1],"data":"eg=="}	unknown dtype 'u9'
{"id":"a","dtype":"u8","data":"eg=="}	shape is not a list
{"id":"a","dtype":"u8","shape":[-1],"data":"eg=="}	dimension 0 of shape is not a whole number
{"id":"a","dtype":"u8","shape":[1.0],"data":"eg=="}	dimension 0 of shape is not a whole number
{"id":"a","dtype":"u8","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],"data":"eg=="}	shape has more than 16 dimensions
{"id":"a","dtype":"f64","shape":[4611686018427387904],"data":"eg=="}	shape overflows at dimension 0
{"id":"a","dtype":"u8","shape":[2],"data":"eg=="}	data has 1 byte; its shape needs 2
{"id":"a","dtype":"u8","shape":[1]}	data is not text
{"id":"a","dtype":"u8","shape":[1],"data":"e*=="}	data is not base64
{"id":"a","dtype":"u8","shape":[1],"data":"===="}	data is not base64
END
also "nothing of it was stored" test ! -e "$XDG_CACHE_HOME/cachex/bad"
printf '%s\n{"id"\n' "$(cat a.jsonl)" >bad.jsonl
check "no JSON" 3 cachex load bad bad.jsonl
also "is named" grep -q '^cachex: load: bad.jsonl:2: not JSON: ' "$err"
check "a bad line from a pipe" 3 sh -c 'cat bad.jsonl | "$1" load bad' sh "$CACHEX"
is "says what was stored" "$(sed -n 2p "$err")" \
	"cachex: load: standard input: stored 1 record before that"
check "it was" 0 cachex has bad a
refuse "no file" 4 "cachex: load: gone.jsonl: No such file or directory" cachex load m gone.jsonl
refuse "a directory" 4 "cachex: load: .: Is a directory" cachex load m .

# Damage
printf hello | cachex put d whole --dtype u8 --shape 5
printf world | cachex put d broken --dtype u8 --shape 5
data=$XDG_CACHE_HOME/cachex/d/data.mdb
for at in $(LC_ALL=C grep -abo world "$data" | cut -d: -f1); do
	printf W | dd of="$data" bs=1 seek="$at" conv=notrunc 2>/dev/null
done
check "dump of a damaged module" 3 cachex dump d
is "has what is whole" "$(cut -d, -f1 "$out")" '{"id":"whole"'
also "names what is not" grep -q '^cachex: dump: .*broken' "$err"
check "into a file" 3 cachex dump d -o damaged.jsonl
also "writes none" test ! -e damaged.jsonl
if [ -w /dev/full ]; then
	check "dump to a full device" 4 cachex dump big -o /dev/full
	is "is named" "$(cat "$err")" "cachex: dump: /dev/full: No space left on device"
	check "dump to a full standard output" 4 sh -c '"$1" dump big >/dev/full' sh "$CACHEX"
	is "is named, too" "$(cat "$err")" "cachex: dump: standard output: No space left on device"
else
	skip "dump to a full device" "no /dev/full"
fi
finish
