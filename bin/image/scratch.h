/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is used again; what it held before is of no interest. */
#ifndef CACHEX_IMAGE_SCRATCH_H
#define CACHEX_IMAGE_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/** Zero-initialised is empty. */
struct lc__scratch {
	void *data;  /* 64-byte aligned */
	size_t room; /* bytes */
};

/** Room for @p count times @p size bytes, contents undefined; NULL without memory. */
void *lc__scratch_get(struct lc__scratch *scratch, uint64_t count, uint64_t size);
void lc__scratch_free(struct lc__scratch *scratch);

/** A place for @p size bytes in one block of memory of which *used are taken, 64-byte
 *  aligned as the block is. NULL without a block: then it only counts. */
static inline void *
lc__scratch_place(uint8_t *block, uint64_t *used, uint64_t size)
{
	const uint64_t at = *used;

	*used = at + lc__round_up(size, 64);
	return block == NULL ? NULL : block + at;
}

#endif
