/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/scratch.h"

#include <stdlib.h>

#include "base/bytes.h"

void *
lc__scratch_get(struct lc__scratch *scratch, uint64_t count, uint64_t size)
{
	uint64_t room;

	if (!lc__mul64(count, size, &room) || room > SIZE_MAX / 2)
		return NULL;
	if (room <= scratch->room && scratch->data != NULL)
		return scratch->data;
	lc__scratch_free(scratch);
	room = lc__round_up(room + (room == 0), 64);
	scratch->data = aligned_alloc(64, (size_t)room);
	scratch->room = scratch->data != NULL ? (size_t)room : 0;
	return scratch->data;
}

void
lc__scratch_free(struct lc__scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct lc__scratch){ 0 };
}
