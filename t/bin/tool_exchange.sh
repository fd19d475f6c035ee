#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import and export of .npz files and directories of .npy files, through each other and
# with NumPy.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

python=${PYTHON:-python3}
types() { cachex ls "$1" --json | sed 's/,"codec.*//; s/,"stored.*//' | cut -d, -f1-5; }
# u8 MODULE ID TEXT
u8() { printf %s "$3" | cachex put -q "$1" "$2" --dtype u8 --shape "${#3}"; }

# Every dtype, there and back
printf '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKL' >bytes
printf '\0\1\1\0\1\0' >truths
for dtype in u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 c64 c128 bf16 f8_e4m3 f8_e5m2 bool \
	f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f4_e2m1_x2 c32; do
	case $dtype in
	bool) from=truths shape=2,3 ;; c128) from=bytes shape=3,1 ;;
	*64) from=bytes shape=2,3 ;; *32) from=bytes shape=3,4 ;; *16) from=bytes shape=2,3,4 ;;
	*) from=bytes shape=48 ;;
	esac
	bits='' given=''
	case $dtype in bf16 | f8_* | f4_* | c32) bits=--bits given="--bits $dtype" ;; esac
	cachex put "t-$dtype" "a/b" --dtype "$dtype" --shape "$shape" <"$from"
	cachex put "t-$dtype" none --dtype "$dtype" --shape 0,4 </dev/null
	# shellcheck disable=SC2086
	check "$dtype as .npz" 0 cachex export "t-$dtype" "$dtype.npz" $bits
	# shellcheck disable=SC2086
	check "$dtype back" 0 cachex import "z-$dtype" "$dtype.npz" $given
	also "$dtype is what it was" same "t-$dtype" "z-$dtype"
	# shellcheck disable=SC2086
	check "$dtype as .npy" 0 cachex export "t-$dtype" "$dtype.d" --format npy $bits
	# shellcheck disable=SC2086
	check "$dtype back from files" 0 cachex import "y-$dtype" "$dtype.d/none.npy" $given
	check "$dtype back from a directory" 0 sh -c \
		'"$1" import "y-$2" "$2.d/a" --id "a/{stem}" $3' sh "$CACHEX" "$dtype" "$given"
	also "$dtype is what it was again" same "t-$dtype" "y-$dtype"
done
refuse "raw bits without a dtype" 3 "cachex: import: bf16.npz: a/b.npy: raw elements of 2 bytes: their dtype must be given (bf16, opaque2:NAME)
cachex: import: bf16.npz: none.npy: raw elements of 2 bytes: their dtype must be given (bf16, opaque2:NAME)" cachex import none bf16.npz
refuse "an unknown dtype" 2 "cachex: import: --bits: unknown dtype 'f7'" \
	cachex import m u8.npz --bits f7
refuse "bf16 without --bits" 3 \
	"cachex: export: 'a/b': .npy has no name for bf16; it can hold the raw bits" \
	cachex export t-bf16 no.npz
also "leaves nothing" test ! -e no.npz
is "nor a temporary file" "$(find . -name '*.tmp.*')" ""

# Where it goes
u8 m b bee; u8 m a ay; u8 m c sea
check "export" 0 cachex export m m.npz
is "says what it wrote" "$(sed 's/, [^,]*$//' "$out")" "3 records in m.npz, $(wc -c <m.npz | tr -d ' ') B"
refuse "once more" 2 "cachex: export: m.npz: exists; -f replaces it" cachex export m m.npz
check "-f" 0 cachex export -f m m.npz --order key
check "by key and by commit" 1 cmp -s m.npz "$(cachex export -q m order.npz && echo order.npz)"
check "the same bytes again" 0 sh -c '"$1" export -q m again.npz && cmp again.npz order.npz' sh "$CACHEX"
check "--json" 0 cachex export m json.npz --json
is "JSON" "$(sed 's/"seconds":[0-9.e+-]*/"seconds":N/' "$out")" \
	'{"target":"json.npz","format":"npz","records":3,"bytes":'"$(wc -c <json.npz | tr -d ' ')"',"seconds":N,"dry_run":false}'
