/* SPDX-License-Identifier: BSD-2-Clause */
/* MessagePack by msgpack-c: append to a buffer, look up in a parsed map. See also mpack_read.h. */
#ifndef LC_BASE_MPACK_H
#define LC_BASE_MPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/* Writing. A map or array is followed by its members. */
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

/* Reading. */
enum lc__mpack_kind {
	LC__MPACK_UINT,
	LC__MPACK_STR,
	LC__MPACK_BIN,
	LC__MPACK_ARRAY,
	LC__MPACK_MAP,
	LC__MPACK_OTHER
};

/** One object of a document; borrowed until lc__mpack_close(). */
struct lc__mpack {
	enum lc__mpack_kind kind;
	uint64_t number;   /* LC__MPACK_UINT */
	const void *bytes; /* LC__MPACK_STR, LC__MPACK_BIN */
	size_t size;       /* of bytes; members of an array or map */
	const void *inner; /* private */
};

struct lc__mpack_doc;

/**
 * Parse exactly @p size bytes; close with lc__mpack_close().
 * @return LC_OK; LC_CORRUPT if malformed; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__mpack_open(const void *bytes, size_t size,
    struct lc__mpack_doc **out, struct lc__mpack *root);
void lc__mpack_close(struct lc__mpack_doc *doc);

/** The value of a string key in a map; false if it is no map or lacks the key. */
bool lc__mpack_find(const struct lc__mpack *map, const char *key,
    struct lc__mpack *out);

#endif
