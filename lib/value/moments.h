/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mean, deviation and extremes of numbers that are added in any amounts.
 *
 * Sums are kept in pairs of doubles, whose sum is the value: some 106 bits. Sums of
 * integers are exact while they are below 2^106; those of floats lose less than what a
 * result's last bit is worth, whatever cancels out. Squares are of the distances to a
 * number among those that are added at once, so that they are not much larger than what
 * remains of them; amounts that were added apart are put together by their means (Chan,
 * Golub, LeVeque 1983). The same numbers, added and merged in the same way, give the same
 * bits.
 */
#ifndef LC_VALUE_MOMENTS_H
#define LC_VALUE_MOMENTS_H

#include <stddef.h>

#include "lmdbcache.h"

/** A number of twice the precision. */
struct lc__double2 {
	double high; /* the nearest double */
	double low;  /* the rest */
};

/** All zero: nothing was added. */
struct lc__moments {
	uint64_t count;              /* numbers, infinite ones too; no NaN */
	uint64_t nan;                /* NaN */
	uint64_t plus, minus;        /* of count: infinite ones */
	struct lc__double2 sum;      /* of the finite ones */
	struct lc__double2 squares;  /* of their distances to their mean */
	struct lc__double2 min, max; /* of count, if that is not 0 */
};

/** Add @p n elements that are @p stride bytes apart, of any alignment, and of a dtype that
 *  lc__dtype_is_number(), but not of a complex one: the parts of those are f16, f32, f64. */
void lc__moments_add(struct lc__moments *m, lc_dtype dtype, const void *data, uint64_t n,
    size_t stride);
/** Add what was added to another one. */
void lc__moments_merge(struct lc__moments *m, const struct lc__moments *other);

/** The mean: infinite or NaN if there are infinities; NaN of no numbers, and where a sum
 *  of f64 is above their range. */
double lc__moments_mean(const struct lc__moments *m);
/** The root of the mean square distance to the mean; NaN if there are infinities, and of
 *  no numbers. Infinite where squares of f64 are above their range. */
double lc__moments_deviation(const struct lc__moments *m);

/** No axis: all elements of a tensor are one channel. */
#define LC__MOMENTS_WHOLE UINT32_MAX

/** How many channels a tensor has: the size of a dimension, or 1; of complex numbers twice
 *  as many, a real and an imaginary one in turn. */
uint64_t lc__moments_channels(const lc_tensor *tensor, uint32_t axis);
/** Add a tensor's elements, of a dtype that lc__dtype_is_number(), to the moments of their
 *  channels, of which there are as many as lc__moments_channels() says. */
void lc__moments_tensor(struct lc__moments *channels, const lc_tensor *tensor,
    uint32_t axis);

#endif
