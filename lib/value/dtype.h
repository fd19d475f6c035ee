/* SPDX-License-Identifier: BSD-2-Clause */
/* Types of elements: their properties, and elements as numbers. */
#ifndef LC_VALUE_DTYPE_H
#define LC_VALUE_DTYPE_H

#include <stdbool.h>

#include "lmdbcache.h"

/** Room for the longest name of a dtype, "opaque64:" and its own, and a terminator. */
#define LC__DTYPE_TEXT (9 + LC_OPAQUE_NAME_MAX + 1)

/** Is it a dtype of lc_dtype_opaque()? */
static inline bool
lc__dtype_is_opaque(lc_dtype dtype)
{
	return (unsigned)dtype >= LC_OPAQUE;
}

/** Is an element two numbers, real and imaginary? */
static inline bool
lc__dtype_is_complex(lc_dtype dtype)
{
	return dtype == LC_C32 || dtype == LC_C64 || dtype == LC_C128;
}

/** Is an element one number, real or complex? Opaque elements are not numbers, and an
 *  element of f4_e2m1_x2 is two. */
static inline bool
lc__dtype_is_number(lc_dtype dtype)
{
	return (unsigned)dtype < LC_DTYPE_COUNT && dtype != LC_F4_E2M1_X2;
}

/** LC_UNSUPPORTED, naming the dtype, unless lc__dtype_is_number() is true. */
LC_CHECKED lc_status lc__dtype_need_numbers(lc_dtype dtype);

/**
 * The element at @p p, of any alignment, as the nearest double: exact except for u64 and
 * i64 above 2^53. For a complex number, its absolute value. NaN for a dtype that is not a
 * single number.
 */
double lc__element_real(lc_dtype dtype, const void *p);

/** The first (@p i is 0) or second number of an element of f4_e2m1_x2. */
double lc__element_e2m1(const void *p, unsigned i);

#endif
