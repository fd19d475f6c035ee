#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import and export of safetensors files, through each other and with the package itself.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

python=${PYTHON:-python3}
# put MODULE ID DTYPE SHAPE BYTES
put() { printf %b "$5" | cachex put -q "$1" "$2" --dtype "$3" --shape "$4"; }

# Every dtype of both, there and back
for dtype in u8 i8 u16 i16 u32 i32 u64 i64 f16 f32 f64 c64 bf16 f8_e4m3 f8_e5m2; do
	put all "x/$dtype" "$dtype" 1 '12345678' 2>/dev/null ||
		put all "x/$dtype" "$dtype" 1 1234 2>/dev/null ||
		put all "x/$dtype" "$dtype" 1 12 2>/dev/null || put all "x/$dtype" "$dtype" 1 1
	put all "none/$dtype" "$dtype" 0,3 ''
done
put all x/bool bool 3 '\0001\0000\0001'
put all 'scalar "\é' u8 '' 'a'
check "export" 0 cachex export all all.safetensors
is "says what it wrote" "$(sed 's/, [0-9.]* [KM]*i*B\/s$//' "$out")" \
	"32 records in all.safetensors, $(wc -c <all.safetensors | awk '{ printf "%.2f KiB", $1 / 1024 }')"
check "import" 0 cachex import back all.safetensors
also "gives the same records" same all back
check "export of those" 0 cachex export back again.out --format safetensors
also "gives the same bytes" cmp all.safetensors again.out
is "the header tells its size" "$(od -An -tu8 -N8 all.safetensors | tr -d ' ')" \
	"$(($(wc -c <all.safetensors) - 8 - 60))"

# Dtypes that newer versions of the format have; of F4 its header counts numbers
put new e8m0 f8_e8m0 2 '\0177\0377'; put new e4m3fnuz f8_e4m3fnuz 1 a
put new e5m2fnuz f8_e5m2fnuz 1 b; put new f4 f4_e2m1_x2 2,1 '\0062\0064'
check "newer dtypes" 0 cachex export new new.safetensors -q
is "in the header" "$(tail -c +9 new.safetensors | head -c -7 | sed 's/ *$//')" \
	'{"e5m2fnuz":{"dtype":"F8_E5M2FNUZ","shape":[1],"data_offsets":[0,1]},"e4m3fnuz":{"dtype":"F8_E4M3FNUZ","shape":[1],"data_offsets":[1,2]},"e8m0":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[2,4]},"f4":{"dtype":"F4","shape":[2,2],"data_offsets":[4,6]}}'
check "back" 0 cachex import new-back new.safetensors
is "gives the same records" "$(cachex dump new | sort)" "$(cachex dump new-back | sort)"
put old c32 c32 1 1234
wrong "c32" 3 "cachex: export: 'c32': safetensors has no dtype c32" \
	cachex export old old.safetensors

# __metadata__
put meta a u8 2 ab; put meta b u8 1 c
check "--metadata" 0 cachex export meta noted.safetensors --metadata 'format=pt' --metadata 'a "b"=c=\d' -q
is "is in the header" "$(tail -c +9 noted.safetensors | sed 's/,"a":{.*//')" \
	'{"__metadata__":{"format":"pt","a \"b\"":"c=\\d"}'
check "import --json" 0 cachex import meta2 noted.safetensors --json
is "shows it" "$(sed 's/.*"metadata"/"metadata"/' "$out")" \
	'"metadata":{"noted.safetensors":{"format":"pt","a \"b\"":"c=\\d"}}}'
also "the records are the same" same meta meta2
check "import -n" 0 cachex import meta3 noted.safetensors -n
is "as well" "$(cat "$err")" \
	'cachex: import: noted.safetensors: metadata {"format":"pt","a \"b\"":"c=\\d"}'
check "import" 0 cachex import meta3 noted.safetensors
is "does not" "$(cat "$err")" ""
check "given again" 0 cachex export meta3 noted3.safetensors --metadata 'format=pt' --metadata 'a "b"=c=\d' -q
also "it is the same file" cmp noted.safetensors noted3.safetensors
check "without one" 0 cachex import meta4 all.safetensors --json
also "there is none" sh -c '! grep -q metadata "$1"' sh "$out"
wrong "the same name twice" 2 "cachex: export: two metadata have the name 'a'" \
	cachex export meta n.safetensors --metadata a=1 --metadata a=2
check "which is part of another" 0 cachex export meta n.safetensors --metadata a=1 --metadata 'b"a":=2' --metadata '":"=3' --metadata '=4' -q
check "which is read" 0 cachex import meta5 n.safetensors --json
is "as it was" "$(sed 's/.*"metadata"/"metadata"/' "$out")" \
	'"metadata":{"n.safetensors":{"a":"1","b\"a\":":"2","\":\"":"3","":"4"}}}'
wrong "no =" 2 "cachex: export: --metadata a: not NAME=TEXT" cachex export meta n2.safetensors --metadata a
wrong "another format" 2 "cachex: export: --metadata does not apply to npz" cachex export meta n.npz --metadata a=1
cachex export empty_metadata e.safetensors --metadata a=1 2>/dev/null
if "$python" -c 'import safetensors' 2>/dev/null; then
	is "the package reads it" "$("$python" -c '
from safetensors import safe_open
with safe_open("noted.safetensors", "np") as f: print(f.metadata())')" \
		"{'format': 'pt', 'a \"b\"': 'c=\\\\d'}"
fi

# By content, under any name; and what is there is kept
cp again.out plain
check "a file is known by its content" 0 cachex import -q byname plain
also "is the same" same all byname
refuse "a target that is there" 2 "cachex: export: plain: exists; -f replaces it" \
	cachex export all plain --format safetensors
