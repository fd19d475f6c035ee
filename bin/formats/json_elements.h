/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays of numbers in JSON as elements of a tensor. */
#ifndef CACHEX_FORMATS_JSON_ELEMENTS_H
#define CACHEX_FORMATS_JSON_ELEMENTS_H

#include "base/json_scan.h"

/** Does lc__json_elements() make elements of a dtype? */
bool lc__json_has_dtype(lc_dtype dtype);

/**
 * The numbers of an array, nested as its shape, as elements of a dtype. Each is rounded
 * to a binary64, as JSON readers do, then to the dtype, to nearest, ties to even; a
 * number that becomes infinite is LC_INVALID, with its position. For an integer dtype
 * each must be an integer in its range; 1.0 and 1e3 are integers. true and false are 1
 * and 0 for booleans. Other dtypes are LC_INVALID. NaN, Infinity and -Infinity, which
 * Python writes, are accepted if the dtype has them.
 * @param ndim gets the rank
 * @param shape gets the dimensions; rows of different lengths are LC_INVALID
 * @param out the elements are appended; some may be appended on failure too
 */
LC_CHECKED lc_status lc__json_elements(struct lc__json_slice array, lc_dtype dtype,
    uint32_t *ndim, uint64_t shape[LC_MAX_NDIM], struct lc__buf *out);

#endif
