/* SPDX-License-Identifier: BSD-2-Clause */
/* Elements of a tensor as numbers to count with. */
#ifndef LC_REPORT_NUMBERS_H
#define LC_REPORT_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Whether lc__number() knows a dtype: u8, f16, bf16, f32 and f64. */
bool lc__number_known(lc_dtype dtype);
/** Element @p i of little-endian elements of a known dtype. */
double lc__number(lc_dtype dtype, const void *data, size_t i);

#endif
