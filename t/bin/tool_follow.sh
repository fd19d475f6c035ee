#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# follow: modules while they are written, finished, given up, and taken up again.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
fill() { "$builddir/t/support/fill_inputs" "$root" "$@"; }
words() { tr '\n' ' ' <"$1"; }
# Wait until a file has so many lines, as long as a process lives.
lines() {
	while [ "$(cat "$1" 2>/dev/null | wc -l)" -lt "$2" ] && kill -0 "$3" 2>/dev/null; do :; done
}
# Start a writer, and wait until it holds. It waits for the end of the pipe `go`, which no
# other process may keep open: 3>&-. What an earlier writer said must not be taken for it.
mkfifo go
start_writer() {
	rm -f holding
	"$builddir/t/support/fill_inputs" "$root" "$@" <go >holding &
	writer=$!
	exec 3>go
	lines holding 1 $writer
}

# A module of plain puts
printf x >x
cachex put plain one x --dtype u8 --shape 1
cachex put plain two x --dtype u8 --shape 1
check "a module of plain puts" 1 cachex follow plain -1 --timeout 0
is "prints its records" "$(words "$out")" "one two "
is "and is never final" "$(cat "$err")" \
"cachex: follow: plain: 2 chunks, 2 records; filled by puts, never final
cachex: follow: plain: no new data in 0 s"
check "in silence" 1 cachex follow plain -q --json --timeout 0
is "JSON" "$(cat "$out")" \
'{"batch":0,"row":0,"example":0,"epoch":0,"id":"one"}
{"batch":1,"row":0,"example":1,"epoch":0,"id":"two"}'
check "its status" 1 cachex follow plain --status
is "is a line" "$(cat "$out")" "plain: 2 chunks, 2 records; filled by puts, never final"

# Inputs: three of a, one of b, none of c so far.
check "a first writer" 0 fill t length:. declare:a,b,c a:2:1 a:1:5 a:1:2 b:2:3 "b=$(printf '\001\002')"
check "nobody writes" 1 cachex follow t -1
is "what is published is printed" "$(words "$out")" "a-0 a-1 b-0 b-1 "
is "and that it was given up is said" "$(cat "$err")" \
"cachex: follow: t: its inputs are not finished and have no writer; --wait waits for one
cachex: follow: t: 2 of 4 chunks published, 4 records; 0 of 3 inputs finished, 0 held"
check "status" 1 cachex follow t --status
is "is a line an input" "$(cat "$out")" \
"a  3 chunks  4 records  length 10  open  4
b   1 chunk  2 records   length 7  open  0x0102
c  0 chunks  0 records   length 0  open  -
t: 2 of 4 chunks published, 4 records; 0 of 3 inputs finished, 0 held"
check "status as JSON" 1 cachex follow t --status --json
is "is an object a line" "$(sed 's/"prefix_hash":"[0-9a-f]*"/"prefix_hash":H/' "$out")" \
'{"input":"a","index":0,"fingerprint":"same","cursor":"4","chunks":3,"records":4,"length":10,"finished":false,"held":false}
{"input":"b","index":1,"fingerprint":"same","cursor":"\u0001\u0002","chunks":1,"records":2,"length":7,"finished":false,"held":false}
{"input":"c","index":2,"fingerprint":"same","cursor":"","chunks":0,"records":0,"length":0,"finished":false,"held":false}
{"module":"t","inputs":3,"finished":0,"held":0,"final":false,"committed":4,"published":2,"records":4,"length":10,"prefix_hash":H}'
check "a finished input" 0 fill t 'c!'
check "lets the others on" 1 cachex follow t -1q
is "as far as is known" "$(words "$out")" "a-0 a-1 b-0 b-1 a-2 "

# Following a writer that lives
start_writer t b:1:9 hold b:1:2 'a!' 'b!'
check "a writer that lives" 1 cachex follow t --status
is "holds its input" "$(awk '{ print $1, $(NF - 1) }' "$out" | head -n 3 | tr '\n' ' ')" "a open b held c finished "
check "a wait that ends" 1 cachex follow t -1 --timeout 0
is "with what there is" "$(words "$out")" "a-0 a-1 b-0 b-1 a-2 b-2 a-3 "
is "and how far it is" "$(cat "$err")" \
"cachex: follow: t: 5 of 5 chunks published, 7 records; 1 of 3 inputs finished, 1 held
cachex: follow: t: no new data in 0 s"
"$CACHEX" follow t -1 --token-file f.token >followed 2>followed.err 3>&- &
follower=$!
"$CACHEX" follow t --sum --batch 2 --shuffle era --era-first 2 --era-max 4 --block 1 -q >eras 3>&- &
other=$!
"$CACHEX" read t --follow --sum --window 4 --batch 2 -q >windows 3>&- &
third=$!
lines followed 7 $follower
exec 3>&-
wait $writer
is "the writer ends" $? 0
wait $follower
is "and so does who follows" $? 0
is "with all of it in order" "$(words followed)" "a-0 a-1 b-0 b-1 a-2 b-2 a-3 b-3 "
is "and it is final" "$(tail -n 1 followed.err)" \
	"cachex: follow: t: 6 of 6 chunks published, 8 records; 3 of 3 inputs finished, 0 held; final"
