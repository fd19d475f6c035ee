/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of values in bins of equal width. */
#ifndef CACHEX_REPORT_HISTOGRAM_H
#define CACHEX_REPORT_HISTOGRAM_H

#include <stdint.h>

#define LC__HISTOGRAM_BINS 64

struct lc__histogram {
	const char *name;  /* "box_side": in files */
	const char *title; /* "side of a box (square root of its area), pixels" */
	double low, high;  /* of all bins: i begins at low + i * (high - low) / bins */
	uint32_t bins;     /* at most LC__HISTOGRAM_BINS */
	uint64_t counts[LC__HISTOGRAM_BINS];
	uint64_t below, above;   /* values outside of [low, high) */
	uint64_t n;              /* all values */
	double sum, least, most; /* of them; least > most if there are none */
};

/** Without values; @p low < @p high, @p bins 1 at least. Borrows both texts. */
void lc__histogram_init(struct lc__histogram *histogram, const char *name,
    const char *title, double low, double high, uint32_t bins);
/** Where bin @p i begins; where the last one ends for i = bins. */
double lc__histogram_edge(const struct lc__histogram *histogram, uint32_t i);
/** Values in category @p i: 0 those below the bins, then each bin, bins + 1 those above. */
uint64_t lc__category(const struct lc__histogram *histogram, uint32_t i);
/** Count a value; NaN is skipped. */
void lc__histogram_add(struct lc__histogram *histogram, double value);
/**
 * The quantile @p q, from the bins: values count as spread evenly over their bin, those
 * outside between the bins and the least or the most. NaN if there are none.
 */
double lc__histogram_quantile(const struct lc__histogram *histogram, double q);

/**
 * The bins [first, end) with values and a few around them, 10 at least; but all bins where
 * the range itself has a meaning, as 0 to 1 has.
 * @param other  a second histogram of the same bins, whose values count too, or NULL
 */
void lc__histogram_used(const struct lc__histogram *histogram,
    const struct lc__histogram *other, uint32_t *first, uint32_t *end);

#endif
