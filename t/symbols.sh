#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The functions that the header declares, those that lib/liblmdbcache.map lists, and those
# that the library exports are the same, each with the version of its list.
. "${srcdir:-.}/t/support/tap.sh"

library=$builddir/.libs/liblmdbcache.so
map=lib/liblmdbcache.map

# Declarations marked LC_API may spread over lines; the name comes before "(".
tr '\n\t' '  ' <"$srcdir/include/lmdbcache.h" | tr ';' '\n' |
	sed -n 's/.*LC_API [^(]*[ *]\(lc_[a-z0-9_]*\)(.*/\1/p' | sort >declared
# "name version" for each name in the map, in its order.
sed 's/#.*//' "$srcdir/$map" | awk '
	$2 == "{" { version = $1 }
	/^(local|})/ { version = "" }
	version != "" && /;$/ { sub(/;$/, "", $1); print $1, version }' >versions
cut -d ' ' -f 1 versions >listed
sort listed >listed.sorted
newest=$(sed -n 's/^\(LMDBCACHE_[0-9.]*\) {$/\1/p' "$srcdir/$map" | tail -n 1)

also "the header declares functions" test "$(wc -l <declared)" -ge 40
is "each function with LC_API in include/lmdbcache.h is in $map" \
	"$(comm -23 declared listed.sorted | sed "s|.*|add '&;' to $newest in $map|")" ""
is "each name in $map is declared with LC_API in include/lmdbcache.h" \
	"$(comm -13 declared listed.sorted | sed "s|.*|declare & with LC_API, or remove it from $map|")" ""
is "no name is in $map twice" "$(uniq -d listed.sorted)" ""
is "the names of a version are in alphabetical order" \
	"$(awk '$2 == version && $1 < name { print $1 " comes before " name }
		{ name = $1; version = $2 }' versions)" ""
is "there are no patterns but the one that hides the rest" \
	"$(sed 's/#.*//' "$srcdir/$map" | grep '[*?[]' | tr -d '\t\n ')" "*;"

if ! command -v nm >/dev/null 2>&1 || [ ! -e "$library" ]; then
	skip "exported symbols" "no nm, or no shared library"
	finish
	exit 0
fi
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@?/, " ", $3); print $3 }' |
	sort >exported
sort versions >expected
is "the library exports each of them under its version" "$(comm -23 expected exported)" ""
is "the library exports nothing else" "$(comm -13 expected exported)" ""
also "the library has a soname" sh -c \
	'! command -v readelf >/dev/null || readelf -d "$1" | grep -q "SONAME.*liblmdbcache\.so\.[0-9]"' sh "$library"
# What most commands do not need is loaded by those that do (lib/base/lazy.h).
if command -v readelf >/dev/null && grep -q '^#define LAZY_LOADING' "$builddir/config.h"; then
	is "neither the library nor the tool waits for libraries that it may not need" \
		"$(readelf -d "$library" "$builddir/cachex" |
			grep -E 'NEEDED.*lib(archive|crypto|curl|expat|jpeg|png|sqlite|tiff|webp|stdc)')" ""
fi
finish
