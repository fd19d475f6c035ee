#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# view: what it draws, of what, and where that goes.
. "${srcdir:-.}/t/support/tap.sh"

# Width and height as the PNG file has them.
size_of() {
	od -An -tu1 -j16 -N8 "$1" | awk '{ print $1 * 16777216 + $2 * 65536 + $3 * 256 + $4,
	    $5 * 16777216 + $6 * 65536 + $7 * 256 + $8 }'
}
is_png() { [ "$(od -An -tx1 -N8 "$1" | tr -d ' \n')" = 89504e470d0a1a0a ]; }

# Little-endian numbers; printf of dash prints NUL by %b only.
u32() { for n; do printf %b "$(printf '\\0%03o\\0%03o\\0%03o\\0%03o' $((n % 256)) $((n / 256 % 256)) $((n / 65536 % 256)) $((n / 16777216)))"; done; }
u64() { for n; do u32 "$n" 0; done; }
repeat() { awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", text }'; }
# f32, a letter a number: 0, q(uarter), h(alf), t(hree quarters), 1
f32() {
	printf %b "$(awk -v text="$1" 'BEGIN {
		bits["0"] = "\\0000\\0000\\0000\\0000"; bits["q"] = "\\0000\\0000\\0200\\0076"
		bits["h"] = "\\0000\\0000\\0000\\0077"; bits["t"] = "\\0000\\0000\\0100\\0077"
		bits["1"] = "\\0000\\0000\\0200\\0077"
		for (i = 1; i <= length(text); i++)
			printf "%s", bits[substr(text, i, 1)]
	}')"
}

# make_shard FILE: version 1 of four grey samples of 3 x 8 x 8 with 1, 2, 0 and 1 boxes
make_shard() {
	{
		printf TWH1; u32 1 0 0 8 8 3 2; u64 4 4096 7168 7296 0 0
		head -c 4016 /dev/zero
		for value in q h t 1; do f32 "$(repeat 192 $value)"; done
		f32 0qht0000; f32 00hhhh11; f32 00000000; f32 qqtt0000
		f32 10110010
	} >"$1"
}

make_shard one.twh1
cachex view one.twh1 -n >/dev/null 2>unable
if grep -qE 'without cairo|no font' unable; then
	skip "pictures" "$(cat unable)"
	finish
	exit 0
fi
is "the shard is as long as it says" "$(wc -c <one.twh1 | tr -d ' ')" 7328
check "and a shard" 0 cachex shard inspect one.twh1

# A sheet
check "a sheet" 0 cachex view one.twh1 -o sheet.png
is "says nothing" "$(cat "$out" "$err")" ""
also "is a PNG file" is_png sheet.png
is "of three cells by two" "$(size_of sheet.png)" "$((3 * 204 - 12 + 32)) $((46 + 2 * 238 - 12 + 32))"
check "the same again" 0 cachex view one.twh1 -o again.png
also "is the same file" cmp sheet.png again.png
check "to standard output" 0 cachex view one.twh1 -o -
also "the same file" cmp sheet.png "$out"
check "without -o" 0 cachex view one.twh1
also "the same file" cmp sheet.png "$out"
refuse "a file that exists" 2 "cachex: view: sheet.png: exists; -f replaces it" \
	cachex view one.twh1 -o sheet.png --columns 4
also "stays" cmp sheet.png again.png
check "-f replaces it" 0 cachex view one.twh1 -f -o sheet.png --columns 4 --cell 48
is "by another" "$(size_of sheet.png)" "392 $((46 + 94 - 12 + 32))"
check "--json" 0 cachex view one.twh1 -o json.png --json --columns 2 --cell 64
is "tells what was drawn" "$(cat "$out")" \
'{"kind":"sheet","source":"one.twh1","samples":4,"columns":2,"cell":64,"drawn":[{"sample":0,"x":16,"y":62,"width":64,"height":64,"boxes":1},{"sample":1,"x":92,"y":62,"width":64,"height":64,"boxes":2},{"sample":2,"x":16,"y":172,"width":64,"height":64,"boxes":0},{"sample":3,"x":92,"y":172,"width":64,"height":64,"boxes":1}],"boxes":4,"picture_width":392,"picture_height":'"$((46 + 2 * 110 - 12 + 32))"',"file":"json.png","dry_run":false}'
is "the size is the picture's" "$(size_of json.png)" "392 $((46 + 2 * 110 - 12 + 32))"
check "a dry run" 0 cachex view one.twh1 -n -o dry.png
is "says so" "$(cat "$err")" "cachex: view: would write 632 x 542 pixels to dry.png"
also "and writes nothing" test ! -e dry.png
check "a dry run with JSON" 0 cachex view one.twh1 -n --json
also "needs no file" grep -q '"dry_run":true' "$out"
check "into no directory" 4 cachex view one.twh1 -o no/sheet.png
also "is named" grep -q '^cachex: view: no/sheet.png: ' "$err"

