#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# stat --values: of modules, parts, shards and warehouses, beside what awk makes of the same
# numbers.
. "${srcdir:-.}/t/support/tap.sh"

# npy DTYPE SHAPE: the header of an array, its data from standard input.
npy() {
	printf '\223NUMPY\001\000\166\000%-117s\n' \
		"{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
	cat
}
stat() { cachex stat --values "$@"; }

# Three images u8[2,2,2], of which the numbers are 0 to 23
mkdir images
i=0
while [ $i -lt 24 ]; do
	# shellcheck disable=SC2059
	{ for k in 0 1 2 3 4 5 6 7; do printf "\\$(printf %o $((i + k)))"; done; } |
		npy '|u1' '(2, 2, 2)' >images/$i.npy
	i=$((i + 8))
done
cachex import -q pictures images
check "a module" 0 stat pictures
is "two channels" "$(cat "$out")" \
"pictures: 3 records, 2 channels
  channel         values       NaN                   mean              deviation                    min                    max
        0             12         0                    9.5      6.626965117357014                      0                     19
        1             12         0                   13.5      6.626965117357014                      4                     23"
check "for a program" 0 stat pictures --json
is "an object" "$(cat "$out")" \
'{"module":"pictures","records":3,"skipped":0,"damaged":0,"channels":[{"channel":0,"values":12,"nan":0,"infinite":0,"mean":9.5,"deviation":6.626965117357014,"min":0,"max":19},{"channel":1,"values":12,"nan":0,"infinite":0,"mean":13.5,"deviation":6.626965117357014,"min":4,"max":23}]}'
check "the last dimension" 0 stat pictures --axis -1 --json
is "its means" "$(sed 's/"deviation[^}]*//g; s/.*"channels"://; s/"channel":[0-9]*,"values":12,"nan":0,"infinite":0,//g' "$out")" \
	'[{"mean":11,},{"mean":12,}]}'
check "no dimension" 0 stat pictures --axis none --json
also "is one channel" grep -q '"channels":\[{"channel":0,"values":24,"nan":0,"infinite":0,"mean":11.5,"deviation":6.922186552431729,"min":0,"max":23}\]' "$out"
check "a dimension that is not there" 1 stat pictures --axis 3
is "is told" "$(cat "$err")" \
"cachex: stat: pictures: '0': has 3 dimensions, no axis 3
cachex: stat: pictures: '16': has 3 dimensions, no axis 3
cachex: stat: pictures: '8': has 3 dimensions, no axis 3"
for wrong in "--axis x" "--axis 99" "--axis 1x" "--axis ''"; do
	check "$wrong is refused" 2 sh -c "'$CACHEX' stat --values pictures $wrong"
done
check "options without --values" 2 cachex stat pictures --axis 1
check "no such module" 1 stat nothing

# NaN, infinities, records of other forms
printf '\0\0\200\077\0\0\300\177\0\0\200\177\0\0\200\277' | npy '<f4' '(4,)' >odd.npy
printf '\0\0\0\100' | npy '<f4' '()' >scalar.npy
: | npy '<f4' '(3, 0)' >empty.npy
cachex put -q odd scalar scalar.npy
check "a scalar" 0 stat odd --json
also "is a value" grep -q '"records":1,.*"values":1,"nan":0,"infinite":0,"mean":2,"deviation":0,"min":2,"max":2}' "$out"
cachex put -q odd empty empty.npy
cachex put -q odd odd odd.npy
check "infinite values" 0 stat odd --json
also "are counted" grep -q '"records":3,.*"values":4,"nan":1,"infinite":1,"mean":"Infinity","deviation":null,"min":-1,"max":"Infinity"}' "$out"
cachex put -q nothing empty empty.npy
check "nothing" 0 stat nothing
is "has no numbers" "$(sed -n 3p "$out" | tr -s ' ')" " 0 0 0 - - - -"
cachex put -q map a --field x=scalar.npy --field y.0=odd.npy
cachex put -q map b --field x=scalar.npy
check "a part" 0 stat map --field x --json
also "of all records" grep -q '"field":"x","records":2,.*"mean":2,' "$out"
check "a part that one lacks" 1 stat map --field y.0
is "is told" "$(cat "$err")" "cachex: stat: map: 'b': has no part y.0"
check "records that are not tensors" 1 stat map --json
also "are left out" grep -q '"records":0,"skipped":2,' "$out"

# Many records, any number of threads: the same bits
mkdir many
i=0
while [ $i -lt 700 ]; do
	awk -v s=$i 'BEGIN { srand(s); for (i = 0; i < 12; i++) printf "%c", 1 + int(rand() * 126) }' |
		npy '<f4' '(3,)' >many/$i.npy
	i=$((i + 1))
done
cachex import -q many many
for j in 1 2 3 8; do stat many --axis 0 -j $j --json >by.$j; done
holds "two threads" cmp by.1 by.2
holds "three" cmp by.1 by.3
holds "eight" cmp by.1 by.8
for i in $(seq 0 699); do tail -c 12 "many/$i.npy" | od -An -v -w12 -tf4; done |
	awk '{ for (c = 1; c <= 3; c++) { s[c] += $c; if (NR == 1 || $c > m[c]) m[c] = $c } }
	END { for (c = 1; c <= 3; c++) printf "%.10g %.10g\n", s[c] / NR, m[c] }' >wanted
sed 's/.*"channels"://' by.1 | tr '{' '\n' | sed -n 's/.*"mean":\([^,]*\),.*"max":\([^}]*\).*/\1 \2/p' |
	cat >got
# od prints eight digits of each number.
is "what awk finds" "$(paste -d " " got wanted | awk '{ for (i = 1; i <= 2; i++) {
	d = ($i - $(i + 2)) / $(i + 2); printf "%s ", (d * d < 1e-12) ? "same" : $0 } }')" \
	"same same same same same same "

# Damage
cachex export -q pictures shards
check "shards" 0 stat ./shards --json
is "are as the module" "$(sed 's/"path":[^,]*,//' "$out")" "$(stat pictures --json | sed 's/"module":[^,]*,//')"
check "one shard" 0 stat ./shards/shard-000000.twh1
check "boxes of shards without boxes" 0 stat ./shards --field boxes --json
check "another field of samples" 2 stat ./shards --field mask
printf '\377' | dd of=shards/shard-000000.twh1 bs=1 seek=4100 conv=notrunc 2>/dev/null
check "a damaged shard" 3 stat ./shards
also "is told" grep -q "damaged" "$out"
finish
