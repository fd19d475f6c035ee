#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import of LMDB environments, as py-lmdb makes them.
. "${srcdir:-.}/t/tap.sh"
. "$srcdir/t/exchanged.sh"

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
check "py-lmdb makes them" 0 "$PYTHON" make.py

# The same tensors, by the eyes of NumPy
cat >compare.py <<'END'
import io, lmdb, numpy, subprocess, sys
cachex, module, path = sys.argv[1:]
subdir = not path.endswith('.lmdb')
n = 0
with lmdb.open(path, readonly=True, lock=False, subdir=subdir) as env, env.begin() as txn:
    for key, value in txn.cursor():
        subprocess.run([cachex, 'get', module, key, '-o', 'got.npy'],
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
