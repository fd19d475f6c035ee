/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays of numbers in JSON as elements of a tensor. */
#ifndef CACHEX_FORMATS_JSON_ELEMENTS_H
#define CACHEX_FORMATS_JSON_ELEMENTS_H

#include "base/json_scan.h"

/** Does lc__json_elements() make elements of a dtype? */
bool lc__json_has_dtype(lc_dtype dtype);

/**
 * The numbers of an array, nested as its shape, as elements of a dtype: each rounded
 * to a binary64 as JSON readers do, then to the dtype, nearest, ties to even; what
 * becomes infinite is LC_INVALID with its position. For an integer dtype each must be
 * an integer of its range, and 1.0 and 1e3 are; none is rounded. Booleans are true and
 * false, 1 and 0. Other dtypes are LC_INVALID.
 * NaN, Infinity and -Infinity, which Python writes, are taken where the dtype has them.
 * @param ndim   gets the rank
 * @param shape  gets the dimensions, all rows equally long or LC_INVALID
 * @param out    the elements are appended; also some when this fails
 */
LC_CHECKED lc_status lc__json_elements(struct lc__json_slice array, lc_dtype dtype,
    uint32_t *ndim, uint64_t shape[LC_MAX_NDIM], struct lc__buf *out);

#endif
