/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A split of records into parts by a hash of their cache_id, or of their run:
 *
 *    h = XXH3-64 of the bytes of the cache_id, or of the run's name, with the seed
 *    record is in part k, the first with h W / 2^64 < s_0 + ... + s_k
 *
 * where s are the shares as integers and W is their sum; all of it is exact. So parts are
 * disjoint, and a record stays in its part whatever is added, deleted or reordered.
 */
#ifndef LC_ORDER_PARTS_H
#define LC_ORDER_PARTS_H

#include <stdbool.h>

#include "lmdbcache.h"

/* The most parts of a split, and the most bytes of a name. */
#define LC__PARTS_MAX 64
#define LC__PART_NAME 32

struct lc__split_parts {
	size_t n;
	char names[LC__PARTS_MAX][LC__PART_NAME + 1];
	uint64_t ends[LC__PARTS_MAX]; /* cumulative shares, without a common divisor; the
	                               * last one is W */
	bool by_run;
	uint64_t seed;
};

/**
 * Parse "train=0.9,val=0.1": names of letters, digits, '.', '_' and '-', and shares that
 * sum to 1 or are whole numbers. The caller sets by_run and seed.
 * @return LC_OK; LC_INVALID with the mistake.
 */
LC_CHECKED lc_status lc__parts_parse(const char *text, struct lc__split_parts *out);

/** The part of a name; LC_INVALID, with a message that lists the names. */
LC_CHECKED lc_status lc__parts_named(const struct lc__split_parts *parts,
    const char *name, size_t *out);

/** The part of a cache_id or run. */
size_t lc__parts_of(const struct lc__split_parts *parts, const void *key, size_t size);

#endif
