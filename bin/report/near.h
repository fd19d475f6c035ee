/* SPDX-License-Identifier: BSD-2-Clause */
/* Images and vectors that are nearly equal, as pairs. */
#ifndef CACHEX_REPORT_NEAR_H
#define CACHEX_REPORT_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "draw/pixels.h"
#include "lmdbcache.h"

/** Two items and their distance, 0 to 2. */
struct lc__pair {
	size_t a, b; /* a < b */
	double distance;
};

/**
 * Pairs of items 0 to items - 1. Of the pairs that were added only those of a forest are
 * kept: the items of a group, in which each is near another one, have one pair fewer than
 * the group has items, with the smallest distances.
 */
struct lc__pairs {
	size_t items;         /* set by the caller; the rest is zeroed */
	struct lc__pair *all; /* malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__pairs_add(struct lc__pairs *pairs, size_t a, size_t b,
    double distance);
/** Reduce to the forest, sorted by distance, then by a and b. */
LC_CHECKED lc_status lc__pairs_end(struct lc__pairs *pairs);
void lc__pairs_free(struct lc__pairs *pairs);

/* ---- images --------------------------------------------------------------------- */

#define LC__PRINT_BITS 128

/** What an image looks like, without its details. */
struct lc__print {
	uint64_t bits[2]; /* is a field of an 8 x 8 grid darker than the one to its right,
	                      and than the one below it? */
	uint8_t colour[3]; /* mean of each channel */
	size_t item;       /* the caller's number */
};

/** The print of an image: the grid is one of 9 x 8 means of its grey values, and one of
 *  8 x 9. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__print_of(const struct lc__pixels *image, struct lc__print *out);

/** The distance of two prints: the share of bits that differ; 1 if a mean colour differs by
 *  more than a tenth of its range. */
double lc__print_distance(const struct lc__print *a, const struct lc__print *b);

/**
 * Add the pairs of items whose prints are at most @p limit apart. Sorts @p prints.
 * @param progress  may be NULL; non-zero from step() ends the call
 * @return LC_OK; LC_CANCELLED; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__near_prints(struct lc__print *prints, size_t n, double limit,
    const lc_progress *progress, struct lc__pairs *out);

/* ---- vectors ---------------------------------------------------------------------- */

/**
 * Add the pairs of vectors whose distance, 1 less the cosine of the angle between them,
 * is at most @p limit. All such pairs are found: vectors are compared only if some of
 * their coordinates do not already tell them apart.
 * @param rows   @p n vectors of @p d elements, finite; they are scaled to length 1
 * @param items  the caller's number of each, ascending
 * @return LC_OK; LC_CANCELLED; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__near_vectors(float *rows, const size_t *items, size_t n,
    size_t d, double limit, const lc_progress *progress, struct lc__pairs *out);

#endif
