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

functions=$(sed -n '/^LC_API/,/;/p; /^static inline lc_id/,/{/p' "$header" |
    words '\blc_[a-z_]+\(' | tr -d '(')
is "lmdbcache.3: every function" \
    "$(sed -n 's/^\.Fo\{0,1\}n\{0,1\} \(lc_[a-z_]*\).*/\1/p' "$man/lmdbcache.3" | sort -u)" \
    "$functions"
statuses=$(sed -n '/^typedef enum lc_status/,/^}/p' "$header" | words 'LC_[A-Z_]+')
is "lmdbcache.3: every status" \
    "$(section "$man/lmdbcache.3" ERRORS | sed -n 's/^\.It Dv //p' | words 'LC_[A-Z_]+')" \
    "$(echo "$statuses" | grep -v '^LC_OK$')"

if [ -x "$CACHEX" ]; then
	for page in "$man"/cachex-*.1; do
		command=${page##*/cachex-}
		command=${command%.1}
		is "cachex-$command.1: the options of its --help" \
		    "$(sed -n 's/^\.It Fl.*/&/p' "$page" | sed 's/Fl Fl */--/g; s/Fl /-/g' |
			words '(^|[ ,])--?[a-z][a-z-]*' | tr -d ' ,' | sort -u)" \
		    "$("$CACHEX" "$command" --help | words '(^|[ ,[])--?[a-zA-Z][a-z-]*' |
			tr -d ' ,[' | sort -u)"
	done
else
	skip "the options of --help" "$CACHEX is not built"
fi
finish
