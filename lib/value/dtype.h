/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of elements: an element of a tensor as a number. */
#ifndef LC_VALUE_DTYPE_H
#define LC_VALUE_DTYPE_H

#include "lmdbcache.h"

/**
 * The element at @p p, of any alignment, as the nearest double: exact but for
 * u64 and i64 above 2^53. Of a complex one its absolute value. NaN for an unknown
 * dtype.
 */
double lc__element_real(lc_dtype dtype, const void *p);

#endif
