#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# report: what the page of a module says.
. "${srcdir:-.}/t/support/tap.sh"

root=$XDG_CACHE_HOME/cachex
report() { cachex report "$@"; }
# The page as text, with | between the cells of a row.
text() { sed '/<style>/,/<\/style>/d; s/<\/t[dh]> *<t[dh][^>]*>/|/g; s/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g' "$1"; }
# says FILE LINE: a line of its text
says() { text "$1" | grep -Fx -- "$2" >/dev/null || { text "$1" | grep -F -- "${2%%|*}"; false; }; }

# 40 records of a/ and 10 of b:, with a tensor, a label and a score that every other one lacks.
i=0
while [ $i -lt 50 ]; do
	[ $i -lt 40 ] && key=a/$i label=cat || { key=b:$i label='d&g'; }
	score=", \"score\": $i"
	[ $((i % 2)) = 0 ] && score=
	echo "{\"id\": \"$key\", \"v\": [$i, 100, -7], \"label\": \"$label\"$score}"
	i=$((i + 1))
done >records.jsonl
check "records" 0 cachex load many records.jsonl --id-field id -q
check "a page" 0 report many -o page.html
is "says nothing else" "$(cat "$out" "$err")" ""
is "begins as one" "$(head -n 1 page.html)" "<!DOCTYPE html>"
also "is named" says page.html many
is "counts" "$(sed -n 's/^<li><b>\([^<]*\)<\/b><span>\([a-z ]*\)<.*/\1 \2/p' page.html | grep -E '^[0-9]+ (records|structures|chunk)$')" \
	"50 records
2 structures
1 chunk"
also "a tensor" says page.html "v|i64[3]|50|0|-7|100|39.167|45.663|0|0"
also "a number that some lack" says page.html "score|integer|25|25|1|49|25|14.422|0|0"
also "a text" says page.html "label|string 3 bytes|50|0||||||"
also "how often each comes" says page.html "cat|40|"
also "escaped" grep -q '<bdi class="id">d&amp;g</bdi></td><td class="n">10<' page.html
also "prefixes" says page.html "a/|40|80.0 %|$(text page.html | sed -n 's/^a\/|40|80.0 %|\([^|]*\)|$/\1/p')|"
also "structures" says page.html \
	"{id: plain, v: i64[*], label: plain}|25|600 B|600 B|1.00|none 25"
also "all were read" grep -q 'All records were read' page.html
also "without damage" says page.html \
	"No damage in the 50 records that were read for this page, with their checksums; not all was verified (--verify)."
also "settings" says page.html "codec|none"
also "puts" says page.html "puts|50"
also "of one size" says page.html "Every record has 192 B as stored."
is "plots" "$(grep -c '<svg ' page.html)" 3
is "bins of whole numbers" "$(grep -c '49 to 50: 1 numbers (4.0 %)' page.html)" 1
is "no inputs" "$(grep -c '<h2>Inputs' page.html)" 0
also "no script" sh -c '! grep -qi "<script" page.html'
check "the same bytes" 0 report many -o -
also "again" cmp page.html "$out"
check "by the shell" 0 sh -c "echo 'report many -o shell.html' | '$CACHEX' shell --bail"
also "the same" cmp page.html shell.html
refuse "a file that exists" 2 "cachex: report: page.html: exists; -f replaces it" \
	report many -o page.html
check "-f" 0 report many -o page.html -f
check "--json" 0 report many -o page.html -f --json
is "says what was read" "$(cat "$out")" \
	'{"module":"many","records":50,"samples":50,"damaged":0,"verified":false,"page":"page.html"}'
refuse "without a page" 2 "cachex: report: name the page with -o FILE" report many
check "--json and the page" 2 report many -o - --json
also "would both go to standard output" grep -q 'name a file' "$err"
check "no module" 1 report none -o none.html
also "nothing is written" test ! -e none.html

# Some of many
check "--samples" 0 report many -o some.html --samples 10 --thumbnails 3
also "says how many" grep -q 'of all records, values and pictures of 10 records, spread evenly' some.html
also "of them" says some.html "v|i64[3]|10|0|-7|100|39.833|45.451|0|0"
also "keys are of all" says some.html "cat|8|"
is "examples" "$(grep -c '^<figure><\(img\|pre\)' some.html)" 3
check "--thumbnails 0" 0 report many -o none.html --thumbnails 0
is "none" "$(grep -c '^<figure><\(img\|pre\)' none.html)" 0

# Keys and values of any bytes; NaN and infinity
hostile=$(printf '<script>alert(1)</script>\377"&')
printf '\0\0\300\177\0\0\200\177\0\0\200\377\0\0\200\077' >odd.raw
check "an odd key" 0 cachex put odd "$hostile" odd.raw --dtype f32 --shape 4
check "its page" 0 report odd -o odd.html --verify
also "counts what is not finite" says odd.html "the record|f32[4]|1|0|-inf|inf|NaN|NaN|1|2"
also "shows it escaped" grep -q '&lt;script&gt;alert(1)&lt;/script&gt;�&quot;&amp;</bdi>' odd.html
also "no script" sh -c '! grep -qi "<script" odd.html'
also "is verified" grep -q '<b class="good">Verified</b>: 1 records in 1 chunks' odd.html
check "no records" 0 sh -c "echo 'a' >one; '$CACHEX' put empty k one --dtype u8 --shape 2 && '$CACHEX' rm -f empty k && '$CACHEX' report empty -o empty.html"
also "says so" grep -q '<li><b>0</b><span>records<' empty.html

