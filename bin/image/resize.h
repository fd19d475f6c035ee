/* SPDX-License-Identifier: BSD-2-Clause */
/* Resampling of rows as they come, with the triangle filter. */
#ifndef CACHEX_IMAGE_RESIZE_H
#define CACHEX_IMAGE_RESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/sink.h"
#include "image/sums.h"
#include "lmdbcache.h"

/** The weights of one target pixel sum to this. */
#define LC__FILTER_ONE 16384

/** The triangle filter along one axis. Positions are in 1/65536 pixel of the source. */
struct lc__filter {
	int64_t from, width; /* the part of the source that is resampled */
	int64_t reach;       /* half the filter's width: the scale, 1 pixel at least */
	uint32_t source, target; /* pixels */
	uint32_t taps;           /* source pixels of one target pixel, at most */
};

/**
 * Resample @p width pixels from @p from on, of a source of @p source pixels, to
 * @p target pixels. LC_INVALID for sizes that make no sense: a source above 2^28
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

/** Target rows that can be open at once: two that have begun, one being planned. */
#define LC__RESIZE_OPEN 3

/** The resampling to do, to samples of 8 bits. */
struct lc__resize_plan {
	struct lc__filter x, y;
	unsigned channels;  /* 1 or 3 */
	uint8_t *planes[3]; /* where the result's planes begin; grey fills all */
	size_t stride;      /* bytes from one row of a plane to the next */
	const struct lc__sums *sums;
};

/** A row of the result that waits for more source rows. */
struct lc__resize_row {
	uint32_t first, count; /* source rows that it needs */
	uint32_t used;         /* source rows already in its sums */
	int16_t *weights;      /* count of them */
	int32_t *sums;         /* so far, if used > 0 */
};

struct lc__resize {
	struct lc__resize_plan plan;
	uint32_t first_column; /* of the source that is needed */
	size_t samples;        /* of a source row that are needed, from there on */
	unsigned taps;         /* of a column of the result, as lc__sums wants them */
	uint32_t *first;       /* of each: counted from first_column */
	int16_t *weights;
	uint32_t done;    /* rows of the result that are complete */
	uint32_t planned; /* rows whose weights are known: done or open */
	struct lc__resize_row open[LC__RESIZE_OPEN]; /* row i at i % LC__RESIZE_OPEN */
	uint8_t *kept;  /* the last source row of the band before, where it is needed */
	int16_t *mixed; /* one row of all channels, resampled along columns */
	int16_t *split[3]; /* `mixed`, separated by channel */
};

/** Set up. @p memory can be used again for the next image. */
LC_CHECKED lc_status lc__resize_begin(struct lc__resize *resize,
    const struct lc__resize_plan *plan, struct lc__scratch *memory);

/** The next rows of the source, LC__BAND at most, @p stride bytes apart. After the
 *  last one all rows of the result are there. */
void lc__resize_rows(struct lc__resize *resize, uint32_t y, uint32_t rows,
    const uint8_t *pixels, size_t stride);

/** The resampling to do, to samples of 16 bits, and its state. */
struct lc__resize16 {
	struct lc__filter x, y;
	unsigned channels;   /* 1 or 3 */
	bool deep;           /* rows have samples of 16 bits, else of 8 */
	uint16_t *planes[3]; /* where the result's planes begin; grey fills all */
	size_t stride;       /* samples from one row of a plane to the next */

	uint32_t first_column;   /* of the source that is needed */
	size_t samples;          /* of a source row, from there on, that are needed */
	uint16_t *rows;          /* the last y.taps source rows, row i at i % y.taps */
	uint32_t *sums;          /* of a row of the result along the columns, exact */
	uint32_t *first, *count; /* source columns of each column of the result, */
	int16_t *weights;        /* and their weights, x.taps of each */
	int16_t *down;           /* weights of rows */
	uint32_t done;           /* rows of the result that are complete */
};

/** Set up. The caller has filled in the members up to stride; @p memory can be used
 *  again for the next image. */
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
