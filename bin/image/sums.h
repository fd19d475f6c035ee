/* SPDX-License-Identifier: BSD-2-Clause */
/* The arithmetic of resampling: weighted sums of rows and along a row. */
#ifndef CACHEX_IMAGE_SUMS_H
#define CACHEX_IMAGE_SUMS_H

#include <stddef.h>
#include <stdint.h>

/** Bits beyond its eight that a sample has between the two passes. */
#define LC__SUMS_BITS 7

/** Zero samples that must follow the end of a row. */
#define LC__SUMS_MARGIN 32

/** One way to compute it. All ways give the same bytes. */
struct lc__sums {
	const char *name;
	/**
	 * Add up rows of samples: an even count of them, with weights whose sum is
	 * LC__FILTER_ONE. Sums that are not complete go to @p after and are passed as @p
	 * before of the next call, in an order that this way chooses; complete ones are
	 * rounded to out, LC__SUMS_BITS bits longer. @p before and @p after may be NULL.
	 */
	void (*down)(const uint8_t *const *rows, const int16_t *weights, unsigned count,
	    size_t n, const int32_t *before, int32_t *after, int16_t *out);
	/** Three channels of n pixels, to three rows of one. */
	void (*split)(const int16_t *pixels, size_t n, int16_t *const rows[3]);
	/**
	 * Out of one channel's row, n bytes: byte i from @p taps samples from
	 * in[first[i]] on, with the weights that begin at i * taps. There are
	 * 4 or a multiple of 8 taps; first and weights are padded with zeros to
	 * a multiple of 8 bytes.
	 */
	void (*across)(const int16_t *in, const uint32_t *first, const int16_t *weights,
	    unsigned taps, size_t n, uint8_t *out);
};

/** The ways of this machine, the best one last; returns how many. */
size_t lc__sums_all(const struct lc__sums *out[4]);
/** The best one. */
const struct lc__sums *lc__sums_best(void);

/* ---- for sums.c and sums_x86.c alone ------------------------------------------ */

/* log2(LC__FILTER_ONE) is 14: down leaves 7 of these bits, across all 21. */
#define LC__SUMS_DOWN_SHIFT (14 - LC__SUMS_BITS)
#define LC__SUMS_DOWN_HALF (1 << (LC__SUMS_DOWN_SHIFT - 1))
#define LC__SUMS_ACROSS_SHIFT (14 + LC__SUMS_BITS)
#define LC__SUMS_ACROSS_HALF (1 << (LC__SUMS_ACROSS_SHIFT - 1))

/** The plain down() from sample @p first on. */
void lc__sums_down_from(const uint8_t *const *rows, const int16_t *weights,
    unsigned count, size_t first, size_t n, const int32_t *before, int32_t *after,
    int16_t *out);

/** The ways that this processor has, 3 at most, the best one last. */
size_t lc__sums_x86(const struct lc__sums *out[3]);

#endif