check "a dry run" 0 cachex export -n m dry.npz
is "tells the size" "$(cat "$out")" "would write 3 records in dry.npz, $(wc -c <m.npz | tr -d ' ') B"
also "and writes nothing" test ! -e dry.npz
check "a dry run of files" 0 cachex export -n m dry --format npy
also "and makes no directory" test ! -e dry
check "files" 0 cachex export m files --format npy
is "one a record" "$(ls files | tr '\n' ' ')" "a.npy b.npy c.npy "
refuse "files once more" 2 "cachex: export: files: exists, and is not empty; -f replaces it" \
	cachex export m files --format npy
check "files -f" 0 cachex export -f m files --format npy
refuse "a file in place of a directory" 2 \
	"cachex: export: m.npz: exists and is not a directory" \
	cachex export m m.npz --format npy
refuse "-f does not replace it" 2 "cachex: export: m.npz: exists and is not a directory" \
	cachex export -f m m.npz --format npy
refuse "a directory in place of a file" 2 \
	"cachex: export: files: exists and is not a regular file" \
	cachex export m files --format npz
refuse "a device" 2 "cachex: export: /dev/null: exists and is not a regular file" \
	cachex export -f m /dev/null --format npz
check "no such directory" 4 cachex export m gone/x.npz
cachex put empty x --dtype u8 --shape 0 </dev/null
cachex rm -f empty x
check "nothing at all" 0 cachex export empty empty.npz
check "comes back" 0 cachex import back-empty empty.npz
is "as nothing" "$(summary)" "0 stored, 0 skipped, 0 bad"

# Options that do not fit
for row in "npz --shard-size 1M" "npy --threads 2" "safetensors --bits" "npz --by-bucket" \
	"twh1 --field a" "twh1 --bits" "npz --sha256" "npz --dataset-root x"; do
	# shellcheck disable=SC2086
	set -- $row
	format=$1; shift
	case $1 in --sha256) shown=--sha256 ;; *) shown=$1 ;; esac
	refuse "$row" 2 "cachex: export: $shown does not apply to $format" \
		cachex export m no --format "$format" "$@"
done
check "a variable is for others" 0 env CACHEX_EXPORT_THREADS=2 "$CACHEX" export -q m env.npz
refuse "--bucket-scale alone" 2 "cachex: export: --bucket-scale needs --by-bucket" \
	cachex export m no --format webdataset --bucket-scale 8

# Series by aspect bucket
head -c 494 /dev/zero | cachex put -q b wide --dtype u8 --shape 2,13,19
head -c 494 /dev/zero | cachex put -q b tall --dtype u8 --shape 2,19,13
head -c 256 /dev/zero | cachex put -q b square --dtype u8 --shape 1,16,16
for format in webdataset mds; do
	check "$format --by-bucket" 0 cachex export b "$format.b" --format "$format" --by-bucket \
		--bucket-scale 64
	is "$format: a directory each" "$(cd "$format.b" && echo bucket_*)" \
		"bucket_1024x1024 bucket_1216x832 bucket_832x1216"
	check "$format: back" 0 cachex import "$format" "$format.b/bucket_1216x832"
done
is "the wide one" "$(ids webdataset)" "wide "
is "of both formats" "$(ids mds)" "wide "
check "shards of one record" 0 cachex export b one --format webdataset --shard-records 1
is "are three" "$(cd one && echo *)" "shard-000000.tar shard-000001.tar shard-000002.tar"
u8 b flat x
refuse "one axis" 3 "cachex: export: 'flat' has no tensor with two dimensions, so no bucket" \
	cachex export b no --format webdataset --by-bucket
cachex load -q f <<'END'
{"format":1,"id":"1","value":{"aspect_bucket":"832x1216","t":{"$tensor":"u8[1]","data":"Qw=="}}}
{"format":1,"id":"2","value":{"aspect_bucket":"1024x1024","t":{"$tensor":"u8[1]","data":"Qw=="}}}
END
check "--bucket-field" 0 cachex export f field --format webdataset --by-bucket \
	--bucket-field aspect_bucket --field t
is "tells the directory" "$(cd field && echo *)" "bucket_1024x1024 bucket_832x1216"
refuse "no such field" 3 \
	"cachex: export: '1': t is not the size of a bucket, such as \"1024x1024\"" \
	cachex export f no2 --format webdataset --by-bucket --bucket-field t