wait $other
is "eras are followed" $? 0
cachex read t --sum --batch 2 --shuffle era --era-first 2 --era-max 4 --block 1 >later
holds "to the same batches" cmp eras later
wait $third
is "windows are followed" $? 0
cachex read t --sum --window 4 --batch 2 >later
holds "to the same batches, too" cmp windows later
check "status of what is final" 0 cachex follow t --status
is "is yes" "$(tail -n 1 "$out")" \
	"t: 6 of 6 chunks published, 8 records; 3 of 3 inputs finished, 0 held; final"
check "all of it again" 0 cachex follow t -1
also "is the same" cmp followed "$out"
check "and nothing with the token" 0 cachex follow t -1 --token-file f.token
is "but that it is done" "$(head -n 1 "$err")" \
	"cachex: follow: f.token: all 8 batches have been read; --restart starts again"
check "read says the same" 0 cachex read t -1
also "in one run" cmp followed "$out"

# A writer that has finished its inputs, and lives on
start_writer f declare:a,b a:1 'a!' hold
check "a writer of a finished input" 1 cachex follow f -1 --timeout 10
is "writes nothing more" "$(cat "$err")" \
"cachex: follow: f: its inputs are not finished and have no writer; --wait waits for one
cachex: follow: f: 1 of 1 chunk published, 1 record; 1 of 2 inputs finished, 0 held"
check "another one finishes the other" 0 fill f 'b!'
check "a module with a writer of a finished input" 0 cachex follow f -1
is "is final" "$(cat "$err")" \
	"cachex: follow: f: 1 of 1 chunk published, 1 record; 2 of 2 inputs finished, 0 held; final"
exec 3>&-
wait $writer

# A writer that is killed, and one that goes on
start_writer k declare:a,b a:2 b:1 hold
"$CACHEX" follow k -1 --token-file k.token >killed 2>killed.err 3>&- &
follower=$!
"$CACHEX" follow k -1 --wait >waited 2>waited.err 3>&- &
other=$!
lines killed 3 $follower
kill -9 $writer
wait $writer 2>/dev/null
exec 3>&-
wait $follower
is "who follows a killed writer is told" $? 1
is "in words" "$(grep -c 'have no writer; --wait waits for one$' killed.err)" 1
is "after what it wrote" "$(words killed)" "a-0 a-1 b-0 "
check "another one goes on" 0 fill k b:2 a:1 'a!' 'b!'
check "as does who follows" 0 cachex follow k -1 -q --token-file k.token
cat "$out" >>killed
is "to the final order" "$(words killed)" "a-0 a-1 b-0 a-2 b-1 b-2 "
wait $other
is "--wait waits for it" $? 0
holds "and sees the same" cmp killed waited

# Stopped by hand
if env --default-signal=INT true 2>/dev/null; then
	start_writer s declare:a a:3 hold a:2 'a!'
	env --default-signal=INT "$CACHEX" follow s -1 -q --token-file s.token >stopped 2>stopped.err 3>&- &
	follower=$!
	lines stopped 3 $follower
	kill -INT $follower
	wait $follower
	is "SIGINT" $? 130
	is "in silence" "$(cat stopped.err)" ""
	is "the token has what was printed" "$(od -An -t u8 -j 64 -N 8 s.token | tr -d ' ')" 3
	exec 3>&-
	wait $writer
	check "and is gone on with" 0 cachex follow s -1 -q --token-file s.token
	is "behind it" "$(words "$out")" "a-3 a-4 "
else
	skip "SIGINT" "env has no --default-signal"
fi

# Options
cachex put z a x --dtype u8 --shape 1
cachex export -q z shards
wrong "a path" 2 "cachex: follow: ./nothing is not a module; only modules grow" cachex follow ./nothing
wrong "shards" 2 "cachex: follow: ./shards is not a module; only modules grow" cachex follow ./shards
wrong "no module" 1 "cachex: follow: no module n in $root, and no file or directory of that name" \
	cachex follow n
check "a shuffle that needs the end" 2 cachex follow t --shuffle full
is "is a line" "$(wc -l <"$err" | tr -d ' ')" 1
check "frames" 0 cachex follow t --frames -q
is "of what is there" "$(head -c 4 "$out")" CXF1
wrong "a mixture" 2 "cachex: follow: unknown option --mix" cachex follow t --mix t
wrong "no timeout" 2 "cachex: follow: --timeout: 'long' is not a number" cachex follow t --timeout long
finish
