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