# Structured values
cachex load -q s <<'END'
{"format":1,"id":"i","value":{"f":{"$tensor":"u8[2]","data":"QUI="},"l":[{"$tensor":"u8[1]","data":"Qw=="}]}}
END
check "parts" 0 cachex export s parts.npz
check "are tensors of their own" 0 cachex import parts parts.npz
is "by their paths" "$(ids parts)" "i.f i.l.0 "
check "--field" 0 cachex export s field.npz --field f
cachex import -q field field.npz
is "is one part" "$(ids field)$(cachex get field i --format raw)" "i AB"
refuse "no such part" 3 "cachex: export: 'i' has no part g" cachex export s no.npz --field g
u8 s i.f x
refuse "two of one name" 3 \
	"cachex: export: a tensor of 'i' and one of 'i.f' would both be named 'i.f'" \
	cachex export s no.npz
cachex rm -qf s i.f
echo '{"format":1,"id":"t","value":{"label":"cat"}}' | cachex load -q text
refuse "no tensor" 3 "cachex: export: 't': label is a string: only tensors can be written" \
	cachex export text no.npz

# cache_ids that are no names
for id in ../up /abs a/../b; do
	rm -rf "$XDG_CACHE_HOME/cachex/names"
	u8 names "$id" x
	for format in npy npz; do
		check "$id as $format" 3 cachex export names no --format "$format"
		also "says why" grep -q "'$id' cannot be a name there: it " "$err"
	done
done
also "nothing was written" test ! -e no -a ! -e ../up.npy
rm -rf "$XDG_CACHE_HOME/cachex/names"
u8 names é/ü x; u8 names "a b" y
check "others are" 0 cachex export names names.npz
check "whatever the locale" 0 env LC_ALL=C "$CACHEX" import names2 names.npz
also "the same" same names names2
check "and as files" 0 env LC_ALL=C "$CACHEX" export names names --format npy
also "in directories" test -f names/é/ü.npy -a -f "names/a b.npy"

# Import: twice, again, and together with files
u8 n a other; u8 n d dee
cachex export -q n n.npz
check "two of one cache_id" 3 cachex import two m.npz n.npz
is "are told with both files" "$(cat "$err")" "cachex: import: n.npz: same cache_id 'a' as m.npz"
is "the first stays" "$(cachex get two a --format raw)" ay
check "again" 3 cachex import two m.npz n.npz
is "and the others are stored" "$(summary), $(ids two)" "4 stored, 0 skipped, 1 bad, a b c d "
check "--strict" 3 cachex import strict m.npz n.npz --strict
is "stops there" "$(ids strict)" "a b c "
cachex get m a -o a.npy
check "with a file" 3 cachex import mixed n.npz a.npy files/b.npy
is "named with it" "$(cat "$err")" "cachex: import: n.npz: same cache_id 'a' as a.npy"
is "all others" "$(ids mixed)" "a b d "
check "again, with skip" 0 cachex import mixed m.npz --skip-existing
is "passes over what is there" "$(summary)" "1 stored, 2 skipped, 0 bad"
check "without skip" 0 cachex import mixed m.npz
is "all is stored anew" "$(summary)" "3 stored, 0 skipped, 0 bad"
check "a dry run" 0 cachex import -n none m.npz
is "counts" "$(summary)" "3 good, 0 skipped, 0 bad"
also "makes no module" test ! -e "$XDG_CACHE_HOME/cachex/none"
check "-v" 0 cachex import -v v n.npz
is "tells each" "$(cat "$err")" "cachex: import: n.npz: u8[5] as 'a'
cachex: import: n.npz: u8[3] as 'd'"
check "--id is for files" 0 cachex import idfile n.npz files/b.npy --id 'x{stem}'
is "not for records" "$(ids idfile)" "a d xb "
mv m.npz m.bin
check "by content" 0 cachex import content m.bin
check "or by name of the format" 0 cachex import content m.bin --format npz
check "which must be right" 3 cachex import content a.npy --format npz
check "npy is files" 3 cachex import content m.bin --format npy
refuse "--id-field for none that has fields" 2 "cachex: import: --id-field applies to mds only" \
	cachex import m a.npy m.bin --id-field x
check "--max-record" 3 cachex import max n.npz --max-record 132
is "refuses the larger one" "$(cat "$err")" "cachex: import: n.npz: a.npy: larger than the limit"
is "and stores the other" "$(ids max)" "d "
for size in 4G 2049M 2147483649; do
	wrong "--max-record $size" 2 "cachex: import: --max-record: '$size' is above 2G" \
		cachex import max nothing.npz --max-record $size