check "--force" 0 cachex export all plain --format safetensors --force
put small a u8 2 ab
check "a dry run" 0 cachex export small dry.safetensors -n
also "writes nothing" test ! -e dry.safetensors
check "--skip-existing" 0 cachex import back all.safetensors --skip-existing
also "skips" grep -q '^0 stored, 32 skipped, 0 bad' "$out"

# Parts of records
echo '{"id":"r","value":{"a":{"$tensor":"u8[2]","data":"YWI="},"b":[{"$tensor":"u8[1]","data":"Yw=="}]}}' | cachex load -q parts -
check "parts have names" 0 cachex export parts parts.safetensors
check "parts come in as tensors" 0 cachex import flat parts.safetensors
is "by the paths to them" "$(ids flat)" "r.a r.b.0 "

# What it cannot hold
put wide c c128 1 0123456789abcdef
refuse "complex128" 3 "cachex: export: 'c': safetensors has no dtype c128" \
	cachex export wide wide.safetensors
also "leaves nothing" test ! -e wide.safetensors
is "nor a temporary file" "$(find . -name '*.tmp*' | head -n 1)" ""

# Malformed files
printf '\002\0\0\0\0\0\0\0{}x' >bad.safetensors
refuse "bytes of no tensor" 3 \
	"cachex: import: bad.safetensors: the tensors end at 0 of 1 bytes of data" \
	cachex import m bad.safetensors
printf '\377\377\377\377\0\0\0\0{}' >bad.safetensors
refuse "a header beyond the limit" 3 \
	"cachex: import: bad.safetensors: a header of 4294967295 bytes, of which 100000000 are allowed" \
	cachex import m bad.safetensors
: >bad.safetensors
refuse "an empty file" 3 \
	"cachex: import: bad.safetensors: 0 bytes are not a safetensors file" \
	cachex import m bad.safetensors
head -c 700 all.safetensors >bad.safetensors
check "a cut file" 3 cachex import m bad.safetensors
also "is one" grep -q 'bad.safetensors: a header of [0-9]* bytes in a file of 700$' "$err"

# The package itself
if "$python" -c 'import numpy, safetensors.numpy' 2>/dev/null; then
	cat >peer.py <<'END'
import json, subprocess, sys, numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file, save
cachex = sys.argv[1]

# What cachex wrote is read, and is what the package writes of the same tensors.
names = {}
with safe_open("all.safetensors", "numpy") as f:
    for name in f.keys():
        names[name] = f.get_slice(name).get_dtype()
assert len(names) == 32, names
assert names["x/bf16"] == "BF16" and names["x/f8_e4m3"] == "F8_E4M3", names
rng = np.random.default_rng(7)
dtypes = ["bool", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"]
shapes = [(), (0,), (1,), (3, 2), (2, 0, 5), (1, 1, 7), (5,)]
tensors = {}
for i in range(200):
    dtype = np.dtype(dtypes[rng.integers(len(dtypes))])
    shape = shapes[rng.integers(len(shapes))]
    count = int(np.prod(shape))
    if dtype == np.bool_:
        value = rng.integers(0, 2, count).astype(bool).reshape(shape)
    else:
        value = np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape)
    tensors["%d é\t\"\\\x7f\U0001f600/%s.%d" % (rng.integers(100), dtype.str, i)] = value
save_file(tensors, "theirs.safetensors")
save_file(tensors, "noted.safetensors", metadata={"format": "pt", "x": "é\n"})
run = lambda *args: subprocess.run([cachex, *args], check=True)
run("import", "-q", "theirs", "theirs.safetensors")
run("import", "-q", "noted", "noted.safetensors")
run("export", "-q", "theirs", "ours.safetensors")
got = load_file("ours.safetensors")
assert got.keys() == tensors.keys()
for i, (name, value) in enumerate(tensors.items()):
    assert got[name].dtype == value.dtype and got[name].shape == value.shape
    assert got[name].tobytes() == value.tobytes(), name
    raw = subprocess.run([cachex, "get", "theirs", name, "--format", "raw"],
        check=True, stdout=subprocess.PIPE).stdout if i % 5 == 0 else value.tobytes()
    assert raw == value.tobytes(), name
assert open("ours.safetensors", "rb").read() == open("theirs.safetensors", "rb").read()
save_file({}, "empty.safetensors")
END
	check "the package reads and writes the same" 0 "$python" peer.py "$CACHEX"
	also "with notes the tensors are the same" same theirs noted
	check "a file without tensors" 0 cachex import empty empty.safetensors
	also "has none" grep -q '^0 stored' "$out"
else
	skip "the package reads and writes the same" "no numpy and safetensors for $python"
fi
if "$python" -c 'import torch, safetensors.torch' 2>/dev/null; then
	cat >torch_peer.py <<'END'
import sys, subprocess, torch
from safetensors.torch import load_file, save_file
torch.manual_seed(1)
tensors = {"b%d" % i: torch.randn(3, i, dtype=torch.float32).to(dtype) for i, dtype in
    enumerate([torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float16,
    torch.float64])}
tensors["c"] = torch.randn(4, dtype=torch.complex64)
save_file(tensors, "torch.safetensors")
run = lambda *args: subprocess.run([sys.argv[1], *args], check=True)
run("import", "-q", "torch", "torch.safetensors")
run("export", "-q", "torch", "torch.out", "--format", "safetensors")
got = load_file("torch.out")
for name, value in tensors.items():
    assert got[name].dtype == value.dtype and got[name].shape == value.shape
    assert got[name].untyped_storage().tolist() == value.untyped_storage().tolist()
END
	check "so does PyTorch" 0 "$python" torch_peer.py "$CACHEX"
	also "byte by byte" cmp torch.safetensors torch.out
else
	skip "so does PyTorch" "no torch and safetensors for $python"
fi
finish
