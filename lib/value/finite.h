/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding elements that are not finite numbers. */
#ifndef LC_VALUE_FINITE_H
#define LC_VALUE_FINITE_H

#include <stdbool.h>

#include "lmdbcache.h"

/** What is tolerated. All false: only finite numbers. */
struct lc__finite {
	bool nan, inf;
};

/**
 * LC_INVALID with the first element that is not tolerated: "NaN at [3,0,17]", "-Inf at
 * []". Both parts of a complex number are checked. Integers and most 8-bit floats have no
 * infinity; f4_e2m1_x2 and opaque dtypes have neither infinity nor NaN.
 * @param tensor  of any alignment; lc__tensor_check() must accept it
 */
LC_CHECKED lc_status lc__finite_tensor(const lc_tensor *tensor, struct lc__finite may);

/** Check all tensors of a value: "part 'boxes.0': NaN at [3]". Plain data is not
 *  checked. */
LC_CHECKED lc_status lc__finite_value(const lc_value *value, struct lc__finite may);

#endif
