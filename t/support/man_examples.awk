# SPDX-License-Identifier: BSD-2-Clause
# The examples of a page as files: awk -v dir=DIR -v kind=page|text -f man_examples.awk PAGE
#
# In an mdoc page (kind=page) an example is a `.Bd -literal` block of section
# EXAMPLES; in a plain text (kind=text) it is a run of lines that start with a
# tab. Two kinds of blocks count:
#   - a transcript: `$ command`, `> the command goes on`, then what it prints;
#   - a file: the first line is the comment `/* name.c */` or `# name.py`.
# Command N goes to DIR/N.cmd and what it prints to DIR/N.want, a file to
# DIR/files/name.c. A line that belongs to nothing is reported and the status is
# 1; in a text it is passed over.

function plain(line) {
	gsub(/\\\(dq/, "\"", line)
	gsub(/\\\(aq/, "'", line)
	gsub(/\\\(ha/, "^", line)
	gsub(/\\\(ti/, "~", line)
	gsub(/\\\(ga/, "`", line)
	gsub(/\\-/, "-", line)
	gsub(/\\&/, "", line)
	gsub(/\\e/, "\\", line)
	return line
}

function number(n) {
	return sprintf("%s/%03d", dir, n)
}

function take(line) {
	if (at_start && line ~ /^(\/\* [a-z_]+\.c \*\/|# [a-z_]+\.py)$/) {
		split(line, word, " ")
		file = dir "/files/" word[2]
	}
	at_start = 0
	# No line of a program starts so: the transcript that uses the file follows it.
	if (line ~ /^\$ /)
		file = ""
	if (file != "") {
		print line > file
	} else if (line ~ /^\$ /) {
		print substr(line, 3) > (number(++n) ".cmd")
		printf "" > (number(n) ".want")
		open = 1
	} else if (open && line ~ /^> /) {
		print substr(line, 3) > (number(n) ".cmd")
	} else if (open) {
		print line > (number(n) ".want")
	} else if (kind == "page") {
		print FILENAME ":" FNR ": belongs to no command: " line
		bad = 1
	}
}

function begin() {
	at_start = 1
	open = 0
	file = ""
}

kind == "page" && /^\.Sh/ { examples = $2 == "EXAMPLES"; next }
kind == "page" && examples && /^\.Bd -literal/ { block = 1; begin(); next }
kind == "page" && /^\.Ed/ { block = 0; next }
kind == "page" && block { take(plain($0)); next }

kind == "text" && /^\t/ {
	if (!block)
		begin()
	block = 1
	take(substr($0, 2))
	next
}
# An empty line between two indented ones belongs to the block.
kind == "text" && block && $0 == "" { if (file != "") print "" > file; next }
kind == "text" { block = 0 }

END { exit bad }
