#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# WebP, TIFF and samples of 16 bits: import and build. Pillow says what the pixels are.
. "${srcdir:-.}/t/support/tap.sh"

summary() { sed 's/; .*//' "$out"; }
built() { cachex --version | grep -qw "$1"; }

mkdir in
base64 -d >in/deep.png <<'END'
iVBORw0KGgoAAAANSUhEUgAAAAIAAAABEAAAAACB2fwVAAAADUlEQVR4nGMQMvn/HwAD5gJFLkKWdQAAAABJRU5ErkJggg==
END
base64 -d >in/w.WebP <<'END'
UklGRiwAAABXRUJQVlA4TCAAAAAvAQAAAA+gEEAAFDQKAQRAQaMQQAAUNPMf+R8qENH/AA==
END
base64 -d >in/t.tif <<'END'
SUkqAAgAAAAKAAABBAABAAAAAgAAAAEBBAABAAAAAQAAAAIBAwADAAAAhgAAAAMBAwABAAAAAQAAAAYBAwABAAAAAgAAABEBBAABAAAAjAAAABUBAwABAAAAAwAAABYBBAABAAAAAQAAABcBBAABAAAABgAAABwBAwABAAAAAQAAAAAAAAAIAAgACAABAgMEBQY=
END

# Samples of 16 bits
check "16 bits" 0 cachex import m in/deep.png
is "become 8" "$(cachex get m deep --json)" \
	'{"id":"deep","dtype":"u8","shape":[1,1,2],"data":[[[18,255]]]}'
is "which is said" "$(cat "$err")" \
	"cachex: import: 1 image of 16 bits became u8; --dtype u16 keeps all bits"
check "as JSON" 0 cachex import -q m in/deep.png --json
also "too" grep -q '"reduced":1,' "$out"
check "--dtype u16" 0 cachex import u16 in/deep.png
check "--dtype u16" 0 cachex import u16 in/deep.png --dtype u16
is "keeps them" "$(cachex get u16 deep --json | cut -d, -f2-)" \
	'"dtype":"u16","shape":[1,1,2],"data":[[[4660,65535]]]}'
is "and says nothing" "$(cat "$err")" ""
check "--dtype f32" 0 cachex import f32 in/deep.png --dtype f32
is "divides" "$(cachex get f32 deep --json | cut -d, -f2-)" \
	'"dtype":"f32","shape":[1,1,2],"data":[[[0.071107045,1]]]}'
check "another dtype" 2 cachex import x in/deep.png --dtype i8

# A format that this build lacks is told: the file is bad, not left out.
for format in WebP TIFF; do
	if built $format; then continue; fi
	library=lib$(echo "$format" | tr WPTIF wptif)
	case $format in WebP) file=w.WebP ;; *) file=t.tif ;; esac
	refuse "$format" 3 \
		"cachex: import: in/$file: $format: cachex was built without $library" \
		cachex import none in/$file
done
if ! built WebP || ! built TIFF; then
	skip "WebP and TIFF" "cachex was built without one of them"
	finish
	exit 0
fi
check "a directory" 0 cachex import dir in -q
is "has them all" "$(summary)$(cachex ls dir -1 | sort | tr '\n' ' ')" "deep t w "
for id in w t; do
	is "its pixels: $id" "$(cachex get dir $id --json | cut -d, -f2-)" \
		'"dtype":"u8","shape":[3,1,2],"data":[[[1,4]],[[2,5]],[[3,6]]]}'
done
check "8 bits as u16" 0 cachex import wide in/t.tif --dtype u16
is "are spread" "$(cachex get wide t --json | cut -d, -f3-)" \
	'"shape":[3,1,2],"data":[[[257,1028]],[[514,1285]],[[771,1542]]]}'
tar -cf d.tar -C in w.WebP t.tif
check "members of an archive" 0 cachex import tar d.tar
is "are tensors" "$(cachex ls tar --json | cut -d, -f1-5)" \
'{"id":"t","dtype":"u8","shape":[3,1,2]
{"id":"w","dtype":"u8","shape":[3,1,2]'
check "raw" 0 cachex import raw in -q --raw
check "an archive of raw images" 0 cachex export raw raw.tar
is "has names with their formats" "$(tar -tf raw.tar | sort | tr '\n' ' ')" \
	"deep.png t.tif w.webp "
check "sizes" 0 cachex buckets --assign in/w.WebP in/t.tif
is "are those of the headers" "$(cut -f1 "$out" | tr '\n' ' ')" "in/w.WebP in/t.tif "

# A build
check "build" 0 cachex build in wh --unlabelled --size 4x2 --no-skip-empty
also "takes them" grep -q '^  samples  *3$' "$out"
also "says what had 16 bits" grep -q '^    16 bits to 8  *1$' "$out"
check "again" 0 cachex build in wh --unlabelled --size 4x2 --no-skip-empty --dtype f32 --json
also "still, of what is stored" grep -q '"reused":3,"reduced":1,' "$out"
check "the warehouse is good" 0 cachex warehouse verify wh
check "--dtype u16" 0 cachex build in wide-wh --unlabelled --size 2x1 --dtype u16 --json
also "keeps all bits" grep -q '"reused":0,"reduced":0,' "$out"
cachex read wide-wh/current --npy wide16 --field image --batch 3 -q
is "of 16, and spreads 8" "$(tail -c +129 wide16/batch-00000000.npy | od -An -v -t u2 -w12 | tr -s ' ')" \
" 4660 65535 4660 65535 4660 65535
 257 1028 514 1285 771 1542
 257 1028 514 1285 771 1542"
check "again" 0 cachex build in wide-wh --unlabelled --size 2x1 --dtype u16
also "is up to date" grep -q 'up to date, 3 samples' "$out"
check "as u8, of the same warehouse" 0 cachex build in wide-wh --unlabelled --size 2x1 --dtype u8 --json
also "images are decoded again" grep -q '"reused":0,"reduced":1,' "$out"
check "and back" 0 cachex build in wide-wh --unlabelled --size 2x1 --dtype u16 --json
also "what is stored is found" grep -q '"reused":3,"reduced":0,' "$out"
check "padded" 0 cachex build in pad-wh --unlabelled --size 3 --dtype u16 --pad 0102ff -q
cachex read pad-wh/current --npy pad16 --field image --batch 3 -q
is "padding is spread, too" "$(tail -c +129 pad16/batch-00000000.npy | od -An -v -t u2 -w18 -N 54 | tr -s ' ' |
	cut -d ' ' -f 8-10)" \
"257 257 257
514 514 514
65535 65535 65535"
check "verified" 0 cachex warehouse verify wide-wh
check "moments" 0 cachex stat wide-wh --values --json
also "are of u16" grep -q '"max":65535' "$out"
check "a picture" 0 cachex view wide-wh -o wide.png
check "a report" 0 cachex warehouse report wide-wh -o wide.html --sqlite wide.db
if command -v sqlite3 >/dev/null; then
	is "light is a share of white" "$(sqlite3 wide.db 'SELECT round(brightness, 6) FROM samples WHERE sample = 0')" \
		0.535554
