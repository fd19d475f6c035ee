/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of shares written out: the line, its shares, their pieces and windows as lists,
 * from the formulas of lmdbcache_stream(3) and without a line of lib/order. Slow, and meant
 * to be obviously right.
 */
#ifndef T_MODEL_SHARES_H
#define T_MODEL_SHARES_H

#include <stddef.h>
#include <stdint.h>

/** An example: of which chunk, and which one there. */
struct model_place {
	uint64_t chunk, offset;
};

struct model_shares {
	uint64_t shares, spread, seed;
	const uint64_t *sizes; /* examples of each chunk */
	uint64_t chunks;
};

/** The examples of an epoch in the order of their numbers, those that come twice too:
 *  *numbers of them, malloc'ed. There are at least as many examples as shares. */
struct model_place *model_shares(const struct model_shares *of, uint64_t epoch,
    uint64_t *numbers);

/** All examples in the order in which they are dealt; share after share. */
struct model_place *model_shares_line(const struct model_shares *of, uint64_t *n);

/** Where share @p share begins in the line; for the number of shares, the end. */
uint64_t model_shares_first(const struct model_shares *of, uint64_t share);

#endif
