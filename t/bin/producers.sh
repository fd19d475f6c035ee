#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The producers in examples/, byte by byte and run by cachex fill.
# shellcheck disable=SC2016 # $tensor is what it looks like, and sh -c has parameters
. "${srcdir:-.}/t/support/tap.sh"

in_c=$builddir/examples/producer in_python="$srcdir/examples/producer.py"

hex() { od -An -v -tx1 | tr -d ' \n'; }

# {"batch": 5, "items": [{"id": "a", "text": "hi"}, {"id": bytes 0xff}]}
printf '\044\0\0\0\202\245batch\005\245items\222' >request
printf '\202\242id\241a\244text\242hi\201\242id\304\001\377' >>request
is "the request has the length that it says" "$(wc -c <request)" 40

# {"batch": 5, "results": [{"id": "a", "value": {"$tensor": TYPE, "data":
answer() { printf '\202\245batch\005\247results\222\202\242id\241a\245value\202\247$tensor'; }

{ printf '\134\0\0\0'; answer; printf '\246u16[3]\244data\304\006h\0i\0\0\001'
    printf '\202\242id\304\001\377\245error\264the item has no text'; } >expected
cat request request >requests
cat expected expected >answers
check "the producer in C takes requests" 0 sh -c '"$1" <requests >got' - "$in_c"
is "and answers them" "$(hex <got)" "$(hex <answers)"
check "without a request it ends" 0 "$in_c"

# Lines that are not like one another.
seq 1 300 | sed 's/.*/& lines of text, for instance/' >lines.txt
check "cachex fill runs it" 0 cachex fill -q --root root tokens --from lines.txt \
    -j 2 -b 16 --exec "$in_c"
is "every line has its tokens" "$(cachex get --root root tokens lines.txt:41 --format npy |
    tail -c 62 | hex)" "$(printf '42 lines of text, for instance' | hex |
    sed 's/../&00/g')0001"
check "all of them" 0 cachex ls --root root -1 tokens
is "are there" "$(wc -l <"$out")" 300

for python in "${PYTHON:-python3}" python3 /usr/bin/python3; do
	"$python" -c 'import msgpack, numpy' 2>"$err" && break
	python=
done
if [ -n "$python" ]; then
	check "the producer in Python takes requests" 0 \
	    sh -c '"$1" "$2" <requests >got' - "$python" "$in_python"
	{ answer; printf '\254float32[256]\244data\305\004\0'
	    head -c 416 /dev/zero; printf '\0\0\200?\0\0\200?'; head -c 600 /dev/zero
	    printf '\202\242id\304\001\377\245value\202\247$tensor\254float32[256]'
	    printf '\244data\305\004\0'
	    head -c 1020 /dev/zero; printf '\0\0\200?'; } >expected
	{ printf '\146\010\0\0'; cat expected; } >answer
	cat answer answer >answers
	is "and answers them" "$(hex <got)" "$(hex <answers)"
	check "cachex fill runs it" 0 cachex fill -q --root root bytes --from lines.txt \
	    -j 2 --expect 'f32[256]' --exec "exec $python $in_python"
	cachex get --root root bytes lines.txt:41 --format npy | tail -c 1024 |
	    od -An -v -w4 -tf4 | tr -d ' ' | sort | uniq -c | tr -s ' ' >counts
	is "the bytes of a line are counted" "$(cat counts)" "$(
	    { printf '42 lines of text, for instance' | fold -w 1 | sort | uniq -c |
		awk '{ print $1 }'; yes 0 | head -n 240; } | sort | uniq -c | tr -s ' ')"

	# Each kind of item that there is: COUNT BYTE of what a record was made of.
	counted() {
		cachex get --root root "$1" "$2" --format npy | tail -c 1024 |
		    od -An -v -w4 -tf4 | awk '$1 > 0 { printf "%d %d\n", $1, NR - 1 }'
	}
	bytes_of() { od -An -v -w1 -tu1 | sort -n | uniq -c | awk '{ print $1, $2 }'; }
	take() { # MODULE ARGUMENT...
		module=$1; shift
		check "items: $module" 0 cachex fill -q --root root "$module" \
		    --expect 'f32[256]' --exec "exec $python $in_python" "$@"
	}
	printf 'one\n\n\377\376 not UTF-8\n' >texts.txt
	take text --from texts.txt
	is "a line" "$(counted text texts.txt:0)" "$(printf one | bytes_of)"
	is "an empty one" "$(counted text texts.txt:1)" ""
	is "one that is not UTF-8" "$(counted text texts.txt:2)" \
	    "$(printf '\377\376 not UTF-8' | bytes_of)"
	printf '%s\n' '{"id": "a", "caption": "caf\u00e9", "n": [1, 2]}' '{"id": 7}' >records.jsonl
	take json --from records.jsonl --id-field id
	is "a line of JSON" "$(counted json a)" "$(sed 1q records.jsonl | tr -d '\n' | bytes_of)"
	is "another one" "$(counted json 7)" "$(printf '{"id": 7}' | bytes_of)"
	printf '\0\001\002\377' >one.bin
	: >empty.bin
	mkdir sub; printf 'three' >"sub/t wo.bin"
	printf '%s\n' one.bin empty.bin "sub/t wo.bin" >files.list
	take files --from files.list --kind files --id '{stem}'
	is "a file" "$(counted files one)" "$(bytes_of <one.bin)"
	is "an empty file" "$(counted files empty)" ""
	is "one in a directory" "$(counted files 't wo')" "$(bytes_of <"sub/t wo.bin")"
	printf 'id-1\0\377\0' >ids.list
	take ids --ids ids.list -z
	is "a cache_id" "$(counted ids id-1)" "$(printf id-1 | bytes_of)"
	is "all of these" "$(cachex ls --root root -1 ids | wc -l | tr -d ' ')" 2
	printf '{"image_path": "x.jpg", "width": 8, "height": 8, "dinov3_embedding": null}\n' >m.jsonl
	check "items: migrate" 0 cachex migrate -q stage2 m.jsonl --out root --shape 256 \
	    --encoder "dinov3=exec $python $in_python"
	is "a record" "$(cachex ls --root root dinov3)" "x  f32[256]  1.00 KiB"
else
	skip "the producer in Python" "no python3 with msgpack and numpy"
fi

# What cachex-producer(5) shows is what is installed.
sed -n "/^\\$ cat >producer.py/,/^> END/p" "$srcdir/man/cachex-producer.5" |
    sed '1d; $d; s/^> //; s/\\&//; s/\\(aq/'"'"'/g; s/\\e/\\/g' >shown
is "the page shows it" "$(cat shown)" "$(grep -v '^#' "$in_python")"
finish
