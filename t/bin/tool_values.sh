#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Structured values through the tool: every way in and out, and the same bytes.
. "${srcdir:-.}/t/support/tap.sh"

# npy DESCR SHAPE BYTES >FILE: a .npy file; BYTES in octal escapes
npy() {
	text="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
	size=$((${#text} + 1 + 10))
	total=$(((size + 63) / 64 * 64))
	printf '\223NUMPY\001\000'
	printf "\\$(printf %o $(((total - 10) % 256)))\\$(printf %o $(((total - 10) / 256)))"
	printf "%s%$((total - size))s\n" "$text" ''
	printf %b "$3"
}
npy '<f4' '(2,)' '\0000\0000\0200\0077\0000\0000\0000\0300' >feat.npy
npy '<i2' '(1, 2)' '\0001\0000\0002\0000' >b0.npy
npy '|u1' '(3,)' 'abc' >b1.npy

# Fields
check "put of fields" 0 cachex put m k --field features=feat.npy --field boxes.0=b0.npy \
	--field boxes.1=b1.npy --field 'label:="cat"' --field score:=0.5
is "says nothing" "$(cat "$out" "$err")" ""
summary='{"features":{"$tensor":"f32[2]"},"boxes":[{"$tensor":"i16[1,2]"},{"$tensor":"u8[3]"}],"label":"cat","score":0.5}'
is "get is JSON without data" "$(cachex get m k)" "$summary"
is "get --json has the cache_id" "$(cachex get m k --json)" '{"id":"k","value":'"$summary"'}'
is "so has --format json" "$(cachex get m k --format json)" '{"id":"k","value":'"$summary"'}'
for field in features:feat boxes.0:b0 boxes.1:b1; do
	check "get --field ${field%:*}" 0 cachex get m k --field "${field%:*}"
	also "is the file" cmp "$out" "${field#*:}.npy"
done
is "a string" "$(cachex get m k --field label)" '"cat"'
is "its bytes" "$(cachex get m k --field label --format raw)" cat
is "a float" "$(cachex get m k --field score)" 0.5
is "a list" "$(cachex get m k --field boxes)" '[{"$tensor":"i16[1,2]"},{"$tensor":"u8[3]"}]'
is "a tensor as JSON" "$(cachex get m k --field boxes.0 --json)" \
	'{"id":"k","field":"boxes.0","dtype":"i16","shape":[1,2],"data":[[1,2]]}'
is "a tensor's elements" "$(cachex get m k --field boxes.1 --format raw)" abc
refuse "no such part" 1 "cachex: get: 'k' has no part boxes.2" cachex get m k --field boxes.2
refuse "no part of a tensor" 1 "cachex: get: 't' has no part x" \
	sh -c '"$1" put m t feat.npy && "$1" get m t --field x' sh "$CACHEX"
refuse "no tensor to write" 3 \
	"cachex: get: 'k' is not a tensor but a map; use -o DIR/ for all of it, --field for a part" \
	cachex get m k --format npy
refuse "nor its bytes" 3 \
	"cachex: get: 'k': boxes is not a tensor but a list; use -o DIR/ for all of it, --field for a part" \
	cachex get m k --field boxes --format raw
check "put -n" 0 cachex put -n m new --field a=b0.npy --field 'b:=[1]'
is "says what it would do" "$(cat "$err")" \
	"cachex: put: fields: would store {a: i16[1,2], b: list} as 'new'"
check "and does not" 1 cachex has m new
check "get -n" 0 cachex get -n m k
is "says what it would do" "$(cat "$err")" \
	"cachex: get: would write {features: f32[2], boxes: [i16[1,2], u8[3]], label: string, score: float} to standard output"
echo '{"x":[1,2]}' >plain.json
check "a field from a file of JSON" 0 cachex put m j --field a=@plain.json --field b=feat.npy
is "is there" "$(cachex get m j --field a)" '{"x":[1,2]}'
check "a field from standard input" 0 sh -c 'cat feat.npy | "$1" put m j --field b=-' sh "$CACHEX"
check "names with dots and backslashes" 0 cachex put m dots --field 'a\.b=b1.npy' --field 'c\\d:=1'
is "are one name" "$(cachex get m dots)" '{"a.b":{"$tensor":"u8[3]"},"c\\d":1}'
check "and are found so" 0 cachex get m dots --field 'a\.b'
also "with their data" cmp "$out" b1.npy
is "names that are not 0 to n-1" "$(cachex put m n --field 1:=1 --field 2:=2 && cachex get m n)" \
	'{"1":1,"2":2}'
is "names in any order" "$(cachex put m n --field 1:=1 --field 0:=0 && cachex get m n)" '[0,1]'
check "a field by a variable" 0 sh -c 'CACHEX_PUT_FIELD=x:=1 "$1" put m var' sh "$CACHEX"
is "is one" "$(cachex get m var)" '{"x":1}'
check "options instead of it" 0 sh -c 'CACHEX_PUT_FIELD=x:=1 "$1" put m var --field y:=2 --field z:=3' sh "$CACHEX"
is "replace it" "$(cachex get m var)" '{"y":2,"z":3}'
is "config shows it" "$(CACHEX_PUT_FIELD=x:=1 cachex config --json | grep '"put.field"')" \
	'{"name":"put.field","value":"x:=1","source":"environment","from":"CACHEX_PUT_FIELD"}'
refuse "no sign" 2 "cachex: put: --field: 'x' is not one of NAME=FILE.npy, NAME=@FILE.json, NAME:=JSON" \
	cachex put m bad --field x
refuse "twice" 2 "cachex: put: --field: x: occurs twice" cachex put m bad --field x:=1 --field x:=2
refuse "below a part" 2 "cachex: put: --field: x.y: leads through a part that holds no others" \
	cachex put m bad --field x:=1 --field x.y:=2
refuse "no name" 2 "cachex: put: --field: : a name is empty" cachex put m bad --field =b0.npy
refuse "bad JSON" 3 "cachex: put: x: not JSON: no such word in JSON (line 1, column 1)" \
	cachex put m bad --field x:=cat
refuse "no .npy file" 3 \
	"cachex: put: plain.json: not a .npy file; for JSON use NAME=@FILE or NAME:=JSON" \
	cachex put m bad --field x=plain.json
refuse "no file" 4 "cachex: put: gone.npy: open: No such file or directory" \
	cachex put m bad --field x=gone.npy
refuse "a file and fields" 2 "cachex: put: feat.npy: FILE and --field exclude each other" \
	cachex put m bad feat.npy --field x:=1
check "nothing of that is stored" 1 cachex has m bad

# JSON
while read -r text; do
	echo "$text" >same.json
	check "$text: put" 0 cachex put m same same.json
	is "$text: get" "$(cachex get m same --data)" "$text"
done <<'END'
null
true
-9223372036854775808
{"$u64":"18446744073709551615"}
1.0
1e+100
-0.0
{"$float":"nan"}
{"$float":"-inf"}
"caf\u007fé"
{"$str":"/w=="}
{"$bytes":"AAEC"}
[]
{}
{"$tuple":[1,[2,{"$tuple":[]}]]}
{"$map":[["$x",1],["y",{"z":null}]]}
{"b":1,"a":{"x":{"$tensor":"u8[3]","data":"YWJj"}}}
{"$tagged":["py.int",{"$bytes":"AAAAAAAAAAAB"}]}
{"$pairs":[[1,"one"],[{"$tuple":[0.5,null]},[]]]}
END
echo '{"$pairs":[[7,{"$tensor":"u8[3]","data":"YWJj"}],[9,{"$tagged":["set",[{"$tensor":"u8[1]","data":"YQ=="}]]}]]}' >same.json
check "pairs with tensors" 0 cachex put kinds pairs same.json
is "come back" "$(cachex get kinds pairs --data)" "$(cat same.json)"
is "a part of pairs" "$(cachex get kinds pairs --field 1 --format raw)" abc
is "a part that is tagged" "$(cachex get kinds pairs --field 3.set.0 --format raw)" a
is "their structure" "$(cachex schema kinds --json | sed 's/.*"structure":"\([^"]*\)".*/\1/')" \
	"<plain: u8[*], plain: (set: [u8[*]])>"
refuse "pairs in a .npz file" 3 \
	"cachex: get: 'pairs': .npz cannot hold pairs; -o DIR/ holds everything" \
	cachex get kinds pairs --format npz
refuse "pairs in a safetensors file" 3 \
	"cachex: export: 'pairs': 0 is a integer: only tensors can be written" \
	cachex export kinds out.safetensors
check "pairs as a directory" 0 cachex get kinds pairs -o pairs/
check "which comes back" 0 cachex put kinds again pairs
is "as it was" "$(cachex get kinds again --data)" "$(cat same.json)"
echo '{"$tensor":"bf16[1,2]","data":"AQIDBA=="}' >same.json
check "a tensor" 0 cachex put m same same.json
is "a tensor in JSON is a tensor" "$(cachex get m same --format raw | od -An -tx1 | tr -d ' \n')" 01020304
check "a pipe of JSON" 0 sh -c 'echo " [1]" | "$1" put m pipe' sh "$CACHEX"
is "is taken for it" "$(cachex get m pipe)" '[1]'
check "--format json" 0 sh -c 'echo 7 | "$1" put m pipe --format json' sh "$CACHEX"
is "takes anything" "$(cachex get m pipe)" 7
refuse "a summary has no data" 3 \
	"cachex: put: standard input: features: the data of the tensor f32[2] is not here" \
	sh -c '"$1" get m k | "$1" put m copy' sh "$CACHEX"
check "--data has it" 0 sh -c '"$1" get m k --data | "$1" put m copy' sh "$CACHEX"
is "the same value" "$(cachex get m copy --data)" "$(cachex get m k --data)"
printf '{"a":' >cut.json
check "JSON that was cut" 3 cachex put m bad cut.json
also "is named" grep -q '^cachex: put: cut.json: not JSON: ' "$err"
awk 'BEGIN { for (i = 0; i < 65; i++) printf "["; for (i = 0; i < 65; i++) printf "]" }' >deep.json
refuse "JSON that is too deep" 3 "cachex: put: deep.json: nested deeper than 64" \
	cachex put m bad deep.json
refuse "JSON has no shape" 2 "cachex: put: --shape describes raw bytes only" \
	cachex put m bad plain.json --format json --shape 1

# Directories
check "get into a directory" 0 cachex get m k -o set/
is "its files" "$(ls -A set | tr '\n' ' ')" "boxes.0.npy boxes.1.npy features.npy value.json "
also "are the tensors" cmp set/features.npy feat.npy
also "all of them" cmp set/boxes.1.npy b1.npy
is "and the rest" "$(cat set/value.json)" \
	'{"features":{"$tensor":"f32[2]","file":"features.npy"},"boxes":[{"$tensor":"i16[1,2]","file":"boxes.0.npy"},{"$tensor":"u8[3]","file":"boxes.1.npy"}],"label":"cat","score":0.5}'
is "nothing else is left there" "$(ls -A | grep -c tmp)" 0
check "put of a directory" 0 cachex put m back set
is "is the same value" "$(cachex get m back --data)" "$(cachex get m k --data)"
refuse "a directory that holds something" 2 "cachex: get: set/: exists; -f replaces it" \
	cachex get m k -o set/
mkdir empty
check "an empty one" 0 cachex get m k -o empty
also "is filled" diff -r set empty
refuse "where there is no directory" 4 "cachex: get: gone/set/: No such file or directory" \
	cachex get m k -o gone/set/
refuse "a set without a name" 2 "cachex: get: a directory is needed: -o DIR/" \
	cachex get m k --format set
check "a part into a directory" 0 cachex get m k --field boxes -o part/
is "has that part" "$(ls part | tr '\n' ' ')" "0.npy 1.npy value.json "
check "a tensor into a directory" 0 cachex get m t -o one/
is "is one file" "$(cat one/value.json)" '{"$tensor":"f32[2]","file":"value.npy"}'
check "and back" 0 cachex put m t2 one
is "the same tensor" "$(cachex get m t2 --json | cut -d, -f2-)" "$(cachex get m t --json | cut -d, -f2-)"
cat >odd.json <<'END'
{"$map":[["a/b",{"$tensor":"bf16[1]","data":"AQI="}],["..",{"é%":{"$tensor":"u8[1]","data":"eA=="}}],["$",{"$tensor":"u8[0]","data":""}]]}
END
check "odd names" 0 cachex put m odd odd.json
check "odd names as files" 0 cachex get m odd -o odd/
is "are escaped" "$(ls -A odd | tr '\n' ' ')" "%24.npy %2E%2E.%C3%A9%25.npy a%2Fb.npy value.json "
check "odd names back" 0 cachex put m odd2 odd
is "the same, bf16 too" "$(cachex get m odd2 --data)" "$(cat odd.json)"
long=$(printf %0300d 7)
check "a name too long for a file" 0 cachex put m long --field "$long=b0.npy"
check "gets another" 0 cachex get m long -o long/
is "one that no name has" "$(ls long | head -n 1)" "%t0.npy"
check "and comes back" 0 cachex put m long2 long
is "under its own" "$(cachex get m long2 --data)" "$(cachex get m long --data)"

head -c 100000 /dev/zero >zeros
printf '{"a":{"$tensor":"u8[100000]","data":"%s"},"b":[1]}' "$(base64 -w 0 <zeros)" >wide.json
check "a large value" 0 cachex put m wide wide.json
check "a directory that does not fit" 4 \
	sh -c 'ulimit -f 8; "$1" get m wide -o wide/' sh "$CACHEX"
also "names the file" grep -q '^cachex: get: wide.tmp.*/a.npy: File too large$' "$err"
is "and leaves nothing" "$(ls -d wide*)" wide.json

mkdir files; cp feat.npy files/x.npy; cp b0.npy files/y.1.npy; cp b1.npy files/y.0.npy
check "any directory of .npy files" 0 cachex put m files files
is "its names are the paths" "$(cachex get m files)" \
	'{"x":{"$tensor":"f32[2]"},"y":[{"$tensor":"u8[3]"},{"$tensor":"i16[1,2]"}]}'
echo x >files/readme
refuse "with anything else" 3 "cachex: put: files/readme: neither a .npy file nor value.json" \
	cachex put m bad files
echo '{"x":{"$tensor":"f32[2]","file":"x.npy"}}' >files/value.json
rm files/readme
refuse "a file that value.json does not name" 3 \
	"cachex: put: files/y.0.npy: value.json does not list it" cachex put m bad files
rm files/y.*
check "without it" 0 cachex put m files files
echo '{"x":{"$tensor":"f32[3]","file":"x.npy"}}' >files/value.json
refuse "another shape" 3 "cachex: put: files/value.json: x.npy is f32[2], not f32[3]" \
	cachex put m bad files
for name in ../feat.npy /etc/passwd gone.npy .npy; do
	echo '{"x":{"$tensor":"f32[2]","file":"'$name'"}}' >files/value.json
	refuse "the file $name" 3 \
		"cachex: put: files/value.json: no file '$name' in its directory" cachex put m bad files
done
mkdir void
refuse "an empty directory" 3 "cachex: put: void: an empty directory" cachex put m bad void
check "nothing of that is stored either" 1 cachex has m bad

# .npz
check "tensors as .npz" 0 cachex get m k --field boxes -o boxes.npz
check "and back" 0 cachex put m boxes boxes.npz
is "the same" "$(cachex get m boxes --data)" "$(cachex get m k --field boxes --data)"
check "again" 0 cachex get m boxes -o again.npz
also "the same file" cmp boxes.npz again.npz
check "through a pipe" 0 sh -c '"$1" get m boxes --format npz | cmp - boxes.npz' sh "$CACHEX"
refuse "plain data does not fit" 3 \
	"cachex: get: 'k': label: .npz cannot hold plain data; -o DIR/ holds everything" \
	cachex get m k -o k.npz
also "and leaves no file" test ! -e k.npz
refuse "nor does a lone tensor" 3 \
	"cachex: get: 't': .npz cannot hold a tensor without a name; -o DIR/ holds everything" \
	cachex get m t -o t.npz
check "bf16 needs --bits" 3 cachex get m odd --field a/b -o odd.npz
head -c 100 boxes.npz >cut.npz
check "a .npz file that was cut" 3 cachex put m bad cut.npz
also "is named" grep -q '^cachex: put: cut.npz: ' "$err"
if python3 -c 'import numpy' 2>/dev/null; then
	python3 - <<'END'
import numpy as n
n.savez("np.npz", **{"x": n.arange(6, dtype="f4").reshape(2, 3), "l.0": n.bool_(True), "l.1": n.uint8([])})
n.savez_compressed("npc.npz", **n.load("np.npz"))
n.savez("obj.npz", x=n.array([{}], dtype=object))
n.savez("bits.npz", x=n.zeros(2, "V2"), y=n.zeros(1, "u1"))
END
	for file in np npc; do
		check "$file.npz: put" 0 cachex put m $file $file.npz
		is "$file.npz: what it is" "$(cachex get m $file)" \
			'{"x":{"$tensor":"f32[2,3]"},"l":[{"$tensor":"bool[]"},{"$tensor":"u8[0]"}]}'
		check "$file.npz: get" 0 cachex get m $file -o $file-2.npz
		is "$file.npz: NumPy reads it" "$(python3 -c '
import sys, numpy
a, b = (numpy.load(f) for f in sys.argv[1:])
print(a.files == b.files and all((a[k] == b[k]).all() and a[k].dtype == b[k].dtype for k in a.files))
' $file.npz $file-2.npz)" True
	done
	check "objects are refused" 3 cachex put m bad obj.npz
	also "by name" grep -q '^cachex: put: obj.npz: x.npy: ' "$err"
	check "raw bits need a dtype" 3 cachex put m bad bits.npz
	check "--dtype is theirs" 0 cachex put m bits bits.npz --dtype bf16
	is "and not the others'" "$(cachex get m bits)" '{"x":{"$tensor":"bf16[2]"},"y":{"$tensor":"u8[1]"}}'
else
	skip "NumPy's .npz" "python3 has no NumPy"
fi

# What the lists say
echo '{"$bytes":"AAEC"}' >three.json
check "put bytes" 0 cachex put kinds three three.json
is "bytes count" "$(cachex ls kinds three)" "three  bytes  3 B"
check "ls" 0 cachex ls m k
is "structure and size" "$(cat "$out")" \
	"k  {features: f32[2], boxes: [i16[1,2], u8[3]], label: string,…  18 B"
check "ls --json" 0 cachex ls m k --json
is "as JSON" "$(sed 's/"stored_bytes.*//' "$out")" \
	'{"id":"k","kind":"map","structure":"{features: f32[2], boxes: [i16[1,2], u8[3]], label: string, score: float}","bytes":18,'

# Codecs
i=0; while [ $i -lt 4096 ]; do printf abcdefgh; i=$((i + 1)); done >text
head -c 32768 /dev/urandom >noise
for codec in none lz4 shuffle-lz4 auto; do
	check "--codec $codec" 0 cachex put c "$codec" text --dtype u16 --shape 16384 --codec $codec
	check "$codec: get" 0 cachex get c "$codec" --format raw
	also "$codec: the same bytes" cmp "$out" text
done
codec_of() { cachex ls --json c "$1" | sed 's/.*"codec":"\([^"]*\)".*/\1/'; }
is "none" "$(codec_of none)" none
is "lz4" "$(codec_of lz4)" lz4
is "shuffle-lz4" "$(codec_of shuffle-lz4)" shuffle-lz4
also "auto finds one" test "$(codec_of auto)" != none
also "it is smaller" test "$(cachex ls --json c auto | sed 's/.*"stored_bytes":\([0-9]*\).*/\1/')" -lt 8000
check "noise" 0 cachex put c noise noise --dtype u8 --shape 32768 --codec lz4 --level 9
is "is stored as it is" "$(codec_of noise)" none
check "a level" 0 cachex put c level text --dtype u8 --shape 32768 --codec lz4 --level -5
is "does not change the codec" "$(codec_of level)" lz4
refuse "no level" 2 "cachex: put: --level: 'fast' is not a number" cachex put c x text --level fast
refuse "a level that there is not" 2 "cachex: put: --level: 99 is not -65537 to 12" \
	cachex put c x text --dtype u8 --shape 32768 --codec lz4 --level 99
refuse "no codec" 2 \
	"cachex: put: --codec: 'zip' is not one of default|none|lz4|shuffle-lz4|u8pack|u8pack-lz4|auto" \
	cachex put c x text --codec zip
check "schema" 0 cachex schema c
is "structures" "$(cut -d' ' -f1 "$out" | tr '\n' ' ')" "u16[*] u8[*] "
check "schema --json" 0 cachex schema c --json
is "says how many" "$(head -n 1 "$out" | grep -o '"records":4,"raw_bytes":131072')" '"records":4,"raw_bytes":131072'
also "and with which codec" grep -q '"codecs":{"none":1,"lz4":[12],"shuffle-lz4":[12]}' "$out"
check "stat has the same" 0 cachex stat c
also "in text" grep -Eq '^  u16\[\*\] +4 records +128 KiB raw .* [0-9.]+x  none 1, lz4 [12], shuffle-lz4 [12]$' "$out"
is "and as JSON" "$(cachex stat c --json | grep -o '"structures":\[{"schema":0,"structure":"u16\[\*\]"')" \
	'"structures":[{"schema":0,"structure":"u16[*]"'
also "with counters" grep -Eq '^  puts +6$' "$out"

# dump and load
check "dump of structured and coded values" 0 cachex dump m -o m.jsonl
is "structured ones have format 1" "$(grep '"id":"k"' m.jsonl)" \
	'{"format":1,"id":"k","value":'"$(cachex get m k --data)"'}'
check "load" 0 cachex load m2 m.jsonl
is "the same" "$(cachex dump m2 | cksum)" "$(cksum <m.jsonl)"
check "dump of coded tensors" 0 cachex dump c -o c.jsonl
check "load --codec" 0 cachex load c2 c.jsonl --codec lz4
is "decoded and coded again" "$(cachex ls --json c2 lz4 | grep -c '"codec":"lz4"')" 1
is "the same as well" "$(cachex dump c2 | cksum)" "$(cksum <c.jsonl)"
while IFS='	' read -r line message; do
	echo "$line" >bad.jsonl
	check "$line" 3 cachex load bad bad.jsonl
	is "$message" "$(cat "$err")" "cachex: load: bad.jsonl:1: $message"
done <<'END'
{"format":2,"id":"a","value":1}	format 2 is newer than this program
{"format":"1","id":"a","value":1}	format is not a number
{"format":1,"id":"a","value":1,"dtype":"u8"}	a record has either value or dtype, shape and data
{"format":1,"id":"a"}	dtype is missing or not text
{"format":1,"id":"a","value":{"x":{"$tensor":"u8[1]"}}}	x: the data of the tensor u8[1] is not here
END
awk 'BEGIN { printf "{\"format\":1,\"id\":\"deep\",\"value\":"; for (i = 0; i < 64; i++) printf "["
	for (i = 0; i < 64; i++) printf "]"; print "}" }' >deep.jsonl
check "the deepest value" 0 cachex load deep deep.jsonl
is "comes back" "$(cachex dump deep)" "$(cat deep.jsonl)"

# Damage in one part
cachex put d k --field a:=1 --field 'b:={"$tensor":"u8[5]","data":"aGVsbG8="}' \
	--field 'c:={"$tensor":"u8[5]","data":"d29ybGQ="}'
data=$XDG_CACHE_HOME/cachex/d/data.mdb
at=$(LC_ALL=C grep -abo world "$data" | tail -n 1 | cut -d: -f1)
printf W | dd of="$data" bs=1 seek="$at" conv=notrunc 2>/dev/null
check "a damaged part" 3 cachex get d k --field c
also "is named" grep -q "^cachex: get: .*'k'" "$err"
check "the others are not" 0 cachex get d k --field b --format raw
is "their data" "$(cat "$out")" hello
check "all of it" 3 cachex get d k -o damaged/
also "is not written" test ! -e damaged
is "nor a part of it" "$(ls -A | grep -c 'damaged')" 0

# export has no place for structure
check "export of structured values" 3 cachex export m shards
is "is refused in one line" "$(wc -l <"$err" | tr -d ' ')" 1
finish
