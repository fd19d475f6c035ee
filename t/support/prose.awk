# SPDX-License-Identifier: BSD-2-Clause
# The prose of files, as lines "KIND FILE:LINE TEXT": of C and Python the comments and the
# messages (strings with a space in them), of pages and plain text all lines. The lines that
# belong to one comment follow each other. -v page=KIND names the kind of pages and text.

function put(kind, text) {
	if (text !~ /SPDX-License-Identifier|clang-format o/)
		print kind, FILENAME ":" FNR, text
}

# Prints strings that hold a blank: others are names, formats and file names.
function string(text) {
	if (text ~ /[a-z] |^ [a-z]/)
		put("messages", text)
}

FNR == 1 {
	inside = ""
	language = FILENAME ~ /\.[ch]$/ ? "c" : FILENAME ~ /\.pyi?$/ ? "python" : "text"
	opening = language == "c" ? "\"|'|/[*]|//" : "\"\"\"|'''|\"|'|#"
}

language == "text" {
	if (/^\.\\"/)
		next
	sub(/^\.[A-Z%][A-Za-z0-9]* ?/, "")
	put(page, $0)
	next
}

# What is left of a line is in rest; inside is what ends the comment that the line began in.
{
	rest = $0
	while (rest != "") {
		if (inside != "") {
			end = index(rest, inside)
			put(FILENAME ~ /include\// ? "header" : "comments", end ? substr(rest, 1, end - 1) : rest)
			rest = end ? substr(rest, end + length(inside)) : ""
			if (end)
				inside = ""
			continue
		}
		if (!match(rest, opening))
			break
		mark = substr(rest, RSTART, RLENGTH)
		rest = substr(rest, RSTART + RLENGTH)
		if (mark == "/*") {
			inside = "*/"
		} else if (length(mark) == 3) {
			inside = mark
		} else if (mark == "//" || mark == "#") {
			put("comments", rest)
			rest = ""
		} else {
			if (!match(rest, "^([^" mark "\\\\]|\\\\.)*" mark))
				break
			if (mark == "\"" || language == "python")
				string(substr(rest, 1, RLENGTH - 1))
			rest = substr(rest, RLENGTH + 1)
		}
	}
}
