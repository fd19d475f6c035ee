/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/afloat.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

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
	if (a->end < a->room)
		return LC_OK;
	if (a->first > a->room / 2) {
		memmove(a->bytes, a->bytes + a->first,
		    (a->end - a->first) * sizeof(*a->bytes));
		a->end -= a->first;
		a->first = 0;
		return LC_OK;
	}
	return lc__array_reserve(&a->bytes, &a->room, a->end + 1, NULL);
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
