#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import of LMDB environments, as py-lmdb makes them.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

# Export, and back
root=$XDG_CACHE_HOME/cachex
for dtype in u8 i16 f32 f64 bool; do
	head -c 96 /dev/zero | tr '\0' '\1' | cachex put -q out "x/$dtype" --dtype "$dtype" \
		--shape 3,"$((32 / $(case $dtype in u8 | bool) echo 1 ;; i16) echo 2 ;; f32) echo 4 ;; f64) echo 8 ;; esac)))"
done
printf ab | cachex put -q out "$(printf '\377\001')" --dtype u8 --shape 2
printf '' | cachex put -q out none --dtype f32 --shape 0,7
head -c 300000 /dev/zero | cachex put -q out large --dtype u8 --shape 300000
check "export" 0 cachex export out out.lmdb
is "says what it wrote" "$(sed 's/,.*//' "$out")" "8 records in out.lmdb"
is "one file" "$(ls -A out.lmdb)" data.mdb
check "import" 0 cachex import back out.lmdb
is "of all" "$(summary)" "8 stored, 0 skipped, 0 bad"
is "has the same records" "$(cachex dump out | cksum)" "$(cachex dump back | cksum)"
check "by --format" 0 cachex export back again --format lmdb --order key -q
check "from this" 0 cachex import twice again -q
is "again the same" "$(cachex dump out | cksum)" "$(cachex dump twice | cksum)"
echo '{"$bytes":"AAECAw=="}' | cachex put -q bytes b --format json
check "bytes" 0 cachex export bytes bytes.lmdb -q
check "come back" 0 cachex import raw bytes.lmdb --raw -q
is "as they are" "$(cachex dump bytes)" "$(cachex dump raw)"
wrong "what is there" 2 "cachex: export: out.lmdb: exists, and is not empty; -f replaces it" \
	cachex export out out.lmdb
touch out.lmdb/lock.mdb
check "is replaced with -f" 0 cachex export bytes out.lmdb -f -q
is "with its lock file" "$(ls -A out.lmdb)" data.mdb
wrong "but a module is not" 2 "cachex: export: $root/back: a module of cachex, which is never replaced" \
	cachex export out "$root/back" --format lmdb -f
also "it stays" cachex verify -q back
check "a dry run" 0 cachex export out dry.lmdb -n
also "makes nothing" test ! -e dry.lmdb
head -c 512 /dev/zero | tr '\0' k >long
cachex put -q long "$(cat long)" a.npy 2>/dev/null ||
	printf a | cachex put -q long "$(cat long)" --dtype u8 --shape 1
check "a key of 512 bytes" 3 cachex export long long.lmdb
also "is told" grep -q "^cachex: export: 'kkk.*: 512 bytes are too long for a key of LMDB, at most 511\$" "$err"
also "nothing is left" test ! -e long.lmdb
echo '{"a":1}' | cachex put -q map m --format json
wrong "a map" 3 "cachex: export: 'm': a map, neither a tensor nor bytes; a field can be taken out" \
	cachex export map map.lmdb
check "an option of others" 2 cachex export out o.lmdb --shard-size 1M
# More than the first map and many transactions
# LMDB loses a MiB of memory in each transaction with a value of 256 MiB or more
head -c 200000000 /dev/zero >zeros
for i in 1 2 3 4 5 6; do cachex put -q huge "$i" zeros --dtype u8 --shape 200000000 --codec lz4; done
rm zeros
check "more than the first map" 0 cachex export huge huge.lmdb -q
check "comes back" 0 cachex import many huge.lmdb -q
is "as it was" "$(cachex get many 6 --format raw | cksum)" "$(cachex get huge 6 --format raw | cksum)"
rm -r huge.lmdb; cachex drop -f huge many

PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import lmdb, numpy' 2>/dev/null; then
	skip "environments of py-lmdb" "no lmdb and numpy for $PYTHON"
	finish
	exit 0
fi

# Keys as Caffe numbers them, housekeeping as PyTorch's folders of LMDB have it
cat >make.py <<'END'
import io, lmdb, numpy, pickle

def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()

def fill(env, n):
    with env.begin(write=True) as txn:
        for i in range(n):
            txn.put(b'%08d_%d' % (i, i * i), npy(numpy.arange(i, dtype='f4')))
            txn.put(b'\xff%c' % (i + 1), npy(numpy.full((300, 7), i, 'i8')))

with lmdb.open('plain', map_size=1 << 28) as env:
    fill(env, 20)
with lmdb.open('file.lmdb', map_size=1 << 28, subdir=False) as env:
    fill(env, 3)
