/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shuffles of the examples 0..n-1 of an epoch, as functions without state, and their
 * building blocks: keys that mix several words, and permutations that depend on a key.
 * lmdbcache_stream(3) has the formulas.
 */
#ifndef LC_ORDER_SHUFFLE_H
#define LC_ORDER_SHUFFLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/* ---- keys ----------------------------------------------------------------------------- */

/** The increment of splitmix64: 2^64 divided by the golden ratio, odd. */
#define LC__GOLDEN UINT64_C(0x9E3779B97F4A7C15)

/** The finaliser of splitmix64: a bijection of 64 bits. */
static inline uint64_t
lc__mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/** A key made of @p n words; n is part of it. */
static inline uint64_t
lc__key(const uint64_t *words, size_t n)
{
	uint64_t h = LC__GOLDEN;

	for (size_t i = 0; i < n; i++)
		h = lc__mix(h + LC__GOLDEN + lc__mix(words[i] + LC__GOLDEN));
	return h;
}

/* The third word of a key tells its use. */
enum {
	LC__TAG_WHOLE = 1,   /* (seed, epoch, 1, 0): all examples of an epoch;
	                        (seed, epoch, 1): the order of blocks */
	LC__TAG_WINDOW = 2,  /* (seed, epoch, 2, window): examples in it */
	LC__TAG_MIXTURE = 3, /* (seed, 0, 3, block): slots of a mixture */
	LC__TAG_SOURCE = 4,  /* (seed, 0, 4, source): the seed of a mixture's source */
	LC__TAG_DEAL = 5,    /* (seed, 0, 5): chunks dealt to shares */
	LC__TAG_SHARE = 6,   /* (seed, epoch, 6, share): the order of its pieces */
	LC__TAG_NEAR = 7     /* (seed, epoch, 7, share, window): examples in it */
};

/* ---- permutations --------------------------------------------------------------------
 * A bijection of 0..n-1 without state: an alternating Feistel network of 8 rounds over as
 * many bits as n - 1 has, walked until it ends below n. */

#define LC__PERMUTE_ROUNDS 8

struct lc__permutation {
	uint64_t n;                   /* 1 to 2^63 */
	unsigned low_bits;            /* of the right half; the left one has the rest */
	uint64_t low_mask, high_mask; /* of the halves */
	uint64_t keys[LC__PERMUTE_ROUNDS]; /* of the rounds */
};

/** Make the permutation of 0..n-1 for a key. */
void lc__permutation_init(struct lc__permutation *out, uint64_t n, uint64_t key);

/** The image of @p i < n. */
uint64_t lc__permute(const struct lc__permutation *permutation, uint64_t i);

/* ---- shuffles ------------------------------------------------------------------------- */

/** The kind of a shuffle and its sizes. */
struct lc__shuffle_rule {
	lc_shuffle kind;
	uint64_t block;              /* B, 1 or more */
	uint64_t spread;             /* W, 1 or more */
	uint64_t era_first, era_max; /* E0 <= Emax, 1 or more */
	uint64_t seed;
};

/** The shuffle of one epoch: everything that does not depend on the example. */
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

/** A window of blocks: the common data of its positions. All zero: no window. */
struct lc__shuffle_window {
	uint64_t first, end;           /* positions */
	uint64_t era;                  /* first position of the era; 0 without eras */
	uint64_t blocks;               /* full blocks in the era */
	struct lc__permutation order;  /* order of these blocks */
	struct lc__permutation inside; /* of the positions */
};

/**
 * The same, faster for neighbours: @p near keeps the window of the last position from
 * call to call; zero at first.
 */
uint64_t lc__shuffle_near(const struct lc__shuffle *shuffle,
    struct lc__shuffle_window *near, uint64_t i);

/**
 * The window of position @p i: its positions hold the examples of this many runs, and no
 * others. FULL has one run, NONE has no windows. Then run @p k of it.
 */
uint64_t lc__shuffle_runs(const struct lc__shuffle *shuffle,
    struct lc__shuffle_window *near, uint64_t i);
void lc__shuffle_run(const struct lc__shuffle *shuffle,
    const struct lc__shuffle_window *near, uint64_t k, uint64_t *first, uint64_t *end);

/**
 * How many positions are settled, for a source that still grows and has @p known
 * examples. An era is settled when it is complete. For NONE, @p known; for FULL and
 * BLOCK, which depend on the end, 0.
 */
uint64_t lc__shuffle_settled(const struct lc__shuffle_rule *rule, uint64_t known);

/**
 * The last example that must be known to settle position @p i: the last one of its era.
 * For NONE, @p i; for FULL and BLOCK the end must be known, too.
 */
uint64_t lc__shuffle_last_of(const struct lc__shuffle_rule *rule, uint64_t i);

#endif
