/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/block.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"

/* The struct takes one unit, so that the data behind it is aligned. */
#define UNIT 64

_Static_assert(sizeof(struct lc__block) <= UNIT, "the struct fits its unit");

size_t
lc__block_cost(size_t size)
{
	if (size > SIZE_MAX - 2 * UNIT)
		return SIZE_MAX;
	return UNIT + (size_t)lc__round_up(size, UNIT);
}

struct lc__block *
lc__block_new(size_t size)
{
	const size_t cost = lc__block_cost(size);
	struct lc__block *block =
	    cost == SIZE_MAX ? NULL : aligned_alloc(UNIT, cost);

	if (block == NULL)
		return NULL;
	atomic_init(&block->refs, 1);
	block->size = size;
	block->data = (unsigned char *)block + UNIT;
	return block;
}

struct lc__block *
lc__block_hold(struct lc__block *block)
{
	atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
	return block;
}

void
lc__block_drop(struct lc__block *block)
{
	if (block != NULL && atomic_fetch_sub_explicit(&block->refs, 1,
	    memory_order_acq_rel) == 1)
		free(block);
}
