/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of values in bins of equal width. */
#ifndef CACHEX_REPORT_HISTOGRAM_H
#define CACHEX_REPORT_HISTOGRAM_H

#include <stdint.h>

#define LC__HISTOGRAM_BINS 64

struct lc__histogram {
	const char *name; /* the name in files and options: "box_side" */
	/* For readers: "side of a box (square root of its area), pixels". */
	const char *title;
	/* The range: bin i begins at low + i * (high - low) / bins. */
	double low, high;
	uint32_t bins; /* at most LC__HISTOGRAM_BINS */
	uint64_t counts[LC__HISTOGRAM_BINS];
	uint64_t below, above;   /* number of values below `low`; at or above `high` */
	uint64_t n;              /* number of all values */
	double sum, least, most; /* of all values; least > most if there are none */
};

/** Begin a histogram without values. @p low < @p high; @p bins is at least 1. Borrows
 *  both texts. */
void lc__histogram_init(struct lc__histogram *histogram, const char *name,
    const char *title, double low, double high, uint32_t bins);
/** The lower edge of bin @p i; i = bins gives the upper edge of the last bin. */
double lc__histogram_edge(const struct lc__histogram *histogram, uint32_t i);
/** The number of values in category @p i: 0 is below the bins, 1 to bins are the bins,
 *  bins + 1 is above them. */
uint64_t lc__category(const struct lc__histogram *histogram, uint32_t i);
/** Count a value; NaN is skipped. */
void lc__histogram_add(struct lc__histogram *histogram, double value);
/**
 * The quantile @p q, estimated from the bins: values are taken as spread evenly over
 * their bin, and values outside between the bins and the least or most value. NaN if
 * there are no values.
 */
double lc__histogram_quantile(const struct lc__histogram *histogram, double q);

/**
 * The bins [first, end) to draw: those with values and a few around them, at least 10.
 * If the range itself has a meaning, as from 0 to 1, these are all bins.
 * @param other  a second histogram with the same bins, whose values count too, or NULL
 */
void lc__histogram_used(const struct lc__histogram *histogram,
    const struct lc__histogram *other, uint32_t *first, uint32_t *end);

#endif
