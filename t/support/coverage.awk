# SPDX-License-Identifier: BSD-2-Clause
# gcov -b -c -t FILE.gcno... | awk -v out=DIR -v cut=PREFIX -f coverage.awk
#
# Adds up what gcov found in all objects and prints a table: lines and branches, in all
# and those that ran, for each folder of lib/ and bin/. DIR/files gets the same for each
# file, worst first, and DIR/lib/..., DIR/bin/... each source with its counts: "#####" marks
# a line that no test ran, "!" one with a branch that was never taken. PREFIX is what the
# names of the sources begin with in gcov's output.

function percent(part, all) {
	return all == 0 ? "     -" : sprintf("%5.1f%%", int(1000 * part / all) / 10)
}

function row(name,    text) {
	return sprintf("%-36s %7d %7s %9d %7s", name, lines[name],
	    percent(ran[name], lines[name]), branches[name],
	    percent(taken[name], branches[name]))
}

function add(name, n_lines, n_ran, n_branches, n_taken) {
	lines[name] += n_lines
	ran[name] += n_ran
	branches[name] += n_branches
	taken[name] += n_taken
}

# One source: its annotated copy, and its sums.
function finish(source,    i, k, mark, missed, n_lines, n_ran, n_branches, n_taken, file, folder) {
	file = out "/" source
	folder = source
	sub(/\/[^\/]*$/, "", folder)
	if (!(folder in made)) {
		system("mkdir -p '" out "/" folder "'")
		made[folder] = 1
	}
	for (i = 1; i <= length_of[source]; i++) {
		mark = ""
		missed = 0
		if ((source, i) in hits) {
			n_lines++
			mark = hits[source, i]
			if (mark > 0)
				n_ran++
			else
				mark = "#####"
		}
		for (k = 0; k < branch_count[source, i]; k++) {
			n_branches++
			if (branch[source, i, k] > 0)
				n_taken++
			else
				missed = 1
		}
		printf "%9s%s %5d: %s\n", mark, missed ? "!" : " ", i, text[source, i] >file
	}
	close(file)
	add(source, n_lines, n_ran, n_branches, n_taken)
	add(folder, n_lines, n_ran, n_branches, n_taken)
	if (sub(/\/.*/, "", folder))
		add(folder, n_lines, n_ran, n_branches, n_taken)
}

# "        -:    0:Source:lib/base/buf.c"
/^ *-: *0:Source:/ {
	source = substr($0, index($0, "Source:") + 7)
	if (cut != "" && index(source, cut) == 1)
		source = substr(source, length(cut) + 1)
	wanted = source ~ /^(lib|bin)\//
	line = 0
	next
}
!wanted { next }
# "branch  0 taken 5 (fallthrough)", "branch  1 never executed"
/^branch / {
	if ($2 + 1 > branch_count[source, line])
		branch_count[source, line] = $2 + 1
	branch[source, line, $2 + 0] += $3 == "taken" ? $4 : 0
	next
}
/^(call|function|unconditional) / { next }
# "    #####:   14:text", "       5*:   14:text"; "-" is a line without code.
/^ *[-#=0-9*]+: *[0-9]+:/ {
	count = substr($0, 1, index($0, ":") - 1)
	rest = substr($0, index($0, ":") + 1)
	line = substr(rest, 1, index(rest, ":") - 1) + 0
	if (line == 0)
		next
	text[source, line] = substr(rest, index(rest, ":") + 1)
	if (line > length_of[source])
		length_of[source] = line
	gsub(/[ *]/, "", count)
	if (count != "-")
		hits[source, line] += count ~ /^[0-9]/ ? count : 0
}

END {
	head = sprintf("%-36s %7s %7s %9s %7s", "", "lines", "ran", "branches", "taken")
	files = out "/files"
	print head >files
	sorted = "sort -t '\t' -k 1,1nr -k 2,2 | cut -f 2- >>'" files "'"
	for (source in length_of)
		finish(source)
	close(files)
	for (source in length_of)
		printf "%d\t%s\n", lines[source] - ran[source], row(source) | sorted
	close(sorted)
	print head
	for (name in made)
		print row(name) | "sort"
	close("sort")
	if (!("lib" in made))
		print row("lib")
}
