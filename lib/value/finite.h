/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds elements that are not finite numbers. */
#ifndef LC_VALUE_FINITE_H
#define LC_VALUE_FINITE_H

#include <stdbool.h>

#include "lmdbcache.h"

/** What is tolerated. All false: nothing but finite numbers. */
struct lc__finite {
	bool nan, inf;
};

/**
 * LC_INVALID with the first element that is not tolerated: "NaN at [3,0,17]", "-Inf at
 * []". Of a complex number either part counts; integers and most floats of 8 bits have no
 * infinity, f4_e2m1_x2 and opaque dtypes neither that nor a NaN.
 * @param tensor  of any alignment; one that lc__tensor_check() passes
 */
LC_CHECKED lc_status lc__finite_tensor(const lc_tensor *tensor, struct lc__finite may);

/** All tensors of a value, "part 'boxes.0': NaN at [3]". Plain data is not looked at. */
LC_CHECKED lc_status lc__finite_value(const lc_value *value, struct lc__finite may);

#endif
