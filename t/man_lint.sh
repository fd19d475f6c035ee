#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The pages against mandoc, the header and the tool: no warning, every public
# function and every command described, the same options in page and help.

. "${srcdir:-.}/t/support/tap.sh"
man=$srcdir/man
header=$srcdir/include/lmdbcache.h

lint() {
	if ! command -v mandoc >/dev/null; then
		skip "${1##*/}: lint" "mandoc is not installed"
		return
	fi
	is "${1##*/}: lint" "$(mandoc -T lint -W warning "$1" 2>&1)" ""
}

# Most systems show pages by groff, which sets a table that is too wide word by word. A long
# option in a synopsis is one line.
narrow() {
	if ! command -v groff >/dev/null; then
		skip "${1##*/}: in 78 columns" "groff is not installed"
		return
	fi
	wide=$(groff -mdoc -Tutf8 -rLL=78n "$1" 2>&1 >/dev/null | grep -c "can't break line")
	is "${1##*/}: in 78 columns" "$((wide > 2))" 0
}

# Words of standard input that look like the pattern, sorted, once each.
words() { grep -oE -e "$1" | sort -u; }

section() { awk -v name="$2" '/^\.Sh/ { on = $0 == ".Sh " name } on' "$1"; }

for page in "$man"/*.[1-9]; do
	lint "$page"
	narrow "$page"
	holds "${page##*/}: EXAMPLES" grep -q '^\.Sh EXAMPLES$' "$page"
done

functions=$(sed -n '/^LC_API/,/;/p; /^static inline/,/^{/p' "$header" |
    words '\blc_[a-z_]+\(' | tr -d '(')
# A section of the library's pages, all together: what stands in two of them is as
# wrong as what stands in none.
sections() { for page in "$man"/lmdbcache*.3; do section "$page" "$1"; done; }
is "section 3: SYNOPSIS has every function once" \
    "$(sections SYNOPSIS | sed -n 's/^\.F[no] \(lc_[a-z_]*\).*/\1/p' | sort)" \
    "$functions"
is "section 3: DESCRIPTION has every function once" \
    "$(sections DESCRIPTION | sed -n 's/^\.It Fn \(lc_[a-z_]*\)$/\1/p' | sort)" \
    "$functions"
statuses=$(sed -n '/^typedef enum lc_status/,/^}/p' "$header" |
    words '^.LC_[A-Z_]+' | tr -d '\t')
is "lmdbcache.3: every status" \
    "$(section "$man/lmdbcache.3" ERRORS | sed -n 's/^\.It Dv //p' | sort)" \
    "$(echo "$statuses" | grep -v '^LC_OK$')"

# The fields of a structure in the header, a line each.
fields() {
	awk -v name="$1" '$0 == "typedef struct " name " {" { on = 1; next }
	    /^}/ { on = 0 } on && /^\t[a-z]/' "$header" |
	    sed 's/;.*//; s/\[.*//; s/^.[a-z]* (\*\([a-z]*\))(.*/\1/
	        s/^.const //; s/^[^,]* \*\{0,1\}\([a-z0-9_]*\)\(,.*\)\{0,1\}$/\1\2/' |
	    tr -d ' ' | tr ',' '\n' | grep -vx struct_size | sort
}
for struct in lc_options lc_settings lc_stats lc_counters lc_schema_stats \
    lc_verify_result lc_recover_result lc_copy_options lc_copy_result \
    lc_compact_options lc_compact_result lc_export_options; do
	fields "$struct" >"$scratch/fields"
	# From where a page turns to the structure to where it turns to the next one.
	sections DESCRIPTION | awk -v name="$struct" '$1 == ".Vt" { on = $2 == name }
	    $1 == ".Ss" { on = 0 } on' |
	    sed -n 's/^\.It Fa//p; s/^\.Fa//p' | tr -d ',;.' | tr ' ' '\n' |
	    sort -u >"$scratch/described"
	is "section 3: every field of $struct" \
	    "$(comm -23 "$scratch/fields" "$scratch/described")" ""
	holds "the header has fields of $struct" test -s "$scratch/fields"
done
cat "$man"/lmdbcache*.3 | grep -E '^\.(It )?Dv ' >"$scratch/constants"
is "section 3: every constant" "$(
    sed -n 's/^#define \(LC_[A-Z0-9_]*\) .*/\1/p; s/^.\(LC_[A-Z0-9_]*\) = .*/\1/p' "$header" |
	grep -vxE 'LC_(API|CHECKED|DTYPE_COUNT|CODEC_COUNT|OK)' |
	while read -r name; do
		grep -qw "$name" "$scratch/constants" || echo "$name"
	done)" ""

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
		for word in $(awk '/^Subcommands$/ { on = 1; next } !/^  / { on = 0 }
		    on { print $1 }' "$scratch/help"); do
			"$CACHEX" "$command" "$word" --help
		done >"$scratch/help.words"
		cat "$scratch/help.words" >>"$scratch/help"
		words 'CACHEX_[A-Z_]+' <"$scratch/help" >"$scratch/help.variables"
		is "cachex-$command.1: the options of its --help" \
		    "$(page_options "$man/cachex-$command.1")" \
		    "$(help_options Options <"$scratch/help")"
		is "cachex-$command.1: its variables" \
		    "$(words 'CACHEX_[A-Z_]+' <"$man/cachex-$command.1" |
			grep -vxFf "$scratch/help.variables")" ""
		holds "cachex.1: $command" grep -q "^\.It Xr cachex-$command 1" "$man/cachex.1"
		holds "lmdbcache.7: a job for $command" \
		    grep -q "^\.It .* Ta Xr cachex-$command 1 Ta" "$man/lmdbcache.7"
	done
	is "cachex.1: the options of every command" "$(page_options "$man/cachex.1")" \
	    "$(help_options 'Options of every command' <"$scratch/help")"
else
	skip "the options of --help" "$CACHEX is not built"
fi
finish
