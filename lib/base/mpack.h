/* SPDX-License-Identifier: BSD-2-Clause */
/* MessagePack by msgpack-c: append to a buffer. mpack_read.h reads. */
#ifndef LC_BASE_MPACK_H
#define LC_BASE_MPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/* A map or array is followed by its members. */
void lc__mpack_map(struct lc__buf *out, uint32_t pairs);
void lc__mpack_array(struct lc__buf *out, uint32_t members);
void lc__mpack_str(struct lc__buf *out, const char *text);
void lc__mpack_bin(struct lc__buf *out, const void *data, size_t size);
void lc__mpack_uint(struct lc__buf *out, uint64_t number);
void lc__mpack_int(struct lc__buf *out, int64_t number);
void lc__mpack_nil(struct lc__buf *out);
void lc__mpack_boolean(struct lc__buf *out, bool truth);
void lc__mpack_float(struct lc__buf *out, double number);
void lc__mpack_strn(struct lc__buf *out, const void *text, size_t size);
/** Make what stands behind @p start in @p out the bytes of an extension. */
void lc__mpack_ext_of(struct lc__buf *out, size_t start, int8_t type);

#endif
