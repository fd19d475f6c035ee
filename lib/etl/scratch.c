/* SPDX-License-Identifier: BSD-2-Clause */
#include "etl/scratch.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"

void *
lc__scratch_get(struct lc__scratch *scratch, size_t size)
{
	if (size <= scratch->room && scratch->data != NULL)
		return scratch->data;
	lc__scratch_free(scratch);
	if (size > SIZE_MAX / 2)
		return NULL;
	size = lc__round_up(size + (size == 0), 64);
	scratch->data = aligned_alloc(64, size);
	scratch->room = scratch->data != NULL ? size : 0;
	return scratch->data;
}

void
lc__scratch_free(struct lc__scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct lc__scratch){ 0 };
}
