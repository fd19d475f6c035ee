#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What was meant: words of other programs, capitals, names of modules. Full disks. Lists
# that end.
. "${srcdir:-.}/t/support/tap.sh"

printf x | cachex put resnet50 k --dtype u8 --shape 1
while read -r word meant; do
	wrong "$word" 2 "cachex: unknown command $word; did you mean $meant?" cachex "$word"
done <<END
list ls
delete rm
mv rename
du stat
cat get
info stat
LS ls
Export export
EXPROT export
DELETE rm
END
root=$XDG_CACHE_HOME/cachex
wrong "a module that is nearly there" 1 \
	"cachex: get: no module resnet5 in $root; did you mean resnet50?" cachex get resnet5 k
wrong "a module in capitals" 1 \
	"cachex: ls: no module ResNet50 in $root; did you mean resnet50?" cachex ls ResNet50
for command in "drop -f resnet5" "recover resnet5" "rename resnet5 other"; do
	wrong "$command" 1 "cachex: ${command%% *}: no module resnet5 in $root; \
did you mean resnet50?" cachex $command
done
wrong "one like none" 1 "cachex: ls: no module other in $root" cachex ls other

if [ -w /dev/full ]; then
	for command in config help ls "get resnet50 k --format raw" "dump resnet50" "help export"; do
		sh -c "\"$CACHEX\" $command" >/dev/full 2>"$err"
		is "$command to a full disk" "$? $(cat "$err")" \
			"4 cachex: ${command%% *}: standard output: No space left on device"
	done
fi

# Fifteen files of one cache_id: ten are named, then the remedy.
for i in 00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15; do
	mkdir -p "d/$i"; cachex get resnet50 k -o "d/$i/same.npy"
done
check "many collisions" 3 cachex import m d
is "ten are named" "$(grep -c 'same cache_id' "$err")" 10
is "then the remedy" "$(tail -n 1 "$err")" "cachex: import: 15 files have the cache_id of another, \
ten of them shown; --id '{path}' uses the whole path"
check "which works" 0 cachex import m d --id '{path}'

# Records that are left out
cachex export m c.npz --dry-run >/dev/null
cachex put e a d/00/same.npy; cachex put e length d/00/same.npy; cachex export e e.npz >/dev/null
check "import --skip-key" 0 cachex import f e.npz --skip-key length
is "leaves it out" "$(cachex ls f -1)" a
is "counts it" "$(sed 's/;.*//' "$out")" "1 stored, 1 skipped, 0 bad"

# A list of ids by @
echo k >ids
check "fill --ids @FILE" 0 cachex fill resnet50 --ids @ids --exec true
finish
