#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# read: what it prints and writes, what readers see together, and where it goes on.
. "${srcdir:-.}/t/support/tap.sh"

words() { tr '\n' ' ' <"$out"; }
# The next example of a token file.
example_of() { od -An -t u8 -j 64 -N 8 "$1" | tr -d ' '; }
python=
for name in /usr/bin/python3 python3; do
	"$name" -c 'import numpy' 2>/dev/null && python=$name && break
done

# A module of eight chunks of five records: chunk N has N0 to N4, whose bytes are that.
for c in 0 1 2 3 4 5 6 7; do
	for i in 0 1 2 3 4; do
		echo "{\"id\":\"$c$i\",\"dtype\":\"u8\",\"shape\":[2],\"data\":\"$(printf %s "$c$i" | base64)\"}"
	done | cachex load m -q -
done

# Lists
check "in order" 0 cachex read m --batch 16
is "forty lines" "$(wc -l <"$out" | tr -d ' ')" 40
is "the first and the last" "$(sed -n '1p;16p;17p;$p' "$out")" \
"0   0  0  00
0  15  0  30
1  16  0  31
2  39  0  74"
cachex ls m --ids --order commit >ids
check "ids" 0 cachex read m -1
also "as ls lists them" cmp ids "$out"
check "ids ended by NUL" 0 cachex read m -z --limit 2
is "by NUL" "$(tr '\0' '!' <"$out")" "00!01!"
check "JSON" 0 cachex read m --json --limit 3 --batch 2
is "a line each" "$(cat "$out")" \
'{"batch":0,"row":0,"example":0,"epoch":0,"id":"00"}
{"batch":0,"row":1,"example":1,"epoch":0,"id":"01"}
{"batch":1,"row":0,"example":2,"epoch":0,"id":"02"}'
check "some batches" 0 cachex read m -1 --batch 4 --batches 2-3
is "from 8 on" "$(words)" "13 14 20 21 22 23 24 30 "
check "from one on" 0 cachex read m -1 --batch 4 --batches 9-
is "to the end" "$(words)" "71 72 73 74 "
check "so many" 0 cachex read m -1 --batch 4 --batches 1
is "from the beginning" "$(words)" "00 01 02 03 "
check "no batch" 0 cachex read m -1 --batches 0
is "nothing" "$(cat "$out")" ""
check "epochs" 0 cachex read m --batch 30 --epochs 2
is "are numbered on" "$(sed -n '41p' "$out")" "1  40  1  00"
check "for ever" 0 cachex read m -1 --batch 8 --epochs inf --batches 100-100
is "as far as is asked" "$(words)" "00 01 02 03 04 10 11 12 "
check "R*" 0 cachex read m -1 --idealised 2 --limit 8
is "takes turns" "$(words)" "00 10 01 11 02 12 03 13 "
check "windows" 0 cachex read m --window 16 --batch 2
is "have lengths" "$(cat "$out")" \
"0  0  0  16  00
0  1  0  16  31
1  2  0   8  62"
check "without the short one" 0 cachex read m --window 16 --drop-short -1
is "have none" "$(words)" "00 31 "
check "with a stride" 0 cachex read m --window 16 --stride 12 -1
is "overlap" "$(words)" "00 22 44 "
check "a mixture" 0 cachex read m --mix m=3 --mixture-block 8 --batch 8 --batches 1
is "names the source" "$(awk '{ print $4 }' "$out" | sort -u)" m
check "shuffled" 0 cachex read m -1 --shuffle full --seed 3
cp "$out" shuffled
also "is not in order" sh -c '! cmp -s "$1" ids' sh "$out"
sort "$out" >sorted
also "but all of it" cmp sorted ids
check "by another seed" 0 cachex read m -1 --shuffle full --seed 4
also "is another one" sh -c '! cmp -s "$1" shuffled' sh "$out"

