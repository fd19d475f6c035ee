/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a tensor is expected to be: "f16[16,*,*]". A dtype as lc_dtype_parse() takes
 * it, or * for any; then nothing, for any shape, or the dimensions in brackets: a
 * number, * for any size, and ... once, for any number of dimensions. Before it a
 * path and an equals sign for a part of a value: "latents=f16[16,*,*]".
 */
#ifndef LC_VALUE_EXPECT_H
#define LC_VALUE_EXPECT_H

#include <stdbool.h>

#include "lmdbcache.h"

#define LC__ANY UINT64_MAX /* a dimension of any size */

struct lc__expect {
	const char *path; /* of the part, "" for the value itself; borrowed from the
	                            text */
	size_t path_size;
	bool any_dtype, any_shape;
	lc_dtype dtype;
	uint32_t ndim; /* dimensions that are given */
	uint32_t
	    ellipsis; /* how many of them come before "..."; UINT32_MAX: there is none */
	uint64_t shape[LC_MAX_NDIM];
};

/** LC_INVALID, with the text and the mistake in it. @p text must stay valid. */
LC_CHECKED lc_status lc__expect_parse(const char *text, struct lc__expect *out);

/** LC_SCHEMA with both, "is f32[512], not f16[16,*,*]". */
LC_CHECKED lc_status lc__expect_tensor(const struct lc__expect *expect,
    const lc_tensor *tensor);

/**
 * Each of them on its part of a value. LC_SCHEMA also for a part that is not there or
 * no tensor: "part 'latents': is f16[4,8], not f16[16,*,*]"; of the value itself without
 * a part.
 */
LC_CHECKED lc_status lc__expect_value(const struct lc__expect *expect, size_t n,
    const lc_value *value);

/** The text again, with the short name of the dtype, as snprintf(). */
int lc__expect_describe(const struct lc__expect *expect, char *out, size_t room);

#endif
