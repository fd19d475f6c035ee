/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_VALUE_TENSOR_H
#define LC_VALUE_TENSOR_H

#include "lmdbcache.h"

/** Check dtype, rank and size, and that nbytes matches the shape. */
LC_CHECKED lc_status lc__tensor_check(const lc_tensor *tensor);

/** "f32[3,640,640]" into @p out, cut if it does not fit; returns @p out. */
char *lc__tensor_describe(const lc_tensor *tensor, char *out, size_t room);
#define LC__TENSOR_TEXT 500

/** Parse dtype and shape from a text like "f32[3,640,640]", for a scalar "f32[]"; the
 *  tensor has no data. LC_INVALID for other text. */
LC_CHECKED lc_status lc__tensor_type_parse(const char *text, size_t size, lc_tensor *out);

/** Memory for a copy of a tensor's data: @p buf if @p room bytes suffice; if @p buf is
 *  NULL, new 64-byte aligned memory that lc_tensor_free() frees. */
LC_CHECKED lc_status lc__tensor_room(const lc_tensor *tensor, void *buf, size_t room,
    void **out);

/** Same dtype, rank and shape. */
int lc__tensor_same_type(const lc_tensor *a, const lc_tensor *b);

#endif