# R readers see what one sees
many() { # NAME OPTION...: lines of all R for R = 1..5, and of both splits
	label=$1; shift
	cachex read m --json "$@" | sed 's/"row":[0-9]*,//' >one
	for readers in 2 3 4 5; do
		for split in strided contiguous; do
			r=0
			while [ $r -lt $readers ]; do
				cachex read m --json --reader $r/$readers --share $split "$@"
				r=$((r + 1))
			done | sed 's/"row":[0-9]*,//; s/.*"example":\([0-9]*\),.*/\1 &/' |
				sort -n | sed 's/[0-9]* //' >all
			holds "$label, $readers readers, $split" cmp one all
		done
	done
}
many "in order" --batch 7
many "shuffled" --shuffle full --batch 16 --seed 9 --epochs 3
many "in blocks" --shuffle block --block 3 --spread 2 --batch 11
many "eras" --shuffle era --block 2 --spread 2 --era-first 4 --era-max 16 --batch 4
many "R*" --idealised 3 --limit 200 --batch 13
many "windows" --window 6 --stride 5 --batch 3
many "a mixture" --mix m=2 --limit 150 --batch 8 --seed 2

# Readers of shares: the same examples, each reader the same chunks in all epochs
shares="--shuffle block --shares 4 --spread 2 --batch 8 --seed 3"
cachex read m --json $shares --epochs 3 | sed 's/"row":[0-9]*,//' >one
is "each three times" "$(sed 's/.*"id":"\(.*\)".*/\1/' one | sort | uniq -c | awk '{ print $1 }' | sort -u)" 3
for readers in 2 4; do
	r=0
	while [ $r -lt $readers ]; do
		cachex read m --json $shares --epochs 3 --reader $r/$readers >of
		cat of >&3
		for e in 0 1 2; do
			grep "\"epoch\":$e," of | sed 's/.*"id":"\(.\).*/\1/' | sort -u | tr '\n' ' '
			echo
		done | sort -u >chunks
		is "reader $r/$readers stays with its chunks" "$(wc -l <chunks | tr -d ' ')" 1
		is "as plan says" "$(wc -w <chunks | tr -d ' ')" \
			"$(cachex plan m $shares --readers $readers |
				awk -v r=$r '$1 == r { print $2 }')"
		r=$((r + 1))
	done 3>parts
	sed 's/"row":[0-9]*,//; s/.*"example":\([0-9]*\),.*/\1 &/' parts | sort -n | sed 's/[0-9]* //' >all
	holds "shares, $readers readers" cmp one all
done
check "a token of shares" 0 cachex read m -1 $shares --batches 2 --token-file shares.token
cachex read m -1 $shares --epochs 1 >ids3
tail -n +17 ids3 >rest
check "goes on" 0 cachex read m -1 $shares --token-file shares.token --reader 0/1
also "where it was" cmp rest "$out"
wrong "another C" 3 "cachex: read: shares.token: is of 4 shares, the stream has 2; give the options that it was written with; --restart starts again" \
	cachex read m -1 --shuffle block --shares 2 --spread 2 --batch 8 --seed 3 --token-file shares.token
wrong "another W" 3 "cachex: read: shares.token: is of shares in windows of 2 chunks, the stream's are of 3; give the options that it was written with; --restart starts again" \
	cachex read m -1 --shuffle block --shares 4 --spread 3 --batch 8 --seed 3 --token-file shares.token
wrong "readers that do not divide them" 2 "cachex: read: reader: 4 shares are not a multiple of 3 readers" \
	cachex read m -1 $shares --reader 0/3

