#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# view: pages about whole modules, and their lists.
. "${srcdir:-.}/t/support/tap.sh"

is_png() { [ "$(od -An -tx1 -N8 "$1" | tr -d ' \n')" = 89504e470d0a1a0a ]; }
is_svg() { head -c 5 "$1" | grep -qx '<?xml' && tail -n 1 "$1" | grep -qx '</svg>'; }
is_pdf() { head -c 5 "$1" | grep -qx '%PDF-'; }
bytes() { head -c "$1" /dev/zero; }

bytes 64 | cachex put store a --dtype u8 --shape 64
cachex view store a -n >/dev/null 2>unable
if grep -qE 'without cairo|no font' unable; then
	skip "pictures" "$(cat unable)"
	finish
	exit 0
fi

# Chunks: a commit each, the first one replaced
cachex set store auto-compact=off -q
bytes 4000 | cachex put store b --dtype u8 --shape 4000
bytes 64 | cachex put store a --dtype u8 --shape 64
check "a list of chunks" 0 cachex view --chunks store -l
is "has their records and bytes" "$(cut -f 1-5 "$out")" "$(printf '%s\n' \
	"1	1	0	128	0" "2	1	1	4096	4096" "3	1	1	128	128")"
is "no read is recorded" "$(cut -f 7 "$out" | sort -u)" 0
check "as JSON" 0 cachex view --chunks store -l --json
is "a line is an object" "$(sed 's/,"time_ms".*//' "$out" | head -n 1)" \
	'{"chunk":1,"records":1,"live":0,"bytes":128,"live_bytes":0'
for format in png svg pdf; do
	check "a map of chunks as $format" 0 cachex view --chunks store -o "chunks.$format"
	also "is $format" is_$format "chunks.$format"
done
check "narrow, with its numbers" 0 cachex view --chunks store -o narrow.svg --side 360 --json
is "in JSON" "$(sed 's/,"picture_height.*//' "$out")" \
	'{"kind":"chunks","module":"store","chunks":3,"records":3,"live":2,"bytes":4352,"live_bytes":4224,"damaged":0,"reads":false,"picture_width":360'
for text in store '2 records in 3 chunks of 4.25 KiB, 2.94 % dead' 'Chunks by their size' \
	'Bytes by last read'; do
	also "with the text $text" grep -qF ">$text</text>" narrow.svg
done
check "the list and the picture" 0 cachex view --chunks store -l -o both.png
is "are both made" "$(wc -l <"$out" | tr -d ' ') $(is_png both.png && echo png)" "3 png"
refuse "too narrow" 2 "cachex: view: --side 359: a page of charts needs at least 360 pixels" \
	cachex view --chunks store -n --side 359
refuse "with a cell" 2 "cachex: view: only -l and --side apply to --chunks" \
	cachex view --chunks store -n --cell 100
refuse "two modules" 2 "cachex: view: --chunks needs one operand, MODULE" \
	cachex view --chunks store store -n
refuse "a list of a sheet" 2 "cachex: view: -l needs --chunks, --embedding, --duplicates or --coverage" cachex view store -l
refuse "the list and the picture in one stream" 2 \
	"cachex: view: the list and the picture would both go to standard output; use -o FILE" \
	cachex view --chunks store -l -o -
check "a module that is not there" 1 cachex view --chunks nothing -n
cachex rm store a b -f -q
cachex set store auto-compact=on -q
cachex compact store -q
refuse "a module without chunks" 1 "cachex: view: there are no chunks" \
	cachex view --chunks store -n