# Which samples
drawn() { cachex view "$@" -n --json | grep -o '"sample":[0-9]*' | tr -dc '0-9\n' | tr '\n' ' '; }
is "all of a few" "$(drawn one.twh1)" "0 1 2 3 "
is "some" "$(drawn one.twh1 --samples 2)" "0 1 "
is "from one on" "$(drawn one.twh1 --from 1 --samples 2)" "1 2 "
is "from one to the end" "$(drawn one.twh1 --from 3 --samples 9)" "3 "
is "all at random" "$(drawn one.twh1 --random 7)" "0 1 2 3 "
is "one seed, one choice" "$(drawn one.twh1 --random 7 --samples 2)" "$(drawn one.twh1 --random 7 --samples 2)"
is "every choice of two of four comes" "$(for seed in $(seq 100); do
	drawn one.twh1 --random "$seed" --samples 2; echo; done | sort -u | tr '\n' ,)" \
	"0 1 ,0 2 ,0 3 ,1 2 ,1 3 ,2 3 ,"
refuse "after the end" 1 "cachex: view: --from 4: there are 4 samples, numbered from 0" \
	cachex view one.twh1 --from 4 -n
refuse "two ways to choose" 2 \
	"cachex: view: only one of --from, --random and --id may select the samples" \
	cachex view one.twh1 --from 1 --random 2 -n

# By name
i=0
while [ "$i" -lt 33 ]; do
	head -c 768 /dev/zero | cachex put faces "run/$((i % 3))/img$i" --dtype u8 --shape 3,16,16
	i=$((i + 1))
