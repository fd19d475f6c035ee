#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# buckets: which images it finds where, which bucket they get, and how they are counted.
. "${srcdir:-.}/t/support/tap.sh"

mkdataset=$builddir/t/support/mkdataset
tab=$(printf '\t')

# says NAME STATUS OUTPUT MESSAGES COMMAND...
says() {
	what=$1 status=$2 output=$3 messages=$4; shift 4
	check "$what: status" "$status" "$@"
	is "$what: output" "$(cat "$out")" "$output"
	is "$what: messages" "$(cat "$err")" "$messages"
}
# Counts of the buckets that have images, "832x1216 2" a line.
counts() { awk '/^[0-9]+x[0-9]/ && $3 > 0 { print $1, $3 }' "$out"; }

# Sizes, which need no files
says "sizes" 0 "1x1${tab}1x1${tab}1024x1024
3000x2000${tab}3000x2000${tab}1216x832
2000x3000${tab}2000x3000${tab}832x1216
4294967295x4294967294${tab}4294967295x4294967294${tab}1024x1024" "" \
	cachex buckets --assign 1x1 3000x2000 2000x3000 4294967295x4294967294
says "the first of equals" 0 "3x2${tab}3x2${tab}20x10" "" \
	cachex buckets --assign --buckets 20x10,10x10 3x2
says "whatever comes first" 0 "3x2${tab}3x2${tab}10x10" "" \
	cachex buckets --assign --buckets 10x10,20x10 3x2
says "the default by name" 0 "1x1${tab}1x1${tab}1024x1024" "" \
	cachex buckets --assign --buckets default 1x1
for size in 0x1 1x0 1x 1x1x1 x1 4294967296x1 1x4294967296 +1x1 1x-1; do
	check "$size is no size" 3 cachex buckets -- "$size"
	is "$size is a file that is not there" "$(cat "$err")" \
		"cachex: buckets: $size: No such file or directory"
done

# The table
says "the table" 0 "\
bucket         ratio     images    share     cut
704x1344       0.524          0    0.0 %       -
768x1280       0.600          0    0.0 %       -
832x1216       0.684          0    0.0 %       -
1024x1024      1.000          3   75.0 %   0.0 %  ############################
1216x832       1.462          0    0.0 %       -
1280x768       1.667          0    0.0 %       -
1344x704       1.909          1   25.0 %   4.5 %  ##########
4 images, 1.1 % cut off or padding on average" "" cachex buckets 1x1 2x2 2x1 3x3
says "given buckets in order of their ratio" 0 "\
bucket         ratio     images    share     cut
10x20          0.500          1  100.0 %   0.0 %  ############################
5x5            1.000          0    0.0 %       -
10x10          1.000          0    0.0 %       -
20x10          2.000          0    0.0 %       -
1 image, 0.0 % cut off or padding on average" "" \
	cachex buckets --buckets 20x10,5x5,10x20,10 1x2
says "no images" 0 "\
bucket         ratio     images    share     cut
8x8            1.000          0    0.0 %       -
0 images" "" cachex buckets --buckets 8 -
says "as JSON" 0 \
'{"images":3,"bad":0,"unreadable":0,"outside":1,"cut":0.166667,"learned":false,"buckets":[{"aspect_bucket":"1x2","width":1,"height":2,"ratio":0.5,"images":1,"share":0.333333,"cut":0},{"aspect_bucket":"1x1","width":1,"height":1,"ratio":1,"images":0},{"aspect_bucket":"2x1","width":2,"height":1,"ratio":2,"images":2,"share":0.666667,"cut":0.25}]}' \
	"" cachex buckets -q --json --buckets 1x1,2x1,1x2 2x1 4x1 1x2
says "no images as JSON" 0 \
'{"images":0,"bad":0,"unreadable":0,"outside":0,"learned":false,"buckets":[{"aspect_bucket":"8x8","width":8,"height":8,"ratio":1,"images":0}]}' \
	"" cachex buckets --json --buckets 8 -

