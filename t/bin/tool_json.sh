#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# --json: one object a line from every command, and errors as objects.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
printf 0123456789abcdef >raw
json() { check "$1" "$2" cachex --json $3; is "$1: object" "$(cat "$out")" "$4"; }

# ---- results -----------------------------------------------------------------------
json put 0 "put m k raw --dtype f32 --shape 2,2" \
	'{"module":"m","id":"k","dtype":"f32","shape":[2,2],"bytes":16,"dry_run":false}'
is "nothing else is said" "$(cat "$err")" ""
json "put -n" 0 "put new k raw -n --dtype u8 --shape 16" \
	'{"module":"new","id":"k","dtype":"u8","shape":[16],"bytes":16,"dry_run":true}'
also "stores nothing" test ! -e "$root/new"
echo '{"a":1}' >a.json
json "put of a map" 0 "put m map a.json" \
	'{"module":"m","id":"map","kind":"map","structure":"{a: integer}","bytes":0,"dry_run":false}'
id=$(printf 'a\377')
check "put of an id that is not UTF-8" 0 cachex --json put m "$id" raw --dtype u8 --shape 16
is "in base64" "$(cut -d , -f 2 "$out")" '"id_base64":"Yf8="'

cachex dump m >m.jsonl
json load 0 "load copy m.jsonl" '{"module":"copy","stored":3,"skipped":0,"dry_run":false}'
json "load --skip-existing" 0 "load copy m.jsonl --skip-existing" \
	'{"module":"copy","stored":0,"skipped":3,"dry_run":false}'
json "load -n" 0 "load none m.jsonl -n" '{"module":"none","stored":3,"skipped":0,"dry_run":true}'

json "rm -n" 0 "rm copy k map -n -q" \
	'{"module":"copy","forgotten":2,"missing":0,"dry_run":true}'
json rm 1 "rm -f copy k gone map" \
	'{"module":"copy","forgotten":2,"missing":1,"dry_run":false}'
is "and the error" "$(cat "$err")" \
	"{\"error\":{\"command\":\"rm\",\"exit\":1,\"message\":\"'gone' is not in copy\"}}"

json "clear -n" 0 "clear -n copy" '{"module":"copy","forgotten":1,"dry_run":true}'
json clear 0 "clear -f copy" '{"module":"copy","forgotten":1,"dry_run":false}'

json "backup -n" 0 "backup m saved -n" \
	'{"module":"m","to_root":"saved","compact":false,"dry_run":true}'
also "copies nothing" test ! -e saved
json backup 0 "backup m saved -c" \
	'{"module":"m","to_root":"saved","compact":true,"dry_run":false}'

cachex put images k raw --dtype u8 --shape 1,4,4
cachex export images house >/dev/null
json report 0 "warehouse report house -o r.html --csv r.csv --sqlite r.db --parquet r" \
	'{"warehouse":"house","samples":1,"page":"r.html","csv":"r.csv","sqlite":"r.db","parquet":"r"}'
wrong "a report on standard output" 2 '{"error":{"command":"warehouse","exit":2,'\
'"message":"--json and the report would both go to standard output; name a file"}}' \
	cachex --json warehouse report house --csv -

check "help" 0 cachex help --json
is "is one line" "$(wc -l <"$out")" 1
is "begins with the commands" "$(cut -c -68 "$out")" \
	'{"commands":[{"name":"put","summary":"store a tensor, or a structure'
check "help of a command" 0 cachex help has --json
cp "$out" has.json
is "its name" "$(cut -d , -f 1-3 "$out")" \
	'{"name":"has","operands":"MODULE CACHE_ID...","summary":"check whether cache_ids are stored"'
