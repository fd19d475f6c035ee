#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fill: what a module lacks, made by producers that work and by others that do not.
. "${srcdir:-.}/t/support/tap.sh"

producer="exec '$builddir/t/support/bad_producer'"
# What fill printed, without bytes and rates.
counts() { sed 's/;.*//' "$out"; }
raw() { cachex get "$@" --format raw; }
# The records in the order of the chunks, and what they are.
order() { cachex follow -q "$1" --json | cksum; }

# ---- a list of ids

seq 1 300 >ids
check "a list" 0 cachex fill m --exec "$producer good" --ids ids -j 2 -b 7
is "is stored" "$(counts)" "300 stored, 0 there, 0 wrong, 0 failed"
is "as it was made" "$(raw m 217)" 217
is "all of it" "$(cachex ls -1 m | sort -n | cksum)" "$(cksum <ids)"
also "no failures are listed" test ! -e "$XDG_CACHE_HOME/cachex/m/failures.jsonl"
check "once more" 0 cachex fill m --exec "$producer crash" --ids ids
is "there is nothing to do" "$(counts)" "0 stored, 300 there, 0 wrong, 0 failed"
cachex rm -f m 5 17 >/dev/null
printf '5\n\n17\n5\n301\n17\n301' >some
check "some are missing" 0 sh -c '"$0" fill m --exec "$1" --ids - <some' "$CACHEX" "$producer good"
is "and asked for once" "$(counts)" "3 stored, 3 there, 0 wrong, 0 failed"
stored() {
	for _ in $(seq 600); do
		"$CACHEX" has "$1" "$2" >/dev/null 2>&1 && return
		sleep 0.1
	done
	return 1
}
(echo slow; stored p1 slow && echo then; stored p1 then && printf and) |
    "$CACHEX" fill p1 --exec "$producer good" --ids - >out 2>&1
also "a pipe that waits for its answers gets them" stored p1 and
is "each in a batch" "$(sed 's/;.*//' out)" "3 stored, 0 there, 0 wrong, 0 failed"
check "a list with NUL bytes" 0 sh -c 'printf "a\nb\0c \0\0\377" | "$0" fill m --exec "$1" --ids - -z' \
	"$CACHEX" "$producer good"
is "has any bytes" "$(counts)" "3 stored, 0 there, 0 wrong, 0 failed"
is "with what stands in them" "$(raw m "$(printf 'a\nb')")" "$(printf 'a\nb')"
: >none
check "an empty list" 0 cachex fill m --exec "$producer crash" --ids none
is "is done" "$(counts)" "0 stored, 0 there, 0 wrong, 0 failed"

# ---- as demanded