# Images and directories of them
mkdir -p set/b .hidden
"$mkdataset" image set/f10.png 40 30 1
"$mkdataset" image set/f2.jpg 30 40 2
"$mkdataset" image set/b/c.JPEG 64 20 3
"$mkdataset" image set/.hidden.png 8 8 4
"$mkdataset" turned set/t.jpg 60 30 5 6
cp set/f10.png other
echo none >set/notes.txt
ln -s ../set set/loop
says "a directory" 0 "set/f2.jpg${tab}30x40${tab}832x1216
set/f10.png${tab}40x30${tab}1216x832
set/t.jpg${tab}30x60${tab}704x1344
set/b/c.JPEG${tab}64x20${tab}1344x704" \
	"cachex: buckets: set/b/c.JPEG: 64x20: a ratio of 3.2 is outside 0.4 to 2.5" \
	cachex buckets --assign set/
check "not turned" 0 cachex buckets --assign --ignore-orientation set/t.jpg
is "has its stored size" "$(cut -f 2 "$out")" 60x30
check "one without an extension" 0 cachex buckets --assign other
is "is known by its bytes" "$(cat "$out")" "other${tab}40x30${tab}1216x832"
check "as JSON" 0 cachex buckets --assign --json set/b
is "a line each" "$(cat "$out")" \
'{"name":"set/b/c.JPEG","width":64,"height":20,"aspect_bucket":"1344x704","outside":true}'

# What is none
head -c 20 set/f10.png >short.png
: >empty.jpg
mkdir -p bad && cp short.png empty.jpg set/f2.jpg bad && echo text >bad/a.png
mkfifo pipe
check "bad files" 3 cachex buckets --assign bad pipe missing set/f10.png
is "others are assigned" "$(cut -f 1 "$out")" "bad/f2.jpg
set/f10.png"
is "each is reported" "$(sed 's/\(bad\/short.png\): .*/\1: …/' "$err")" \
"cachex: buckets: bad/a.png: neither an image nor JSON lines
cachex: buckets: bad/empty.jpg: neither an image nor JSON lines
cachex: buckets: bad/short.png: …
cachex: buckets: pipe: is not a regular file
cachex: buckets: missing: No such file or directory"
check "bad files in the table" 3 cachex buckets bad -q
is "are counted" "$(tail -n 1 "$out")" \
	"1 image, 8.8 % cut off or padding on average; 3 bad"
is "and told also with -q" "$(wc -l <"$err" | tr -d ' ')" 3
if [ "$(id -u)" != 0 ]; then
	mkdir closed && chmod 0 closed
	check "a directory that cannot be read" 4 cachex buckets closed
fi

# JSON lines
cat >records.jsonl <<'END'
{"image_path":"i/a.jpg","caption":"\"width\": 3","width":1024,"height":1024}

 {"height":1e3,"width":2000.0,"nested":{"width":1,"image_path":"no"}}
{"image_path":"tab\there","w\u0069dth":640,"height":1280,"vector":[1,2,[3,4.5e-7]]}
{"image_path":7,"width":5,"height":5}
END
says "JSON lines" 0 "i/a.jpg${tab}1024x1024${tab}1024x1024
records.jsonl:3${tab}2000x1000${tab}1344x704
tab\\x09here${tab}640x1280${tab}704x1344
records.jsonl:5${tab}5x5${tab}1024x1024" "" cachex buckets --assign records.jsonl
says "on standard input" 0 "i/a.jpg${tab}1024x1024${tab}1024x1024
standard input:3${tab}2000x1000${tab}1344x704
tab\\x09here${tab}640x1280${tab}704x1344
standard input:5${tab}5x5${tab}1024x1024" "" \
	sh -c '"$1" buckets --assign - <records.jsonl' sh "$CACHEX"
echo '{"w":3,"h":6,"id":"x"}' >fields.jsonl
says "other fields" 0 "x${tab}3x6${tab}704x1344" "" cachex buckets --assign \
	--width-field w --height-field h --name-field id fields.jsonl
