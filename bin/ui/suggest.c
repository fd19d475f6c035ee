/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/suggest.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define LONGEST 63 /* longer words are never suggested */

static unsigned
least(unsigned a, unsigned b, unsigned c)
{
	const unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* A capital letter is the same letter. */
static bool
same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Insertions, deletions, replacements and swaps of neighbours from a to b. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned rows[3][LONGEST + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];
	const size_t n = strlen(a), m = strlen(b);

	for (unsigned j = 0; j <= m; j++)
		above[j] = j;
	for (unsigned i = 1; i <= n; i++) {
		unsigned *spare = before;
		row[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			row[j] = least(above[j] + 1, row[j - 1] + 1,
			    above[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) &&
			    same(a[i - 2], b[j - 1]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = spare;
	}
	return above[m];
}

void
suggest_start(struct suggest *suggest, const char *typed)
{
	suggest->typed = typed;
	suggest->best[0] = '\0';
	suggest->distance = UINT_MAX;
}

void
suggest_word(struct suggest *suggest, const char *word)
{
	unsigned d;

	if (strlen(word) > LONGEST || strlen(suggest->typed) > LONGEST)
		return;
	d = distance(suggest->typed, word);
	/* The beginning of a word counts as one mistake. */
	if (d > 1 && strlen(suggest->typed) > 1 &&
	    strncasecmp(word, suggest->typed, strlen(suggest->typed)) == 0)
		d = 1;
	if (d < suggest->distance) {
		suggest->distance = d;
		strcpy(suggest->best, word);
	}
}

void
suggest_negated(struct suggest *suggest, const char *word)
{
	char negated[LONGEST + 1];

	snprintf(negated, sizeof(negated), "no-%s", word);
	suggest_word(suggest, negated);
}

const char *
suggest_best(const struct suggest *suggest)
{
	const size_t size = strlen(suggest->typed);

	/* A third of the letters may be wrong, in a short word one. */
	if (suggest->distance > (size < 6 ? 1 : size / 3))
		return NULL;
	return suggest->best;
}
