/* SPDX-License-Identifier: BSD-2-Clause */
/* Values written down briefly, and values in parts as a record has them. */
#ifndef T_VALUE_PARTS_H
#define T_VALUE_PARTS_H

#include "base/buf.h"
#include "lmdbcache.h"
#include "value/schema.h"

/** Two arguments or members: bytes that may hold NULs, and how many. */
#define BYTES(text) text, sizeof(text) - 1

/**
 * A value as in {afb[0(n)]}: f is an f32 tensor of rank 1, u a u8 tensor of rank 0,
 * n nil, s a string, a digit an integer; a name in a map is one character. <1n2f> are
 * pairs, @tn is nil with the tag t.
 */
lc_value *value_of(const char *text);

/** A tensor of one element, 0. */
lc_value *value_of_tensor(lc_dtype dtype, uint32_t ndim);

/** A value in two halves. */
struct value_parts {
	struct lc__schema *schema;
	const lc_tensor **tensor;
	lc_tensor *copies;
	struct lc__buf plain;
};

/** Take a value apart; in a test's body. */
void value_parts_take(const lc_value *value, struct value_parts *out);
void value_parts_free(struct value_parts *parts);

/** Put the part at a node together. */
LC_CHECKED lc_status value_parts_restore(const struct value_parts *parts,
    uint32_t node, lc_value **out);

#endif