cat >bad.jsonl <<'END'
{"width":1,"height":1}
{"width":0,"height":1}
{"width":1,"height":-1}
{"width":1.5,"height":1}
{"width":"1","height":1}
{"width":4294967296,"height":1}
{"width":1e400,"height":1}
{"width":1}
{"height":1}
{"width":1,"height":1,"width":1}
[1,1]
{"width":1,"height":1} x
{"width":1 "height":1}
END
printf '{"width":1,"height":1,"image_path":"\\ud800"}\n{"width":1,"height":1' >>bad.jsonl
printf '{"image_path":"a\\u0000b","width":1,"height":1}\n' >nul.jsonl
says "a name with a NUL" 3 "" "cachex: buckets: nul.jsonl: line 1: field image_path has a NUL" \
	cachex buckets --assign nul.jsonl
says "bad lines" 3 "bad.jsonl:1${tab}1x1${tab}1024x1024" \
"cachex: buckets: bad.jsonl: line 2: field width is not a number of pixels: 0
cachex: buckets: bad.jsonl: line 3: field height is not a number of pixels: -1
cachex: buckets: bad.jsonl: line 4: field width is not a number of pixels: 1.5
cachex: buckets: bad.jsonl: line 5: field width is not a number of pixels: \"1\"
cachex: buckets: bad.jsonl: line 6: field width is not a number of pixels: 4294967296
cachex: buckets: bad.jsonl: line 7: field width is not a number of pixels: 1e400
cachex: buckets: bad.jsonl: line 8: no field height
cachex: buckets: bad.jsonl: line 9: no field width
cachex: buckets: bad.jsonl: line 10: field width occurs twice
$(cachex buckets --assign bad.jsonl 2>&1 >/dev/null | tail -n 5)" \
	cachex buckets --assign bad.jsonl
is "with the column of each" "$(tail -n 5 "$err" | sed 's/.*\(line [0-9]*\).*: .*/\1/')" "line 11
line 12
line 13
line 14
line 15"

# Lists
printf 'set/f2.jpg\n1x1\n\n{"width":2,"height":1}\nset/b\n' >list
says "a list" 0 "set/f2.jpg${tab}30x40${tab}832x1216
1x1${tab}1x1${tab}1024x1024
list:4${tab}2x1${tab}1344x704
set/b/c.JPEG${tab}64x20${tab}1344x704" "" cachex buckets -q --assign --files-from list
printf '5x5\0with\nline\0' >nul
cp other "with
line"
says "with NUL bytes" 0 "5x5${tab}5x5${tab}1024x1024
with\\x0aline${tab}40x30${tab}1216x832" "" cachex buckets --assign --files-from nul -0
says "from standard input" 0 "5x5${tab}5x5${tab}1024x1024" "" \
	sh -c 'echo 5x5 | "$1" buckets --assign --files-from -' sh "$CACHEX"
check "a list that is not there" 4 cachex buckets --files-from missing
check "a list that is a directory" 4 cachex buckets --files-from set

# Warnings
seq 1 14 | sed 's/.*/1x100&/' >thin
check "many thin images" 0 cachex buckets --files-from thin
is "ten are named" "$(grep -c 'is outside 0.4 to 2.5' "$err")" 10
is "the others counted" "$(tail -n 1 "$err")" \
	"cachex: buckets: and 4 more outside 0.4 to 2.5"
is "all of them in the table" "$(tail -n 1 "$out" | sed 's/.*; //')" "14 outside 0.4 to 2.5"
check "with -v" 0 cachex buckets -v --files-from thin
is "all are named" "$(wc -l <"$err" | tr -d ' ')" 14
check "with -q" 0 cachex buckets -q --files-from thin
is "none is" "$(cat "$err")" ""
says "the limits themselves" 0 "2x5${tab}2x5${tab}704x1344
5x2${tab}5x2${tab}1344x704
199x500${tab}199x500${tab}704x1344
501x200${tab}501x200${tab}1344x704" "\
cachex: buckets: 199x500: 199x500: a ratio of 0.398 is outside 0.4 to 2.5
cachex: buckets: 501x200: 501x200: a ratio of 2.5 is outside 0.4 to 2.5" \
	cachex buckets --assign 2x5 5x2 199x500 501x200

