# SPDX-License-Identifier: BSD-2-Clause
# awk -f man_compare.awk WANT GOT: status 0 if the output GOT is what WANT says.
# In WANT, "..." in a line stands for any text, a line that is "..." for any
# lines, also none. Trailing blanks count for nothing.

function pattern(line,    parts, n, i, out) {
	gsub(/[][\\.^$*+?(){}|]/, "\\\\&", line)
	n = split(line, parts, /\\\.\\\.\\\./)
	out = parts[1]
	for (i = 2; i <= n; i++)
		out = out ".*" parts[i]
	return "^" out "$"
}

# Lines i.. of want against lines j.. of got.
function matches(i, j) {
	for (; i <= nwant; i++) {
		if (want[i] == "...") {
			for (; j <= ngot + 1; j++)
				if (matches(i + 1, j))
					return 1
			return 0
		}
		if (j > ngot || got[j] !~ pattern(want[i]))
			return 0
		j++
	}
	return j > ngot
}

{ sub(/[ \t]+$/, "") }
FILENAME == ARGV[1] { want[++nwant] = $0; next }
{ got[++ngot] = $0 }
END { exit !matches(1, 1) }