# Vectors: f32, a letter a number: 0, h(alf), 1, n(ot a number)
f32() {
	printf %b "$(awk -v text="$1" 'BEGIN {
		bits["0"] = "\\0000\\0000\\0000\\0000"; bits["h"] = "\\0000\\0000\\0000\\0077"
		bits["1"] = "\\0000\\0000\\0200\\0077"; bits["n"] = "\\0000\\0000\\0300\\0177"
		for (i = 1; i <= length(text); i++)
			printf "%s", bits[substr(text, i, 1)]
	}')"
}
vector() { f32 "$3" | cachex put "$1" "$2" --dtype f32 --shape ${#3}; }
vector line a 00
vector line b hh
refuse "two vectors" 3 "cachex: view: 2 vectors; a map needs at least 3" \
	cachex view --embedding line -n
vector line c 11
check "three vectors on a line" 0 cachex view --embedding line -l
is "are on one axis" "$(cat "$out")" "$(printf -- '-0.707107\t0\ta\n0\t0\tb\n0.707107\t0\tc')"
check "as JSON" 0 cachex view --embedding line -l --json
is "a line is an object" "$(head -n 1 "$out")" '{"id":"a","x":-0.707107,"y":0}'
check "with a picture" 0 cachex view --embedding line -o line.svg --json
is "in JSON" "$(sed 's/,"regions".*//' "$out")" \
	'{"kind":"embedding","module":"line","type":"f32[2]","vectors":3,"found":3,"lacking":0,"not_finite":0,"variance":[1,0]'
also "is drawn" is_svg line.svg
for text in line '3 vectors f32[2]' 'first component, 100 % of the variance'; do
	also "with the text $text" grep -qF ">$text</text>" line.svg
done
for format in png pdf; do
	check "as $format" 0 cachex view --embedding line -o "line.$format" --side 400
	also "is $format" is_$format "line.$format"
done
vector line d 0n
check "one that is not finite" 0 cachex view --embedding line -n --json
also "is counted" grep -q '"vectors":3,"found":4,"lacking":0,"not_finite":1' "$out"
i=10
while [ "$i" -lt 30 ]; do vector many "k$i" "$(printf '0h1hh0101h' | cut -c $((i % 7 + 1))-$((i % 7 + 3)))"; i=$((i + 1)); done
check "some of them" 0 cachex view --embedding many -l --samples 6 --random 4
is "are as many" "$(wc -l <"$out" | tr -d ' ')" 6
cp "$out" first
check "the same for a seed" 0 cachex view --embedding many -l --samples 6 --random 4
also "are the same" cmp first "$out"
is "any of them" "$(for seed in $(seq 40); do cachex view --embedding many -l --samples 6 --random "$seed" | cut -f 3; done |
	sort -u | wc -l | tr -d ' ')" 20
is "are in order" "$(cut -f 3 "$out" | sort)" "$(cut -f 3 "$out")"
vector line e 000
refuse "another length" 3 "cachex: view: 'e': the record is f32[3], but that of 'a' is f32[2]; vectors need one length" \
	cachex view --embedding line -n
for id in a b c; do vector same $id h1; done
refuse "equal vectors" 3 "cachex: view: the vectors are all equal" cachex view --embedding same -n
printf '%s\n' '{"id":"x","value":{"v":{"$tensor":"u8[2]","data":"AAA="},"c":{"$tensor":"c64[1]","data":"AAAAAAAAAAA="},"s":"text"}}' \
	'{"id":"y","value":{"v":{"$tensor":"u8[2]","data":"AAE="}}}' '{"id":"z","value":{"v":{"$tensor":"u8[2]","data":"AgA="}}}' \
	'{"id":"zz","value":1}' | cachex load maps
check "the vector of a map" 0 cachex view --embedding maps -n --json
also "is found" grep -q '"field":"v","type":"u8\[2\]","vectors":3,"found":3,"lacking":1' "$out"
check "or named" 0 cachex view --embedding maps --field v -n
refuse "a field that no record has" 1 "cachex: view: no record has the part w" \
	cachex view --embedding maps --field w -n
refuse "a string" 3 "cachex: view: 'x': s is not a tensor but a string" \
	cachex view --embedding maps --field s -n
refuse "complex numbers" 3 "cachex: view: 'x': c is c64[1]; the elements of a vector must be real numbers" \
	cachex view --embedding maps --field c -n
bytes 1 | cachex put ones a --dtype u8 --shape 1
refuse "one element" 3 "cachex: view: 'a': the record is u8[1]; a vector needs at least 2 elements" \
	cachex view --embedding ones -n
refuse "two pages" 2 "cachex: view: --chunks and --embedding exclude each other" \
	cachex view --embedding --chunks line -n
refuse "no records" 1 "cachex: view: there are no records" cachex view --embedding store -n

# Duplicates of vectors: b is a; c is twice as long; d points nearly there; e elsewhere
vector twins a 1hhhhhhh
vector twins b 1hhhhhhh
vector twins d 1hhhhhh0
vector twins e 0000000h
vector twins z 00000000
check "duplicates" 0 cachex view --duplicates twins -l
is "are a list" "$(cat "$out")" "$(printf 'identical\t0\ta\tb')"
# cos = 10 h^2 / sqrt(11 h^2 * 10 h^2) = sqrt(10 / 11)
check "with near ones" 0 cachex view --duplicates twins -l --near 0.05
is "that have their distance" "$(cat "$out")" "$(printf 'identical\t0\ta\tb\nnear\t0.04654\ta\td')"
check "as JSON" 0 cachex view --duplicates twins -l --near 0.05 --json
is "with both keys" "$(tail -n 1 "$out" | sed 's/\(0\.0465\)[0-9]*/\1/')" \
	'{"kind":"near","distance":0.0465,"first":{"id":"a"},"second":{"id":"d"}}'
check "drawn" 0 cachex view --duplicates twins --near 0.05 -o twins.svg --json
is "with the numbers" "$(sed 's/,"drawn".*//' "$out")" \
	'{"kind":"duplicates","module":"twins","records":5,"identical":1,"near":1,"lacking":0,"damaged":0,"not_compared":0,"columns":4,"cell":192'
is "in pairs" "$(tr '{' '\n' <"$out" | sed -n 's/^"id":"\(.\)".*/\1/p' | tr -d '\n')" abad
for text in twins '1 identical and 1 near of 5 records' 'identical  f32[8]' \
	'near  distance 0.047'; do
	also "with the text $text" grep -qF ">$text" twins.svg
done
for format in png pdf; do
	check "as $format" 0 cachex view --duplicates twins -o "twins.$format" --cell 64
	also "is $format" is_$format "twins.$format"
done
check "one pair of two" 0 cachex view --duplicates twins --near 0.05 --samples 1 -o one.svg
also "says so" grep -qF '; the first 1 pairs</text>' one.svg
# Images: one is brighter by two, one is another
ramp() { LC_ALL=C awk -v add="$1" -v way="$2" 'BEGIN {
	for (c = 0; c < 3; c++) for (y = 0; y < 16; y++) for (x = 0; x < 16; x++)
		printf "%s%c", "", 40 + add + 4 * (way > 0 ? x : 15 - x) }'; }
for id in one two; do ramp 0 1 | cachex put images $id --dtype u8 --shape 3,16,16; done
ramp 2 1 | cachex put images three --dtype u8 --shape 3,16,16
ramp 0 -1 | cachex put images other --dtype u8 --shape 3,16,16
check "duplicates of images" 0 cachex view --duplicates images -l
is "are found" "$(cat "$out")" "$(printf 'identical\t0\tone\ttwo\nnear\t0\tone\tthree')"
check "only equal ones" 0 cachex view --duplicates images -l --near 0
is "are fewer" "$(cat "$out")" "$(printf 'identical\t0\tone\ttwo')"
# Values: the whole record, or a part
printf '%s\n' '{"id":"x","value":{"n":1,"t":"same"}}' '{"id":"y","value":{"n":2,"t":"same"}}' \
	'{"id":"z","value":{"t":"same","n":1}}' '{"id":"q","value":{"n":3}}' | cachex load values
check "duplicates of values" 0 cachex view --duplicates values -l
is "have the same content" "$(cat "$out")" "$(printf 'identical\t0\tx\tz')"
check "of a part" 0 cachex view --duplicates values --field t -l
is "have the same part" "$(cat "$out")" "$(printf 'identical\t0\tx\ty\nidentical\t0\tx\tz')"
refuse "a part that no record has" 1 "cachex: view: no record has the part w" \
	cachex view --duplicates values --field w -l
cachex rm values z -f -q
refuse "no duplicates" 1 "cachex: view: there are no duplicates in values" \
	cachex view --duplicates values -l
refuse "a width" 2 "cachex: view: only -l, --near, --field, --samples, --columns and --cell apply to --duplicates" \
	cachex view --duplicates twins --side 500 -n
refuse "--near alone" 2 "cachex: view: --near needs --duplicates" cachex view twins --near 0.1 -n

# Coverage of two modules
for id in day/1 day/2 night/1; do printf '{"id":"%s","value":{"class":"cat","n":1}}\n' "$id"; done | cachex load old
for id in day/2 night/1 night/2 x; do printf '{"id":"%s","value":{"class":"dog","n":%d}}\n' "$id" "${#id}"; done | cachex load new
check "coverage" 0 cachex view --coverage old new -l
is "is a list" "$(cat "$out")" "$(printf 'first\tday/1\nboth\tday/2\nboth\tnight/1\nsecond\tnight/2\nsecond\tx')"
check "as JSON" 0 cachex view --coverage old new -l --json
is "an object a key" "$(head -n 1 "$out")" '{"in":"first","id":"day/1"}'
check "drawn" 0 cachex view --coverage old new -o coverage.svg --json
is "with groups and types" "$(sed 's/,"picture_width.*//' "$out")" \
'{"kind":"coverage","first":"old","second":"new","only_first":1,"both":2,"only_second":2,"groups":[{"id":"day","only_first":1,"both":1,"only_second":0},{"id":"night","only_first":0,"both":1,"only_second":1},{"id":".","only_first":0,"both":0,"only_second":1}],"counts":[{"id":"{class: string, n: integer}","first":3,"second":4}],"distances":{"record_size":0}'
for text in 'old and new' '1 only in old, 20 %' '2 in both, 40 %' '2 only in new, 40 %' 'Types of records'; do
	also "with the text $text" grep -qF ">$text</text>" coverage.svg
done
for format in png pdf; do
	check "as $format" 0 cachex view --coverage old new -o "coverage.$format" --side 400
	also "is $format" is_$format "coverage.$format"
done
check "by a field" 0 cachex view --coverage old new --field class -n --json
is "has its values" "$(sed 's/.*"counts":\(\[[^]]*\]\).*/\1/' "$out")" \
	'[{"id":"dog","first":0,"second":4},{"id":"cat","first":3,"second":0}]'
check "by a number" 0 cachex view --coverage old new --field n -n --json
is "has its values, too" "$(sed 's/.*"counts":\(\[[^]]*\]\).*/\1/' "$out")" \
	'[{"id":"1","first":3,"second":1},{"id":"7","first":0,"second":2},{"id":"5","first":0,"second":1}]'
refuse "a field that is not there" 1 "cachex: view: no record of old has the part w" \
	cachex view --coverage old new --field w -n
refuse "a tensor" 3 "cachex: view: 'a': v is a tensor; --field names plain data" \
	sh -c 'printf "%s\n" "{\"id\":\"a\",\"value\":{\"v\":{\"\$tensor\":\"u8[1]\",\"data\":\"AA==\"}}}" |
	    "$1" load tensors && exec "$1" view --coverage tensors old --field v -n' sh "$CACHEX"
refuse "one operand" 2 "cachex: view: --coverage needs two operands, both modules or both warehouses" \
	cachex view --coverage old -n
refuse "a module and a path" 2 "cachex: view: --coverage: old is a module, but ./wh is not" \
	cachex view --coverage old ./wh -n
refuse "modules without records" 1 "cachex: view: there are no records" \
	cachex view --coverage store store -n
# and of two versions of a warehouse
box() { mkdir -p set/run/images set/run/labels; cp "$1.png" "set/run/images/$1.png"; printf '%s\n' "$2" >"set/run/labels/$1.txt"; }
for id in f1 f2 f3; do
	ramp 0 1 | cachex put frames $id --dtype u8 --shape 3,16,16
	cachex view frames $id -o $id.png --side 64
done
box f1 '0 0.5 0.5 0.5 0.25'
box f2 '1 0.5 0.5 0.5 0.25'
cachex build set wh --size 64 -q
first=$(readlink wh/current)
rm set/run/images/f1.png set/run/labels/f1.txt
box f3 '1 0.5 0.5 0.25 0.25'
cachex build set wh --size 64 -q
check "coverage of two versions" 0 cachex view --coverage "wh/$first" wh -l
is "is of their samples" "$(cat "$out")" "$(printf 'first\trun/f1\nboth\trun/f2\nsecond\trun/f3')"
check "drawn" 0 cachex view --coverage "wh/$first" wh -o versions.svg --json
is "counts the classes" "$(sed 's/.*"counts":\(\[[^]]*\]\).*/\1/' "$out")" \
	'[{"id":"class 1","first":1,"second":2},{"id":"class 0","first":1,"second":0}]'
also "and the distances" grep -q '"box_side":0.5,' "$out"
for text in '1 in both, 33.3 %' 'Boxes of each class' 'Side of a box'; do
	also "with the text $text" grep -qF ">$text</text>" versions.svg
done
refuse "a field of samples" 2 "cachex: view: --field needs records of a module" \
	cachex view --coverage wh wh --field a -n
check "a warehouse that is not there" 4 cachex view --coverage wh ./gone -n
finish
