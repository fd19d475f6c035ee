/* SPDX-License-Identifier: BSD-2-Clause */
/* The triangle filter along one axis: which pixels make another, and how much. */
#ifndef CACHEX_IMAGE_FILTER_H
#define CACHEX_IMAGE_FILTER_H

#include <stdint.h>

#include "lmdbcache.h"

/** The weights of one target pixel sum to this. */
#define LC__FILTER_ONE 16384

/** Positions are in 1/65536 pixel of the source. */
struct lc__filter {
	int64_t from, width;     /* the part of the source that is resampled */
	int64_t reach;           /* half the filter's width: the scale, 1 pixel at least */
	uint32_t source, target; /* pixels */
	uint32_t taps;           /* source pixels of one target pixel, at most */
};

/**
 * Resample @p width pixels from @p from on, of a source of @p source pixels, to
 * @p target pixels. LC_INVALID for sizes beyond all sense: a source above 2^28
 * pixels, a target above 65,535, more than 65,536 to 1.
 */
LC_CHECKED lc_status lc__filter_plan(double from, double width, uint32_t source,
    uint32_t target, struct lc__filter *out);

/** The first and the last source pixel of target pixel @p i. Neither decreases
 *  with i. */
void lc__filter_range(const struct lc__filter *filter, uint32_t i, uint32_t *first,
    uint32_t *last);

/** The weights of these pixels, in order; returns how many. None is negative. */
uint32_t lc__filter_weights(const struct lc__filter *filter, uint32_t i,
    int16_t *weights);

#endif
