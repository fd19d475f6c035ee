# SPDX-License-Identifier: BSD-2-Clause
# Counts the words and phrases of a list (t/support/words.txt) in the output of prose.awk.
# Prints "FILE:LINE: KIND: WORDS" for each place, and "= KIND PLACES WORDS" for each kind.

function fits(text, want) {
	if (substr(want, 1, 1) == "!")
		return text !~ ("^(" substr(want, 2) ")$")
	return text ~ ("^(" want ")$")
}

# The words from word i on that are a phrase of the list, or "".
function phrase_at(i,   p, k, want, found) {
	if (!(word[i] in starts))
		starts[word[i]] = candidates(word[i])
	split(starts[word[i]], possible, " ")
	for (p in possible) {
		found = ""
		for (k = 1; (possible[p], k) in item; k++) {
			want = item[possible[p], k]
			if (!fits(word[i + k - 1], want))
				break
			found = found " " word[i + k - 1]
		}
		if (!((possible[p], k) in item))
			return substr(found, 2)
	}
	return ""
}

# The numbers of the phrases that may begin with this word.
function candidates(first,   p, found) {
	for (p = 1; p <= phrases; p++) {
		if (fits(first, item[p, 1]))
			found = found " " p
	}
	return found
}

# Counts the words of the lines gathered so far: of one kind and one file.
function count_gathered(   i, found) {
	for (i = 1; i <= n; i++) {
		found = phrase_at(i)
		if (found != "") {
			print line[i] ": " kind ": " found
			places[kind]++
		}
	}
	delete word
	delete line
	n = 0
}

FILENAME == ARGV[1] {
	if (/^[^#]/ && NF) {
		phrases++
		for (k = 1; k <= NF; k++)
			item[phrases, k] = $k
	}
	next
}

{
	place = $2
	sub(/:[0-9]+$/, "", place)
	if ($1 != kind || place != file)
		count_gathered()
	kind = $1
	file = place
	place = $2
	sub(/^[^ ]+ [^ ]+ ?/, "")
	text = tolower($0)
	gsub(/[.,;:()?!]+/, " . ", text)
	gsub(/[^a-z0-9.'-]/, " ", text)
	m = split(text, parts, " ")
	for (k = 1; k <= m; k++) {
		word[++n] = parts[k]
		line[n] = place
		if (parts[k] ~ /^[a-z]/)
			words[kind]++
	}
}

END {
	count_gathered()
	for (kind in words)
		print "=", kind, places[kind] + 0, words[kind]
}
