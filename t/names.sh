#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A name means one thing: tags that begin with lc__ and macros that begin with LC__ are
# defined in one file of the whole program, and a tag that a header defines in one file of
# its layer.
. "${srcdir:-.}/t/support/tap.sh"

# "lib lib/base/buf.h lc__buf" for each struct, enum and union that is defined, and for
# each macro LC__..., but for include guards, which have one underscore.
(cd "$srcdir" && find lib bin -name '*.[ch]' | sort | while read -r file; do
	sed -nE 's/^[[:blank:]]*((static|const|typedef|extern)[[:blank:]]+)*(struct|enum|union)[[:blank:]]+([A-Za-z_0-9]+)[[:blank:]]*\{.*/\4/p
		s/^[[:blank:]]*#[[:blank:]]*define[[:blank:]]+(LC__[A-Za-z_0-9]+).*/\1/p' "$file" |
		sort -u | sed "s|^|${file%%/*} $file |"
done) >defined

# twice AWK_KEY: keys that more than one file defines, with the files.
twice() {
	awk "{ key = $1; files[key] = files[key] \" \" \$2; n[key]++; head[key] = head[key] || \$2 ~ /\.h\$/ }
		END { for (key in n) if (n[key] > 1 && (key ~ /^(lc|LC)__/ || (key ~ / / && head[key])))
			print key \":\" files[key] }" defined | sort
}
also "there are definitions" test "$(wc -l <defined)" -ge 500
is "a tag lc__ or a macro LC__ is defined in one file" "$(twice '$3')" ""
is "a tag of a header is defined in one file of its layer" "$(twice '$1 " " $3')" ""
finish