with lmdb.open('keeping', map_size=1 << 28, max_dbs=2) as env:
    fill(env, 2)
    env.open_db(b'labels')
    with env.begin(write=True) as txn:
        txn.put(b'__len__', pickle.dumps(2))
        txn.put(b'__keys__', pickle.dumps([b'a', b'b']))
        txn.put(b'num-samples', b'2')
with lmdb.open('several', map_size=1 << 28, max_dbs=2) as env:
    db = env.open_db(b'x', dupsort=True)
    with env.begin(write=True) as txn:
        txn.put(b'k', b'1', db=db)
        txn.put(b'k', b'2', db=db)
END
cat >theirs.py <<'END'
import io, lmdb, numpy
with lmdb.open('again', readonly=True) as env, env.begin() as txn:
    values = {bytes(k): numpy.load(io.BytesIO(v)) for k, v in txn.cursor()}
assert sorted(values)[0] == b'large' and len(values) == 8, sorted(values)
assert values[b'x/f32'].shape == (3, 8) and values[b'x/f32'].dtype == 'f4'
assert values[b'none'].shape == (0, 7)
assert values[b'\xff\x01'].tobytes() == b'ab'
END
check "py-lmdb reads an export" 0 "$PYTHON" theirs.py
check "py-lmdb makes them" 0 "$PYTHON" make.py

# The same tensors, by the eyes of NumPy
cat >compare.py <<'END'
import io, lmdb, numpy, subprocess, sys
cachex, module, path = sys.argv[1:]
subdir = not path.endswith('.lmdb')
n = 0
with lmdb.open(path, readonly=True, lock=False, subdir=subdir) as env, env.begin() as txn:
    for key, value in txn.cursor():
        subprocess.run([cachex, 'get', module, key, '-f', '-o', 'got.npy'],
            check=True)
        a, b = numpy.load(io.BytesIO(value)), numpy.load('got.npy')
        assert a.dtype == b.dtype and a.shape == b.shape and (a == b).all(), key
        n += 1
print(n)
END
check "a directory" 0 cachex import plain plain
is "all its values" "$(summary)" "40 stored, 0 skipped, 0 bad"
check "are what NumPy reads" 0 "$PYTHON" compare.py "$CACHEX" plain plain
is "each of them" "$(cat "$out")" 40
check "again" 0 cachex import plain plain --skip-existing
is "all there" "$(summary)" "0 stored, 40 skipped, 0 bad"
check "one file" 0 cachex import file file.lmdb
is "all its values" "$(summary)" "6 stored, 0 skipped, 0 bad"
check "are what NumPy reads" 0 "$PYTHON" compare.py "$CACHEX" file file.lmdb
check "the data file of a directory" 0 cachex import data plain/data.mdb -n
is "stands for it" "$(summary)" "40 good, 0 skipped, 0 bad"

# Bad records do not keep back the others
check "housekeeping" 3 cachex import keeping keeping
is "is bad, the rest is stored" "$(summary)" "4 stored, 0 skipped, 4 bad"
is "each is named" "$(cat "$err")" \
"cachex: import: keeping: '__keys__': neither .npy nor a JPEG, PNG, WebP or TIFF image
cachex: import: keeping: '__len__': neither .npy nor a JPEG, PNG, WebP or TIFF image
cachex: import: keeping: 'labels': a named table, no value
cachex: import: keeping: 'num-samples': neither .npy nor a JPEG, PNG, WebP or TIFF image"
check "raw" 3 cachex import raw keeping --raw
is "keeps what it is not" "$(summary)" "7 stored, 0 skipped, 1 bad"
is "as bytes" "$(cachex get raw num-samples --json)" \
	'{"id":"num-samples","value":{"$bytes":"Mg=="}}'

# Nothing is written beside one
rm plain/lock.mdb
check "without a lock file" 0 cachex import other plain
is "none is left there" "$(ls plain)" data.mdb

# What is refused
check "tables of several values a key" 3 cachex import several several
is "are no values" "$(cat "$err")" \
	"cachex: import: several: 'x': a named table, no value"
check "a module" 3 cachex import other "$XDG_CACHE_HOME/cachex/plain"
is "is copied in another way" "$(cat "$err")" "cachex: import: \
$XDG_CACHE_HOME/cachex/plain: a module of cachex: \`cachex copy\` copies its records"
head -c 20000 file.lmdb >cut.lmdb
check "a file that was cut" 3 cachex import other cut.lmdb
is "is told" "$(sed 's/: page.*: truncated:.*/ … truncated/' "$err")" \
	"cachex: import: cut.lmdb: main table … truncated"

finish