# Hashes add up
plus() {
	low=$((0x${1#????????} + 0x${2#????????}))
	high=$((0x${1%????????} + 0x${2%????????} + (low >> 32)))
	printf '%08x%08x' $((high & 0xffffffff)) $((low & 0xffffffff))
}
cachex read m --sum --shuffle block --block 2 --batch 9 >whole
for readers in 2 3 4; do
	sum=0000000000000000
	r=0
	while [ $r -lt $readers ]; do
		part=$(cachex read m --sum --shuffle block --block 2 --batch 9 \
			--reader $r/$readers --batches 2-2 | awk '{ print $3 }')
		sum=$(plus $sum "$part")
		r=$((r + 1))
	done
	is "hashes of $readers readers add up" "$sum" "$(awk '$1 == 2 { print $3 }' whole)"
done
check "of any threads" 0 cachex read m --sum --shuffle block --block 2 --batch 9 -j 0
also "they are the same" cmp whole "$out"
check "as JSON" 0 cachex read m --sum --batch 32 --json
is "an object a batch" "$(sed 's/"sum":"[0-9a-f]*"/"sum":S/' "$out")" \
'{"batch":0,"first":0,"rows":32,"examples":32,"sum":S}
{"batch":1,"first":32,"rows":32,"examples":8,"sum":S}'
# A record's hash does not depend on the others in its batch: rags.
for i in 1 2 3 4; do
	echo "{\"id\":\"r$i\",\"dtype\":\"u8\",\"shape\":[$i],\"data\":\"$(printf "%.${i}s" abcd | base64)\"}"
done | cachex load rags -q -
sum=0000000000000000
for part in $(cachex read rags --sum --batch 1 | awk '{ print $3 }'); do sum=$(plus $sum "$part"); done
is "hashes of rags add up" "$sum" "$(cachex read rags --sum | awk '{ print $3 }')"

# Files
check "--npy" 0 cachex read m --npy n --batch 16
is "names the files" "$(words)" "n/batch-00000000.npy n/batch-00000001.npy n/batch-00000002.npy "
is "a mask where there is padding" "$(ls -A n | tr '\n' ' ')" \
	"batch-00000000.npy batch-00000001.npy batch-00000002.mask.npy batch-00000002.npy "
is "the bytes" "$(tail -c 32 n/batch-00000001.npy)" "31323334404142434450515253546061"
is "padding is zero" "$(tail -c 32 n/batch-00000002.npy | tr '\0' '-')" "6263647071727374----------------"
is "the mask" "$(tail -c 16 n/batch-00000002.mask.npy | tr '\0\1' '01')" "1111111100000000"
is "the shape" "$(head -c 128 n/batch-00000002.npy | grep -aow "(16, 2)")" "(16, 2)"
wrong "files that are there" 2 "cachex: read: n/batch-00000000.npy: exists; -f replaces it" \
	cachex read m --npy n --batch 16
check "but with -f" 0 cachex read m --npy n --batch 16 -f -q
is "in silence" "$(cat "$out")" ""
check "of windows" 0 cachex read m --npy w --window 16 --batch 2 --documents --json
is "as JSON" "$(cat "$out")" \
'{"batch":0,"file":"w/batch-00000000.npy","rows":2,"examples":2}
{"batch":1,"file":"w/batch-00000001.npy","rows":2,"examples":1}'
is "what belongs to windows" "$(ls w | sed -n 's/batch-00000001.//p' | tr '\n' ' ')" \
	"documents.npy lengths.npy mask.npy npy positions.npy "
check "of rags" 0 cachex read rags --npy r
is "with offsets" "$(ls r | tr '\n' ' ')" "batch-00000000.mask.npy batch-00000000.npy batch-00000000.offsets.npy "
is "one behind the other" "$(tail -c 10 r/batch-00000000.npy)" "aababcabcd"
cachex get m 01 -o a.npy
cachex get rags r3 -o c.npy
cachex put two x --field a=a.npy --field 'b/c=c.npy'
check "of several fields" 0 cachex read two --npy t --batch 1
is "a directory" "$(cat "$out")" "t/batch-00000000"
is "with a file each" "$(ls t/batch-00000000 | tr '\n' ' ')" "a.npy b%2Fc.npy "
is "of all rows" "$(tail -c 3 t/batch-00000000/b%2Fc.npy)" abc
check "one of them" 0 cachex read two --npy t1 --batch 1 --field a
is "is a file" "$(cat "$out")" "t1/batch-00000000.npy"
check "a field that is not there" 3 cachex read two --sum --field z
also "names the record" grep -q "'x'" "$err"
printf 'xx' | cachex put half a --dtype bf16 --shape 1
wrong "bf16" 3 "cachex: read: .npy has no bf16; use --bits" cachex read half --npy h
check "as bits" 0 cachex read half --npy h --bits -q

# Frames
check "frames" 0 cachex read m --frames --batch 16
is "begin so" "$(head -c 4 "$out")" CXF1
is "and end so" "$(tail -c 22 "$out" | tr -d '\0' | od -An -c | tr -d ' \n')" 'CXF1006201243end303'
if [ -n "$python" ]; then
	# The reader that the page shows.
	sed -n '/^import mmap/,/^\.Ed/p' "$srcdir/man/cachex-read.1" |
		sed '/^\.Ed/d; s/\\-/-/g; s/\\e/\\/g' >frames.py
	cat >show.py <<'END'
import sys
from frames import frames, ids
n = 0
for head, index, fields in frames(sys.stdin.buffer):
    assert len(head["token"]) == 96 and head["rows"] == len(index["mask"])
    open("token.%d" % head["batch"], "wb").write(head["token"])
    for row in range(head["rows"]):
        if index["mask"][row]:
            assert index["examples"][row] == n; n += 1
            value = fields["."][row].tobytes()
            assert value == ids(index)[row], (value, ids(index)[row])
            print(ids(index)[row].decode())
        else:
            assert not fields["."][row].any() and ids(index)[row] == b""
END
	cachex read m --frames --shuffle full --seed 3 --batch 16 | "$python" show.py >got 2>&1
	holds "frames have the records, in the same order" cmp got shuffled
	check "the token of a frame" 0 cachex read m -1 --shuffle full --seed 3 --batch 16 \
		--token-file token.0
	tail -n +17 shuffled >rest
	also "goes on behind it" cmp rest "$out"
	cat >npy.py <<'END'
import numpy as np
a = np.concatenate([np.load("n/batch-%08d.npy" % i) for i in range(3)])
print("".join(map(chr, a[:40].ravel())), a.dtype, a.shape)
d, p = np.load("w/batch-00000000.documents.npy"), np.load("w/batch-00000000.positions.npy")
print(d[1].tolist() == list(range(16)), p.any(), np.load("w/batch-00000001.lengths.npy").tolist())
print(np.load("r/batch-00000000.offsets.npy")[:5].tolist())
END
	"$python" npy.py >got 2>&1
	is "NumPy reads the files" "$(cat got)" \
"$(tr -d '\n' <ids) uint8 (48, 2)
True False [8, 0]
[0, 1, 3, 6, 10]"
	cachex read m --window 7 --documents --frames --batch 3 >windows
	cat >windows.py <<'END'
from frames import frames
for head, index, fields in frames(open("windows", "rb")):
    print(fields["."].shape, index["documents"][0].tolist(), index["positions"].shape,
          index["lengths"].tolist(), index["mask"].tolist())
END
	is "frames of windows" "$("$python" windows.py 2>&1)" \
"(3, 7, 2) [0, 1, 2, 3, 4, 5, 6] (3, 7) [7, 7, 7] [1, 1, 1]
(3, 7, 2) [0, 1, 2, 3, 4, 5, 6] (3, 7) [7, 7, 5] [1, 1, 1]"

	# Tensors in shared memory: the same frames, in order, also where little may be held.
	# What the tool holds stays as it is, and what was given back is used again.
	cat >shared.py <<'END'
import os, signal, socket, subprocess, sys
from frames import frames, ids, read_shared
args = ["m", "--shuffle", "full", "--seed", "3"]
whole = subprocess.Popen(["cachex", "read", *args, "--frames", "--batch", "3", "--epochs", "3"],
                         stdout=subprocess.PIPE)
expected = [(h["batch"], ids(i), i["mask"].tolist(), f["."].copy())
            for h, i, f in frames(whole.stdout)]
for how in ("--ahead=8", "--ahead=1", "--memory=1", "--threads=0"):
    got = [(h["batch"], ids(i), i["mask"].tolist(), f["."].copy())
           for h, i, f in read_shared(*args, "--batch", "3", "--epochs", "3", how)]
    assert len(got) == len(expected) == 40, len(got)
    for a, b in zip(got, expected):
        assert a[:3] == b[:3] and (a[3] == b[3]).all(), (how, a, b)

def start(*more, stdin=subprocess.PIPE):
    fd = os.memfd_create("batches", os.MFD_ALLOW_SEALING)
    tool = subprocess.Popen(["cachex", "read", *args, "--frames", "--shared", str(fd), *more],
                            stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            pass_fds=[fd])
    return fd, tool

# Nothing is given back: as many frames as --ahead lets be held, and they stay.
fd, tool = start("--batch", "4", "--ahead", "3")
stream = frames(tool.stdout, fd)
held = [next(stream) for _ in range(3)]
assert [h["batch"] for h, i, f in held] == [0, 1, 2]
for h, i, f in held:
    assert [row.tobytes() for row in f["."]] == ids(i)
size = os.fstat(fd).st_size
try:
    os.ftruncate(fd, 0)
    assert False, "it can shrink"
except PermissionError:
    pass
tool.stdin.write(b"xyz"); tool.stdin.flush()    # all three, and what they held is used again
more = [next(stream) for _ in range(3)]
assert os.fstat(fd).st_size == size, (os.fstat(fd).st_size, size)
tool.stdin.close()
assert tool.wait() == 4
print(tool.stderr.read().decode(), end="")

read_end, write_end = os.pipe()
os.write(write_end, b"x" * 100)
fd, tool = start("--batch", "4", stdin=read_end)
tool.stdout.read()
print(tool.wait(), tool.stderr.read().decode(), end="")

# A frame without its tensors is one write, also where it is longer than a page: this socket
# keeps writes apart.
fd = os.memfd_create("batches", os.MFD_ALLOW_SEALING)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
tool = subprocess.Popen(["cachex", "read", *args, "--frames", "--shared", str(fd), "--batch", "200"],
                        stdin=subprocess.PIPE, stdout=theirs, pass_fds=[fd])
theirs.close()
got = ours.recv(1 << 16)
assert len(got) == 16 + int.from_bytes(got[4:8], "little") + int.from_bytes(got[8:16], "little")
assert len(got) > 4096, len(got)
tool.stdin.close()
assert tool.wait() == 0

# A signal while it waits.
fd, tool = start("--batch", "4", "--ahead", "1")
next(frames(tool.stdout, fd))
tool.send_signal(signal.SIGTERM)
print(tool.wait())
END
	mkdir bin
	printf '#!/bin/sh\nexec "%s" "$@"\n' "$CACHEX" >bin/cachex
	chmod +x bin/cachex
	PATH=$PWD/bin:$PATH "$python" shared.py >got 2>&1
	is "tensors in shared memory" "$(cat got)" \
"cachex: read: standard input ended with 3 frames held; write a byte to return a frame
3 cachex: read: standard input returned 100 frames, but only 1 were held
143"
else
	skip "the reader of frames that the page shows" "no python3 with NumPy"
fi

# Tokens
check "a token file" 0 cachex read m -1 --batch 4 --batches 3 --token-file t.token
is "of so much" "$(words)" "00 01 02 03 04 10 11 12 13 14 20 21 "
is "96 bytes" "$(wc -c <t.token | tr -d ' ')" 96
is "the next example" "$(example_of t.token)" 12
cp t.token at12.token
check "goes on" 0 cachex read m -1 --batch 4 --token-file t.token
is "and says where" "$(cat "$err")" "cachex: read: t.token: continuing with batch 3"
tail -n +13 ids >rest
also "to the end" cmp rest "$out"
check "once it is finished" 0 cachex read m -1 --batch 4 --token-file t.token
is "there is nothing to do" "$(cat "$out" "$err")" \
	"cachex: read: t.token: all 10 batches have been read; --restart starts again"
check "a finished token and frames" 0 cachex read m --frames -q --batch 4 --token-file t.token
is "are the end" "$(tail -c 4 "$out" | head -c 3)" end
check "--restart" 0 cachex read m -1 --batch 4 --batches 1 --token-file t.token --restart
is "begins anew" "$(words)" "00 01 02 03 "
is "and says nothing" "$(cat "$err")" ""
is "the next one is" "$(example_of t.token)" 4
for readers in 2 3 5; do
	r=0
	while [ $r -lt $readers ]; do
		cp at12.token $r.token
		cachex read m -q --json --batch 4 --token-file $r.token --reader $r/$readers
		cmp -s $r.token t.token && echo "a token that did not move"
		r=$((r + 1))
	done | sed 's/.*"example":\([0-9]*\),.*"id":"\(.*\)"}/\1 \2/' | sort -n |
		sed 's/[0-9]* //' >all
	holds "goes on with $readers readers" cmp rest all
	cmp -s 0.token 1.token
	is "whose tokens are the same" $? 0
done
check "with larger batches" 0 cachex read m -1 -q --batch 12 --token-file at12.token
also "the same examples" cmp rest "$out"
printf ab >ab
check "appends" 0 cachex put m 80 ab --dtype u8 --shape 2
cachex read m -1 -q --batch 4 --batches 3 --token-file old.token >"$out"
check "a token from before them" 0 cachex put m 81 ab --dtype u8 --shape 2
check "stays good" 0 cachex read m -1 -q --batch 4 --token-file old.token
is "for what there was" "$(tail -n 1 "$out")" 80

# What is wrong with tokens
cachex read m -1 --batch 4 --batches 3 --token-file t.token --restart >"$out"
head -c 95 t.token >cut.token
wrong "a cut token" 3 "cachex: read: cut.token: is not a token, or is damaged; --restart starts again" \
	cachex read m --token-file cut.token
cp t.token flip.token
printf '!' | dd of=flip.token bs=1 seek=70 conv=notrunc 2>/dev/null
wrong "a damaged token" 3 "cachex: read: flip.token: is not a token, or is damaged; --restart starts again" \
	cachex read m --token-file flip.token
wrong "no token" 3 "cachex: read: ids: is not a token, or is damaged; --restart starts again" \
	cachex read m --token-file ids
cachex copy m other >"$out" 2>&1
wrong "another module's" 3 "cachex: read: t.token: does not belong to other; give its own source; --restart starts again" \
	cachex read other --batch 4 --token-file t.token
for option in "--seed 1" "--shuffle full" "--window 4" "--idealised 2"; do
	of="another order than this stream's"
	test "$option" = "--seed 1" && of="seed 0; the stream has 1"
	# shellcheck disable=SC2086
	wrong "another order, $option" 3 "cachex: read: t.token: is made for $of; give the options that it was written with; --restart starts again" \
		cachex read m --batch 4 --token-file t.token $option
done
check "a batch of another size" 2 cachex read m --batch 5 --token-file t.token
also "names the file" grep -q "^cachex: read: t.token: " "$err"
is "in a line" "$(wc -l <"$err" | tr -d ' ')" 1
cp t.token before.token
cachex rm -f m 00
wrong "a record less" 1 "cachex: read: t.token: records that were read have changed in m since; --restart starts again" \
	cachex read m --batch 4 --token-file t.token
also "none of these changed the file" cmp t.token before.token
wrong "no place for a token" 4 "cachex: read: none/t.token: No such file or directory" \
	cachex read m --batch 4 --token-file none/t.token
mkdir d.token
check "a token file that cannot be written" 4 cachex read m --batch 4 --token-file d.token --restart
wrong "batches and a token" 2 "cachex: read: --batches FIRST- and --token-file both give the first batch; use one of them" \
	cachex read m --batches 3-5 --token-file t.token

# Killed, and started again: what was written is never behind the token.
cachex load big -q - <<END
$(i=0; while [ $i -lt 40 ]; do echo "{\"id\":\"k$i\",\"dtype\":\"u8\",\"shape\":[1],\"data\":\"YQ==\"}"; i=$((i + 1)); done)
END
order="--shuffle full --seed 11 --epochs 100 --batch 5"
# shellcheck disable=SC2086
cachex read big -1 $order >full
if env --default-signal=INT true 2>/dev/null; then
	round=0
	for signal in KILL INT KILL TERM KILL; do
		round=$((round + 1))
		rm -f k.token k.out
		: >k.out
		# Random, of 4000 lines; another one each time.
		wanted=$(awk -v seed="$$$round" 'BEGIN { srand(seed); print int(rand() * 2500) }')
		# shellcheck disable=SC2086
		env --default-signal=INT,TERM "$CACHEX" read big -1 -q $order \
			--token-file k.token >>k.out 2>k.err &
		pid=$!
		while [ "$(wc -l <k.out)" -lt "$wanted" ] && kill -0 $pid 2>/dev/null; do :; done
		kill -$signal $pid 2>/dev/null
		wait $pid 2>/dev/null
		got=$?
		at=0
		[ -e k.token ] && at=$(example_of k.token)
		lines=$(wc -l <k.out | tr -d ' ')
		label="round $round, SIG$signal"
		holds "$label: the token is not ahead" test "$at" -le "$lines"
		case $signal:$got in
		INT:130 | TERM:143)
			is "$label: and not behind" "$at" "$lines" ;;
		KILL:137 | *:0)
			holds "$label: and a batch behind at most" test "$((lines - at))" -le 5 ;;
		*) is "$label: exit status" "$got" "that of the signal" ;;
		esac
		is "$label: nothing but how to go on" "$(grep -v "^cachex: read: stopped.*; the token file has the position; run the same command to continue$" k.err)" ""
		head -n "$at" full >want
		head -n "$at" k.out >have
		holds "$label: what it covers was written" cmp want have
		# Two and three readers go on, and one of them is stopped again.
		readers=$((round % 3 + 2))
		r=0
		while [ $r -lt $readers ]; do
			[ -e k.token ] && cp k.token k$r.token
			# shellcheck disable=SC2086
			cachex read big -q --json $order --reader $r/$readers --token-file k$r.token \
				--batches 7 --token-every 3
			# shellcheck disable=SC2086
			cachex read big -q --json $order --reader $r/$readers --token-file k$r.token \
				--token-every 100
			rm -f k$r.token
			r=$((r + 1))
		done | sed 's/.*"example":\([0-9]*\),.*"id":"\(.*\)"}/\1 \2/' | sort -n |
			sed 's/[0-9]* //' >rest
		tail -n +$((at + 1)) full >want
		holds "$label: $readers readers go on" cmp want rest
	done
	# Killed while it waits for the reader of a pipe that is full.
	mkfifo pipe
	# shellcheck disable=SC2086
	"$CACHEX" read big --json $order --token-file full.token >pipe &
	pid=$!
	exec 3<pipe
	at=-1
	same=0
	while [ $same -lt 20 ] && kill -0 $pid 2>/dev/null; do
		now=$(example_of full.token 2>/dev/null)
		[ -n "$now" ] && [ "$now" = "$at" ] && same=$((same + 1)) || same=0
		at=$now
	done
	kill -9 $pid
	wait $pid 2>/dev/null
	lines=$(wc -l <&3 | tr -d ' ')
	exec 3<&-
	at=$(example_of full.token) whole=$((lines / 5 * 5))
	# On a busy machine it may not have come to the end of the pipe, and be killed
	# between a batch and its token.
	holds "a full pipe: the token is not ahead of what went into it" test "$at" -le $whole
	holds "a full pipe: nor more than a batch behind" test $((whole - at)) -le 5
	# Files of batches that a killed run left are written again.
	rm -f k.token
	order="--shuffle full --seed 11 --epochs 5 --batch 5"
	# shellcheck disable=SC2086
	"$CACHEX" read big -q $order --npy k --token-file k.token &
	pid=$!
	while ! [ -e k/batch-00000020.npy ] && kill -0 $pid 2>/dev/null; do :; done
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	# shellcheck disable=SC2086
	check "files after a kill" 0 cachex read big -q $order --npy k --token-file k.token
	# shellcheck disable=SC2086
	cachex read big -q $order --npy whole.k
	rm -f k/*.tmp.*
	also "are as in one run" diff -r k whole.k
else
	skip "killed runs" "env has no --default-signal"
fi

# A closed pipe
rm -f p.token
{ # shellcheck disable=SC2086
  "$CACHEX" read big --sum --shuffle full --epochs inf --batch 1 --token-file p.token 2>p.err
  echo $? >p.status; } | head -n 3 >p.out
is "a closed pipe" "$(cat p.status)" 141
is "in silence" "$(cat p.err)" ""
is "after what was taken" "$(wc -l <p.out | tr -d ' ')" 3
check "frames to a file" 0 cachex read big --frames --batches 1

# Shards
cachex export -q other shards --shard-size 4K
check "shards" 0 cachex read ./shards -1
cachex ls other --ids --order commit >ids
also "have the records" cmp ids "$out"
check "in the same order" 0 cachex read ./shards -1 --shuffle full --seed 3 --field image
cachex read other -1 --shuffle full --seed 3 >"$scratch/there"
also "as the module" cmp there "$out"
check "with a token" 0 cachex read ./shards -1 --batch 8 --batches 2 --token-file s.token
check "that is good" 0 cachex read ./shards -1 -q --batch 8 --token-file s.token
is "to the end" "$(tail -n 1 "$out")" "$(tail -n 1 ids)"
one=$(ls shards/*.twh1 | tail -n 1)
check "one shard" 0 cachex read "$one" -1
is "has the last ones" "$(tail -n 1 "$out")" "$(tail -n 1 ids)"
cp -r shards hurt
last=$(ls hurt/*.twh1 | tail -n 1)
offset=$(cachex shard inspect "$last" --json | sed 's/.*"image_offset":\([0-9]*\).*/\1/')
printf '!' | dd of="$last" bs=1 seek="$offset" conv=notrunc 2>/dev/null
check "damage" 3 cachex read ./hurt --sum --batch 1
is "is told of in a line" "$(wc -l <"$err" | tr -d ' ')" 1
good=$(wc -l <"$out" | tr -d ' ')
check "and passed over" 3 cachex read ./hurt --sum --batch 1 --keep-going
also "where that is asked for" test "$(wc -l <"$out")" -ge "$good"
check "or not looked for" 0 cachex read ./hurt --sum --batch 1 --verify never
check "looked for each time" 3 cachex read ./hurt --sum --batch 1 --verify always
check "or once, as by default" 3 cachex read ./hurt --sum --batch 1 --verify once
check "which are all" 2 cachex read ./hurt --sum --verify twice
is "as is said" "$(head -n 1 "$err")" \
	"cachex: read: --verify: 'twice' is not one of never|always|once"

