#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Plain English: words that make a sentence read as translated (t/support/words.txt) are rare
# in the pages, the front texts, the public header, comments and messages. Each place is
# printed as FILE:LINE. `PLACES=comments sh t/words.sh` prints the places of one kind, whatever
# their number.
. "${srcdir:-.}/t/support/tap.sh"

most=0.3 # places in 1,000 words

cd "$srcdir" || exit 99
{
	printf '%s\n' man/*.[1-9] | xargs awk -v page=pages -f t/support/prose.awk
	awk -v page=front -f t/support/prose.awk README NEWS HACKING SECURITY
	find include lib bin python/lmdbcache python/src python/tests -name '*.[ch]' -o -name '*.py' |
		sort | xargs awk -f t/support/prose.awk
} >"$scratch/prose"
awk -f t/support/words.awk t/support/words.txt "$scratch/prose" >"$scratch/counted"
for kind in pages front header comments messages; do
	rate=$(awk -v kind=$kind '$1 == "=" && $2 == kind { printf "%.2f", 1000 * $3 / $4 }' \
		"$scratch/counted")
	fine=$(awk -v rate="${rate:-99}" -v most="$most" 'BEGIN { print rate <= most }')
	is "$kind: $rate places in 1,000 words, at most $most" "$fine" 1
	if [ "$fine" != 1 ] || [ "${PLACES:-}" = $kind ]; then
		grep " $kind: " "$scratch/counted" | sed 's/^/# /'
	fi
done
finish
