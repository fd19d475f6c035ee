/* SPDX-License-Identifier: BSD-2-Clause */
/* Resampling of rows as they come, to samples of 16 bits. */
#ifndef CACHEX_IMAGE_RESIZE16_H
#define CACHEX_IMAGE_RESIZE16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/filter.h"
#include "image/scratch.h"
#include "lmdbcache.h"

/** What is to be done, and how far it is. */
struct lc__resize16 {
	struct lc__filter x, y;
	unsigned channels;      /* 1 or 3 */
	bool deep;              /* rows have samples of 16 bits, else of 8 */
	uint16_t *planes[3];    /* where the result's planes begin; grey fills all */
	size_t stride;          /* samples from one row of a plane to the next */

	uint32_t first_column;  /* of the source that is needed */
	size_t samples;         /* of a source row, from there on, that are needed */
	uint16_t *rows;         /* the last y.taps source rows, row i at i % y.taps */
	uint32_t *sums;         /* of a row of the result along the columns, exact */
	uint32_t *first, *count; /* source columns of each column of the result, */
	int16_t *weights;       /* and their weights, x.taps of each */
	int16_t *down;          /* weights of rows */
	uint32_t done;          /* rows of the result that are complete */
};

/** Set up, with the first members filled in, in memory that is used again. */
LC_CHECKED lc_status lc__resize16_begin(struct lc__resize16 *resize,
    struct lc__scratch *memory);

/**
 * The next rows of the source, @p stride bytes apart; 8 bits are spread, v * 257. Both
 * sums are exact and rounded once, halves up: their order makes no difference. After the
 * last one all rows of the result are there.
 */
void lc__resize16_rows(struct lc__resize16 *resize, uint32_t y, uint32_t rows,
    const uint8_t *pixels, size_t stride);

#endif
