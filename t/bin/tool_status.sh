#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What is not there, what is damaged, and outputs that exist: one status each.
. "${srcdir:-.}/t/support/tap.sh"

printf 0123456789abcdef | cachex put m img1 --dtype f32 --shape 4
printf 'hay needle hay..' | cachex put hurt k --dtype u8 --shape 16
cachex set hurt codec=none >/dev/null

# A root that is not there
none="no such directory; --root names the directory that holds the modules"
for command in ls stat verify; do
	wrong "$command without a root" 1 "cachex: $command: no/root: $none" \
		cachex --root no/root $command
	also "$command makes none" test ! -e no
	check "$command with the default root" 0 env XDG_CACHE_HOME="$scratch/new" "$CACHEX" $command
done
wrong "by the environment" 1 "cachex: ls: no/root: $none" env CACHEX_ROOT=no/root "$CACHEX" ls
mkdir empty
check "an empty root" 0 cachex --root empty ls
is "lists nothing" "$(cat "$out" "$err")" ""

# A prefix that nothing has
wrong "ls of a cache_id that is not there" 1 "cachex: ls: no cache_id of m begins with 'k'" \
	cachex ls m k
wrong "with --json" 1 "cachex: ls: no cache_id of m begins with 'k'" cachex ls m k -1 -q
check "ls of one that is" 0 cachex ls m img1
cachex set empty_module codec=none >/dev/null 2>&1
printf x | cachex put gone k --dtype u8 --shape 1; cachex rm -f gone k
check "ls of a module without records" 0 cachex ls gone
is "says nothing" "$(cat "$out" "$err")" ""

# A miss and damage
at=$(LC_ALL=C grep -abo needle "$XDG_CACHE_HOME/cachex/hurt/data.mdb" | head -n 1 | cut -d : -f 1)
printf X | dd of="$XDG_CACHE_HOME/cachex/hurt/data.mdb" bs=1 seek="$at" conv=notrunc status=none
cachex export m shards >/dev/null
cp -r shards cut; printf X | dd of=cut/shard-000000.twh1 bs=1 seek=4096 conv=notrunc status=none
while read -r status command; do
	check "status of $command" "$status" cachex $command
done <<END
1 get m k
1 get nomodule k
1 verify nomodule
1 stat nomodule
1 copy nomodule other
1 recover nomodule
1 read nomodule
1 dump nomodule
3 get hurt k
3 verify hurt
3 dump hurt
3 copy hurt other
3 read hurt --sum --batch 1
3 export hurt hurt.npz
3 shard verify cut
3 shard verify cut/shard-000000.twh1
3 shard extract cut/shard-000000.twh1 -o extracted
3 warehouse verify cut
3 recover hurt
0 verify hurt
END

# Outputs that exist: status 2, one line, the file as it was; with -f replaced.
cachex export m house >/dev/null
while read -r file command; do
	rm -rf "$file"
	check "$command: new" 0 cachex $command
	echo before >"$file"
	wrong "$command: exists" 2 "cachex: ${command%% *}: $file: exists; -f replaces it" \
		cachex $command
	is "$command: stays" "$(cat "$file")" before
	check "$command -f" 0 cachex $command -f
	also "$command -f: replaced" sh -c "! grep -q before $file"
	rm "$file"; ln -s nowhere "$file"
	check "$command: a link" 2 cachex $command
	check "$command -f: a link" 0 cachex $command -f
	also "$command -f: is a file now" test ! -L "$file"
done <<END
o.npy get m img1 -o o.npy
o.jsonl dump m -o o.jsonl
o.npz export m o.npz
o.tar export m o.tar
o.png view house -o o.png
o.html warehouse report house -o o.html
o.csv warehouse report house --csv o.csv
n/batch-00000000.npy read m --npy n --batch 1
x/img1.npy shard extract shards/shard-000000.twh1 -o x
END
cachex put d k --field a=o.npy >/dev/null
check "get into a directory" 0 cachex get d k -o dir/
wrong "that exists" 2 "cachex: get: dir/: exists; -f replaces it" cachex get d k -o dir/
rm dir/a.npy
check "-f" 0 cachex get d k -o dir/ -f
also "makes it anew" cmp dir/a.npy o.npy
is "beside nothing" "$(ls -d dir*)" dir
mkdir mine; touch mine/precious
wrong "a directory of something else" 2 "cachex: get: mine/: exists, and was not written by get" \
	cachex get d k -f -o mine/
also "stays" test -e mine/precious

# A record that cannot say which it is: the index does.
for i in 1 2 3 4; do printf "need%sle%sneedle.." "$i" "$i" | cachex put whole "key$i" --dtype u8 --shape 16; done
cachex set -c blank codec=none
cachex dump whole | cachex load blank
data=$XDG_CACHE_HOME/cachex/blank/data.mdb
at=$(LC_ALL=C grep -abo need3le3 "$data" | head -n 1 | cut -d : -f 1)
for back in 64 56 48; do
	printf '\377\377' | dd of="$data" bs=1 seek=$((at - back)) conv=notrunc status=none
done
for command in "read blank --batch 1 --sum" "read blank --batch 4 --ids" "read blank --sum --shuffle full" \
	"export blank b.npz" "export blank b-shards" "dump blank" "get blank key3 -o k3.npy"; do
	# shellcheck disable=SC2086
	check "a blank record: $command" 3 cachex $command
	also "names its key" grep -q "^cachex: ${command%% *}: .*'key3'" "$err"
done
finish
