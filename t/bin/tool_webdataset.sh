#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# WebDataset archives: in and out, by tar, Python's tarfile and the package itself.
. "${srcdir:-.}/t/support/tap.sh"
. "$srcdir/t/support/exchanged.sh"

PYTHON=${PYTHON:-python3}
files() { (cd "$1" && find . -type f | LC_ALL=C sort | tr '\n' ' '); }

# ---- in: what tar packs ---------------------------------------------------------------

mkdir -p set/d set/__about__
printf abc | cachex put scratch x --dtype u8 --shape 3 && cachex get scratch x -o set/d/0.npy
echo '{"k": [1, null]}' >set/d/0.JSON
printf '7\n' >set/d/0.cls
printf 'caf\303\251' >set/1.txt
printf x >set/__about__/0.txt
printf x >set/README
base64 -d >set/2.mask.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAD0lEQVR42mNgZGJmYWUDAAA/ABaYwWgTAAAAAElFTkSuQmCC
END
printf x >set/3.xyz
members="d 1.txt d/0.npy d/0.JSON d/0.cls README __about__/0.txt 3.xyz 2.mask.png"
d0='{"npy":{"$tensor":"u8[3]","data":"YWJj"},"json":{"k":[1,null]},"cls":7}'
for format in ustar pax gnu v7; do
	# Words are members: none has a space.
	tar -C set --format=$format --no-recursion -cf $format.tar $members
	check "tar --format=$format" 3 cachex import $format $format.tar
	is "$format: what it did" "$(summary)" "3 stored, 0 skipped, 1 bad"
	is "$format: the bad one" "$(cat "$err")" \
		"cachex: import: $format.tar: '3.xyz': neither .npy nor a JPEG, PNG, WebP or TIFF image"
	is "$format: the records" "$(cachex dump $format)" \