done
check "the most" 4 cachex import max nothing.npz --max-record 2G

# Damage
size=$(wc -c <order.npz | tr -d ' ')
for cut in 1 21 22 100 130 $((size / 2)) $((size - 1)); do
	head -c $((size - cut)) order.npz >cut.npz
	check "cut by $cut" 3 cachex import cut cut.npz
	also "says where" grep -q '^cachex: import: cut.npz: ' "$err"
done
also "nothing is stored" test ! -e "$XDG_CACHE_HOME/cachex/cut"
sed 's/bee/bef/' order.npz >wrong.npz
check "a wrong checksum" 3 cachex import wrong wrong.npz
also "is told with the member" grep -q '^cachex: import: wrong.npz: b.npy: .*CRC' "$err"
is "the others are stored" "$(ids wrong)" "a c "

# Stopped anywhere: what was to be is whole or not there, and an import goes on
# --foreground: timeout(1) sends the signal twice without it, and the second one ends the
# tool at once.
awk 'BEGIN { for (i = 0; i < 66000; i++)
	printf "{\"id\":\"%d\",\"dtype\":\"u8\",\"shape\":[2],\"data\":\"QUI=\"}\n", i }' |
	cachex load -q many
check "66,000 records" 0 cachex export many many.npz
for seconds in 0.02 0.05 0.1 0.2 0.4; do
	timeout --foreground --preserve-status -s INT $seconds "$CACHEX" export -q many int.npz >"$out" 2>&1
	case $? in
	0) also "interrupted after $seconds s: done" cmp int.npz many.npz ;;
	130) also "interrupted after $seconds s: nothing" test ! -e int.npz ;;
	*) is "interrupted after $seconds s" $? 130 ;;
	esac
	is "interrupted after $seconds s: no temporary file" "$(find . -name '*.tmp')" ""
	rm -f int.npz
	timeout --foreground -s KILL $seconds "$CACHEX" export -q -f many kill.npz >"$out" 2>&1
	[ ! -e kill.npz ] || also "killed after $seconds s: done" cmp kill.npz many.npz
	rm -f kill.npz.tmp.*
	timeout --foreground -s KILL $seconds "$CACHEX" import -q again many.npz --skip-existing >"$out" 2>&1
done
# Killed as it made the module: LMDB's file is there, and empty.
mkdir -p "$XDG_CACHE_HOME/cachex/unmade" && : >"$XDG_CACHE_HOME/cachex/unmade/data.mdb"
check "an import that was killed at once goes on" 0 \
	cachex import unmade many.npz --skip-existing
also "to the end" same many unmade
check "an import that was killed goes on" 0 cachex import again many.npz --skip-existing
also "to the end" same many again

# NumPy
if ! version=$("$python" -c 'import numpy; print(numpy.__version__)' 2>"$err"); then
	skip "NumPy" "no $python with NumPy"
	finish
	exit
fi
cat >make.py <<'END'
import numpy as np, struct, warnings, zipfile
rng = np.random.default_rng(1)
types = "?,u1,i1,u2,i2,u4,i4,u8,i8,f2,f4,f8,c8,c16".split(",")
arrays = {}
for t in types:
    for i, shape in enumerate([(), (3,), (2, 3), (0, 5), (4, 1, 2)]):
        size = int(np.prod(shape)) * np.dtype(t).itemsize
        data = rng.integers(0, 2 if t == "?" else 256, size, dtype="u1").tobytes()
        a = np.frombuffer(data, t).reshape(shape)
        arrays["%s/%d" % (t, i)] = a
        if len(shape) > 1:
            arrays["%s/f%d" % (t, i)] = np.asfortranarray(a)
            arrays["%s/be%d" % (t, i)] = a.byteswap().view(a.dtype.newbyteorder(">"))
arrays["caf\u00e9 \U0001f600"] = np.arange(3)
np.savez("np.npz", **arrays)
np.savez_compressed("npc.npz", **arrays)
np.savez("empty-np.npz")

def header(n):
    text = "{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }" % n
    text += " " * (118 - len(text) - 1) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()

