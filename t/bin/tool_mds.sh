#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# import and export of directories of MDS, through each other and with MosaicML's library.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

python=${PYTHON:-python3}
# put MODULE ID DTYPE SHAPE BYTES
put() { printf %b "$5" | cachex put -q "$1" "$2" --dtype "$3" --shape "$4"; }

# Tensors
for dtype in u8:1 i8:1 u16:2 i16:2 u32:4 i32:4 u64:8 i64:8 f16:2 f32:4 f64:8; do
	size=${dtype#*:} dtype=${dtype%:*}
	for n in 1 2 300; do
		head -c $((n * size)) /dev/zero | tr '\0' "$n" |
			cachex put -q "$dtype" "d/$n" --dtype "$dtype" --shape "$n"
	done
	check "$dtype: export" 0 cachex export -q "$dtype" "$dtype.d" --format mds
	check "$dtype: import" 0 cachex import -q "$dtype-back" "$dtype.d"
	also "$dtype: the same records" same "$dtype" "$dtype-back"
done
is "the files" "$(ls -A u8.d | tr '\n' ' ')" "index.json shard.00000.mds "
is "the index" "$(cat u8.d/index.json)" \
'{"shards": [{"column_encodings": ["str", "ndarray:uint8"], "column_names": ["id", "tensor"], "column_sizes": [null, null], "compression": null, "format": "mds", "hashes": [], "raw_data": {"basename": "shard.00000.mds", "bytes": '"$(wc -c <u8.d/shard.00000.mds | tr -d ' ')"', "hashes": {}}, "samples": 3, "size_limit": 201326592, "version": 2, "zip_data": null}], "version": 2}'
cp -r u8.d moved
check "index.json stands for its directory" 0 cachex import -q moved moved/index.json
also "the same records" same u8 moved

# Records of parts
cat >parts.jsonl <<'END'
{"id":"a","value":{"latent":{"$tensor":"f16[2,1]","data":"AAEAAg=="},"caption":"caf\u00e9","n":7,"f":0.1,"blob":{"$bytes":"AAEC"},"meta":{"k":[1,{"$tuple":[]},null]},"boxes":[{"$tensor":"f32[1]","data":"AAAAAA=="},{"$tensor":"f32[1]","data":"AACAPw=="}]}}
{"id":"b","value":{"latent":{"$tensor":"f16[2,1]","data":"AAMABA=="},"caption":"","n":-8,"f":1.0,"blob":{"$bytes":""},"meta":{},"boxes":[{"$tensor":"f32[1]","data":"AAAAQA=="},{"$tensor":"f32[1]","data":"AAAAAA=="}]}}
END
cachex load -q parts parts.jsonl
check "parts are columns" 0 cachex export parts parts.d --format mds
also "of the encodings that fit" grep -q '"column_encodings": \["bytes", "ndarray:float32:1", "ndarray:float32:1", "str", "float64", "str", "ndarray:float16:2,1", "json", "int"\], "column_names": \["blob", "boxes.0", "boxes.1", "caption", "f", "id", "latent", "meta", "n"\]' parts.d/index.json
check "and parts again" 0 cachex import -q parts2 parts.d
cachex get parts a --data | jq -S . >want.json 2>/dev/null
cachex get parts2 a --data | jq -S . >got.json 2>/dev/null
if command -v jq >/dev/null 2>&1; then also "with the same values" cmp want.json got.json; else
	skip "with the same values" "no jq"; fi
check "--field" 0 cachex export parts latent.d --format mds --field latent
check "is a tensor alone" 0 cachex import -q latent latent.d
is "of its type" "$(cachex get latent b --format raw | od -An -tx1 | tr -d ' ')" "00030004"

# Shards
i=0
while [ $i -lt 40 ]; do printf '{"id":"r%d","dtype":"u8","shape":[100],"data":"%s"}\n' $i \
	"$(head -c 100 /dev/zero | tr '\0' "$(printf '\\%03o' $((i + 40)))" | base64 -w 0)"
	i=$((i + 1)); done >many.jsonl
cachex load -q many many.jsonl
check "--shard-size" 0 cachex export many many.d --format mds --shard-size 4K
is "makes shards below it" "$(find many.d -name '*.mds' -size -9 | wc -l | tr -d ' ')" 2
check "--shard-records" 0 cachex export many ten.d --format mds --shard-records 10
is "of so many" "$(ls ten.d | tr '\n' ' ')" \
	"index.json shard.00000.mds shard.00001.mds shard.00002.mds shard.00003.mds "
for d in many.d ten.d; do
	check "$d comes in" 0 cachex import -q "$d" "$d"
	also "$d is the same" same many "$d"
done
put boxes tall u8 1,2,1 ab && put boxes wide u8 1,1,2 cd && put boxes wider u8 1,1,2 ef
check "--by-bucket" 0 cachex export boxes boxes.d --format mds --by-bucket
is "is a data set for each" "$(cd boxes.d && find . -type f | sort | tr '\n' ' ')" \
	"./bucket_1344x704/index.json ./bucket_1344x704/shard.00000.mds ./bucket_704x1344/index.json ./bucket_704x1344/shard.00000.mds "
also "of one shape" grep -q '"ndarray:uint8:1,1,2"' boxes.d/bucket_1344x704/index.json
check "all come in" 0 cachex import -q boxes2 boxes.d/bucket_1344x704 boxes.d/bucket_704x1344
also "as they were" same boxes boxes2
check "a dry run" 0 cachex export many dry.d --format mds -n
also "writes nothing" test ! -e dry.d
refuse "a directory that has something" 2 \
	"cachex: export: ten.d: exists, and is not empty; -f replaces it" \
	cachex export many ten.d --format mds
check "--force" 0 cachex export many ten.d --format mds -f
is "leaves nothing of what was there" "$(ls ten.d | tr '\n' ' ')" "index.json shard.00000.mds "
sed 's/"id"/"xy"/g' ten.d/index.json >edited && mv edited ten.d/index.json
check "without a column of names" 0 cachex import -q places ten.d
is "places are names" "$(cachex ls -1 places | head -n 2 | tr '\n' ' ')" \
	"shard.00000.mds:0 shard.00000.mds:1 "
check "--id-field" 0 cachex import -q field ten.d --id-field xy
also "is the same" same many field
refuse "--id-field of no column" 3 \
	"cachex: import: ten.d: no column 'none' of text, bytes or integers in every shard" \
	cachex import m ten.d --id-field none

# Compressed
mkdir packed && gzip -9 -c u8.d/shard.00000.mds >packed/shard.00000.mds.gz
size=$(wc -c <packed/shard.00000.mds.gz | tr -d ' ') sum=$(sha256sum <u8.d/shard.00000.mds | cut -d' ' -f1)
sed 's/"compression": null/"compression": "gz:9"/; s/"hashes": {}/"hashes": {"sha256": "'"$sum"'"}/
s/"zip_data": null/"zip_data": {"basename": "shard.00000.mds.gz", "bytes": '"$size"', "hashes": {}}/' \
	u8.d/index.json >packed/index.json
check "a shard that is there compressed" 0 cachex import -q packed packed
also "has the same records" same u8 packed
is "leaves nothing behind" "$(ls packed | tr '\n' ' ')" "index.json shard.00000.mds.gz "
sed "s/$sum/00/" packed/index.json >edited && mv edited packed/index.json
check "what it inflates to is checked" 3 cachex import m packed
also "as it is told" grep -q 'shard.00000.mds.gz: sha256 is .* not 00 as the index has it$' "$err"
sed 's/"bytes": [0-9]*, "hashes": {"sha/"bytes": 9, "hashes": {"sha/' packed/index.json >edited && mv edited packed/index.json
refuse "of another size" 3 "cachex: import: packed/shard.00000.mds.gz: inflated it is not of the 9 bytes that the index has" \
	cachex import m packed
sed 's/"gz:9"/"br"/' packed/index.json >edited && mv edited packed/index.json
refuse "a compression that is not read" 3 \
	"cachex: import: packed/shard.00000.mds.gz: compressed by 'br', which is not read here" \
	cachex import m packed

# What it cannot hold
put bf16 t bf16 1 ab
refuse "bf16" 3 "cachex: export: 't': MDS has no arrays of bf16" \
	cachex export bf16 bf16.d --format mds
also "leaves nothing" test ! -e bf16.d
check "--bits" 0 cachex export bf16 bf16.d --format mds --bits
also "are unsigned integers" grep -q '"ndarray:uint16:1"' bf16.d/index.json
printf '{"id":"x","value":{"a":1}}\n{"id":"y","value":{"b":1}}\n' | cachex load -q odd -
refuse "records of other parts" 3 \
	"cachex: export: 'y': 'b': other records have no such part, and in MDS all have the same" \
	cachex export odd odd.d --format mds

# Malformed ones
sed 's/"bytes": [0-9]*/"bytes": 9/' u8.d/index.json >moved/index.json
refuse "a shard of another size" 3 \
	"cachex: import: moved/shard.00000.mds: $(wc -c <u8.d/shard.00000.mds | tr -d ' ') bytes, of which the index has 9" \
	cachex import m moved
sed 's/"hashes": {}/"hashes": {"sha1": "00"}/' u8.d/index.json >moved/index.json
check "a wrong checksum" 3 cachex import m moved
also "is told" grep -q 'shard.00000.mds: sha1 is [0-9a-f]*, not 00 as the index has it$' "$err"
sed 's/"str"/"pkl"/' u8.d/index.json >moved/index.json
refuse "pickled columns" 3 "cachex: import: moved: index.json: column 'id' is pickled: to read it could run any program" \
	cachex import m moved
sed 's/shard.00000/..\/u8.d\/shard.00000/' u8.d/index.json >moved/index.json
refuse "a path out of the directory" 3 \
	"cachex: import: moved: index.json: shards[0]: basename leads out of the directory" \
	cachex import m moved
rm moved/shard.00000.mds && cp u8.d/index.json moved
check "a shard that is missing" 3 cachex import m moved
also "is told" grep -q "import: moved/shard.00000.mds: open: No such file" "$err"
cp -r ten.d gap && sed 's/"xy"/"id"/g' ten.d/index.json >gap/index.json
cachex export -q many gap -f --format mds --shard-records 10 && rm gap/shard.00001.mds
check "a shard that is missing among others" 3 cachex import gap gap
is "loses no more than it had" "$(summary)" "30 stored, 0 skipped, 1 bad"

# The library itself
if "$python" -c 'import numpy, PIL, streaming.base.format.mds' 2>/dev/null; then
	cat >peer.py <<'END'
import json, os, subprocess, sys, numpy as np
from decimal import Decimal
from PIL import Image
from streaming import MDSWriter
from streaming.base.format import reader_from_json
cachex = sys.argv[1]
run = lambda *args: subprocess.run([cachex, *args], check=True)
get = lambda *args: subprocess.run([cachex, "get", *args], check=True,
    stdout=subprocess.PIPE).stdout

def samples(path):
    for shard in json.load(open(path + "/index.json"))["shards"]:
        reader = reader_from_json(path, None, shard)
        reader.validate(False)
        yield from (reader[i] for i in range(reader.samples))

# What cachex wrote is read.
parts = list(samples("parts.d"))
assert [s["id"] for s in parts] == ["a", "b"]
assert parts[0]["latent"].tobytes() == b"\0\1\0\2" and parts[0]["latent"].shape == (2, 1)
assert parts[0]["latent"].dtype == np.float16
assert parts[1]["caption"] == "" and parts[0]["caption"] == "caf\u00e9"
assert parts[1]["n"] == -8 and parts[0]["f"] == 0.1 and parts[0]["blob"] == b"\0\1\2"
assert parts[0]["meta"] == {"k": [1, {"$tuple": []}, None]}
assert parts[1]["boxes.0"][0] == 2
assert [s["id"] for s in samples("many.d")] == ["r%d" % i for i in range(40)]
assert all((s["tensor"] == 40 + i).all() for i, s in enumerate(samples("many.d")))
for dtype in ["u8", "i64", "f16"]:
    for s in samples(dtype + ".d"):
        assert s["tensor"].tobytes() == get(dtype, s["id"], "--format", "raw")

# What it writes comes in; and what goes out again is the same file.
rng = np.random.default_rng(3)
with MDSWriter(out="same", columns={"id": "str", "tensor": "ndarray"}, size_limit=5000) as w:
    for i in range(60):
        shape = tuple(rng.integers(1, [5, 300, 3][:1 + i % 3]))
        dtype = [np.float32, np.uint8, np.int16, np.float64][i % 4]
        w.write({"id": "é%03d" % i, "tensor": rng.integers(0, 100, shape).astype(dtype)})
run("import", "-q", "same", "same")
run("export", "-q", "same", "same.out", "--format", "mds", "--shard-size", "5000")
assert sorted(os.listdir("same")) == sorted(os.listdir("same.out"))
for name in os.listdir("same"):
    assert open("same/" + name, "rb").read() == open("same.out/" + name, "rb").read(), name

columns = {"id": "int", "s": "str", "arr": "ndarray:float16:2,3", "half": "ndarray:float32",
    "any": "ndarray", "u8": "uint8", "i32": "int32", "f16": "float16", "f64": "float64",
    "b": "bytes", "j": "json", "si": "str_int", "sf": "str_float", "sd": "str_decimal",
    "png": "png", "pil": "pil", "images": "list[png]"}
def sample(i):
    return {"id": i, "s": "t\u00e9xt%d" % i, "arr": np.full((2, 3), i, np.float16),
        "half": np.full((i + 1, 2), i, np.float32), "any": np.arange(i + 1).reshape(1, -1),
        "u8": np.uint8(i), "i32": np.int32(-i), "f16": np.float16(i / 2), "f64": 1 / (i + 1),
        "b": bytes(range(i)), "j": {"a": [1, 2.5, None, True, "x"], "b": i},
        "si": 10 ** i, "sf": i / 10, "sd": Decimal("1.20"),
        "png": Image.fromarray(np.full((4, 5, 3), i, np.uint8)),
        "pil": Image.fromarray(np.full((4, 5), i, np.uint8)),
        "images": [Image.new("RGB", (2, 1 + k), (i, k, 0)) for k in range(i % 3)]}
for compression in [None, "zstd:7", "gz", "bz2:1"]:
    name = "all-" + (compression or "none").replace(":", "-")
    with MDSWriter(out=name, columns=columns, compression=compression, size_limit=3000,
            hashes=["blake2b", "md5", "sha1", "sha256", "sha3_256", "xxh128", "xxh32",
            "xxh3_64", "xxh64"]) as w:
        for i in range(25):
            w.write(sample(i))
    run("import", "-q", name, name, "--layout", "hwc")
    for i in range(25):
        got, s = json.loads(get(name, str(i), "--data")), sample(i)
        def tensor(part, value):
            import base64
            dtypes = {"f16": np.float16, "f32": np.float32, "u8": np.uint8, "i64": np.int64}
            dtype, dims = part["$tensor"].rstrip("]").split("[")
            assert dtypes[dtype] == value.dtype and base64.b64decode(part["data"]) == value.tobytes()
            assert [int(d) for d in dims.split(",")] == list(value.shape), (part, value.shape)
        for column in ["arr", "half", "any"]:
            tensor(got[column], s[column])
        tensor(got["png"], np.asarray(s["png"]))
        tensor(got["pil"], np.asarray(s["pil"])[:, :, None])
        assert len(got["images"]) == i % 3
        for k, image in enumerate(s["images"]):
            tensor(got["images"][k], np.asarray(image))
        assert got["s"] == s["s"] and got["u8"] == i and got["i32"] == -i
        assert got["f16"] == i / 2 and got["f64"] == s["f64"] and got["j"] == s["j"]
        assert got["sf"] == s["sf"] and got["sd"] == "1.20"
        assert int(got["si"] if isinstance(got["si"], (str, int)) else got["si"]["$u64"]) == s["si"]
END
	check "the library reads and writes the same" 0 "$python" peer.py "$CACHEX"
	rm all-zstd-7/shard.00000.mds.zstd && head -c 500 all-gz/shard.00000.mds.gz >all-zstd-7/shard.00000.mds.zstd
	check "a compressed shard that is another file" 3 cachex import m all-zstd-7
	head -c 100 all-gz/shard.00000.mds.gz >short && mv short all-gz/shard.00000.mds.gz
	check "a cut one" 3 cachex import m all-gz
	also "is told" grep -q 'all-gz/shard.00000.mds.gz: 100 bytes, of which the index has' "$err"
	sed 's/"gz"/"br"/g' all-gz/index.json >edited && mv edited all-gz/index.json
	check "a compression that is not read" 3 cachex import m all-gz
	also "is told" grep -q "compressed by 'br', which is not read here" "$err"
else
	skip "the library reads and writes the same" "no numpy, PIL and streaming for $python"
fi
finish