# Learning
says "learn two" 0 "\
bucket         ratio     images    share     cut
832x1280       0.650          2   50.0 %   2.5 %  ############################
1280x832       1.538          2   50.0 %   2.5 %  ############################
4 images, 2.5 % cut off or padding on average
--buckets 832x1280,1280x832" "" cachex buckets --analyze 2 3x2 2x3 300x200 200x300
says "no more than there are" 0 "\
bucket         ratio     images    share     cut
1024x1024      1.000          2  100.0 %   0.0 %  ############################
2 images, 0.0 % cut off or padding on average
--buckets 1024x1024" "cachex: buckets: learned 1 instead of 9 buckets: the others would be equal" \
	cachex buckets --analyze 9 1x1 7x7
check "another area" 0 cachex buckets --analyze 1 --area 512x128 --quantum 1 1x1 --json
is "and quantum" "$(grep -o '"aspect_bucket":"[^"]*"' "$out")" '"aspect_bucket":"256x256"'
also "are learned" grep -q '"learned":true' "$out"
check "an area in pixels" 0 cachex buckets --analyze 1 --area 10000 --quantum 10 1x1
is "is taken" "$(tail -n 1 "$out")" "--buckets 100x100"
awk 'BEGIN { for (i = 0; i < 3000; i++) print (i % 3 == 0 ? "1500x1000" : i % 3 == 1 ? "1000x1500" : "1000x" 990 + i % 20) }' >many
check "many" 0 cachex buckets --analyze 3 --files-from many
is "fall into three" "$(counts)" "832x1280 1000
1024x1024 1000
1280x832 1000"
sort -r many >backwards
cp "$out" forwards
check "in another order" 0 cachex buckets --analyze 3 --files-from backwards
also "it is the same" cmp -s "$out" forwards
# shellcheck disable=SC2046 # two words
check "what was learned, given again" 0 cachex buckets --files-from many $(tail -n 1 forwards)
is "counts the same" "$(cat "$out")" "$(sed '$d' forwards)"
says "nothing to learn from" 3 "" "cachex: buckets: no images to learn from" \
	cachex buckets --analyze 3 -

mkdir unread
echo RIFF >unread/a.jxl
says "only images that are not read" 3 "" \
	"cachex: buckets: ignored 1 image of kinds that are not read: 1 .jxl" \
	cachex buckets unread

# Options that do not go together
refuse() {
	message=$1; shift
	check "refused: $message" 2 cachex buckets "$@"
	is "said: $message" "$(cat "$err")" "cachex: buckets: $message"
}
refuse "name an image, a directory or a size"
refuse "--assign and --analyze exclude each other; give the learned buckets to --buckets" \
	--assign --analyze 3 1x1
refuse "--analyze and --buckets exclude each other" --analyze 3 --buckets 1x1 1x1
refuse "--area and --quantum need --analyze" --area 5 1x1
refuse "--area and --quantum need --analyze" --quantum 5 1x1
refuse "--buckets: '1x1,' is not a list of sizes" --buckets 1x1, 1x1
refuse "--buckets: '' is not a list of sizes" --buckets "" 1x1
refuse "--area: '0' is neither a size nor a number of pixels" --analyze 1 --area 0 1x1
refuse "--area: '8x' is neither a size nor a number of pixels" --analyze 1 --area 8x 1x1
check "too many" 2 cachex buckets --analyze 65 1x1
check "too large a quantum" 2 cachex buckets --analyze 1 --quantum 65536 1x1
if [ -w /dev/full ]; then
	check "a full disk" 4 sh -c '"$1" buckets --assign 1x1 >/dev/full' sh "$CACHEX"
fi
finish
