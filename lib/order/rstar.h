/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The R* order: R* idealised readers, of which reader r runs for ever over the
 * chunks r, r + R*, r + 2R* ... of the endless repetition of all chunks. Example i
 * of the order is number i / R* of reader i % R*.
 */
#ifndef LC_ORDER_RSTAR_H
#define LC_ORDER_RSTAR_H

#include <stdbool.h>

#include "lmdbcache.h"

struct lc__rstar;

/** The position of a unit. */
struct lc__rstar_place {
	uint64_t step;   /* chunks of the reader before it, empty ones too; UINT64_MAX if
	                  * they are as many or more */
	uint64_t chunk;  /* position in the order of chunks */
	uint64_t offset; /* unit in the chunk */
};

/**
 * Build the order from the number of units in each chunk. It takes 8 bytes a chunk for
 * any R*: readers with the same cycle of chunks share its sums.
 * @param readers  R*, 1 or more
 * @param ends     units in chunks 0..i, ascending; copied
 * @param chunks   at most 2^32
 * @param final    no chunk will follow; else readers end at the last known chunk
 * @return LC_OK; LC_INVALID, with its number, if a reader has no data (final only);
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__rstar_new(uint32_t readers, const uint64_t *ends,
    uint64_t chunks, bool final, struct lc__rstar **out);
/** NULL is allowed. */
void lc__rstar_free(struct lc__rstar *rstar);

/** The number of known units of reader @p r: UINT64_MAX if final. */
uint64_t lc__rstar_known(const struct lc__rstar *rstar, uint32_t r);

/** Unit @p q of reader @p r, below lc__rstar_known(); O(log chunks). */
void lc__rstar_seek(const struct lc__rstar *rstar, uint32_t r, uint64_t q,
    struct lc__rstar_place *out);

/** How often all chunks were repeated before the position. */
uint64_t lc__rstar_epoch(const struct lc__rstar *rstar, uint32_t r,
    const struct lc__rstar_place *place);

/** The first unit of the reader's next chunk that is not empty, after @p place; false at
 *  the end of what is known. */
bool lc__rstar_next(const struct lc__rstar *rstar, uint32_t r,
    struct lc__rstar_place *place);

#endif
