/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MessagePack: appended to a buffer by msgpack-c, and read one token at a time. msgpack-c
 * reads a whole object into a tree: it allocates what a count claims before it has seen
 * the members, and stops at 32 levels. Reading here allocates nothing and leaves nesting
 * to the caller.
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
/** Turn the bytes of @p out from @p start on into the body of an extension. */
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

/** The bytes left to read. */
struct lc__tokens {
	const unsigned char *at, *end;
};

/**
 * Consume the next token. False at the end, and for a token that is cut short, claims
 * more members than there are bytes, is not in its shortest form, or is a 32-bit float.
 */
bool lc__token_next(struct lc__tokens *in, struct lc__mpack_token *out);

/** The same for input from others: longer forms are allowed, and 32-bit floats are
 *  widened. */
bool lc__token_next_any(struct lc__tokens *in, struct lc__mpack_token *out);
/** Skip an object with its members, at any depth. */
bool lc__token_skip_any(struct lc__tokens *in);

/** Consume the next token, which must be of @p kind. */
static inline bool
lc__token_expect(struct lc__tokens *in, enum lc__token_kind kind,
    struct lc__mpack_token *out)
{
	return lc__token_next(in, out) && out->kind == kind;
}

#endif
