/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/selection.h"

#include <stdlib.h>

struct lc__selection *
lc__selection_new(uint64_t records)
{
	struct lc__selection *s = calloc(1, sizeof(*s));
	size_t n;

	if (s == NULL)
		return NULL;
	s->records = records;
	n = lc__selection_words(s) + 1;
	/* The three arrays in one block. */
	s->words = n > SIZE_MAX / 3 ? NULL : calloc(3 * n, sizeof(*s->words));
	if (s->words == NULL) {
		free(s);
		return NULL;
	}
	s->rank = s->words + n;
	s->units = s->rank + n;
	return s;
}

void
lc__selection_free(struct lc__selection *s)
{
	if (s == NULL)
		return;
	free(s->words);
	free(s);
}

bool
lc__selection_add(struct lc__selection *s, uint64_t record, uint64_t units)
{
	const uint64_t word = record / 64;

	if (units > UINT64_MAX - s->sum)
		return false;
	s->words[word] |= (uint64_t)1 << record % 64;
	s->n++;
	s->sum += units;
	/* Units up to the end of the word; lc__selection_end() turns them into those
	 * before it. */
	s->units[word] = s->sum;
	return true;
}

void
lc__selection_end(struct lc__selection *s)
{
	const size_t n = lc__selection_words(s);
	uint64_t rank = 0, units = 0;

	for (size_t i = 0; i <= n; i++) {
		const uint64_t word = s->words[i];
		const uint64_t end = word != 0 ? s->units[i] : units;

		s->rank[i] = rank;
		s->units[i] = units;
		rank += (uint64_t)__builtin_popcountll(word);
		units = end;
	}
}

/* The last word with at most i before it; the record is in it, since later words begin
 * with more. */
static size_t
last_word(const uint64_t *before, size_t n, uint64_t i)
{
	size_t low = 0, high = n - 1;

	while (low < high) {
		const size_t middle = high - (high - low) / 2;

		if (before[middle] <= i)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

uint64_t
lc__selection_at(const struct lc__selection *s, uint64_t k)
{
	const size_t at = last_word(s->rank, lc__selection_words(s), k);
	uint64_t word = s->words[at];

	for (uint64_t skip = k - s->rank[at]; skip > 0; skip--)
		word &= word - 1;
	return (uint64_t)at * 64 + (uint64_t)__builtin_ctzll(word);
}

void
lc__selection_find(const struct lc__selection *s, uint64_t unit, uint64_t *k,
    uint64_t *before)
{
	const size_t at = last_word(s->units, lc__selection_words(s), unit);

	*k = s->rank[at];
	*before = s->units[at];
}
