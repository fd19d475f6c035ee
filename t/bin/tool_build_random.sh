#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# build: a dataset changes at random, but never to other bytes of the same size and
# time; builds are killed, options come and go. The warehouse is always what a build of
# the same dataset into a new one makes.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
export SOURCE_DATE_EPOCH=1700000000
seed=${T_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
echo "# T_SEED=$seed"
steps=10
test -z "${T_LONG-}" || steps=200

# $random is a number below $1.
roll() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	random=$((seed / 65536 % $1))
}
frame() { roll 2; test "$random" = 0 && run=a || run=b; roll 12; number=$random; }
label() { echo "set/$run/labels/f$number.json"; }
image() { echo "set/$run/images/f$number.png"; }
# A time that no file has had yet, long ago or now.
clock=1500000000
stamp() {
	test -f "$1" || return 0
	clock=$((clock + 1))
	roll 2
	if [ "$random" = 0 ]; then touch -d "@$clock" "$1"; else touch "$1"; fi
}
swap() {
	test -f "$1" && test -f "$2" && test "$1" != "$2" || return 0
	mv "$1" "$1.old" && mv "$2" "$1" && mv "$1.old" "$2"
	stamp "$2"
}

new_options() {
	roll 2; options="--size $((16 + 8 * random))"
	roll 3; case $random in 0) options="$options --fit cover" ;; 1) options="$options --fit stretch" ;; esac
	roll 2; test "$random" = 0 || options="$options --dtype u8"
	roll 2; test "$random" = 0 || options="$options --no-skip-empty"
	roll 3; test "$random" = 0 && options="$options --buckets 16x16,24x16"
	roll 2; test "$random" = 0 || options="$options --shard-size 4K"
	roll 3; test "$random" = 0 && options="$options --max-boxes 2"
}

change() {
	frame
	one=$(image) text=$(label)
	roll 14; what=$random
	roll 40; width=$((random + 8))
	roll 1000; fresh=$random
	case $what in
	0 | 1 | 2) test ! -d "$one" || rmdir "$one"; roll 4; "$mkdataset" frame set "$run" "$number" "$width" 24 "$random" "$fresh" ;;
	3) test -d "$one" || "$mkdataset" image "$one" "$width" 24 "$fresh" ;;
	4) rm -rf "$one" ;;
	5) rm -f "$text" ;;
	6) frame; swap "$one" "$(image)" ;;
	7) frame; swap "$text" "$(label)" ;;
	8) ;;
	9) mkdir -p "set/notes$fresh" ;;
	10) rm -rf "$one"; mkdir -p "$one" ;;
	11) echo '{"image":"images/f1.png","labels":[{"bbox_norm":[0,0,1,1]}]}' >"$text" ;;
	12) test -f "$one" && head -c 100 "$one" >half && mv half "$one" ;;
	13) new_options ;;
	esac
	stamp "$one"
	stamp "$text"
	changed="$changed $what:$run/f$number"
}

# Times are of when files were looked at; everything else has to be the same.
list() {
	readlink "$1/current"
	sed 's/^\(. [^ ]* [^ ]*\) [^ ]* /\1 /' "$1/current/sources.txt"
	(cd "$1/current/" && sed 's/"\(sources\|manifest\)_sha256": "[0-9a-f]*"//' manifest.json &&
		find . -type f ! -name sources.txt ! -name manifest.json -exec sha256sum {} + | sort -k 2)
}

"$mkdataset" make set 10
new_options
for step in $(seq $steps); do
	changed=
	roll 3
	for i in $(seq $((random + 1))); do change; done
	roll 3; kills=$random
	for i in $(seq $kills); do
		roll 60
		timeout --foreground -s KILL "0.$(printf %03d "$random")" "$CACHEX" build set wh $options -q 2>"$err"
	done
	again=
	roll 5; test "$random" = 0 && again=--rehash
	rm -rf fresh
	"$CACHEX" build set wh $options $again -q >"$out" 2>&1; got=$?
	"$CACHEX" build set fresh $options -q >"$err" 2>&1; want=$?
	is "$step: status:$changed, $kills kills, $options" $got $want
	test $got = 0 || continue
	list wh >one 2>&1
	list fresh >two 2>&1
	also "$step: the same" cmp one two
	also "$step: good" "$CACHEX" warehouse verify wh
done
finish