else
	skip "light is a share of white" "no sqlite3"
fi
check "version 1 of shards" 2 cachex build in v1-wh --unlabelled --dtype u16 --shard-version 1
cp in/w.WebP in/another.webp
check "a new WebP" 1 cachex warehouse verify wh
also "is a change" grep -qx 'another.webp: added' "$out"

# Pillow
python=
for name in python3 /usr/bin/python3; do
	"$name" -c 'import PIL.Image, PIL.features; assert PIL.features.check("webp") and PIL.features.check("libtiff")' \
		2>/dev/null && python=$name && break
done
if [ -z "$python" ]; then
	skip "Pillow's pixels" "no python3 with Pillow, libwebp and libtiff"
	finish
	exit 0
fi
cat >make.py <<'END'
# Files of all kinds that Pillow writes, and their pixels, channels first, as .npy headers do
# not need NumPy: DIR/NAME.EXT and DIR/NAME.want, "shape dtype hexadecimal".
import os, random, sys
from PIL import Image
random.seed(5)
os.makedirs("pil")
def picture(mode, size):
    if mode == "1":
        return Image.frombytes("L", size, random.randbytes(size[0] * size[1])).convert("1")
    if mode == "I;16":
        return Image.frombytes("I;16", size, random.randbytes(2 * size[0] * size[1]))
    if mode == "P":
        im = Image.frombytes("P", size, random.randbytes(size[0] * size[1]))
        im.putpalette(random.randbytes(768))
        return im
    n = len(Image.new(mode, (1, 1)).tobytes())
    return Image.frombytes(mode, size, random.randbytes(n * size[0] * size[1]))
def want(name, im):
    if im.mode in ("1", "P", "RGBA", "CMYK"):
        im = im.convert("L" if im.mode == "1" else "RGB")
    size, data = im.size, im.tobytes()
    n = 1 if im.mode == "I;16" else len(im.getbands())
    if n > 1:
        data = b"".join(bytes(data[c::n]) for c in range(n))
    with open(f"pil/{name}.want", "w") as out:
        out.write(f"{data.hex()}\n")
count = 0
for mode in "1", "L", "P", "RGB", "RGBA", "I;16":
    for size in (1, 1), (33, 17), (200, 3):
        im = picture(mode, size)
        for compression in None, "tiff_lzw", "tiff_adobe_deflate", "packbits", "group4":
            if (compression == "group4") != (mode == "1" and compression is not None):
                continue
            name = f"t{count}"
            count += 1
            im.save(f"pil/{name}.tiff", compression=compression)
            want(name, im)
        if mode in ("RGB", "RGBA", "L") :
            for options in dict(lossless=True, exact=True), dict(quality=70):
                name = f"w{count}"
                count += 1
                im.save(f"pil/{name}.webp", **options)
                want(name, Image.open(f"pil/{name}.webp"))
END
if ! "$python" make.py 2>"$err"; then
	is "Pillow writes files" "$(cat "$err")" ""
	finish
	exit 0
fi
check "Pillow's files" 0 cachex import pil pil --dtype u8 -q
check "with all bits" 0 cachex import pil16 pil --dtype u16 -q
wrong=
for file in pil/*.want; do
	id=$(basename "$file" .want)
	module=pil bytes=$(wc -c <"$file")
	cachex get pil "$id" --format raw >got.raw
	# Of 16 bits there are twice as many bytes.
	[ $((2 * $(wc -c <got.raw) + 1)) = "$bytes" ] || {
		module=pil16
		cachex get $module "$id" --format raw >got.raw
	}
	[ "$(od -An -v -tx1 got.raw | tr -d ' \n')" = "$(cat "$file")" ] || wrong="$wrong $id"
done
is "have Pillow's pixels: $(ls pil/*.want | wc -l) files" "$wrong" ""
finish
