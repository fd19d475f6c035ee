#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# view: pages about whole modules, and their lists.
. "${srcdir:-.}/t/support/tap.sh"

is_png() { [ "$(od -An -tx1 -N8 "$1" | tr -d ' \n')" = 89504e470d0a1a0a ]; }
is_svg() { head -c 5 "$1" | grep -qx '<?xml' && tail -n 1 "$1" | grep -qx '</svg>'; }
is_pdf() { head -c 5 "$1" | grep -qx '%PDF-'; }
bytes() { head -c "$1" /dev/zero; }

bytes 64 | cachex put store a --dtype u8 --shape 64
cachex view store a -n >/dev/null 2>unable
if grep -qE 'without cairo|no font' unable; then
	skip "pictures" "$(cat unable)"
	finish
	exit 0
fi

# Chunks: a commit each, the first one replaced
cachex set store auto-compact=off -q
bytes 4000 | cachex put store b --dtype u8 --shape 4000
bytes 64 | cachex put store a --dtype u8 --shape 64
check "a list of chunks" 0 cachex view --chunks store -l
is "has their records and bytes" "$(cut -f 1-5 "$out")" "$(printf '%s\n' \
	"1	1	0	128	0" "2	1	1	4096	4096" "3	1	1	128	128")"
is "no read is recorded" "$(cut -f 7 "$out" | sort -u)" 0
check "as JSON" 0 cachex view --chunks store -l --json
is "a line is an object" "$(sed 's/,"time_ms".*//' "$out" | head -n 1)" \
	'{"chunk":1,"records":1,"live":0,"bytes":128,"live_bytes":0'
for format in png svg pdf; do
	check "a map of chunks as $format" 0 cachex view --chunks store -o "chunks.$format"
	also "is $format" is_$format "chunks.$format"
done
check "narrow, with its numbers" 0 cachex view --chunks store -o narrow.svg --side 360 --json
is "in JSON" "$(sed 's/,"picture_height.*//' "$out")" \
	'{"kind":"chunks","module":"store","chunks":3,"records":3,"live":2,"bytes":4352,"live_bytes":4224,"damaged":0,"reads":false,"picture_width":360'
for text in store '2 records in 3 chunks of 4.25 KiB, 2.94 % dead' 'Chunks by their size' \
	'Bytes by last read'; do
	also "with the text $text" grep -qF ">$text</text>" narrow.svg
done
check "the list and the picture" 0 cachex view --chunks store -l -o both.png
is "are both made" "$(wc -l <"$out" | tr -d ' ') $(is_png both.png && echo png)" "3 png"
refuse "too narrow" 2 "cachex: view: --side 359: a page of charts needs at least 360 pixels" \
	cachex view --chunks store -n --side 359
refuse "with a cell" 2 "cachex: view: only -l and --side apply to --chunks" \
	cachex view --chunks store -n --cell 100
refuse "two modules" 2 "cachex: view: --chunks needs one operand, MODULE" \
	cachex view --chunks store store -n
refuse "a list of a sheet" 2 "cachex: view: -l needs --chunks" cachex view store -l
refuse "the list and the picture in one stream" 2 \
	"cachex: view: the list and the picture would both go to standard output; use -o FILE" \
	cachex view --chunks store -l -o -
check "a module that is not there" 1 cachex view --chunks nothing -n
cachex rm store a b -f -q
cachex set store auto-compact=on -q
cachex compact store -q
refuse "a module without chunks" 1 "cachex: view: there are no chunks" \
	cachex view --chunks store -n
finish
