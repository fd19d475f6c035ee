/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

struct lc__request *
lc__requests_add(struct lc__requests *requests)
{
	if (lc__array_reserve(&requests->item, &requests->room, requests->n + 1, NULL) !=
	    LC_OK)
		return NULL;
	return &requests->item[requests->n++];
}

/* Does a come after b? */
static bool
is_after(const struct lc__request *a, const struct lc__request *b)
{
	if (a->source != b->source)
		return a->source > b->source;
	if (a->position != b->position)
		return a->position > b->position;
	return a->record > b->record;
}

/* A bottom-up merge sort. Requests of a stream without a shuffle are sorted already. */
lc_status
lc__requests_sort(struct lc__requests *requests)
{
	const size_t n = requests->n;
	struct lc__request *from = requests->item, *to;
	size_t sorted = 1;

	while (sorted < n && !is_after(&from[sorted - 1], &from[sorted]))
		sorted++;
	if (sorted >= n)
		return LC_OK;
	to = malloc(requests->room * sizeof(*to));
	if (to == NULL)
		return lc__no_memory("reader");
	for (size_t half = 1; half < n; half *= 2) {
		struct lc__request *merged = to;

		/* Merge from[a, middle) and from[middle, end), for all of them. */
		for (size_t first = 0, end; first < n; first = end) {
			const size_t middle = n - first < half ? n : first + half;
			size_t a = first, b = middle;

			end = n - middle < half ? n : middle + half;
			for (size_t i = first; i < end; i++) {
				const bool take_a = b == end ||
				    (a < middle && !is_after(&from[a], &from[b]));

				to[i] = take_a ? from[a++] : from[b++];
			}
		}
		to = from;
		from = merged;
	}
	requests->item = from;
	free(to);
	return LC_OK;
}

static bool
same_chunk(const struct lc__request *a, const struct lc__request *b)
{
	return a->source == b->source && a->position == b->position;
}

bool
lc__requests_same(const struct lc__request *a, const struct lc__request *b)
{
	return same_chunk(a, b) && a->record == b->record;
}

void
lc__requests_rows(const struct lc__requests *requests, size_t i, struct lc__row_span *out)
{
	const struct lc__request *r = &requests->item[i];

	*out = (struct lc__row_span){ .from = r->from, .n = r->units };
	if (i > 0 && lc__requests_same(r, r - 1) && r->from >= r[-1].from)
		out->done = r[-1].from + r[-1].units;
}

size_t
lc__requests_chunk(const struct lc__requests *requests, size_t i)
{
	const struct lc__request *first = &requests->item[i];

	while (++i < requests->n && same_chunk(first, &requests->item[i]))
		;
	return i;
}

size_t
lc__requests_run(const struct lc__requests *requests, size_t i)
{
	const struct lc__request *at = requests->item;

	for (i++; i < requests->n; i++)
		if (!same_chunk(&at[i - 1], &at[i]) ||
		    at[i].record - at[i - 1].record > 1)
			break;
	return i;
}

void
lc__requests_free(struct lc__requests *requests)
{
	free(requests->item);
	memset(requests, 0, sizeof(*requests));
}
