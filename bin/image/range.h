/* SPDX-License-Identifier: BSD-2-Clause */
/* The values that a tensor's elements lie between. */
#ifndef CACHEX_IMAGE_RANGE_H
#define CACHEX_IMAGE_RANGE_H

#include <stdint.h>

#include "lmdbcache.h"

struct lc__value_range {
	double low, high;       /* of the finite ones; low > high if there are none */
	uint64_t nan, infinite; /* how many are not finite */
};

/** Complex elements count by their absolute value. */
struct lc__value_range lc__value_range_of(const lc_tensor *tensor);

/** Where a finite @p value lies, 0 for low to 1 for high; 0.5 if they are equal. */
double lc__value_range_share(const struct lc__value_range *range, double value);

#endif
