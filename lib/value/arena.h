/* SPDX-License-Identifier: BSD-2-Clause */
/* Trees in one allocation: what a node takes there, and placing it. */
#ifndef LC_VALUE_ARENA_H
#define LC_VALUE_ARENA_H

#include "value/node.h"

/** Where the next node goes. */
struct lc__arena {
	unsigned char *at;
	bool started; /* the root has been placed */
};

/** Bytes of a tensor, a leaf, or a group of @p count children. */
size_t lc__arena_node_size(lc_kind kind, size_t count);
/** Bytes of a string, bytes or name. */
size_t lc__arena_text_size(size_t size);

/** Place a node that has no children yet. The first is the root. */
lc_value *lc__arena_node(struct lc__arena *arena, lc_kind kind, size_t count);
/** Place a copy of @p text, with a NUL after it. */
const char *lc__arena_text(struct lc__arena *arena, const void *text, size_t size);

#endif