"{\"format\":1,\"id\":\"1\",\"value\":\"café\"}
{\"format\":1,\"id\":\"2\",\"value\":{\"mask\":{\"\$tensor\":\"u8[3,1,2]\",\"data\":\"AQQCBQMG\"}}}
{\"format\":1,\"id\":\"d/0\",\"value\":$d0}"
done
for filter in gzip:gz xz:xz bzip2:bz2 zstd:zst; do
	if ! command -v "${filter%:*}" >/dev/null; then
		skip "tar compressed by ${filter%:*}" "there is none"
		continue
	fi
	"${filter%:*}" <ustar.tar >"ustar.tar.${filter#*:}"
	check "tar compressed by ${filter%:*}" 3 cachex import "${filter#*:}" "ustar.tar.${filter#*:}"
	also "the same records" same ustar "${filter#*:}"
done
cp ustar.tar no-name
check "by content" 3 cachex import content no-name
also "the same records" same ustar content
check "--raw" 0 cachex import raw ustar.tar --raw
is "keeps images and what is unknown" "$(cachex dump raw | sed -n 2,3p)" \
'{"format":1,"id":"2","value":{"mask":{"png":{"$bytes":"'"$(base64 -w0 <set/2.mask.png)"'"}}}}
{"format":1,"id":"3","value":{"$bytes":"eA=="}}'
check "--layout hwc" 3 cachex import hwc ustar.tar --layout hwc
is "has the channels last" "$(cachex get hwc 2)" '{"mask":{"$tensor":"u8[1,2,3]"}}'
check "again" 3 cachex import ustar ustar.tar --skip-existing
is "all there" "$(summary)" "0 stored, 3 skipped, 1 bad"
check "--strict" 3 cachex import strict ustar.tar --strict
is "stops at the bad one" "$(ids strict)" "1 d/0 "
check "--dry-run" 3 cachex import dry ustar.tar -n
is "stores nothing" "$(summary)" "3 good, 0 skipped, 1 bad"

# A cache_id twice, in one archive and in two
printf one >a.txt; printf two >b.txt
tar --hard-dereference -cf twice.tar a.txt b.txt a.txt
refuse "a key that comes back" 3 \
	"cachex: import: twice.tar: same cache_id 'a' as earlier in it" cachex import twice twice.tar
is "the first is stored" "$(cachex get twice a)" '"one"'
tar -cf b.tar b.txt
check "a key of another archive" 3 cachex import other twice.tar b.tar
is "is named with both" "$(sed -n 2p "$err")" \
	"cachex: import: b.tar: same cache_id 'b' as twice.tar"

# Damage
head -c 3000 ustar.tar >cut.tar
check "an archive that was cut" 3 cachex import cut cut.tar
is "has no record that may be cut" "$(ids cut)" "1 "
printf garbage >garbage.tar
refuse "no archive at all" 3 "cachex: import: garbage.tar: Unrecognized archive format" \
	cachex import cut garbage.tar
: >empty.tar
check "an empty file" 3 cachex import cut empty.tar

# ---- out --------------------------------------------------------------------------------

data() { printf '{"$tensor":"%s","data":"%s"}' "$1" "$2"; }
{
	for i in 0 1 2 3 4; do
		printf '{"id":"d/%s","format":1,"value":{"caption":"caf\303\251 %s","emb":%s,"label":%s,"mask":%s,"meta":{"a":[1,2.5],"b":null},"tags":["x",%s]}}\n' \
			$i $i "$(data f32[1] AACAPw==)" $i "$(data u8[1,3] "AAA$i")" $i
	done
	printf '{"id":"plain","format":1,"value":{"txt":"s","cls":-3,"npy":%s}}\n' "$(data u8[1] YQ==)"
	printf '{"id":"list","format":1,"value":[%s,%s]}\n' "$(data i64[0] '')" "$(data f64[] AAAAAAAA8D8=)"
	printf '{"id":"only","dtype":"u8","shape":[3],"data":"YWJj"}\n'
	printf '{"id":"text","format":1,"value":"s"}\n'
} >values.jsonl
check "values of all sorts" 0 cachex load values values.jsonl
check "export" 0 cachex export values values.tar
check "and import" 0 cachex import back values.tar
also "give the same records" same values back
tar -tf values.tar >names
is "names in the archive" "$(tr '\n' ' ' <names)" \
"d/0.caption.txt d/0.emb.npy d/0.label.json d/0.mask.npy d/0.meta.json d/0.tags.json \
d/1.caption.txt d/1.emb.npy d/1.label.json d/1.mask.npy d/1.meta.json d/1.tags.json \
d/2.caption.txt d/2.emb.npy d/2.label.json d/2.mask.npy d/2.meta.json d/2.tags.json \
d/3.caption.txt d/3.emb.npy d/3.label.json d/3.mask.npy d/3.meta.json d/3.tags.json \
d/4.caption.txt d/4.emb.npy d/4.label.json d/4.mask.npy d/4.meta.json d/4.tags.json \
plain.txt plain.cls plain.npy list.0.npy list.1.npy only.npy text.txt "
mkdir unpacked && tar -C unpacked -xf values.tar
is "a file of it" "$(cat unpacked/d/3.meta.json)" '{"a":[1,2.5],"b":null}'
is "another" "$(cat unpacked/plain.cls)" -3
check "at another hour and place" 0 env TZ=Asia/Tokyo LC_ALL=C "$CACHEX" export values again.tar
also "the same bytes" cmp values.tar again.tar
refuse "what is there" 2 "cachex: export: values.tar: exists; -f replaces it" cachex export values values.tar
check "--force" 0 cachex export values values.tar -f
also "the same bytes" cmp values.tar again.tar

# Series
check "a series" 0 cachex export values series --format webdataset --shard-records 4
is "its archives" "$(files series)" "./shard-000000.tar ./shard-000001.tar ./shard-000002.tar "
check "is imported as one" 0 cachex import series series
also "the same records" same values series
check "a shorter one" 0 cachex export values series --format webdataset --shard-records 5 -f
is "leaves nothing of the longer" "$(files series)" "./shard-000000.tar ./shard-000001.tar "
for i in 1 2 3; do
	head -c $((3 * 64 * 64 * i)) /dev/zero |
		cachex put images $i --dtype u8 --shape 3,64,$((64 * i))
done
check "by bucket" 0 cachex export images buckets --format webdataset --by-bucket --bucket-scale 16
is "a series in each" "$(files buckets | sed 's/bucket_[0-9]*x[0-9]*/bucket/g')" \
	"./bucket/shard-000000.tar ./bucket/shard-000000.tar "
check "is imported as one" 0 cachex import buckets buckets
also "the same records" same images buckets

# What WebDataset cannot have
for id in a.b d/x.y; do
	printf abc | cachex put dotted "$id" --dtype u8 --shape 3
done
refuse "cache_ids with dots" 3 "cachex: export: 'a.b': WebDataset cannot have this key: it \
would end at the first dot after its last slash" cachex export dotted dotted.tar
also "nothing is there" test ! -e dotted.tar
printf abcd | cachex put bits k --dtype bf16 --shape 2
check "bf16" 3 cachex export bits bits.tar
is "has no name in .npy" "$(sed 's/; .*//' "$err")" "cachex: export: 'k.npy': .npy has no name for bf16"
check "--bits" 0 cachex export bits bits.tar --bits
check "and back" 0 cachex import bits-back bits.tar --bits bf16
also "the same records" same bits bits-back

# ---- the package ------------------------------------------------------------------------

if ! "$PYTHON" -c 'import webdataset, numpy' 2>/dev/null; then
	skip "the package webdataset" "no webdataset and numpy for $PYTHON"
	finish
	exit 0
fi
cat >read.py <<'END'
# What the package reads of our archive, and writes again
import sys, webdataset
samples = list(webdataset.WebDataset(sys.argv[1], shardshuffle=False).decode())
with webdataset.TarWriter(sys.argv[2]) as writer:
    for sample in samples:
        writer.write({k: v for k, v in sample.items()
            if k == '__key__' or not k.startswith('__')})
for sample in samples:
    print(sample['__key__'], *('%s:%s' % (k, type(v).__name__)
        for k, v in sorted(sample.items()) if not k.startswith('__')))
END
check "the package reads ours" 0 "$PYTHON" -W ignore read.py values.tar package.tar
is "as samples" "$(cat "$out")" \
"$(for i in 0 1 2 3 4; do
	echo "d/$i caption.txt:str emb.npy:ndarray label.json:int mask.npy:ndarray meta.json:dict tags.json:list"
done)
plain cls:int npy:ndarray txt:str
list 0.npy:ndarray 1.npy:ndarray
only npy:ndarray
text txt:str"
check "and we what it writes" 0 cachex import package package.tar
# The package orders the members of a sample by their names.
cachex rm -f values plain && cachex rm -f package plain
also "the same records" same values package

cat >write.py <<'END'
import numpy, webdataset
rng = numpy.random.default_rng(1)
with webdataset.ShardWriter('pkg-%03d.tar', maxcount=7, verbose=0) as writer:
    for i in range(30):
        writer.write({'__key__': 'k/%04d' % i, 'npy': rng.random((i % 4, 3)),
            'seg.npy': rng.integers(0, 9, (2, 2)), 'cls': i, 'txt': 'text %d' % i,
            'json': {'i': i, 'x': [1.5, None, 'é']}, 'png': numpy.full((2, 3, 3), i, 'u1'),
            'npz': {'a': rng.random(2), 'b': numpy.arange(i)}})
END
cat >compare.py <<'END'
# Our tensors beside what the package decodes
import glob, numpy, subprocess, sys, webdataset
cachex, n = sys.argv[1], 0
def get(key, field):
    subprocess.run([cachex, 'get', 'pkg', key, '--field', field, '-o', 'got.npy'], check=True)
    return numpy.load('got.npy')
paths = sorted(glob.glob('pkg-*.tar'))
for sample in webdataset.WebDataset(paths, shardshuffle=False).decode('rgb8'):
    key = sample['__key__']
    for field, value in (('npy', sample['npy']), ('seg', sample['seg.npy']),
            ('npz.a', sample['npz']['a']), ('npz.b', sample['npz']['b']),
            ('png', sample['png'].transpose(2, 0, 1))):
        got = get(key, field)
        assert got.dtype == value.dtype and got.shape == value.shape, (key, field)
        assert (got == value).all(), (key, field)
    n += 1
print(n)
END
check "the package writes a series" 0 "$PYTHON" -W ignore write.py
check "and we read it" 0 cachex import pkg pkg-*.tar
is "all of it" "$(summary)" "30 stored, 0 skipped, 0 bad"
is "plain data" "$(cachex get pkg k/0012 --json | grep -o '"cls":12,"json":{"i":12,"x":\[1.5,null,"é"\]}')" \
	'"cls":12,"json":{"i":12,"x":[1.5,null,"é"]}'
if "$PYTHON" -c 'import PIL' 2>/dev/null; then
	check "the same tensors" 0 "$PYTHON" -W ignore compare.py "$CACHEX"
	is "in each" "$(cat "$out")" 30
else
	skip "the same tensors" "no PIL for $PYTHON"
fi
check "our series" 0 cachex export values series --format webdataset --shard-records 3 -f
cat >count.py <<'END'
import sys, tarfile, webdataset
samples = webdataset.WebDataset(sys.argv[1:], shardshuffle=False)
print(*(s['__key__'] for s in samples))
for path in sys.argv[1:]:
    for member in tarfile.open(path):
        assert (member.mode, member.uid, member.gid, member.mtime) == (0o444, 0, 0, 0)
END
check "is the package's" 0 "$PYTHON" -W ignore count.py series/*.tar
is "sample by sample" "$(cat "$out")" "d/0 d/1 d/2 d/3 d/4 list only text"
finish
