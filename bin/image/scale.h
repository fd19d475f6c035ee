/* SPDX-License-Identifier: BSD-2-Clause */
/* The range of values that a picture shows, and round numbers along an axis. */
#ifndef CACHEX_IMAGE_SCALE_H
#define CACHEX_IMAGE_SCALE_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The values that a tensor's elements lie between. */
struct lc__value_range {
	double low, high;       /* of the finite ones; low > high if there are none */
	uint64_t nan, infinite; /* how many are not finite */
};

/** Complex elements count by their absolute value. */
struct lc__value_range lc__value_range_of(const lc_tensor *tensor);

/** Where a finite @p value lies, 0 for low to 1 for high; 0.5 if they are equal. */
double lc__value_range_share(const struct lc__value_range *range, double value);

#endif
