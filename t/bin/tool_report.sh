#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# warehouse report: a page, tables, a database, and drift.
. "${srcdir:-.}/t/support/tap.sh"
mkdataset=$builddir/t/support/mkdataset

refuse_report() {
	what=$1 status=$2 message=$3; shift 3
	check "$what: status" "$status" "$@"
	is "$what: message" "$(cat "$err")" "cachex: warehouse: $message"
}
report() { cachex warehouse report "$@"; }

# Two runs of ten frames, two of each without a box; one loses its image.
"$mkdataset" make set 10
rm set/a/images/f3.png
"$mkdataset" settle set
check "a warehouse" 0 cachex build -q set house --size 32
"$mkdataset" make other 3
"$mkdataset" frame other c 1 900 40 9 7
"$mkdataset" settle other
check "and another" 0 cachex build -q other another --size 32

# Why pictures cannot be drawn, or nothing.
unable=$(cachex view "house/$(readlink house/current)" -n 2>&1 |
	grep -oE 'configured without cairo|no font for .*')

# The page
check "a page" 0 report house -o page.html
is "says nothing else" "$(cat "$out" "$err")" ""
is "begins as one" "$(head -n 1 page.html)" "<!DOCTYPE html>"
[ -n "$unable" ] || also "has a picture of every sample" \
	test "$(grep -c '<img width="32" height="32"' page.html)" = 15
also "without a script" sh -c '! grep -qi "<script" page.html'
check "to standard output" 0 report house -o -
also "the same bytes" cmp page.html "$out"
check "by the version's directory" 0 report "house/$(readlink house/current)" -o page2.html
also "the same, too" cmp page.html page2.html
check "--thumbnails" 0 report house -o few.html --thumbnails 2
[ -n "$unable" ] || is "so many" "$(grep -c '<img ' few.html)" 2
check "--thumbnails 0" 0 report house -o none.html --thumbnails 0
is "none" "$(grep -c '<img ' none.html)" 0

# Pictures of the charts
if [ -n "$unable" ]; then
	skip "pictures" "$unable"
else
	for format in png svg pdf; do
		check "charts as $format" 0 report house -o "charts.$format"
		check "by --format" 0 report house -o - --format $format
		also "the same" cmp "charts.$format" "$out"
	done
	is "begin as such" "$(head -c 4 charts.png | tr -d '\211') $(head -c 5 charts.svg) $(head -c 5 charts.pdf)" \
		"PNG <?xml %PDF-"
	for text in '15 samples with 36 boxes' 'Boxes per sample' 'n = 15' 'Boxes of each class' 'megapixels'; do
		also "have the text $text" grep -qF ">$text</text>" charts.svg
	done
	check "--format html" 0 report house -o charts.png --format html -f
	also "is the page" grep -q '<!DOCTYPE html>' charts.png
	refuse_report "a picture of drift" 2 "--drift writes an HTML page, not a picture" \
		report --drift house another -o drift.svg
	refuse_report "no file" 2 "--format is for -o FILE" report house --csv x.csv --format svg
fi

# A list that is not there is not an empty one
cp -r house lost
rm "lost/$(readlink house/current)/rejected.jsonl"
for kind in "-o lost.html" "--csv lost.csv" "--sqlite lost.db" "--parquet lost.pq"; do
	# shellcheck disable=SC2086 # words
	refuse_report "no rejected.jsonl, $kind" 3 "lost/$(readlink house/current)/rejected.jsonl \
is missing, and the manifest names it" report lost $kind
	also "nothing is written" test ! -e "${kind#* }"
done

