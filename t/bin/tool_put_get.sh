#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# put and get: every way in, every way out, every refusal.
. "${srcdir:-.}/t/support/tap.sh"

# header DESCR SHAPE: the .npy header that NumPy writes
header() {
	text="{'descr': '$1', 'fortran_order': False, 'shape': $2, }"
	size=$((${#text} + 1 + 10))
	total=$(((size + 63) / 64 * 64))
	printf '\223NUMPY\001\000'
	printf "\\$(printf %o $(((total - 10) % 256)))\\$(printf %o $(((total - 10) / 256)))"
	printf "%s%$((total - size))s\n" "$text" ''
}

(header '<f4' '(2,)'; printf '\000\000\200\077\000\000\000\300') >x.npy
check "put a .npy file" 0 cachex put m x x.npy
is "it says nothing" "$(cat "$out" "$err")" ""
check "get it" 0 cachex get m x
also "the same bytes" cmp "$out" x.npy
check "get it as raw bytes" 0 cachex get m x --format raw
is "the elements" "$(od -An -tx1 <"$out" | tr -d ' \n')" "0000803f000000c0"
check "get it as JSON" 0 cachex get m x --format json
is "JSON" "$(cat "$out")" '{"id":"x","dtype":"f32","shape":[2],"data":[1,-2]}'
check "--json is the same" 0 cachex get m x --json
is "JSON again" "$(cat "$out")" '{"id":"x","dtype":"f32","shape":[2],"data":[1,-2]}'

check "put from standard input" 0 sh -c '"$1" put m y <x.npy' sh "$CACHEX"
check "put from - in a pipe" 0 sh -c 'cat x.npy | "$1" put m z -' sh "$CACHEX"
check "get into a file" 0 cachex get m z -o z.npy
also "the file is right" cmp z.npy x.npy
is "and nothing else is left there" "$(ls -A | grep -c tmp)" 0
check "get to - is standard output" 0 cachex get m z -o -
also "it is there" cmp "$out" x.npy
echo old >old.npy; ln -s old.npy link.npy; chmod 640 old.npy
check "get onto a link" 0 cachex get m z -o link.npy -f
also "replaces the link" test ! -L link.npy
also "by the file" cmp link.npy x.npy
is "what it led to stays" "$(cat old.npy)" old
check "get onto a file" 0 cachex get m z -o old.npy -f
also "the file is new" cmp old.npy x.npy
is "its mode stays" "$(ls -l old.npy | cut -c1-10)" "-rw-r-----"
check "get -n" 0 cachex get m z -n -o none.npy
also "says what it would do" grep -q '^cachex: get: would write .* to none.npy$' "$err"
also "writes nothing" test ! -e none.npy
check "get into a device" 0 cachex get m z -o /dev/null

# Every dtype, raw, with its elements as JSON.
while read -r dtype hex json; do
	printf "$(echo "$hex" | sed 's/../\\x&/g')" | od -An -tx1 | tr -d ' \n' >/dev/null
	for byte in $(echo "$hex" | sed 's/../& /g'); do
		printf "\\$(printf %o "0x$byte")"
	done >raw
	check "$dtype: put" 0 cachex put m "$dtype" raw --dtype "$dtype" --shape 2
	check "$dtype: get" 0 cachex get m "$dtype" --format raw
	also "$dtype: same bytes" cmp "$out" raw
	check "$dtype: JSON" 0 cachex get m "$dtype" --json
	is "$dtype: elements" "$(cat "$out")" \
		'{"id":"'"$dtype"'","dtype":"'"$dtype"'","shape":[2],"data":'"$json"'}'
	case $dtype in
	bf16 | f8_* | f4_* | c32)
		refuse "$dtype: no .npy" 3 \
			"cachex: get: .npy has no $dtype; use --format raw, or --bits" \
			cachex get m "$dtype"
		refuse "$dtype: no .npy in a file" 3 \
			"cachex: get: .npy has no $dtype; use --format raw, or --bits" \
			cachex get m "$dtype" -o no.npy
		is "$dtype: no file then" "$(ls | grep no.npy)" ""
		check "$dtype: raw bits" 0 cachex get m "$dtype" --bits -f -o bits.npy
		check "$dtype: raw bits back" 0 cachex put m back bits.npy --dtype "$dtype"
		check "$dtype: raw bits again" 0 cachex get m back --format raw
		also "$dtype: raw bits are the bytes" cmp "$out" raw
		;;
	*)
		check "$dtype: get .npy" 0 cachex get m "$dtype" -o d.npy -f
		check "$dtype: put .npy" 0 cachex put m back d.npy
		check "$dtype: get again" 0 cachex get m back --json
		is "$dtype: elements again" "$(cat "$out")" \
			'{"id":"back","dtype":"'"$dtype"'","shape":[2],"data":'"$json"'}'
		;;
	esac
done <<'END'
bool 0001 [false,true]
u8 00ff [0,255]
i8 7f80 [127,-128]
u16 0000ffff [0,65535]
i16 ff7f0080 [32767,-32768]
u32 00000000ffffffff [0,4294967295]
i32 ffffff7f00000080 [2147483647,-2147483648]
u64 0000000000000000ffffffffffffffff [0,18446744073709551615]
i64 ffffffffffffff7f0000000000000080 [9223372036854775807,-9223372036854775808]
f16 0100ff7b [5.9604645e-08,65504]
bf16 803fc07f [1,"NaN"]
f32 cdcccc3d000080ff [0.1,"-Infinity"]
f64 9a9999999999b93f000000000000f07f [0.1,"Infinity"]
c64 0000803f000000c00000000000000080 [[1,-2],[0,-0]]
c128 000000000000f03f00000000000000c09a9999999999b93f0000000000000000 [[1,-2],[0.1,0]]
f8_e4m3 7eff [448,"NaN"]
f8_e5m2 7bfc [57344,"-Infinity"]
f8_e8m0 7dff [0.25,"NaN"]
f8_e4m3fnuz 7c80 [192,"NaN"]
f8_e5m2fnuz 7f80 [57344,"NaN"]
f4_e2m1_x2 1af7 [[-1,0.5],[6,-6]]
c32 003c00c00000007c [[1,-2],[0,"Infinity"]]
END

# Shapes
printf abcdef >six
check "two dimensions" 0 cachex put m two six --dtype u8 --shape 2,3
is "nested" "$(cachex get m two --json)" \
	'{"id":"two","dtype":"u8","shape":[2,3],"data":[[97,98,99],[100,101,102]]}'
printf a >one
check "rank 0" 0 cachex put m zero one --dtype u8 --shape ''
is "a plain number" "$(cachex get m zero --json)" \
	'{"id":"zero","dtype":"u8","shape":[],"data":97}'
check "no elements" 0 cachex put m none /dev/null --dtype u8 --shape 4611686018427387904,0
is "an empty list" "$(cachex get m none --json)" \
	'{"id":"none","dtype":"u8","shape":[4611686018427387904,0],"data":[]}'
check "rank 16" 0 cachex put m deep one --dtype u8 --shape 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
refuse "rank 17" 2 "cachex: put: --shape: more than 16 dimensions" \
	cachex put m deep one --dtype u8 --shape 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
for shape in ',' '2,' ',3' '2,,3' 2x3 -6 ' 6' 99999999999999999999999; do
	refuse "shape '$shape'" 2 \
		"cachex: put: --shape: '$shape' is not a shape, such as 3,640,640" \
		cachex put m bad six --dtype u8 --shape="$shape"
done
dtypes="bool, u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, c64, c128, f8_e4m3, f8_e5m2, \
f8_e8m0, f8_e4m3fnuz, f8_e5m2fnuz, f4_e2m1_x2, c32 and opaqueSIZE:NAME"
CACHEX_PUT_DTYPE=u9 refuse "a dtype from a variable" 2 \
	"cachex: put: CACHEX_PUT_DTYPE: unknown dtype 'u9'; known are $dtypes" cachex put m bad six --shape 6
refuse "a shape that overflows" 2 "cachex: put: --shape: shape overflows at dimension 1" \
	cachex put m bad six --dtype u8 --shape 4611686018427387904,4

# Refusals change nothing.
refuse "wrong size" 3 "cachex: put: six: 6 bytes, but f32[2] takes 8" \
	cachex put m bad six --dtype f32 --shape 2
refuse "unknown dtype" 2 "cachex: put: --dtype: unknown dtype 'float33'; known are $dtypes" \
	cachex put m bad six --dtype float33 --shape 2
refuse "no description" 3 "cachex: put: six: not a .npy file; raw bytes need --dtype and --shape, images cachex import" \
	cachex put m bad six
refuse "half a description" 2 "cachex: put: six: raw bytes need --dtype and --shape" \
	cachex put m bad six --dtype u8
refuse "a .npy with a shape" 2 "cachex: put: x.npy: a .npy file has its own shape; --format raw stores its bytes as they are" \
	cachex put m bad x.npy --shape 2
check "a .npy of another dtype" 3 cachex put m bad x.npy --dtype u8
check "the bytes of a .npy" 0 cachex put m file x.npy --format raw --dtype u8 --shape 136
also "come back" sh -c '"$1" get m file --format raw | cmp - x.npy' sh "$CACHEX"
refuse "no file" 4 "cachex: put: gone.npy: open: No such file or directory" \
	cachex put m bad gone.npy
head -c 131 x.npy >short.npy
check "a cut .npy" 3 cachex put m bad short.npy
also "names the file" grep -q '^cachex: put: short.npy: ' "$err"
is "in one line" "$(wc -l <"$err" | tr -d ' ')" 1
head -c 20 x.npy >cut.npy
check "a cut header" 3 cachex put m bad cut.npy
also "names the file, too" grep -q '^cachex: put: cut.npy: ' "$err"
check "nothing of all that is stored" 1 cachex has m bad
refuse "empty cache_id" 2 "cachex: put: a cache_id is empty" cachex put m '' x.npy
refuse "too long cache_id" 2 "cachex: put: a cache_id has 65537 bytes, more than 65536" \
	cachex put m "$(printf %065537d 0)" x.npy
check "the longest cache_id" 0 cachex put m "$(printf %065536d 0)" x.npy
also "is found" cachex has m "$(printf %065536d 0)"
for bad in .m -m 'a b' a/b "$(printf %0129d 0)"; do
	check "module_id '$(echo "$bad" | head -c 20)'" 2 cachex put -- "$bad" k x.npy
done
check "a module for a bad file" 3 cachex put fresh k six
also "is not made" test ! -e xdg-cache/cachex/fresh

# Dry run
check "dry run" 0 cachex put -n m dry x.npy
is "says what it would do" "$(cat "$err")" "cachex: put: x.npy: would store f32[2] as 'dry'"
check "it did not" 1 cachex has m dry
check "dry run of a new module" 0 cachex put -n fresh k x.npy
also "does not make it" test ! -e xdg-cache/cachex/fresh
check "dry run of bad input" 3 cachex put -n m k six
check "-v says what was stored" 0 cachex put -v m x x.npy
is "so" "$(cat "$err")" "cachex: put: x.npy: stored f32[2] as 'x'"

# What is not there
check "get what is not there" 1 cachex get m nowhere -o nowhere.npy
is "names it" "$(cat "$err")" "cachex: get: 'nowhere' is not in m"
also "no file" test ! -e nowhere.npy
check "get from no module" 1 cachex get gone k
check "a directory that cannot be written" 4 cachex get m x -o /nowhere/x.npy
is "is named" "$(cat "$err")" "cachex: get: /nowhere/x.npy: No such file or directory"

# Names that look like options, and bytes that are no text
check "a cache_id that begins with -" 0 cachex put m x.npy x.npy -- 
check "behind --" 0 cachex put -v -- m -k x.npy
check "is found" 0 cachex has -- m -k
id=$(printf 'a\377b\tc')
check "bytes that are no text" 0 cachex put m "$id" x.npy
is "JSON has them as base64" "$(cachex get m "$id" --json)" \
	'{"id_base64":"Yf9iCWM=","dtype":"f32","shape":[2],"data":[1,-2]}'
check "quotes and control characters" 0 cachex put m "$(printf '"\\\n\177é')" x.npy
is "are escaped" "$(cachex get m "$(printf '"\\\n\177é')" --json)" \
	'{"id":"\"\\\u000a\u007fé","dtype":"f32","shape":[2],"data":[1,-2]}'

# A limit for files stands in for a full disk: nothing cut short is left.
head -c 100000 /dev/zero >zeros
cachex put m zeros zeros --dtype u8 --shape 100000
check "a file that does not fit" 4 \
	sh -c 'ulimit -f 8; "$1" get m zeros -o zeros.npy' sh "$CACHEX"
is "says so" "$(cat "$err")" "cachex: get: zeros.npy: File too large"
is "and leaves nothing" "$(ls | grep zeros.npy)" ""

# A full device and a closed pipe
if [ -w /dev/full ]; then
	check "a full device" 4 cachex get m x -o /dev/full
	is "says so" "$(cat "$err")" "cachex: get: /dev/full: No space left on device"
	check "more than a buffer to it" 4 cachex get m zeros -o /dev/full
	is "says so, too" "$(cat "$err")" "cachex: get: /dev/full: No space left on device"
	check "more than a buffer to standard output" 4 \
		sh -c '"$1" get m zeros >/dev/full' sh "$CACHEX"
	is "says so" "$(cat "$err")" "cachex: get: standard output: No space left on device"
else
	skip "a full device" "no /dev/full"
fi
head -c 1000000 /dev/zero >mega
check "a larger one" 0 cachex put m mega mega --dtype u8 --shape 1000000
(set +e; "$CACHEX" get m mega 2>pipe.err; echo $? >pipe.status) | head -c 10 >/dev/null
is "a closed pipe is quiet" "$(cat pipe.err)" ""
is "and ends it by its signal" "$(cat pipe.status)" 141
(trap '' PIPE; "$CACHEX" get m mega 2>pipe.err; echo $? >pipe.status) | head -c 10 >/dev/null
is "also where the signal is ignored" "$(cat pipe.status pipe.err)" 141

# A terminal
if command -v script >/dev/null 2>&1 && script -qec true /dev/null >/dev/null 2>&1; then
	export NO_COLOR=1
	script -qec "'$CACHEX' get m x; echo status \$?" /dev/null >tty </dev/null
	also "no binary to a terminal" grep -q "^cachex: get: standard output is a terminal; use -o FILE, a pipe, --format json, or -f" tty
	also "exit status 2" grep -q "^status 2" tty
	script -qec "'$CACHEX' get -f m x" /dev/null >tty </dev/null
	also "but with -f" grep -aq NUMPY tty
	script -qec "'$CACHEX' get m x --json" /dev/null >tty </dev/null
	also "and JSON" grep -q '"data":\[1,-2\]' tty
else
	skip "no binary to a terminal" "no script(1)"
fi

# NumPy reads and writes the same
if python3 -c 'import numpy' 2>/dev/null; then
	python3 -c 'import numpy; numpy.save("n.npy", numpy.arange(24, dtype="<i8").reshape(2, 3, 4))'
	check "put what NumPy wrote" 0 cachex put m numpy n.npy
	check "get it" 0 cachex get m numpy
	also "byte for byte" cmp "$out" n.npy
	python3 -c 'import numpy; numpy.save("f.npy", numpy.asfortranarray(numpy.arange(6, dtype=">f4").reshape(2, 3)))'
	check "Fortran order and big-endian" 0 cachex put m fortran f.npy
	is "in C order" "$(cachex get m fortran --json)" \
		'{"id":"fortran","dtype":"f32","shape":[2,3],"data":[[0,1,2],[3,4,5]]}'
	is "a pipe into NumPy" "$(cachex get m numpy | python3 -c '
import io, sys, numpy
print(numpy.load(io.BytesIO(sys.stdin.buffer.read())).sum())')" 276
	is "a pipe out of NumPy" "$(python3 -c '
import io, sys, numpy
file = io.BytesIO()  # NumPy 1.24 asks a file for its position, which a pipe has not
numpy.save(file, numpy.float16([1, 2]))
sys.stdout.buffer.write(file.getvalue())' | cachex put m piped && cachex get m piped --json)" \
		'{"id":"piped","dtype":"f16","shape":[2],"data":[1,2]}'
	python3 -c 'import numpy; numpy.save("o.npy", numpy.array([{}], dtype=object))'
	check "objects are refused" 3 cachex put m object o.npy
	also "by name" grep -q '^cachex: put: o.npy: ' "$err"
else
	skip "NumPy" "python3 has no NumPy"
fi
finish
