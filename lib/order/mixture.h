/* SPDX-License-Identifier: BSD-2-Clause */
/* Mixtures: which source an example comes from. */
#ifndef LC_ORDER_MIXTURE_H
#define LC_ORDER_MIXTURE_H

#include "lmdbcache.h"

struct lc__mixture;

/**
 * In each block of @p block examples, source s has its share by largest remainder
 * (of equal ones the first), at least that which rounds to it: maybe none.
 * @return LC_OK; LC_INVALID if a source would never come; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mixture_new(const uint64_t *weights, uint32_t sources,
    uint64_t block, uint64_t seed, struct lc__mixture **out);
/** NULL is harmless. */
void lc__mixture_free(struct lc__mixture *mixture);

/** Examples of source @p source in each block. */
uint64_t lc__mixture_count(const struct lc__mixture *mixture, uint32_t source);

/** Which example of which source has position @p i. */
void lc__mixture_at(const struct lc__mixture *mixture, uint64_t i, uint32_t *source,
    uint64_t *index);

#endif
