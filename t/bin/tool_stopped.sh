#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A long command that a signal stops, wherever it comes, says in one line how to go on, and
# going on so ends in what an undisturbed run makes. Progress says which phase it is in.
. "${srcdir:-.}/t/support/tap.sh"

shim=$builddir/.libs/interrupting.so
mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
if ! env --default-signal=INT true 2>/dev/null || ! LD_PRELOAD=$shim "$CACHEX" --version >/dev/null 2>&1; then
	skip "stopped" "env has no --default-signal, or a library cannot be preloaded here"
	finish
	exit 0
fi

# stop N ARGUMENT...: of cachex; SIGINT comes at the Nth counted call
stop() {
	n=$1; shift
	env --default-signal=INT LD_PRELOAD="$shim" CACHEX_TEST_INTERRUPT="$n" "$CACHEX" "$@" \
		>"$out" 2>"$err" </dev/null
}

# stopped NAME HOW CLEAR ARGUMENT...: stop it early and late; each time that it is stopped
# it says HOW to go on, and nothing else. CLEAR is run before each time.
undisturbed=0 # the status of a run that is not stopped
stopped() {
	what=$1 how=$2 clear=$3; shift 3
	times=0 wrong=
	for n in 1 2 3 4 5 6 8 11 15 20 30; do
		eval "$clear"
		stop "$n" "$@"
		status=$?
		line=$(sed "s/^cachex: $1: stopped\( in [a-z ]*\)\{0,1\}\( after [^;]*\)\{0,1\}; //" "$err")
		case $status in
		130) times=$((times + 1))
			[ "$line" = "$how" ] || wrong="$wrong $n: $(cat "$err")" ;;
		0 | "$undisturbed") ;;
		*) wrong="$wrong $n: status $status $(cat "$err")" ;;
		esac
	done
	is "$what: says how to go on" "$wrong" ""
	also "$what: was stopped" test "$times" -gt 0
}

again="run the same command to start again"
mkdir in
for i in 1 2 3 4 5 6 7 8 9; do
	printf "%s2345678" "$i" | cachex put m "k$i" --dtype u8 --shape 8
	cachex get m "k$i" -o "in/k$i.npy"
done
cachex dump m -o m.jsonl
root=$XDG_CACHE_HOME/cachex

stopped import "stored records stay; run the same command with --skip-existing to continue" \
	'cachex drop -qf i 2>/dev/null' import i in -q -j 1
stop 4 import go in -j 1
is "import: where" "$(sed 's/ after .*//' "$err")" "cachex: import: stopped in files"
stop 4 import go in -j 1 --json
is "import: as JSON" "$(sed 's/ after [^;]*//' "$err")" \
	'{"error":{"command":"import","exit":130,"message":"stopped in files; stored records stay; run the same command with --skip-existing to continue"}}'
check "import: goes on" 0 cachex import go in --skip-existing
is "import: to the same" "$(cachex dump go)" "$(cat m.jsonl)"
stopped "import --skip-existing" "stored records stay; run the same command to continue" \
	'cachex drop -qf i 2>/dev/null' import i in -q -j 1 --skip-existing
stopped "import -n" "$again" : import i in -q -n -j 1
cachex drop -qf i 2>/dev/null
stopped "load -n" "$again" : load i m.jsonl -n
stop 3 load i m.jsonl
is "load: while it checks" "$(sed 's/ after [^;]*//' "$err")" \
	"cachex: load: stopped in check; $again"
also "load: has stored nothing" test ! -e "$root/i"
# From a pipe it stores at once.
cachex drop -qf i 2>/dev/null
cat m.jsonl | env --default-signal=INT LD_PRELOAD="$shim" CACHEX_TEST_INTERRUPT=4 "$CACHEX" load i \
	2>"$err" >/dev/null
is "load: of a pipe" "$(sed 's/ after [^;]*//' "$err")" "cachex: load: stopped in store; \
stored records stay; run the same command with --skip-existing to continue"
check "load: goes on" 0 cachex load i m.jsonl --skip-existing
is "load: to the same" "$(cachex dump i)" "$(cat m.jsonl)"
stopped copy "copied records stay; run the same command with --conflict keep to continue" \
	'cachex drop -qf c 2>/dev/null' copy m c -q
check "copy: goes on" 0 cachex copy m c --conflict keep
is "copy: to the same" "$(cachex dump c)" "$(cat m.jsonl)"
stopped compact "rewritten chunks stay; run the same command to continue" : compact m -q --live-ratio 1
stopped backup "$again" 'rm -rf saved' backup m saved
check "backup: begins again" 0 sh -c 'rm -rf saved; "$1" backup m saved' sh "$CACHEX"
stopped verify "$again" : verify m -q
stopped "verify of several" "$again" : verify m c i -q
stopped dump "$again" 'rm -f d.jsonl' dump m -o d.jsonl
stopped "export of a file" "$again" 'rm -f e.npz' export m e.npz -q
stopped "export of shards" "complete shards stay; run the same command to continue" \
	'rm -rf shards' export m shards -q --shard-size 4K --threads 1
check "export: goes on" 0 cachex export m shards --shard-size 4K
also "export: is whole" cachex shard verify shards -q
stopped "shard verify" "$again" : shard verify shards -q
stopped "warehouse verify" "$again" : warehouse verify shards -q
stopped read "$again" : read m --sum
stopped "read with a token" "the token file has the position; run the same command to continue" \
	'rm -f token' read m --sum --batch 1 --token-file token
stopped "stat --values" "$again" : stat --values m -j 1
printf 'hay needle hay..' | cachex put hurt k --dtype u8 --shape 16
cachex set hurt codec=none >/dev/null
at=$(LC_ALL=C grep -abo needle "$root/hurt/data.mdb" | head -n 1 | cut -d : -f 1)
printf X | dd of="$root/hurt/data.mdb" bs=1 seek="$at" conv=notrunc status=none
cp -r "$root/hurt" hurt
undisturbed=3
stopped recover "$again" 'rm -rf "$root/hurt"; cp -r hurt "$root/hurt"' recover hurt -n
undisturbed=0
if "$mkdataset" make set 4 2>/dev/null; then
	stopped build "run the same command to continue" 'rm -rf wh' build set wh --size 16 -q -j 1
	check "build: goes on" 0 cachex build set wh --size 16
	check "build: phases" 0 cachex build set wh2 --size 16 --progress
	is "build: in order" "$(sed -n 's/^build: \([a-z]*\).*/\1/p' "$err" | tr '\n' ' ')" "scan store export "
fi

# ---- phases ------------------------------------------------------------------------
phases() { sed -n "s/^$1: \([a-z ]*\).*/\1/p" "$err" | tr '\n' ','; }
check "import --progress" 0 cachex --progress import p in
is "import: phases" "$(phases import)" "files,commit,"
check "of records" 0 cachex --progress import q e.npz
is "import: phases of a file of records" "$(phases import)" "files,records,commit,"
check "load --progress" 0 cachex --progress load p m.jsonl
is "load: phases" "$(phases load)" "check,store,"
check "verify --progress" 0 cachex --progress verify m
is "verify: phases" "$(phases verify)" "pages,index,chunks,"
check "recover --progress" 3 cachex --progress recover hurt
is "recover: phases" "$(phases recover)" "verify,copy,rebuild,verify the copy,"
check "export --progress" 0 cachex --progress export m x.safetensors
is "export: phases" "$(phases export)" "plan,write,finish,"
check "export of shards --progress" 0 cachex --progress export m more
is "export: phases of shards" "$(phases export)" "list,write,"
finish
