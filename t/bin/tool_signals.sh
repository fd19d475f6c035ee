#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Signals: what is left behind, and the exit status. Named pipes hold the tool
# at a known place: opening one for writing waits until the tool has opened it.
. "${srcdir:-.}/t/support/tap.sh"

printf x >x
mkfifo pipe
if ! env --default-signal=INT true 2>/dev/null; then
	skip "signals" "env has no --default-signal"
	finish
	exit 0
fi
# Shells start background jobs with SIGINT ignored, nohup with SIGHUP; this one shall
# see them.
background() { env --default-signal=INT,TERM,HUP "$CACHEX" "$@" >bg.out 2>bg.err & pid=$!; }

for signal in INT:130 TERM:143 HUP:129; do
	background put m k pipe --dtype u8 --shape 1
	exec 3>pipe
	kill -"${signal%:*}" "$pid"
	wait "$pid"
	is "SIG${signal%:*} while it reads" $? "${signal#*:}"
	exec 3>&-
	is "in silence" "$(cat bg.out bg.err)" ""
done
also "nothing was made" test ! -e "$XDG_CACHE_HOME/cachex"

"$CACHEX" put m k pipe --dtype u8 --shape 1 & pid=$!
exec 3>pipe
kill -INT "$pid"
printf x >&3
exec 3>&-
wait "$pid"
is "an ignored SIGINT stays ignored" $? 0
check "and the record is there" 0 cachex has m k

background load m pipe
exec 3>pipe
echo '{"id":"l","dtype":"u8","shape":[1],"data":"eA=="}' >&3
kill -INT "$pid"
wait "$pid"
is "SIGINT while load waits for a line" $? 130
exec 3>&-
check "the module is whole" 0 cachex verify m

# An import keeps what is stored, and goes on later.
cachex get m k -o a.npy; cp a.npy b.npy
mkfifo f.npy
background import i a.npy f.npy b.npy -j 1
exec 3>f.npy
kill -INT "$pid"
cat a.npy >&3
exec 3>&-
wait "$pid"
is "SIGINT in an import" $? 130
check "keeps what was stored" 0 cachex has i a
check "and leaves the rest" 1 cachex has i b
check "the import goes on" 0 cachex import i a.npy b.npy --skip-existing
is "with the rest" "$(sed 's/;.*//' "$out")" "1 stored, 1 skipped, 0 bad"

# Writing 20 million numbers takes long enough to be stopped in.
head -c 20000000 /dev/zero >large
cachex put m large large --dtype u8 --shape 20000000
background get m large --json -o large.json
until ls large.json* >/dev/null 2>&1; do :; done
kill -INT "$pid" 2>/dev/null
wait "$pid"
is "SIGINT in get" $? 130
is "no file is left" "$(ls large.json* 2>/dev/null)" ""

# A file that is being written is removed. Wherever the signal hits, the file is
# there whole or not at all.
for round in 1 2 3 4 5; do
	rm -f dump.jsonl
	background dump m -o dump.jsonl
	until ls dump.jsonl* >/dev/null 2>&1; do :; done
	kill -INT "$pid" 2>/dev/null
	wait "$pid"
	case $? in
	130) is "round $round: no file is left" "$(ls dump.jsonl* 2>/dev/null)" "" ;;
	0) is "round $round: the file is whole" "$(wc -l <dump.jsonl | tr -d ' ')" 3 ;;
	*) is "round $round: exit status" "$?" 130 ;;
	esac
done
finish
