#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The library exports the functions that its header declares, and nothing else.
. "${srcdir:-.}/t/support/tap.sh"

library=$builddir/.libs/liblmdbcache.so
if ! command -v nm >/dev/null 2>&1 || [ ! -e "$library" ]; then
	skip "exported symbols" "no nm, or no shared library"
	finish
	exit 0
fi
# Declarations marked LC_API may spread over lines; the name stands before "(".
tr '\n\t' '  ' <"$srcdir/include/lmdbcache.h" | tr ';' '\n' |
	sed -n 's/.*LC_API [^(]*[ *]\(lc_[a-z0-9_]*\)(.*/\1/p' | sort >declared
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
	sort >exported
also "the header declares functions" test "$(wc -l <declared)" -ge 40
is "exported are those declared" "$(comm -3 declared exported)" ""
is "each carries the version of its map" \
	"$(nm -D --defined-only "$library" | awk '$2 != "A" && $3 !~ /@@LMDBCACHE_0$/' | wc -l | tr -d ' ')" 0
also "the library has a soname" sh -c \
	'! command -v readelf >/dev/null || readelf -d "$1" | grep -q "SONAME.*liblmdbcache\.so\.[0-9]"' sh "$library"
# What most commands do not need is loaded by those that do (lib/base/lazy.h).
if command -v readelf >/dev/null && grep -q '^#define LAZY_LOADING' "$builddir/config.h"; then
	is "neither the library nor the tool waits for libraries that it may not need" \
		"$(readelf -d "$library" "$builddir/cachex" |
			grep -E 'NEEDED.*lib(archive|crypto|expat|jpeg|png|sqlite|tiff|webp|stdc)')" ""
fi
finish
