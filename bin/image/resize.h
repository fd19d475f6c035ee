/* SPDX-License-Identifier: BSD-2-Clause */
/* Resampling of rows as they come. */
#ifndef CACHEX_IMAGE_RESIZE_H
#define CACHEX_IMAGE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/filter.h"
#include "image/scratch.h"
#include "image/sums.h"
#include "lmdbcache.h"

/** Target rows that can be under way at once: two are begun, one is looked at. */
#define LC__RESIZE_OPEN 3

/** What is to be done. */
struct lc__resize_plan {
	struct lc__filter x, y;
	unsigned channels;      /* 1 or 3 */
	uint8_t *planes[3];     /* where the result's planes begin; grey fills all */
	size_t stride;          /* bytes from one row of a plane to the next */
	const struct lc__sums *sums;
};

/** A row of the result that needs rows yet to come. */
struct lc__resize_row {
	uint32_t first, count;  /* its source rows */
	uint32_t used;          /* of them, already in its sums */
	int16_t *weights;       /* count of them */
	int32_t *sums;          /* so far, if used > 0 */
};

struct lc__resize {
	struct lc__resize_plan plan;
	uint32_t first_column;  /* of the source that is needed */
	size_t samples;         /* of a source row, from there on, that are needed */
	unsigned taps;          /* of a column of the result, as lc__sums wants them */
	uint32_t *first;        /* of each: counted from first_column */
	int16_t *weights;
	uint32_t done;          /* rows of the result that are complete */
	uint32_t planned;       /* of which the weights are known, done or open */
	struct lc__resize_row open[LC__RESIZE_OPEN]; /* row i at i % LC__RESIZE_OPEN */
	uint8_t *kept;          /* the last source row of the band before, where it is needed */
	int16_t *mixed;         /* one row of all channels, resampled along columns */
	int16_t *split[3];      /* the same by channel */
};

/** Set up, in memory that is used again. */
LC_CHECKED lc_status lc__resize_begin(struct lc__resize *resize,
    const struct lc__resize_plan *plan, struct lc__scratch *memory);

/** The next rows of the source, LC__BAND at most, @p stride bytes apart. After the
 *  last one all rows of the result are there. */
void lc__resize_rows(struct lc__resize *resize, uint32_t y, uint32_t rows,
    const uint8_t *pixels, size_t stride);

#endif