also "its options" grep -q '{"name":"null","letters":"z","kind":"flag","help":"[^"]*","variable":"CACHEX_HAS_NULL","key":"has.null"}' has.json
check "--help" 0 cachex has --json --help
also "is the same" cmp "$out" has.json
check "-h" 0 cachex has --json -h
also "is the same too" cmp "$out" has.json
check "help of a command with words" 0 cachex help shard --json
also "has them" grep -q '"subcommands":\[{"name":"inspect","summary":"[^"]*"}' "$out"
if python3 -c '' 2>/dev/null; then
	for command in $(cachex help --json | python3 -c '
import json, sys
for command in json.load(sys.stdin)["commands"]: print(command["name"])'); do
		cachex help "$command" --json
	done >all.jsonl
	also "all of it is JSON" python3 -c '
import json, sys
assert len([json.loads(line) for line in open("all.jsonl")]) > 30'
else
	skip "all of it is JSON" "no python3"
fi

# ---- errors ------------------------------------------------------------------------
error() { wrong "$1" "$2" "{\"error\":{$3}}" cachex $4; }
error "a miss" 1 "\"command\":\"get\",\"exit\":1,\"message\":\"'x' is not in m\"" "get m x --json"
error "no module" 1 "\"command\":\"get\",\"exit\":1,\"message\":\"no module absent in $root\"" \
	"--json get absent x"
error "of the library" 2 '"command":"get","status":"LC_INVALID","exit":2,"message":'\
"\"module id '../m': must be 1 to 128 characters and start with a letter or digit\"" \
	"get ../m x --json"
error "an unknown command" 2 '"exit":2,"message":"unknown command exprot; did you mean export?"' \
	"exprot m --json"
error "an unknown option" 2 '"command":"get","exit":2,"message":"unknown option --fromat; did you mean --format?"' \
	"get m x --fromat --json"
error "an operand too few" 2 '"command":"get","exit":2,"message":"an operand is missing: cachex get MODULE CACHE_ID"' \
	"get m --json"
error "a file that is not there" 4 '"command":"put","status":"LC_NO_FILE","exit":4,"message":"gone.npy: open: No such file or directory"' \
	"put m k gone.npy --json"
is "as without --json" "$(cachex get m x 2>&1)" "cachex: get: 'x' is not in m"
wrong "after -- it is an operand" 1 "cachex: get: '--json' is not in m" \
	cachex get -- m --json
wrong "by the environment" 1 "{\"error\":{\"command\":\"get\",\"exit\":1,\"message\":\"'x' is not in m\"}}" \
	env CACHEX_JSON=1 "$CACHEX" get m x
check "a name that needs escapes" 4 cachex --json put m k 'a"b\c
d'
is "is escaped, on one line" "$(cat "$err")" \
	'{"error":{"command":"put","status":"LC_NO_FILE","exit":4,"message":"a\"b\\c?d: open: No such file or directory"}}'
printf 'hay needle hay..' | cachex put hurt k --dtype u8 --shape 16
cachex set hurt codec=none >/dev/null
at=$(LC_ALL=C grep -abo needle "$root/hurt/data.mdb" | head -n 1 | cut -d : -f 1)
printf X | dd of="$root/hurt/data.mdb" bs=1 seek="$at" conv=notrunc status=none
check "damage" 3 cachex --json get hurt k
also "has its status" grep -q '^{"error":{"command":"get","status":"LC_CORRUPT","exit":3,"message":".*"}}$' "$err"
check "damage that a copy leaves out" 3 cachex --json copy hurt other
also "too" grep -q '^{"error":{"command":"copy","exit":3,"message":".*"}}$' "$err"
check "a note" 0 cachex --json set m codec=none -n
check "of a dry run" 0 cachex --json rm -n m k
is "is an object" "$(cat "$err")" "{\"note\":{\"command\":\"rm\",\"message\":\"would delete 'k'\"}}"
if [ -e /dev/full ]; then
	cachex --json ls m >/dev/full 2>"$err"
	is "a full standard output" "$?" 4
	is "is told" "$(cat "$err")" \
		'{"error":{"command":"ls","exit":4,"message":"standard output: No space left on device"}}'
fi
finish