# Statistics
check "statistics" 0 cachex read other --sum --stats --json
is "on standard error" "$(sed 's/:[0-9.e+-]*/:N/g' "$err")" \
'{"batches":N,"examples":N,"bytes":N,"stored_bytes":N,"reads":N,"runs":N,"chunks":N,"directory_hits":N,"directory_misses":N,"wait_ns":N,"work_ns":N,"buffer_bytes":N,"seconds":N}'
also "of what was read" grep -q '"batches":1,"examples":42,"bytes":512,' "$err"
check "as text" 0 cachex read other --sum --stats
also "too" grep -q '^  examples           42$' "$err"
check "progress" 0 cachex read other -1 --progress
also "with a rate" grep -q '^read: 1 of 1, .*examples/s' "$err"

# Options
wrong "no such module" 1 "cachex: read: no module nothing in $XDG_CACHE_HOME/cachex, and no file or directory of that name" \
	cachex read nothing
check "no such path" 4 cachex read ./gone
wrong "no such batch" 1 "cachex: read: no batch 9; the last of other is 0" \
	cachex read other --batches 9-
wrong "no batches" 2 "cachex: read: --batches: '5-3' is neither FIRST-LAST nor FIRST- nor a COUNT" \
	cachex read other --batches 5-3
wrong "no reader" 2 "cachex: read: --reader: '2' is not r/R, such as 0/4" cachex read other --reader 2
wrong "a reader too many" 2 "cachex: read: --reader: '4/4': readers of 4 are numbered from 0" \
	cachex read other --reader 4/4
