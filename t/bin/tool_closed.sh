#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The tool with standard descriptors closed: no file takes their place, so that no
# message lands in one.
. "${srcdir:-.}/t/support/tap.sh"

# without SUBSET COMMAND...: with these of 0, 1 and 2 closed, and the others nowhere.
without() {
	subset=$1 places=; shift
	for fd in 0 1 2; do
		case $subset in
		*$fd*) places="$places $fd>&-" ;;
		*) places="$places $fd<>/dev/null" ;;
		esac
	done
	eval "\"\$@\" $places"
}

# fill DIR: modules, a dump and shards, there.
fill() {
	mkdir "$1" && cd "$1" || exit 99
	export CACHEX_ROOT="$1/root"
	printf 0123456789abcdef >f1
	printf '{"id":"new","dtype":"u8","shape":[1],"data":"eA=="}\n' >one.jsonl
	for i in 1 2 3 4 5; do cachex put m "k$i" f1 --dtype u8 --shape 16; done
	cachex put other k1 f1 --dtype u8 --shape 16
	cachex dump m -o m.jsonl
	cachex export m shards >/dev/null
	cachex get m k1 -o a.npy
}

fill "$scratch/first"
cp root/m/data.mdb data.before
without 012 cachex rm -f m nokey f1
is "rm of what is not there" $? 1
also "leaves no message in data.mdb" cmp root/m/data.mdb data.before

# A status, and a command that ends with it when nothing is closed.
cat >"$scratch/reading" <<'END'
0 ls
0 ls m --long
0 get m k1 -o got.npy
1 get m nokey -o got.npy
1 has m k1 nokey
0 stat m
0 schema m
0 set m
0 verify
0 dump m -o dumped.jsonl
0 read m
0 plan m
0 config
0 help put
0 shard inspect shards/shard-000000.twh1
0 shard verify shards
0 view m k1 -o picture.png
0 backup m backups
2 put
2 nocommand
3 shard inspect f1
1 ls nomodule
END
cat >"$scratch/writing" <<'END'
0 export m more
0 put m k6 f1 --dtype u8 --shape 16
0 rm -f m k1
1 rm -f m nokey
0 load m one.jsonl
0 import i a.npy
3 import j f1
0 copy m there
0 merge m other together --conflict keep
0 compact m
0 compact m --shrink
0 recover m
0 set m policy=strict
0 clear -f other
END
try() {
	while read -r status words; do
		rm -rf got.npy dumped.jsonl picture.png backups
		# shellcheck disable=SC2086 # words are words
		without "$1" "$CACHEX" $words
		got=$?
		# What cannot be written or read is the system's refusal.
		[ $got = "$status" ] || { [ "$1" != none ] && [ $got = 4 ]; } ||
			echo "cachex $words: $got, expected $status"
	done <"$2"
}
for subset in none 0 1 2 01 02 12 012; do
	fill "$scratch/$subset"
	cp root/m/data.mdb data.before
	is "without $subset: statuses of commands that read" "$(try $subset ../reading)" ""
	also "and they leave the module as it is" cmp root/m/data.mdb data.before
	is "without $subset: statuses of commands that write" "$(try $subset ../writing)" ""
	check "and every module is whole" 0 cachex verify
	check "the record is what it was" 0 cachex get m k2 -o k2.npy
	also "byte for byte" cmp k2.npy a.npy
done
finish
