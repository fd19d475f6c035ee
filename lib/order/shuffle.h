/* SPDX-License-Identifier: BSD-2-Clause */
/* Shuffles of the examples 0..n-1 of an epoch, as functions without state. */
#ifndef LC_ORDER_SHUFFLE_H
#define LC_ORDER_SHUFFLE_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "order/permute.h"

/** The kind of a shuffle and its sizes. */
struct lc__shuffle_rule {
	lc_shuffle kind;
	uint64_t block;              /* B, 1 or more */
	uint64_t spread;             /* W, 1 or more */
	uint64_t era_first, era_max; /* E0 <= Emax, 1 or more */
	uint64_t seed;
};

/** The shuffle of one epoch: what does not depend on the example. */
struct lc__shuffle {
	struct lc__shuffle_rule rule;
	uint64_t n; /* examples of the epoch, 1 or more */
	uint64_t epoch;
	struct lc__permutation whole; /* FULL: examples; BLOCK: blocks */
};

void lc__shuffle_init(struct lc__shuffle *out, const struct lc__shuffle_rule *rule,
    uint64_t n, uint64_t epoch);

/** The example at position @p i < n. */
uint64_t lc__shuffle_at(const struct lc__shuffle *shuffle, uint64_t i);

/** A window of blocks: what its positions have in common. All zeros is none. */
struct lc__shuffle_window {
	uint64_t first, end;           /* positions */
	uint64_t era;                  /* first position of the era; 0 without eras */
	uint64_t blocks;               /* full blocks in the era */
	struct lc__permutation order;  /* of these blocks */
	struct lc__permutation inside; /* of the positions */
};

/**
 * The same, cheaper for neighbours: @p near keeps the window of the last position from
 * call to call; zeros at first.
 */
uint64_t lc__shuffle_near(const struct lc__shuffle *shuffle,
    struct lc__shuffle_window *near, uint64_t i);

/**
 * How many positions are settled, of a source that still grows and has @p known examples.
 * An era is settled when it is complete. With NONE, @p known; with FULL and BLOCK, which
 * depend on the end, 0.
 */
uint64_t lc__shuffle_settled(const struct lc__shuffle_rule *rule, uint64_t known);

/**
 * The last example that position @p i needs to be settled: the last one of its era. With
 * NONE, @p i; with FULL and BLOCK, where the end is known, too.
 */
uint64_t lc__shuffle_last_of(const struct lc__shuffle_rule *rule, uint64_t i);

#endif
