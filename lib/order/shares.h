/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of shares: all examples are dealt once to C shares, which many machines
 * divide among themselves, and each share is shuffled separately. lmdbcache_stream(3) has
 * the formulas.
 *
 * The N chunks are laid in a line, in an order that depends on the seed, and the line of
 * their n examples is cut into C shares of n / C examples; the first n mod C have one
 * more. The part of a chunk that is in a share is a piece; only the first and the last
 * piece of a share can be smaller than their chunk. In each epoch the pieces of a share
 * are permuted, and then the examples in each window of W pieces. Numbers go round the
 * shares: number x belongs to share x mod C. An epoch takes C ceil(n / C) numbers, so
 * that all shares have the same count: a share with one example less than others repeats
 * its last example.
 */
#ifndef LC_ORDER_SHARES_H
#define LC_ORDER_SHARES_H

#include "lmdbcache.h"

/** The parameters of the order. */
struct lc__shares_rule {
	uint32_t shares; /* C, 1 or more */
	uint64_t spread; /* W, 1 or more */
	uint64_t seed;
};

struct lc__shares;

/** The position of an example. */
struct lc__shares_place {
	uint64_t epoch;
	uint64_t chunk;  /* position in the order of chunks */
	uint64_t offset; /* example in the chunk */
};

/**
 * Deal the chunks; O(N), and 8 bytes a chunk.
 * @param ends  examples in chunks 0..i, ascending; copied
 * @return LC_OK; LC_INVALID with fewer examples than shares; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shares_new(const struct lc__shares_rule *rule,
    const uint64_t *ends, uint64_t chunks, struct lc__shares **out);
/** NULL is allowed. */
void lc__shares_free(struct lc__shares *shares);

/** Examples, n; and numbers in an epoch. */
uint64_t lc__shares_examples(const struct lc__shares *shares);
uint64_t lc__shares_numbers(const struct lc__shares *shares);

/**
 * The chunks with examples of reader @p reader of @p readers, in any epoch: ascending,
 * each once, malloc'ed. O(N / R), sorted. LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shares_chunks(const struct lc__shares *shares, uint32_t reader,
    uint32_t readers, uint64_t **out, uint64_t *n);

/** What a share reads of a chunk in one epoch, and when: in the rounds [first, end) of
 *  the epoch, which are those of the piece's window. */
struct lc__shares_visit {
	uint64_t chunk; /* position in the order of chunks */
	uint64_t first, end;
};

/**
 * The visits of a share in an epoch, in the order of their rounds: malloc'ed. Round i of
 * epoch e is number (e lc__shares_rounds() + i) C + share. LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__shares_visits(const struct lc__shares *shares, uint32_t share,
    uint64_t epoch, struct lc__shares_visit **out, uint64_t *n);

/** Rounds of an epoch: the numbers of each share. */
uint64_t lc__shares_rounds(const struct lc__shares *shares);

/* ---- cursors --------------------------------------------------------------------------
 * Pieces differ in size, so to find an example takes the sizes of the windows of its share.
 * A cursor sums them when it comes to an epoch of a share: one permutation for each piece,
 * some 80 ns, where reading the piece takes milliseconds. From then on an example is two
 * permutations or less, and O(log) steps. It takes 8 bytes a window and 24 a piece of one
 * window, of those shares that it was asked for. */

/** Used by one thread at a time. All zero except for its order is a new cursor. */
struct lc__shares_cursor {
	const struct lc__shares *shares; /* borrowed */
	struct lc__share_sums **of;      /* for each share; NULL: not used yet */
};

/** Find number @p x, counted over all epochs. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__shares_at(struct lc__shares_cursor *cursor, uint64_t x,
    struct lc__shares_place *out);

/** Free its memory. */
void lc__shares_cursor_end(struct lc__shares_cursor *cursor);

#endif
