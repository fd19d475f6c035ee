/* SPDX-License-Identifier: BSD-2-Clause */
/* A page of a B-tree and its keys, for the check and for the reader. */
#ifndef LC_PAGES_TREE_PAGE_H
#define LC_PAGES_TREE_PAGE_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "pages/page_layout.h"

/** A page whose header was checked. */
struct lc__tree_page {
	const unsigned char *bytes; /**< in the map */
	uint64_t number;            /**< its number */
	uint32_t size;              /**< bytes of a page */
	uint32_t upper;             /** offset of its nodes */
	uint32_t nodes;             /** number of nodes; their offsets are on the page */
	bool branch;                /**< else a leaf */
};

/** Check the header of page @p number, which is in the file mapped at @p map. */
LC_CHECKED lc_status lc__tree_page_open(const unsigned char *map, uint32_t page_size,
    uint64_t number, bool branch, struct lc__tree_page *out);

/** Check the positions and sizes of its nodes: they fill the page, so that none is
 *  missing. */
LC_CHECKED lc_status lc__tree_page_check(const struct lc__tree_page *page);

/** Offset of node @p i on its page, as stored. */
static inline uint32_t
lc__node_offset(const struct lc__tree_page *page, uint32_t i)
{
	return lc__native16(page->bytes + PAGE_HEADER + 2 * i);
}

/** The child of a branch's node. */
static inline uint64_t
lc__node_child(const unsigned char *node)
{
	return lc__native32(node + NODE_SIZE) |
	    (uint64_t)lc__native16(node + NODE_FLAGS) << 32;
}

/** The order of keys that are bytes. */
static inline int
lc__key_compare_bytes(const unsigned char *a, uint32_t a_size, const unsigned char *b,
    uint32_t b_size)
{
	const int diff = memcmp(a, b, a_size < b_size ? a_size : b_size);

	return diff != 0 ? diff : (a_size > b_size) - (a_size < b_size);
}

/** The order of integer keys of 4 or 8 bytes. */
static inline int
lc__key_compare_integers(const unsigned char *a, const unsigned char *b, uint32_t size)
{
	const uint64_t x = size == 8 ? lc__native64(a) : lc__native32(a);
	const uint64_t y = size == 8 ? lc__native64(b) : lc__native32(b);

	return (x > y) - (x < y);
}

#endif
