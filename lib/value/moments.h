/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mean, standard deviation, minimum and maximum of numbers, added in batches of any size.
 * Sums are kept as pairs of doubles, about 106 bits. Sums of integers are exact while
 * they are below 2^106; sums of floats lose less than the last bit of a result, whatever
 * cancels out. Squares are of distances to a number of the same batch, so that they are
 * not much larger than what remains after subtraction; separate batches are combined by
 * their means (Chan, Golub, LeVeque 1983). The same numbers, added and merged in the same
 * way, give the same bits.
 */
#ifndef LC_VALUE_MOMENTS_H
#define LC_VALUE_MOMENTS_H

#include <stddef.h>

#include "lmdbcache.h"

/** A number of twice the precision. */
struct lc__double2 {
	double high; /* the nearest double */
	double low;  /* the remainder */
};

/** All zero: no numbers. */
struct lc__moments {
	uint64_t count;              /* numbers, infinite ones too; no NaN */
	uint64_t nan;                /* NaN */
	uint64_t plus, minus;        /* of count: infinite ones */
	struct lc__double2 sum;      /* of the finite ones */
	struct lc__double2 squares;  /* of the squared distances to their mean */
	struct lc__double2 min, max; /* of count, if that is not 0 */
};

/** Add @p n elements that are @p stride bytes apart, of any alignment. Their dtype must
 *  be lc__dtype_is_number() and not complex: the parts of complex numbers are f16, f32 or
 *  f64. */
void lc__moments_add(struct lc__moments *m, lc_dtype dtype, const void *data, uint64_t n,
    size_t stride);
/** Add the numbers of another one. */
void lc__moments_merge(struct lc__moments *m, const struct lc__moments *other);

/** The mean: infinite or NaN if there are infinities; NaN without numbers, and where a
 *  sum of f64 overflows. */
double lc__moments_mean(const struct lc__moments *m);
/** The root of the mean squared distance to the mean; NaN if there are infinities or no
 *  numbers. Infinite where squares of f64 overflow. */
double lc__moments_deviation(const struct lc__moments *m);

/** No axis: all elements of a tensor are one channel. */
#define LC__MOMENTS_WHOLE UINT32_MAX

/** The number of channels of a tensor: the size of a dimension, or 1; twice as many for
 *  complex numbers, real and imaginary in turn. */
uint64_t lc__moments_channels(const lc_tensor *tensor, uint32_t axis);
/** Add a tensor's elements, whose dtype must be lc__dtype_is_number(), to the moments of
 *  their channels. @p moments has lc__moments_channels() elements. */
void lc__moments_tensor(struct lc__moments *channels, const lc_tensor *tensor,
    uint32_t axis);

#endif