# CSV
check "--csv" 0 report house --csv runs.csv
is "every byte" "$(tr '\r' '$' <runs.csv)" \
'row,run_id,total,non_empty,empty,missing_image,missing_file,invalid,written$
run,a,10,7,2,0,1,0,7$
run,b,10,8,2,0,0,0,8$
total,,20,15,4,0,1,0,15$'
check "--csv -" 0 report house --csv -
also "the same" cmp runs.csv "$out"
mkdir -p signs/=1+1/labels signs/=1+1/images
cp set/b/labels/*.json signs/=1+1/labels
cp set/b/images/*.png signs/=1+1/images
check "a name like a formula" 0 cachex build -q signs signs-house --size 32
check "is kept" 0 report signs-house --csv -
also "as it is" grep -q '^run,=1+1,10,' "$out"
check "--spreadsheet" 0 report signs-house --csv - --spreadsheet
also "puts an apostrophe in front" grep -q "^run,'=1+1,10," "$out"

# The database
check "--sqlite" 0 report house --sqlite house.db
refuse_report "is not replaced" 2 "house.db: exists; -f replaces it" report house --sqlite house.db
check "but with -f" 0 report -f house --sqlite house.db
is "no temporary is left" "$(ls -A | grep -c 'house.db.')" 0
echo precious >notes.db
refuse_report "another file stays" 3 "notes.db: is not a database of a warehouse, and is not replaced" \
	report -f house --sqlite notes.db
is "as it was" "$(cat notes.db)" precious
touch house.db-journal
refuse_report "so does one being written" 4 \
	"house.db: another process is writing it: there is a -journal next to it" \
	report -f house --sqlite house.db
rm house.db-journal
if command -v sqlite3 >/dev/null; then
	ask() { sqlite3 house.db "$1"; }
	is "runs" "$(ask 'SELECT * FROM runs')" "a|10|7|2|0|1|0|7
b|10|8|2|0|0|0|8"
	is "samples of the runs" \
		"$(ask 'SELECT run_id, count(*) FROM samples GROUP BY 1')" "a|7
b|8"
	is "as many boxes as the samples say" "$(ask 'SELECT (SELECT count(*) FROM boxes) =
		(SELECT sum(boxes) FROM samples)')" 1
	is "what was passed over" \
		"$(ask 'SELECT run_id, reason, count(*) FROM rejected GROUP BY 1, 2')" \
		"a|no_file|1
a|no_labels|2
b|no_labels|2"
	is "reasons" "$(ask 'SELECT * FROM reasons')" "no_file|1
no_labels|4"
else
	skip "the database's rows" "no sqlite3"
fi

# Drift
check "no drift" 0 report --drift house house
is "a line a metric" "$(wc -l <"$out" | tr -d ' ')" 18
is "with titles" "$(head -n 1 "$out" | tr -s ' ')" "OF DISTANCE CHANCE LIMIT VERDICT VALUES"
also "all within" sh -c "! grep -q above '$out'"
check "drift" 1 report --drift house another
also "is above" grep -q '^source_width .* above' "$out"
check "as JSON" 1 report --drift house another --json
is "a line a metric, and one for all" "$(wc -l <"$out" | tr -d ' ')" 18
also "which says so" sh -c "tail -n 1 '$out' | grep -q '\"drift\":true}\$'"
check "--drift -q" 1 report --drift -q house another
is "answers by its status" "$(cat "$out" "$err")" ""
check "--drift-threshold" 0 report --drift -q house another --drift-threshold 1
limits=$(report --drift house another --json | sed -n 's/^{"metric":"\([a-z_]*\)".*"exceeded":true.*/--drift-limit=\1=1/p')
check "--drift-limit" 0 report --drift -q house another $limits
set -- $limits
shift
check "one less" 1 report --drift -q house another "$@"
check "a page of drift" 1 report --drift house another -o drift.html
also "a table beside it" grep -q '^classes ' "$out"
also "has a plot of each" test "$(grep -c '<svg ' drift.html)" -ge 12
check "to standard output" 1 report --drift house another -o -
also "without the table" cmp drift.html "$out"
refuse_report "a limit on nothing" 2 "--drift-limit: no metric box_sied; did you mean box_side?" \
	report --drift house another --drift-limit box_sied=1
refuse_report "a limit that is none" 2 "--drift-limit: 'box_side=2' is not a limit from 0 to 1" \
	report --drift house another --drift-limit box_side=2
refuse_report "no limit" 2 "--drift-limit: not NAME=LIMIT: 'box_side'" \
	report --drift house another --drift-limit box_side

# What does not go together
refuse_report "nothing to write" 2 "give an output: -o FILE, --csv FILE, --sqlite FILE or --parquet DIR" report house
refuse_report "one to compare" 2 "--drift needs two warehouses, OLD NEW" report --drift house
refuse_report "two to report on" 2 "only one warehouse may be given; --drift compares two" \
	report house another -o page.html
refuse_report "two to standard output" 2 "-o and --csv cannot both go to standard output" \
	report house -o - --csv -
refuse_report "a database to standard output" 2 "--sqlite needs the name of a file" \
	report house --sqlite -
refuse_report "drift as CSV" 2 "--drift excludes --csv, --sqlite and --parquet" \
	report --drift house another --csv -

# What is wrong with a warehouse does not keep its report away
rm set/b/images/f1.png
check "a stale warehouse" 0 report house -o stale.html
also "the same page" cmp page.html stale.html
check "exceeded limits" 0 cachex build -q set warned --size 32 --max-missing 1 \
	--thresholds warn
check "are reported on" 0 report warned -o warned.html
also "and shown" grep -q 'class="bad">exceeded' warned.html
check "no warehouse" 4 report gone -o page3.html
also "is named" grep -q '^cachex: warehouse: gone' "$err"
check "a directory of something else" 3 report set -o page3.html
also "leaves no page" test ! -e page3.html
cp -r house hurt
echo short >"hurt/$(readlink house/current)/shard-000000.twh1"
check "a damaged warehouse" 3 report --drift house hurt
also "is named" grep -q '^cachex: warehouse: .*hurt.*shard-000000.twh1' "$err"
check "a directory that is not there" 4 report house -o gone/page.html
finish