# Maps: of the chunks, and of vectors of at least eight floats, if there are 50
cachex view many --chunks -n >/dev/null 2>unable
if grep -qE 'without cairo|no font' unable; then
	skip "maps" "$(cat unable)"
else
	awk 'BEGIN { for (i = 0; i < 60; i++) { printf "{\"id\": \"v%d\", \"in\": {\"v\": [", i
		for (k = 0; k < 8; k++) printf "%s%d.5", k ? ", " : "", (i % 2) * 9 + (i * k) % 5
		print "]}}" } }' >vectors.jsonl
	check "vectors" 0 cachex load vectors vectors.jsonl --id-field id -q
	check "their page" 0 report vectors -o vectors.html
	is "has both maps" "$(grep -o 'alt="[^"]*" src="data:image/svg' vectors.html | cut -d'"' -f 2 | tr '\n' ,)" \
		"a map of vectors by their principal components,the chunks of the module,"
	sed -n 's/.*alt="a map of vectors[^"]*" src="data:image\/svg+xml;base64,\([^"]*\)".*/\1/p' vectors.html |
		base64 -d >vectors.svg
	also "of all vectors" grep -qF '>60 vectors f64[8]</text>' vectors.svg
	is "no vectors, no map" "$(grep -c 'a map of vectors' page.html)" 0
	check "few vectors" 0 report vectors -o few.html --samples 20
	is "have none" "$(grep -c 'a map of vectors' few.html)" 0
fi

# The trace of a fill
cat >fill.jsonl <<'END'
{"event":"begin","seconds":0,"cachex":"0.1.0","time_ms":1700000000000,"module":"many","options":{}}
{"event":"metrics","seconds":1,"producer":0,"metrics":{"loss":2.5,"<b>":1}}
{"event":"progress","seconds":10,"stored":100,"failed":2,"bytes":1000,"retried":1,"died":1,"timed_out":0,"garbage":0,"running":4,"busy":3}
{"event":"metrics","seconds":15,"producer":1,"metrics":{"loss":0.25}}
{"event":"progress","seconds":20,"stored":300,"failed":2,"bytes":3000,"retried":1,"died":1,"timed_out":0,"garbage":0,"running":4,"busy":4}
{"event":"end","seconds":20,"status":"ok","stored":300,"failed":2,"bytes":3000,"retried":1,"died":1}
END
check "--trace" 0 report many -o fill.html --trace fill.jsonl
also "sums it up" says fill.html \
	"Begun 2023-11-14 22:13:20 UTC; 300 records in 20 s, 15 a second; 2 failed, 1 batches tried again, 1 producers lost; it has ended."
also "draws records a second" grep -q '<title>stored, 14.5 s: 20</title>' fill.html
also "at first fewer" grep -q '<title>stored, 4.5 s: 10</title>' fill.html
also "bytes" grep -q '<title>of tensors, 14.5 s: 200 B</title>' fill.html
also "failed items" grep -q '<title>failed items, 4.5 s: 0.2</title>' fill.html
also "busy producers" grep -q '<title>busy, 14.5 s: 3</title>' fill.html
also "a loss" grep -q '<title>loss, 2.5 s: 2.5</title>' fill.html
also "later a smaller one" grep -q '<title>loss, 15.5 s: 0.25</title>' fill.html
also "names are escaped" grep -q '<b>&lt;b&gt;</b>' fill.html
check "two traces" 0 report many -o fill.html -f --trace fill.jsonl --trace fill.jsonl
is "are two parts" "$(grep -c '<h3>fill.jsonl</h3>' fill.html)" 2
refuse "another file" 3 "cachex: report: records.jsonl: not a trace of cachex fill" \
	report many -o no.html --trace records.jsonl
also "and no page" test ! -e no.html
printf 'x\ny\nz\n' >three
check "a fill" 1 cachex fill filled --exec "$builddir/t/support/bad_producer errors" --ids three -b 2 --trace own.jsonl -q
check "its own trace" 0 report filled -o filled.html --trace own.jsonl
also "has its end" grep -q 'it has ended' filled.html
also "and failures.jsonl the reason" sh -c "grep -q \"^<tr><td><bdi class=.id.>odd item .*<td class=.n.>1<\" filled.html"
also "of the item" grep -q '<tr><td><bdi class="id">y</bdi></td><td>odd item ' filled.html
printf 'a\nb\nc\n' >lines.txt
check "a fill from shards" 0 cachex fill shards --exec "$builddir/t/support/bad_producer good" --from lines.txt -q
check "its page" 0 report shards -o shards.html
also "has its inputs" says shards.html "lines.txt|1|3|0|finished"
also "and their order" says shards.html \
	"1 of 1 inputs are finished, 0 are being filled now. The order for readers has 3 records in 1 chunks, and is final."

# Damage is on the page, and in the exit status
check "a large record" 0 sh -c "head -c 100000 /dev/zero | tr '\\0' Q | '$CACHEX' put hurt big - --dtype u8 --shape 100000"
at=$(grep -abo QQQQQQQQ "$root/hurt/data.mdb" | head -n 1 | cut -d: -f1)
printf X | dd of="$root/hurt/data.mdb" bs=1 seek="$at" conv=notrunc 2>/dev/null
check "a page of damage" 3 report hurt -o hurt.html
also "names it" grep -q '^<li><code>.*big' hurt.html
also "counts it" grep -q '<b class="bad">1 damaged</b>' hurt.html
check "--verify finds it" 3 report hurt -o hurt.html -f --verify --json
also "and says so" grep -q '"damaged":1,"verified":true' "$out"
finish
