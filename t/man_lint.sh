#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The pages against mandoc, the header and the tool: no warning, every public
# function and every command described, the same options in page and help.

. "${srcdir:-.}/t/tap.sh"
man=$srcdir/man
header=$srcdir/include/lmdbcache.h

lint() {
	if ! command -v mandoc >/dev/null; then
		skip "${1##*/}: lint" "mandoc is not installed"
		return
	fi
	is "${1##*/}: lint" "$(mandoc -T lint -W warning "$1" 2>&1)" ""
}

# Words of standard input that look like the pattern, sorted, once each.
words() { grep -oE -e "$1" | sort -u; }

section() { awk -v name="$2" '/^\.Sh/ { on = $0 == ".Sh " name } on' "$1"; }

for page in "$man"/*.[1-9]; do
	lint "$page"
	holds "${page##*/}: EXAMPLES" grep -q '^\.Sh EXAMPLES$' "$page"
done

functions=$(sed -n '/^LC_API/,/;/p; /^static inline/,/^{/p' "$header" |
    words '\blc_[a-z_]+\(' | tr -d '(')
is "lmdbcache.3: SYNOPSIS has every function" \
    "$(section "$man/lmdbcache.3" SYNOPSIS | sed -n 's/^\.F[no] \(lc_[a-z_]*\).*/\1/p' | sort)" \
    "$functions"
is "lmdbcache.3: DESCRIPTION has every function" \
    "$(sed -n 's/^\.It Fn //p' "$man/lmdbcache.3" | sort)" "$functions"
statuses=$(sed -n '/^typedef enum lc_status/,/^}/p' "$header" |
    words '^.LC_[A-Z_]+' | tr -d '\t')
is "lmdbcache.3: every status" \
    "$(section "$man/lmdbcache.3" ERRORS | sed -n 's/^\.It Dv //p' | sort)" \
    "$(echo "$statuses" | grep -v '^LC_OK$')"

# Names of options in a page and in a help text: -o --output, one a line. A
# switch that can be turned off stands once.
page_options() {
	sed -n 's/^\.It Fl/Fl/p' "$1" | sed 's/ Ar .*//; s/Fl Fl no- */Fl Fl /g
	    s/Fl Fl /--/g; s/Fl //g; s/[, ][, ]*/\n/g' |
	    sed 's/^[^-]/-&/; s/^--no-/--/' | sort -u
}
help_options() {
	awk -v name="$1" '$0 == name { on = 1; next } /^[^ ]|^$/ { on = 0 } on' |
	    sed -n 's/^  \(-\)/\1/p' | sed 's/   *.*//; s/\[no-\]//; s/--no-/--/
	    s/, /\n/g' | sed 's/ .*//' | sort -u
}

if [ -x "$CACHEX" ]; then
	for command in $("$CACHEX" --help |
	    awk '/^Commands$/ { on = 1; next } !/^  / { on = 0 } on { print $1 }'); do
		"$CACHEX" "$command" --help >"$scratch/help"
		words 'CACHEX_[A-Z_]+' <"$scratch/help" >"$scratch/help.variables"
		is "cachex-$command.1: the options of its --help" \
		    "$(page_options "$man/cachex-$command.1")" \
		    "$(help_options Options <"$scratch/help")"
		is "cachex-$command.1: its variables" \
		    "$(words 'CACHEX_[A-Z_]+' <"$man/cachex-$command.1" |
			grep -vxFf "$scratch/help.variables")" ""
		holds "cachex.1: $command" grep -q "^\.It Xr cachex-$command 1" "$man/cachex.1"
	done
	is "cachex.1: the options of every command" "$(page_options "$man/cachex.1")" \
	    "$(help_options 'Options of every command' <"$scratch/help")"
else
	skip "the options of --help" "$CACHEX is not built"
fi
finish