# Little that says little, too much or what would fit, before 64 MiB of zeros.
for name, n in ("lies", 100), ("huge", 1 << 40), ("large", 1 << 30):
    with zipfile.ZipFile(name + ".npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
        with z.open("bomb.npy", "w", force_zip64=True) as f:
            f.write(header(n))
            for _ in range(64):
                f.write(bytes(1 << 20))
        z.writestr("good.npy", header(1) + b"x")
with zipfile.ZipFile("odd.npz", "w") as z:
    z.writestr("dir/", "")
    z.writestr("note.txt", "hello")
    z.writestr("../out.npy", header(1) + b"x")
    z.writestr("/abs.npy", header(1) + b"y")
    z.writestr("obj.npy", header(1).replace(b"|u1", b"|O "))
warnings.simplefilter("ignore")
with zipfile.ZipFile("twice.npz", "w") as z:
    z.writestr("a.npy", header(1) + b"1")
    z.writestr("a.npy", header(1) + b"2")
with zipfile.ZipFile("secret.npz", "w") as z:
    z.writestr("a.npy", header(1) + b"1")
    z.writestr("b.npy", header(1) + b"2")
data = bytearray(open("secret.npz", "rb").read())
data[6] |= 1
data[data.index(b"PK\x01\x02") + 8] |= 1
open("secret.npz", "wb").write(data)
END
cat >compare.py <<'END'
import numpy as np
a, b = np.load("np.npz"), np.load("back.npz")
assert sorted(a.files) == sorted(b.files), (a.files, b.files)
for name in a.files:
    want = np.array(a[name], dtype=a[name].dtype.newbyteorder("<"), order="C")
    for got in b[name], np.load("back/" + name + ".npy"):
        assert want.dtype == got.dtype and want.shape == got.shape, name
        assert want.tobytes() == got.tobytes() and got.flags.c_contiguous, name
END
holds "NumPy $version: files made" "$python" make.py
check "savez" 0 cachex import np np.npz
check "savez_compressed" 0 cachex import npc npc.npz
also "the same" same np npc
check "an empty one" 0 cachex import npe empty-np.npz
check "all of it back" 0 cachex export np back.npz
check "and as files" 0 cachex export np back --format npy
holds "NumPy reads all of it" "$python" compare.py
for bomb in lies huge large; do
	check "a bomb, $bomb" 3 cachex import "bomb-$bomb" "$bomb.npz" --max-record 512M
	also "is told" grep -q "^cachex: import: $bomb.npz: bomb.npy: " "$err"
	is "$bomb: the other is stored" "$(ids "bomb-$bomb")" "good "
done
check "odd members" 3 cachex import odd odd.npz
is "are cache_ids, no paths" "$(ids odd)" "../out /abs "
is "or bad" "$(sed 's/npy: .*/npy: …/' "$err")" "cachex: import: odd.npz: note.txt: not a .npy file
cachex: import: odd.npz: obj.npy: …"
check "one name twice" 3 cachex import twice twice.npz
is "the first is stored" "$(cachex get twice a --format raw)" 1
is "the second is told" "$(cat "$err")" \
	"cachex: import: twice.npz: same cache_id 'a' as earlier in it"
check "encrypted" 3 cachex import secret secret.npz
is "is told" "$(cat "$err")" "cachex: import: secret.npz: a.npy: encrypted"
is "the other is stored" "$(ids secret)" "b "

# More members than 16 bits count, more bytes than 32
holds "NumPy reads them" "$python" -c '
import numpy as np
a = np.load("many.npz")
assert len(a.files) == 66000 and bytes(a["65999"]) == b"AB"'
check "and back" 0 cachex import many2 many.npz
is "all of them" "$(summary)" "66000 stored, 0 skipped, 0 bad"
if [ -n "${T_LONG:-}" ]; then
	head -c 1500000000 /dev/zero >zeros
	for i in 1 2 3; do
		cachex put giant "$i" --dtype u8 --shape 1500000000 <zeros
	done
	u8 giant last END
	check "more than 4 GiB" 0 cachex export giant giant.npz
	holds "NumPy reads them" "$python" -c '
import numpy as np
a = np.load("giant.npz")
assert bytes(a["last"]) == b"END" and a["3"].shape == (1500000000,)'
	check "and back" 0 cachex import giant2 giant.npz
	is "whole" "$(cachex get giant2 last --format raw)" END
else
	skip "more than 4 GiB" "only with T_LONG"
fi
finish
