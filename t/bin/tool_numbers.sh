#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Numbers that say what they are: bounds, times, what is counted.
. "${srcdir:-.}/t/support/tap.sh"

printf x | cachex put m k --dtype u8 --shape 1
cachex get m k --format raw >/dev/null
check "stat" 0 cachex stat m
is "percentiles are bounds" "$(sed -n 's/ *[0-9.]* ms$//p' "$out")" \
"  commit p50    <=
  commit p90    <=
  commit p99    <=
  commit max    <="
is "hits are those of writers" "$(sed -n "s/^  \(.*\) \{1,\}[0-9]*$/\1/p" "$out" | grep -o "writers' [a-z]*")" \
"writers' hits
writers' misses"
printf x | cachex put fresh k --dtype u8 --shape 1; cachex clear -f fresh
check "JSON has the bounds" 0 cachex stat m --json
also "under their names" grep -q '"flush_us_p50":[0-9]*,"flush_us_p90":[0-9]*,"flush_us_p99":[0-9]*,"flush_us_max":[0-9]*' "$out"

# Prometheus: the time of the end lies between those before and after, exactly.
mkdir -p set/images set/labels
base64 -d >set/images/a.png <<END
iVBORw0KGgoAAAANSUhEUgAAABgAAAAQCAIAAACDRijCAAAAAXNSR0IArs4c6QAAACBJREFUOI1j
ZGBo4GJgoByxMAgwUAWMGjRq0KhBI9UgAPK6ApRUkkqeAAAAAElFTkSuQmCC
END
echo '0 0.5 0.5 0.2 0.2' >set/labels/a.txt
before=$(date +%s)
check "build --metrics" 0 cachex build -q set wh --size 16 --metrics m.prom
after=$(date +%s)
end=$(sed -n 's/^cachex_build_end_timestamp_seconds{[^}]*} \([0-9]*\)\.[0-9]*$/\1/p' m.prom)
holds "the end is not rounded" test "$before" -le "${end:-0}" -a "${end:-0}" -le "$after"
finish
