/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/afloat.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define LEAST 1024

/* Commits take the oldest first. */
static void
forget_committed(struct lc__afloat *a, uint64_t pending)
{
	if (a->end - a->first > pending)
		a->first = a->end - (size_t)pending;
}

/* Room for one more: what stands in front is forgotten when that is most of it. */
static lc_status
make_room(struct lc__afloat *a)
{
	const size_t room = a->room > 0 ? 2 * a->room : LEAST;
	uint64_t *bytes;

	if (a->end < a->room)
		return LC_OK;
	if (a->first > a->room / 2) {
		memmove(a->bytes, a->bytes + a->first,
		    (a->end - a->first) * sizeof(*a->bytes));
		a->end -= a->first;
		a->first = 0;
		return LC_OK;
	}
	bytes = reallocarray(a->bytes, room, sizeof(*bytes));
	if (bytes == NULL)
		return lc__no_memory(NULL);
	a->bytes = bytes;
	a->room = room;
	return LC_OK;
}

lc_status
lc__afloat_add(struct lc__afloat *afloat, uint64_t bytes, uint64_t pending)
{
	return_if_error(make_room(afloat));
	afloat->bytes[afloat->end++] = bytes;
	forget_committed(afloat, pending);
	return LC_OK;
}

size_t
lc__afloat_count(struct lc__afloat *afloat, uint64_t pending, uint64_t *bytes)
{
	forget_committed(afloat, pending);
	*bytes = 0;
	for (size_t i = afloat->first; i < afloat->end; i++)
		*bytes += afloat->bytes[i];
	return afloat->end - afloat->first;
}

void
lc__afloat_free(struct lc__afloat *afloat)
{
	free(afloat->bytes);
	memset(afloat, 0, sizeof(*afloat));
}
