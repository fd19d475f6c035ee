/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds pairs of images, and of vectors, that are nearly equal. */
#ifndef CACHEX_REPORT_NEAR_H
#define CACHEX_REPORT_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "draw/pixels.h"
#include "lmdbcache.h"

/** Two items and their distance, from 0 to 2. */
struct lc__pair {
	size_t a, b; /* a < b */
	double distance;
};

/**
 * Pairs of the items 0 to items - 1. Items that pairs connect, directly or through
 * others, are a group. Of the pairs added, only a minimum spanning forest is kept: a
 * group of k items keeps the k - 1 pairs with the smallest distances that connect it.
 */
struct lc__pairs {
	size_t items;         /* set by the caller; all other members begin as zero */
	struct lc__pair *all; /* malloc'ed */
	size_t n, room;
};

LC_CHECKED lc_status lc__pairs_add(struct lc__pairs *pairs, size_t a, size_t b,
    double distance);
/** Reduce the pairs to the forest, sorted by distance, then by a and b. */
LC_CHECKED lc_status lc__pairs_end(struct lc__pairs *pairs);
void lc__pairs_free(struct lc__pairs *pairs);

/* ---- images --------------------------------------------------------------------- */

#define LC__PRINT_BITS 128

/** An image without its details, for comparisons. */
struct lc__print {
	/* Bit i is set if field i of an 8 x 8 grid is darker than its right neighbour
	 * (bits[0]), or than the field below it (bits[1]). */
	uint64_t bits[2];
	uint8_t colour[3]; /* mean of each channel */
	size_t item;       /* the caller's number of the image */
};

/** Compute the print of an image: from a grid of 9 x 8 means of its grey values, and
 *  one of 8 x 9. LC_NO_MEMORY. */
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

/* ---- vectors --------------------------------------------------------------------- */

/**
 * Add the pairs of vectors whose distance, 1 minus the cosine of the angle between
 * them, is at most @p limit. No pair is missed: a pair is skipped only if a few
 * coordinates prove that its distance is larger.
 * @param rows   @p n vectors of @p d finite elements; they are scaled to length 1
 * @param items  the caller's number of each vector, ascending
 * @return LC_OK; LC_CANCELLED; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__near_vectors(float *rows, const size_t *items, size_t n,
    size_t d, double limit, const lc_progress *progress, struct lc__pairs *out);

#endif
