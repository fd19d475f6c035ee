/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The expected dtype and shape of a tensor: "f16[16,*,*]". First a dtype as for
 * lc_dtype_parse(), or * for any dtype. Then nothing, for any shape, or the dimensions in
 * brackets: numbers, * for any size, and at most one ... for any number of dimensions. A
 * path and an equals sign before it name a part of a value: "latents=f16[16,*,*]".
 */
#ifndef LC_VALUE_EXPECT_H
#define LC_VALUE_EXPECT_H

#include <stdbool.h>

#include "lmdbcache.h"

#define LC__ANY UINT64_MAX /* a dimension of any size */

struct lc__expect {
	const char *path; /* path of the part, "" for the value itself; borrowed from the
	                   * text */
	size_t path_size;
	bool any_dtype, any_shape;
	lc_dtype dtype;
	uint32_t ndim;     /* dimensions that are given */
	uint32_t ellipsis; /* number of those before "..."; UINT32_MAX: no "..." */
	uint64_t shape[LC_MAX_NDIM];
};

/** LC_INVALID, quoting the text and naming the mistake. @p text must stay valid. */
LC_CHECKED lc_status lc__expect_parse(const char *text, struct lc__expect *out);

/** LC_SCHEMA, naming both: "is f32[512], not f16[16,*,*]". */
LC_CHECKED lc_status lc__expect_tensor(const struct lc__expect *expect,
    const lc_tensor *tensor);

/**
 * Compare each expectation with its part of a value. LC_SCHEMA also if the part is
 * missing or is not a tensor: "part 'latents': is f16[4,8], not f16[16,*,*]"; for the
 * value itself without the part.
 */
LC_CHECKED lc_status lc__expect_value(const struct lc__expect *expect, size_t n,
    const lc_value *value);

/** The text, with the short name of the dtype; arguments and result as for snprintf(). */
int lc__expect_describe(const struct lc__expect *expect, char *out, size_t room);

#endif
