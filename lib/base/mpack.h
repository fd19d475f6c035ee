/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MessagePack: appended to a buffer by msgpack-c, and read one token at a time. msgpack-c
 * would make a tree of a whole object: it allocates what a count claims before it has seen
 * the members, and stops at 32 levels. Reading here allocates nothing and leaves the nesting
 * to its caller.
 */
#ifndef LC_BASE_MPACK_H
#define LC_BASE_MPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/* ---- writing -------------------------------------------------------------- */

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
/** Make the bytes of @p out from @p start on those of an extension. */
void lc__mpack_ext_of(struct lc__buf *out, size_t start, int8_t type);

/* ---- reading -------------------------------------------------------------- */

enum lc__token_kind {
	LC__TOKEN_NIL,
	LC__TOKEN_BOOLEAN,
	LC__TOKEN_UINT,
	LC__TOKEN_NEGATIVE,
	LC__TOKEN_FLOAT, /* 64 bits */
	LC__TOKEN_STR,
	LC__TOKEN_BIN,
	LC__TOKEN_ARRAY, /* its members follow as tokens */
	LC__TOKEN_MAP,   /* so do its keys and values */
	LC__TOKEN_EXT
};

struct lc__mpack_token {
	enum lc__token_kind kind;
	uint64_t number;   /* truth, integer in two's complement, bits of a float */
	uint32_t size;     /* of bytes; members of an array, pairs of a map */
	int8_t ext;        /* type of an extension */
	const void *bytes; /* of a string, binary or extension; borrowed */
};

/** What is left to read. */
struct lc__tokens {
	const unsigned char *at, *end;
};

/**
 * Take the next token off. False if there is none, it is cut short, it claims
 * more members than there are bytes, it is not in its shortest form, or it is a
 * float of 32 bits.
 */
bool lc__token_next(struct lc__tokens *in, struct lc__mpack_token *out);

/** The same of what others write: longer forms, and floats of 32 bits, which come as 64. */
bool lc__token_next_any(struct lc__tokens *in, struct lc__mpack_token *out);
/** Pass over an object with all that is in it, however deep. */
bool lc__token_skip_any(struct lc__tokens *in);

/** The next token, which must be of @p kind. */
static inline bool
lc__token_expect(struct lc__tokens *in, enum lc__token_kind kind,
    struct lc__mpack_token *out)
{
	return lc__token_next(in, out) && out->kind == kind;
}

#endif
