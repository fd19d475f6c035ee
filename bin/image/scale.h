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

/** Round numbers along an axis: multiples of 1, 2 or 5 times a power of ten. */
struct lc__ticks {
	double step;    /* from one to the next */
	int64_t first;  /* the first one, in steps */
	uint32_t count; /* how many */
};

/**
 * The multiples of the smallest step that lie in [low, high], @p most at most; 0 is
 * one of them if it lies there. None if the range has no size.
 * @param least  the smallest step allowed: 1 on an axis of counts, else 0
 */
struct lc__ticks lc__ticks_of(double low, double high, uint32_t most, double least);
double lc__ticks_value(const struct lc__ticks *ticks, uint32_t i);
/** "0.3", "12,000", "-2.5e+07"; returns @p out. */
char *lc__ticks_text(double value, char *out, size_t room);
#define LC__TICKS_TEXT 40

#endif