done
cachex export faces shards --shard-size 16000 -q
is "samples of all shards" "$(drawn shards --samples 100 | wc -w | tr -d ' ')" 33
check "by cache_id" 0 cachex view shards --id run/2/img11 --id img5 -n --json
is "whole or its end" "$(grep -o '"id":"[^"]*"' "$out" | tr '\n' ' ')" '"id":"run/2/img11" "id":"run/2/img5" '
check "one that is not there" 1 cachex view shards --id img5 --id mg5 -o ids.png --json
is "is told" "$(cat "$err")" \
	"{\"error\":{\"command\":\"view\",\"exit\":1,\"message\":\"no sample has the cache_id 'mg5'\"}}"
also "and drawn" is_png ids.png
also "and in JSON" grep -q '{"id":"mg5","error":"no sample has the cache_id .mg5."}' "$out"

# Damage
cp -r shards bad
printf x | dd of=bad/shard-000000.twh1 bs=1 seek=4100 conv=notrunc 2>/dev/null
for shard in bad/*.twh1; do last=$shard; done
echo no shard >"$last"
check "damage" 3 cachex view bad -o bad.png --samples 100 --json
also "is drawn" is_png bad.png
is "and told, a line each" "$(sed 's/.*"message":"\(.*\)"}}$/\1/; s/: bytes.*/: bytes/' "$err" | sort -u)" \
"bad/shard-000000.twh1: bytes
$last: not a TWH1 shard"
also "and in JSON" grep -q '"error":"bad/shard-000000.twh1: bytes' "$out"
echo text >text
refuse "no shard" 3 "cachex: view: text: not a TWH1 shard" cachex view text -n
mkdir empty
refuse "a directory without any" 3 \
	"cachex: view: empty: neither a warehouse nor a directory with shards" \
	cachex view empty -n
check "nothing" 1 cachex view gone -n
is "is one line" "$(wc -l <"$err" | tr -d ' ')" 1
also "that names it" grep -q '^cachex: view: gone: neither a module in ' "$err"
check "no such path" 4 cachex view ./gone -n
head -c 5000 one.twh1 >short.twh1
check "a shard cut short" 3 cachex view short.twh1 -n
is "is one line, too" "$(wc -l <"$err" | tr -d ' ')" 1
refuse "too large a sheet" 2 \
	"cachex: view: a picture of 2080 x 69168 pixels; each side may have up to 32000, both together up to 134217728" \
	cachex view shards --samples 33 --columns 1 --cell 2048 -n

# Histograms
check "histograms" 0 cachex view one.twh1 --histogram -o boxes.png --json
also "are a picture" is_png boxes.png
is "and numbers" "$(sed 's/"histograms":.*//' "$out")" \
	'{"kind":"histograms","source":"one.twh1","samples":4,"damaged":0,"boxes":4,'
is "of boxes" "$(grep -o '"name":"boxes_per_sample".*' "$out" | sed 's/},{.*//')" \
	'"name":"boxes_per_sample","title":"boxes of a sample","n":4,"mean":1,"median":1,"low":-0.5,"high":2.5,"below":0,"above":0,"counts":[1,2,1]'
# each box is 4 x 4 pixels
is "and of sides" "$(grep -o '"name":"box_side".*' "$out" | sed 's/},{.*//; s/.*"n"/"n"/; s/,"low".*//')" \
	'"n":4,"mean":4,"median":4'
refuse "of samples without boxes" 3 "cachex: view: shards: the samples have no boxes" \
	cachex view shards --histogram -n
refuse "of a sheet" 2 "cachex: view: --histogram counts all samples and draws no sheet" \
	cachex view one.twh1 --histogram --cell 100 -n

# A warehouse
mkdir -p set/day/images set/day/labels
cachex get faces run/0/img0 -o grey.npy
cachex view grey.npy --side 64 -o set/day/images/a.png
cp set/day/images/a.png set/day/images/b.png
printf '0 0.5 0.5 0.5 0.25\n7 0.25 0.25 0.25 0.25\n' >set/day/labels/a.txt
echo '7 0.5 0.5 0.5 0.5' >set/day/labels/b.txt
check "a warehouse" 0 cachex build set wh --size 64 -q
check "its sheet" 0 cachex view wh -o wh.png --json
is "has the samples with their boxes" "$(tr '{' '\n' <"$out" | sed -n 's/"id":"[0-9a-f]*\/\(.*\)","x".*"boxes":\([0-9]*\)}.*/\1 \2/p')" \
	'"sample":0,day/a 2
"sample":1,day/b 1'
check "a version of it" 0 cachex view wh/current -n --json
also "is the same" grep -q '"samples":2' "$out"
check "a sample by its run and name" 0 cachex view wh --id day/b -n --json
also "is found" grep -q '"drawn":\[{"sample":1,' "$out"
check "its histograms" 0 cachex view wh --histogram -o boxes.svg --json
is "count classes" "$(sed 's/.*"box_class"[^[]*//' "$out" | cut -d] -f1)" '[1,0,0,0,0,0,0,2'
also "and names them beside their bars" grep -q '>class 7</text>' boxes.svg
rm set/day/labels/a.txt
check "a stale one is looked at" 0 cachex view wh -n
shard=$(ls wh/v*/shard-000000.twh1)
head -c 20000 "$shard" >cut
cp cut "$shard"
check "a damaged one, too" 3 cachex view wh -o remains.png
also "is drawn" is_png remains.png
also "and told" grep -q "^cachex: view: $shard: " "$err"
rm "$shard"
check "an empty one" 3 cachex view wh -n
is "is one line" "$(wc -l <"$err" | tr -d ' ')" 1
ln -sfn nowhere wh/current
check "one that points nowhere" 3 cachex view wh -n
also "is named" grep -q '^cachex: view: .*wh' "$err"

# Tensors of a module
check "an image" 0 cachex view faces run/0/img0 -o image.png --json
is "tells what was drawn" "$(cat "$out")" \
'{"module":"faces","id":"run/0/img0","kind":"image","dtype":"u8","shape":[3,16,16],"low":0,"high":255,"nan":0,"infinite":0,"drawn_width":320,"drawn_height":320,"picture_width":432,"picture_height":423,"file":"image.png","dry_run":false}'
is "of that size" "$(size_of image.png)" "432 423"
check "as a heat map" 0 cachex view faces run/0/img0 --heat -n --json --side 200
is "tells of its slices" "$(sed 's/.*"slices"/"slices"/; s/,"picture.*//' "$out")" \
	'"slices":3,"slices_shown":3,"mean_rows":1,"mean_columns":1'
head -c 4000 /dev/zero | cachex put features f --dtype f32 --shape 10,100
{ head -c 1000 /dev/zero; printf '\0\0\300\177\0\0\200\177'; head -c 2992 /dev/zero; } |
	cachex put features odd --dtype f32 --shape 1000
check "a matrix" 0 cachex view features f -o - --side 64
also "is a picture" is_png "$out"
check "what is not finite" 0 cachex view features odd -n --json
also "is counted" grep -q '"low":0,"high":0,"nan":1,"infinite":1' "$out"
echo '{"id":"both","value":{"name":"x","map":{"$tensor":"u8[2,2]","data":"AQIDBA=="}}}' | cachex load tree
check "a part" 0 cachex view tree both --field map -n --json
also "is named" grep -q '"id":"both","field":"map","kind":"heat map","dtype":"u8","shape":\[2,2\]' "$out"
refuse "a map" 3 "cachex: view: 'both' is not a tensor but a map; choose a part with --field" \
	cachex view tree both -n
refuse "a string" 3 \
	"cachex: view: 'both': name is not a tensor but a string; choose a part with --field" \
	cachex view tree both --field name -n
refuse "a part that is not there" 1 "cachex: view: 'both' has no part map.x" \
	cachex view tree both --field map.x -n
refuse "a cache_id that is not there" 1 "cachex: view: 'nobody' is not in faces" \
	cachex view faces nobody -n
check "a module that is not there" 1 cachex view nothing a -n
refuse "a sheet of a tensor" 2 \
	"cachex: view: one tensor has no sheet; only --field, --heat and --side apply to it" \
	cachex view faces run/0/img0 --cell 100 -n
refuse "a part of a shard" 2 "cachex: view: --field and --heat need records of a module" \
	cachex view one.twh1 --field a -n

# Records of a module
is "records of a module" "$(cachex view faces -n --json --samples 100 | grep -o '"record":[0-9]*' | wc -l | tr -d ' ')" 33
is "are in the order of their keys" "$(cachex view faces -n --json --samples 100 | grep -o '"id":"[^"]*"')" \
	"$(cachex ls -1 faces | sed 's/.*/"id":"&"/')"
is "from one on" "$(cachex view faces -n --json --samples 1 --from 3 | sed 's/.*"drawn"/"drawn"/')" \
	"\"drawn\":[{\"record\":3,\"id\":\"$(cachex ls -1 faces | sed -n 4p)\",\"kind\":\"image\",\"dtype\":\"u8\",\"shape\":[3,16,16],\"x\":16,\"y\":62,\"width\":192,\"height\":192}],\"picture_width\":392,\"picture_height\":304,\"dry_run\":true}"
is "at random, the same for a seed" "$(cachex view faces -n --json --random 5 --samples 4)" \
	"$(cachex view faces -n --json --random 5 --samples 4)"
refuse "after the last" 1 "cachex: view: --from 33: there are 33 records, numbered from 0" \
	cachex view faces --from 33 -n
check "by key" 1 cachex view faces --id run/0/img0 --id nobody -o ids.svg --json
is "with what is missing" "$(sed 's/.*"message":"\(.*\)"}}$/\1/' "$err")" "no record has the key 'nobody'"
also "is drawn" grep -q ">run/0/img0</text>" ids.svg
printf '%s\n' '{"id":"flag","value":true}' '{"id":"list","value":["a",{"$tensor":"i16[3]","data":"AQACAAMA"}]}' \
	'{"id":"text <&>","value":"some words"}' '{"id_base64":"/wAK","value":1.5}' >lines
cachex load tree lines
head -c 400 /dev/zero | cachex put tree plane --dtype f32 --shape 10,10
check "values of all kinds" 0 cachex view tree -o tree.svg --json
is "are drawn as what they are" "$(tr '{' '\n' <"$out" | sed -n 's/.*"id[_base64]*":"\([^"]*\)".*"kind":"\([a-z ]*\)".*/\1 \2/p')" \
	"both text
flag text
list text
plane heat map
text <&> text
/wAK text"
for text in tree '6 of 6 records' flag true '[1, 2, 3]' 'i16[3]  1' '[1, 2, 3, 4]' 'u8[2,2]  map' 'text &lt;&amp;&gt;' \
	'some words' 1.5 'f32[10,10]'; do
	also "with the text $text" grep -qF ">$text</text>" tree.svg
done
also "a key of any bytes" grep -q ">$(printf '\357\277\275\357\277\275 ')</text>" tree.svg
printf '{"id":"both","value":{"a":{"$tensor":"f32[9]","data":"%s"},"b":[1,{"$tensor":"u8[1,2,2]","data":"AQIDBA=="}]}}\n' \
	"$(head -c 36 /dev/zero | base64 -w 0)" | cachex load pairs
check "an image in a map" 0 cachex view pairs -n --json
is "goes before a tensor" "$(grep -o '"kind":"image.*"shape":\[[0-9,]*\]' "$out")" \
	'"kind":"image","field":"b.1","dtype":"u8","shape":[1,2,2]'
check "a field of each" 1 cachex view tree --field map -n --json
is "is drawn, where it is" "$(grep -o '"field":"map"' "$out" | wc -l | tr -d ' ')" 1
check "as heat maps" 0 cachex view faces --heat -n --json --samples 2
also "all of them" test "$(grep -o '"kind":"heat map"' "$out" | wc -l)" -eq 2
mkdir faces
check "a directory of the module's name" 0 cachex view faces -n
check "with a slash it is a path" 3 cachex view ./faces -n
rmdir faces
cachex put rm-all x f.npy 2>/dev/null || head -c 4 /dev/zero | cachex put rm-all x --dtype f32 --shape 1
cachex rm rm-all x -f -q
refuse "a module without records" 1 "cachex: view: there are no records" cachex view rm-all -n

# Formats
is_svg() { head -c 5 "$1" | grep -qx '<?xml' && tail -n 1 "$1" | grep -qx '</svg>'; }
is_pdf() { head -c 5 "$1" | grep -qx '%PDF-'; }
for source in one.twh1 "one.twh1 --histogram" faces "features f"; do
	for format in png svg pdf; do
		check "$source as $format" 0 cachex view $source -f -o "x.$format"
		also "is $format" is_$format "x.$format"
		check "by --format" 0 cachex view $source --format $format
		also "is the same" cmp "$out" "x.$format"
	done
done
check "--format" 0 cachex view one.twh1 --format svg -o x.png -f
also "goes before the suffix" is_svg x.png
check "any other suffix" 0 cachex view one.twh1 -o x.jpeg
also "is PNG" is_png x.jpeg
refuse "another format" 2 "cachex: view: --format: 'gif' is not one of auto|png|svg|pdf" \
	cachex view one.twh1 --format gif -n

# .npy
cachex get features f -o f.npy
check "a .npy file" 0 cachex view f.npy -o npy.png
also "is a picture" is_png npy.png
cachex view - -o - <f.npy >stdin.png
also "from standard input" is_png stdin.png
head -c 100 f.npy >short.npy
check "one cut short" 3 cachex view short.npy -n
also "is named" grep -q '^cachex: view: short.npy: ' "$err"

# Where it goes
refuse "JSON and a picture in one stream" 2 \
	'{"error":{"command":"view","exit":2,"message":"--json and the picture would both go to standard output; use -o FILE"}}' \
	cachex view one.twh1 --json
if command -v script >/dev/null 2>&1; then
	script -qec "'$CACHEX' view one.twh1" /dev/null </dev/null >typed 2>&1
	also "nothing binary to a terminal" grep -q \
	    'standard output is a terminal; use -o FILE, a pipe, or -f' typed
else
	skip "nothing binary to a terminal" "script(1) is not installed"
fi
if [ -w /dev/full ]; then
	check "a full disk" 4 sh -c '"$1" view one.twh1 >/dev/full' sh "$CACHEX"
	also "is told" grep -q '^cachex: view: standard output: ' "$err"
else
	skip "a full disk" "there is no /dev/full"
fi
finish