check "a dry run" 0 cachex fill m --ids ids -n --expect 'u8[2]'
is "counts" "$(cat "$out")" "0 missing, 90 there, 210 wrong"
seq 8 12 >five
check "values as demanded" 1 cachex fill e --exec "$producer good" --ids five --expect 'u8[2]'
is "are stored" "$(counts)" "3 stored, 0 there, 0 wrong, 2 failed"
is "others are told" "$(cat "$err")" \
"cachex: fill: '8': is u8[1], not u8[2]
cachex: fill: '9': is u8[1], not u8[2]"
is "and listed" "$(sed 's/"at":.*/"at":…/' "$XDG_CACHE_HOME/cachex/e/failures.jsonl")" \
'{"id":"8","why":"is u8[1], not u8[2]","attempts":1,"at":…
{"id":"9","why":"is u8[1], not u8[2]","attempts":1,"at":…'
check "with other demands" 0 cachex fill e --exec "$producer good" --ids five --expect 'u8[*]'
is "they are good" "$(counts)" "2 stored, 3 there, 0 wrong, 0 failed"
also "the list of failures is gone" test ! -e "$XDG_CACHE_HOME/cachex/e/failures.jsonl"
printf xyz >x
cachex put e 9 x --dtype u8 --shape 3
check "a stored but wrong value" 0 cachex fill e --exec "$producer good" --ids five --expect 'u8[1]' \
	--expect '*[*]' -n
is "is not done" "$(cat "$out")" "0 missing, 1 there, 4 wrong"
printf '9\n' >nine
check "it is made anew" 0 cachex fill e --exec "$producer good" --ids nine --expect 'u8[1]'
is "and replaced" "$(counts); $(raw e 9)" "1 stored, 0 there, 1 wrong, 0 failed; 9"
check "a part that is not there" 1 cachex fill p --exec "$producer good" --ids nine --expect 'a=u8'
is "is told" "$(counts)" "0 stored, 0 there, 0 wrong, 1 failed"
cachex set e policy=strict >/dev/null
printf '[1,2]' >other.json
cachex set e policy=evolve >/dev/null
cachex put e 8 other.json >/dev/null 2>&1
cachex set e policy=strict >/dev/null
check "another structure in a strict module" 0 cachex fill e --ids five -n
is "is wrong" "$(cat "$out")" "0 missing, 4 there, 1 wrong"

# Damage of a tensor is seen by who looks at it.
printf 'needle-in-haystack\n' >needle
cachex fill d -q --exec "$producer good" --ids needle
file=$XDG_CACHE_HOME/cachex/d/data.mdb
at=$(grep -abo 'needle-in-haystack' "$file" | sed -n 2p | cut -d: -f1)
printf X | dd of="$file" bs=1 seek=$((at + 3)) conv=notrunc 2>/dev/null
check "a damaged tensor" 0 cachex fill d --ids needle -n
is "is not looked at" "$(cat "$out")" "0 missing, 1 there, 0 wrong"
check "but with --deep" 0 cachex fill d --exec "$producer good" --ids needle --deep
is "it is, and made anew" "$(counts); $(raw d needle-in-haystack)" \
	"1 stored, 0 there, 1 wrong, 0 failed; needle-in-haystack"

# ---- producers that misbehave

check "errors of items" 1 cachex fill f --exec "$producer errors" --ids ids -b 10 -j 2
is "do not stop the others" "$(counts)" "150 stored, 0 there, 0 wrong, 150 failed"
is "ten are told" "$(wc -l <"$err" | tr -d ' ')" 11
is "the others counted" "$(tail -n 1 "$err")" \
	"cachex: fill: and 140 more: see $XDG_CACHE_HOME/cachex/f/failures.jsonl"
is "all are listed" "$(wc -l <"$XDG_CACHE_HOME/cachex/f/failures.jsonl" | tr -d ' ')" 150
check "a producer that dies of an item" 1 cachex fill g --exec "$producer crash-on 42" --ids ids -b 10 \
	--failures here
is "loses its batch" "$(counts)" "290 stored, 0 there, 0 wrong, 10 failed"
also "with what it said last" grep -q '^{"id":"42",.*,"attempts":2,"stderr":"cannot take 42.*"at":' here
is "the batch is listed" "$(cut -d'"' -f4 here | tr '\n' ' ')" "41 42 43 44 45 46 47 48 49 50 "
check "it alone is to blame" 1 cachex fill g --exec "$producer crash-on 42" --ids ids -b 10 --isolate
is "if isolated" "$(counts)" "9 stored, 290 there, 0 wrong, 1 failed"
check "a producer that hangs" 1 cachex fill h --exec "$producer hang-on 42" --ids ids -b 30 --timeout 1 \
	--start-timeout 60 --retries 0 -j 1
is "is killed" "$(counts)" "270 stored, 0 there, 0 wrong, 30 failed"
check "one that dies once" 0 cachex fill o --exec "$producer crash-once once" --ids ids -j 2
is "costs nothing" "$(counts)" "300 stored, 0 there, 0 wrong, 0 failed"
check "one that does not work" 1 cachex fill n --exec "$producer crash" --ids ids -b 5 --retries 0 --give-up 3 -j 1
is "is given up" "$(counts)" "0 stored, 0 there, 0 wrong, 15 failed"
also "in one line" grep -q '^cachex: fill: .*3 batches in a row' "$err"
check "one that is not there" 1 cachex fill n --exec ./none --ids ids
also "says so" grep -q '^cachex: fill: .*none' "$err"
check "with -v" 0 cachex -v fill v --exec "echo hello >&2; $producer good" --ids five -j 1
is "its messages are told" "$(cat "$err")" "cachex: fill: producer 0: hello"

# ---- shards

seq 1 1000 >one.txt
seq 1 300 | sed 's/^/line /' >two.txt
printf 'a\r\n\nlast' >three
check "shards" 0 cachex fill t --exec "$producer good" -j 3 -b 5 --chunk 40 --from one.txt two.txt three
is "are stored" "$(cat "$out" | sed 's/;.*//')" \
"1303 stored, 0 failed, 0 bad
3 inputs: 3 finished, 0 stopped, 0 left to others"
is "lines have their ids" "$(raw t one.txt:999; echo; raw t two.txt:0)" "$(printf 'one.txt:9991000\ntwo.txt:0line 1')"
is "without their ends" "$(raw t three:0; raw t three:1; raw t three:2)" "three:0athree:1three:2last"
is "of chunks" "$(cachex stat t | sed -n 's/^  chunks in order  *//p')" 34
check "once more" 0 cachex fill t --exec "$producer crash" --from one.txt --from two.txt --from three
is "there is nothing to do" "$(counts | head -n 1)" "0 stored, 0 failed, 0 bad"
check "other processes and batches" 0 cachex fill u --exec "$producer good" -j 1 -b 64 --chunk 40 \
	--from one.txt two.txt three
is "give the same order" "$(order u)" "$(order t)"
is "of all of them" "$(cachex follow -q t --json | wc -l | tr -d ' ')" 1303
printf 'one.txt\ntwo.txt\n' >list
check "a list of shards" 0 cachex fill w --exec "$producer good" --from @list three --chunk 40 --json
also "as JSON" grep -q '^{"stored":1303,"failed":0,"bad":0,"items":1303,"recalled":0,"chunks":34,.*"inputs":3,"finished":3,"stopped":0,"left":0,.*"dry_run":false}$' "$out"
is "gives the same" "$(order w)" "$(order t)"
check "what is left" 0 cachex fill x -n --from one.txt two.txt three
is "is counted" "$(cat "$out")" "1303 missing, 0 bad; 0 of 3 inputs finished"
also "without a trace" test ! -e "$XDG_CACHE_HOME/cachex/x"

# ---- JSONL, lists of files

printf '%s\n' '{"id":"ant","n":1}' '' '{"id":"b\u0065e","n":2}' '{"n":3,"id":7}' >a.jsonl
check "JSONL" 0 cachex fill j --exec "$producer good" --from a.jsonl
is "by line" "$(cachex ls -1 j | tr '\n' ' ')" "a.jsonl:0 a.jsonl:2 a.jsonl:3 "
is "as it stands there" "$(raw j a.jsonl:3)" 'a.jsonl:3{"n":3,"id":7}'
check "by a member" 0 cachex fill k --exec "$producer good" --from a.jsonl --id-field id
is "of each" "$(cachex ls -1 k | tr '\n' ' ')" "7 ant bee "
printf '%s\n' '{"id":1}' '{"id":2}' '{"id":' '{"id":3}' '{}' '{"id":2}' '{"id":[1]}' '{"id":4}' >bad.jsonl
check "a bad line" 3 cachex fill b --exec "$producer good" --from bad.jsonl one.txt --chunk 2
is "stops its input" "$(sed 's/;.*//' "$out")" \
"1002 stored, 0 failed, 1 bad
2 inputs: 1 finished, 1 stopped, 0 left to others"
is "and is told" "$(cat "$err")" \
"cachex: fill: 'bad.jsonl:2': bad.jsonl: line 3: column 7: the text ends too early
cachex: fill: bad.jsonl stops: bad.jsonl: line 3: column 7: the text ends too early"
check "it is left out" 1 cachex fill b --exec "$producer good" --from bad.jsonl one.txt --chunk 2 --skip-failed
is "for good" "$(sed 's/;.*//' "$out")" \
"5 stored, 0 failed, 1 bad
2 inputs: 2 finished, 0 stopped, 0 left to others"
is "failures are kept" "$(grep -c bad.jsonl:2 "$XDG_CACHE_HOME/cachex/b/failures.jsonl")" 2
check "ids that are none, or twice" 1 cachex fill c --exec "$producer good" --from bad.jsonl --id-field id --skip-failed
is "are left out" "$(counts | head -n 1)" "4 stored, 1 failed, 3 bad"
is "and told" "$(sed 's/^cachex: fill: //' "$err")" \
"'bad.jsonl:2': bad.jsonl: line 3: column 7: the text ends too early
'bad.jsonl:4': bad.jsonl: line 5: has no member 'id'
'2': put: '2': the chunk has it already
'bad.jsonl:6': bad.jsonl: line 7: neither a string nor an integer: 'id'"
printf 'img/a.png\nimg/b.png\n' >files.list
check "a list of files" 0 cachex fill q --exec "$producer good" --from files.list --kind files --id '{stem}'
is "by pattern" "$(cachex ls -1 q | tr '\n' ' ')" "a b "
is "has paths" "$(raw q a)" aimg/a.png

# ---- inputs whose items fail

check "a producer that fails" 1 cachex fill r --exec "$producer crash-on one.txt:95" --from one.txt three \
	--chunk 30 -b 10 --retries 0 --give-up 0
is "stops an input" "$(sed 's/;.*//' "$out")" \
"93 stored, 10 failed, 0 bad
2 inputs: 1 finished, 1 stopped, 0 left to others"
check "one that works" 0 cachex fill r --exec "$producer good" --from one.txt three --chunk 30 -b 10
is "goes on there" "$(counts | head -n 1)" "910 stored, 0 failed, 0 bad"
check "undisturbed" 0 cachex fill s --exec "$producer good" --from one.txt three --chunk 30
is "it is the same" "$(order r)" "$(order s)"

# What came back of a chunk that is not complete is kept beside the module's data.
dir=$XDG_CACHE_HOME/cachex
for m in kept gone; do
	check "a producer that fails in a chunk" 1 cachex fill $m --exec "$producer crash-on one.txt:105" \
		--from one.txt -j 1 --ahead 0 --chunk 30 -b 10 --retries 0 --give-up 0
	is "stops there" "$(counts | head -n 1)" "90 stored, 10 failed, 0 bad"
	also "and keeps what came back" test -s "$dir/$m/fill.0.part"
done
check "a module with it" 0 cachex verify kept
check "can be copied" 0 cachex copy kept copied
check "and backed up" 0 cachex backup kept "$PWD/kept.mdb"
also "without it" test ! -e "$dir/copied/fill.0.part"
is "it is one module" "$(cachex ls | grep -c kept)" 1
check "a dry run" 0 cachex fill kept -n --from one.txt
also "leaves it" test -s "$dir/kept/fill.0.part"
check "the next run" 0 cachex fill kept --exec "$producer logs log" --from one.txt --chunk 30 -b 7 --json
also "does not ask for that" grep -q '"items":900,"recalled":10,' "$out"
is "by no other batches either" "$(grep -c . log) $(grep -cx 'one.txt:9[0-9]' log)" "900 0"
also "and removes it" test ! -e "$dir/kept/fill.0.part"
check "undisturbed" 0 cachex fill whole --exec "$producer good" --from one.txt --chunk 30
is "it is the same too" "$(order kept)" "$(order whole)"
check "cleared" 0 cachex clear -f gone
also "it is gone" test ! -e "$dir/gone/fill.0.part"
check "from the start" 0 cachex fill gone --exec "$producer good" --from one.txt --chunk 30 --json
also "all is asked for" grep -q '"items":1000,"recalled":0,' "$out"

# ---- a part of the shards

for i in 0 1 2 3 4 5 6; do seq 1 $((20 + i * 9)) | sed "s/^/$i-/" >part$i.txt; done
check "a machine" 0 cachex fill parts --exec "$producer good" --chunk 10 --from part?.txt
# Machines have the shards of their own parts only.
mkdir away
for i in 0 1 2; do
	mv part?.txt away
	for k in $(seq $i 3 6); do mv away/part$k.txt .; done
	check "part $i of 3" 0 cachex --root "root$i" fill parts --exec "$producer good" --chunk 10 \
		--shard $i/3 --from part0.txt part1.txt part2.txt part3.txt part4.txt part5.txt part6.txt
	is "is told" "$(tail -n 1 "$out")" \
		"task $i/3, $((i == 0 ? 3 : 2)) of 7 inputs: $((i == 0 ? 3 : 2)) finished, 0 stopped, 0 left to others"
	cachex --root "root$i" ls -1 parts >ids$i
	while read -r id; do cachex --root "root$i" get parts "$id" --format raw; done <ids$i >>raw.parts
	mv away/* .
done
sort ids0 ids1 ids2 >ids.parts
is "the parts are the whole" "$(cksum <ids.parts)" "$(cachex ls -1 parts | sort | cksum)"
cat ids0 ids1 ids2 | while read -r id; do raw parts "$id"; done >raw.whole
is "byte for byte" "$(cksum <raw.parts)" "$(cksum <raw.whole)"
check "joined" 0 cachex merge --inputs ./root0/parts ./root1/parts ./root2/parts joined
is "they have its order" "$(order joined)" "$(order parts)"
state() { cachex follow "$1" --status --json | sed 's/"module":"[a-z]*"//'; }
is "its chunks and its hash" "$(state joined)" "$(state parts)"
for i in 0 1 2; do
	cachex fill one -q --exec "$producer good" --chunk 10 --shard $i/3 --from part?.txt &
done
wait
is "three at once in one module" "$(order one)" "$(order parts)"
check "what is left of another part" 0 cachex fill one -n --shard 4/5 --from part?.txt
is "is counted" "$(cat "$out")" "0 missing, 0 bad; task 4/5, 1 of 7 inputs: 1 of 1 inputs finished"
check "a producer that fails" 1 cachex fill half --exec "$producer crash-on part1.txt:15" --chunk 10 -b 5 \
	--retries 0 --give-up 0 --shard 1/3 --from part?.txt
is "stops one of a part" "$(tail -n 1 "$out")" "task 1/3, 2 of 7 inputs: 1 finished, 1 stopped, 0 left to others"
for i in 0 1 2 3 4; do
	env SLURM_PROCID=$i SLURM_NTASKS=5 "$CACHEX" fill half --exec "$producer good" --chunk 10 \
		--shard auto --from part?.txt >"$out" 2>"$err" </dev/null
	is "part $i of 5 goes on" "$? $(cat "$err")" "0 cachex: fill: task $i/5, from SLURM_PROCID"
done
is "to the same order" "$(order half)" "$(order parts)"
check "more parts than shards" 0 cachex fill half --exec "$producer crash" --shard 8/9 --from part?.txt --json
also "have none" grep -q '"declared":7,"inputs":0,"finished":0,"stopped":0,"left":0,' "$out"
wrong "no task" 2 "cachex: fill: --shard: '3/3': tasks of 3 are numbered 0 to 2" \
	cachex fill z --exec x --shard 3/3 --from one.txt
wrong "half a scheduler" 2 "cachex: fill: --shard: SLURM_NTASKS is not set" \
	env SLURM_PROCID=0 "$CACHEX" fill z --exec x --shard auto --from one.txt
wrong "as a variable" 2 "cachex: fill: CACHEX_FILL_SHARD: JOB_COMPLETION_INDEX has no count; use auto/N" \
	env CACHEX_FILL_SHARD=auto JOB_COMPLETION_INDEX=0 "$CACHEX" fill z --exec x --from one.txt
wrong "parts of ids" 2 "cachex: fill: --shard needs --from" cachex fill z --exec x --shard 0/2 --ids ids
wrong "a shard of it that is gone" 4 "cachex: fill: gone.txt: No such file or directory" \
	cachex fill z --exec x --shard 1/2 --from one.txt gone.txt
also "nothing was made" test ! -e "$XDG_CACHE_HOME/cachex/z"
check "parts of another list" 3 cachex fill one --exec x --shard 0/2 --from part1.txt part0.txt part[2-6].txt
is "are refused" "$(sed "s|$XDG_CACHE_HOME|X|" "$err")" \
	"cachex: fill: declare: X/cachex/one: input 0 is 'part0.txt' there, not part1.txt"

# ---- what does not go together

wrong "neither" 2 "cachex: fill: give the items with --ids or --from" cachex fill m --exec x
wrong "both" 2 "cachex: fill: --ids and --from exclude each other" cachex fill m --exec x --ids ids --from one.txt
wrong "no producer" 2 "cachex: fill: name the producer with --exec" cachex fill m --ids ids
wrong "a shard too many" 2 "cachex: fill: shards need --from" cachex fill m one.txt --exec x --ids ids
wrong "--deep" 2 "cachex: fill: --deep needs --ids" cachex fill m --exec x --from one.txt --deep
wrong "--skip-failed" 2 "cachex: fill: --id, --id-field, --kind and --skip-failed need --from" \
	cachex fill m --exec x --ids ids --skip-failed
wrong "--id-field of text" 2 "cachex: fill: --id-field needs JSONL, and one.txt is not JSONL" \
	cachex fill z --exec x --from one.txt --id-field id
wrong "--id of text" 2 "cachex: fill: --id needs lists of files, and one.txt is not one (--kind files)" \
	cachex fill z --exec x --from one.txt --id '{stem}'
wrong "a bad pattern" 2 "cachex: fill: --id: a lone { (write {{ for a brace)" \
	cachex fill z --exec x --from one.txt --id '{stem' --kind files
check "a bad demand" 2 cachex fill z --exec x --ids ids --expect 'f77[2]'
is "is one line" "$(wc -l <"$err" | tr -d ' ')" 1
wrong "no list" 4 "cachex: fill: nothing: No such file or directory" cachex fill z --exec x --ids nothing
wrong "no shard" 4 "cachex: fill: nothing: No such file or directory" cachex fill z --exec x --from one.txt nothing
also "nothing was made" test ! -e "$XDG_CACHE_HOME/cachex/z"
wrong "ids for a module of inputs" 3 \
	"cachex: fill: t is filled by inputs; continue with --from instead of --ids" \
	cachex fill t --exec x --ids ids
wrong "shards for a module of puts" 3 \
	"cachex: fill: m has records of plain puts; --from needs a module without them" \
	cachex fill m --exec x --from one.txt
check "other shards" 3 cachex fill t --exec "$producer good" --from one.txt two.txt
echo more >>three
check "a shard that was changed" 3 cachex fill t --exec "$producer good" --from one.txt two.txt three
also "is told" grep -q "^cachex: fill: .*three" "$err"
printf 'a\r\n\nlast' >three

# ---- the trace

if command -v jq >/dev/null; then
	check "a trace" 1 cachex fill tr --exec "$producer errors" --ids five -b 2 -j 1 --trace trace -q
	is "has events" "$(jq -r .event trace | grep -v progress | tr '\n' ' ')" \
		"begin batch failed batch failed batch end "
	is "and options" "$(jq -r 'select(.event == "begin") | .module + .options.batch' trace)" tr2
	is "and counts" "$(jq -c 'select(.event == "end") | [.status, .stored, .failed, .batches]' trace)" \
		'["ok",3,2,3]'
	check "numbers that producers report" 0 cachex fill tm --exec "$producer trains" --ids five -b 2 -j 1 --trace numbers -q
	is "are in it" "$(jq -c 'select(.event == "metrics") | [.producer, .metrics]' numbers | tr '\n' ' ')" \
		'[0,{"loss":1,"step":1}] [0,{"loss":0.5,"step":2}] [0,{"loss":0.333333,"step":3}] '
	is "progress counts producers" "$(jq -r 'select(.event == "progress") | has("running") and has("busy")' numbers | sort -u)" true
	is "seconds rise" "$(jq .seconds trace | sort -n -c && echo yes)" yes
else
	skip "a trace" "jq is not installed"
fi
check "progress" 0 cachex --progress fill pr --exec "$producer good" --ids ids
also "is told" grep -q '^fill: .*records/s' "$err"

# ---- signals, kills and full disks

# Wait until the trace has $1 batches, or process $2 has ended.
until_batches() {
	until n=$(grep -c '"event":"batch"' live 2>/dev/null); [ "${n:-0}" -ge "$1" ]; do
		kill -0 "$2" 2>/dev/null || return 0
	done
}
background() { env --default-signal=INT "$CACHEX" "$@" >bg.out 2>bg.err & pid=$!; }
if env --default-signal=INT true 2>/dev/null; then
	rm -f live
	background fill i --exec "$producer hang-on 7" --ids ids -b 1 -j 1 --ahead 0 --trace live
	until_batches 6 $pid
	kill -INT $pid
	wait $pid
	is "SIGINT" $? 130
	is "keeps what came back" "$(cachex ls -1 i | tr '\n' ' ')" "1 2 3 4 5 6 "
	is "and says so" "$(sed 's/;.*//' bg.out)" "6 stored, 0 there, 0 wrong, 0 failed"
	mkfifo pipe
	background fill i --exec "$producer good" --ids pipe
	exec 3>pipe
	echo 1 >&3
	kill -INT $pid
	wait $pid
	is "SIGINT while a list is awaited" $? 130
	exec 3>&-
else
	skip "SIGINT" "env has no --default-signal"
fi

# Killed again and again, with other numbers of producers; in the end nothing is missing.
kills=0
for after in 1 3 2 9 4 6 15; do
	rm -f live
	"$CACHEX" fill kt --exec "$producer slow" -j $((after % 3 + 1)) -b 5 --chunk 40 --trace live \
		--from one.txt two.txt three >/dev/null 2>&1 & pid=$!
	until_batches $after $pid
	kill -KILL $pid 2>/dev/null && kills=$((kills + 1))
	wait $pid 2>/dev/null
done
is "killed seven times" "$kills" 7
check "the module is sound" 0 cachex verify kt
check "it goes on" 0 cachex fill kt --exec "$producer good" -j 2 -b 64 --chunk 40 --from one.txt two.txt three
is "to the same order" "$(order kt)" "$(order t)"
is "with every line" "$(cachex ls -1 kt | sort | cksum)" "$(cachex ls -1 t | sort | cksum)"

for after in 2 5 9; do
	rm -f live
	"$CACHEX" fill ki --exec "$producer slow" -j 2 -b 5 --trace live --ids ids >/dev/null 2>&1 & pid=$!
	until_batches $after $pid
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
done
check "so does a list" 0 cachex fill ki --exec "$producer good" --ids ids
is "nothing is missing" "$(cachex ls -1 ki | sort -n | cksum)" "$(cksum <ids)"
is "nothing occurs twice" "$(cachex stat ki --json | sed 's/.*"dead_records":\([0-9]*\).*/\1/')" 0

# Two at once
"$CACHEX" fill two --exec "$producer slow" -j 1 -b 50 --chunk 40 --from one.txt two.txt three >first 2>&1 & pid=$!
check "two at once" 0 cachex fill two --exec "$producer slow" -j 1 -b 50 --chunk 40 --from one.txt two.txt three
wait $pid
is "do not disturb one another" $? 0
cachex fill two -q --exec "$producer good" --chunk 40 --from one.txt two.txt three
is "and give the same order" "$(order two)" "$(order t)"

# A full disk: a file may not grow.
seq 1 40000 >many
check "no space" 4 sh -c 'ulimit -f 1024; "$0" fill full --exec "$1" --ids many -j 1' \
	"$CACHEX" "$producer good"
told=$(counts)
check "the module is sound" 0 cachex verify full
is "it was told what is stored" "$told" \
	"$(cachex ls -1 full | wc -l | tr -d ' ') stored, 0 there, 0 wrong, 0 failed"
check "and with space" 0 cachex fill full --exec "$producer good" --ids many
is "it goes on" "$(cachex ls -1 full | wc -l | tr -d ' ')" 40000
check "no space for a shard" 4 sh -c 'ulimit -f 1024; "$0" fill fulls --exec "$1" --from many -j 1' \
	"$CACHEX" "$producer good"
check "the module is sound" 0 cachex verify fulls
check "and with space" 0 cachex fill fulls --exec "$producer good" --from many
is "it goes on" "$(cachex ls -1 fulls | wc -l | tr -d ' ')" 40000
finish
