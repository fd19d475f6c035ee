#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The .npy module against NumPy itself: what np.save() writes is read, and
# written again byte for byte.
. "${srcdir:-.}/t/support/tap.sh"

npycat=$builddir/t/support/npycat

make_files() {
	"$1" - <<'END'
import itertools, os, numpy as np
os.makedirs("in", exist_ok=True); os.makedirs("want", exist_ok=True)
rng = np.random.default_rng(1)
types = "?,u1,i1,u2,i2,u4,i4,u8,i8,f2,f4,f8,c8,c16".split(",")
shapes = [(), (1,), (0,), (5,), (7, 1), (3, 4), (0, 9), (1, 1, 6), (70, 130),
          (3, 64, 65), (33, 2, 70), (2, 3, 4, 5), (9, 0, 123456789012)]
shapes += [tuple(1 + (i + n) % 2 for i in range(n)) for n in range(5, 17)]
n = 0
def both(a):
    global n
    name = "%05d.npy" % n; n += 1
    np.save("in/" + name, a)
    plain = np.array(a, dtype=a.dtype.newbyteorder("<"), order="C")
    np.save("want/" + name, plain)
for t, shape in itertools.product(types, shapes):
    size = int(np.prod(shape, dtype=object)) * np.dtype(t).itemsize
    data = rng.integers(0, 2 if t == "?" else 256, size, dtype="u1").tobytes()
    a = np.frombuffer(data, t).reshape(shape)
    for order in "<>":
        b = a.astype(a.dtype.newbyteorder(order), copy=False) if a.dtype.kind not in "fc" \
            else (a if order == "<" else a.byteswap().view(a.dtype.newbyteorder(">")))
        both(b)
        if b.ndim > 1:
            both(np.asfortranarray(b))
for first in [10 ** k for k in range(19)] + [2 ** 62]:
    both(np.empty((first, 0), "u1")); both(np.empty((0, first), "i1"))
bits = rng.integers(0, 256, (40, 50), dtype="u1")
for name, a in (("in/f8.npy", bits.view("V1")), ("in/bf16.npy", bits.view("V2")),
                ("in/bf16f.npy", np.asfortranarray(bits.view("V2")))):
    np.save(name, a)
print(n)
END
}

# NumPy reads the raw copies back to the same bits, in C order.
compare_raw() {
	"$1" - <<'END'
import numpy as np
for name in "f8.npy", "bf16.npy", "bf16f.npy":
    a, b = np.load("in/" + name), np.load("raw/" + name)
    assert a.dtype == b.dtype and a.shape == b.shape and b.flags.c_contiguous
    assert a.tobytes() == b.tobytes(), name
END
}

against() {
	rm -rf in want got raw
	mkdir got raw
	files=$(make_files "$1") || files=0
	holds "NumPy $2: files made" test "$files" -gt 1000
	for f in in/0*.npy; do echo "$f"; done | xargs "$npycat" got >"$out" 2>"$err"
	is "NumPy $2: all are read" "$(head -n 5 "$out")" ""
	holds "NumPy $2: the same bytes are written" diff -rq want got
	"$npycat" -d f8_e5m2 raw in/f8.npy >"$out"
	"$npycat" -d bf16 raw in/bf16.npy in/bf16f.npy >>"$out"
	is "NumPy $2: raw bits are read" "$(cat "$out")" ""
	holds "NumPy $2: raw bits are written" compare_raw "$1"
}

tried=
for python in python3 /usr/bin/python3; do
	version=$("$python" -c 'import numpy; print(numpy.__version__)' 2>"$err") || continue
	case " $tried " in *" $version "*) continue ;; esac
	tried="$tried $version"
	against "$python" "$version"
done
[ -n "$tried" ] || skip "NumPy writes the same bytes" "no python3 with NumPy"
finish