wrong "epochs of a mixture" 2 "cachex: read: --epochs: a mixture has no end; limit the number of examples with --limit" \
	cachex read other --mix other --epochs 2
wrong "epochs of idealised readers" 2 "cachex: read: --epochs: an order of idealised readers has no end; limit the number of examples with --limit" \
	cachex read other --idealised 2 --epochs 1
wrong "shared memory of nothing" 2 "cachex: read: --shared needs --frames" \
	cachex read m --shared 5
wrong "shared memory that is standard output" 2 \
	"cachex: read: --shared: 1 is not the number of a descriptor above 2" \
	cachex read m --frames --shared 1
wrong "shared memory that is not there" 2 \
	"cachex: read: --shared: descriptor 77: Bad file descriptor" \
	cachex read m --frames --shared 77
wrong "shared memory that is a pipe" 2 \
	"cachex: read: --shared: descriptor 7 is not memory or a file that is open for reading and writing" \
	sh -c 'true | "$0" read m --frames --shared 7 7<&0' "$CACHEX"
echo kept >full
wrong "shared memory with something in it" 2 \
	"cachex: read: --shared: the file of descriptor 7 is not empty" \
	sh -c '"$0" read m --frames --shared 7 7<>full' "$CACHEX"
is "it is kept" "$(cat full)" kept
wrong "two forms" 2 "cachex: read: only one of --ids or --null, --sum, --frames and --npy may be given" \
	cachex read other --sum -1
wrong "--bits of nothing" 2 "cachex: read: --bits needs --npy" cachex read other --bits
wrong "--restart of nothing" 2 "cachex: read: --restart needs --token-file" cachex read other --restart
check "an order that contradicts itself" 2 cachex read other --idealised 2 --epochs 3
is "is a line" "$(wc -l <"$err" | tr -d ' ')" 1
check "documents without windows" 2 cachex read other --documents --sum
check "variables" 0 env CACHEX_READ_BATCH=4 CACHEX_READ_BATCHES=1 CACHEX_READ_IDS=1 "$CACHEX" read other
is "are options" "$(words)" "$(head -n 4 ids | tr '\n' ' ')"
if command -v script >/dev/null 2>&1; then
	script -qec "'$CACHEX' read other --frames" /dev/null >"$out" 2>&1 </dev/null
	is "a terminal" $? 2
	also "is no pipe" grep -q 'standard output is a terminal' "$out"
else
	skip "frames to a terminal" "no script(1)"
fi
finish
