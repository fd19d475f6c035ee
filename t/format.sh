#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The layout of the sources is what clang-format makes of them by .clang-format. Other versions
# break some lines elsewhere, so only version 14 judges.
. "${srcdir:-.}/t/support/tap.sh"

formatter=
for candidate in ${CLANG_FORMAT:+"$CLANG_FORMAT"} clang-format-14 clang-format; do
	case $("$candidate" --version 2>/dev/null) in
	*"version 14."*) formatter=$candidate; break ;;
	esac
done
if [ -z "$formatter" ]; then
	skip "the layout of the sources" "no clang-format 14"
	finish
	exit 0
fi
cd "$srcdir" || exit 99
is "clang-format would change nothing" "$(find lib bin examples python/src -name '*.[ch]' |
	sort | xargs "$formatter" --dry-run 2>&1 | grep ': warning:' | head)" ""
finish
