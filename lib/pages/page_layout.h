/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets in an LMDB data file: data version 1, 64-bit, the byte order
 * of the machine that wrote it. Offsets in bytes; pages are numbered from 0.
 *
 *   page    0 u64 its number, 8 u16 unused, 10 u16 flags,
 *           12 u16 lower, 14 u16 upper (an overflow page: 12 u32 pages of the value)
 *   meta    after the header of pages 0 and 1, see META_*; transaction N wrote page N & 1
 *   branch, leaf: from 16 to lower one u16 a node, the node's offset, in key order;
 *           from upper to the end the nodes, in any order, without gaps
 *   node    0 u32 size of the value (branch: low half of the child's number),
 *           4 u16 flags (branch: its next 16 bits), 6 u16 size of the key, 8 the key,
 *           then a leaf's value, or the number of its first overflow page
 *   tree    the record of one B-tree, 48 bytes, see TREE_*
 */
#ifndef LC_PAGES_PAGE_LAYOUT_H
#define LC_PAGES_PAGE_LAYOUT_H

#include <stdint.h>
#include <string.h>

enum {
	PAGE_NUMBER = 0,
	PAGE_FLAGS = 10,
	PAGE_LOWER = 12,
	PAGE_UPPER = 14,
	PAGE_RUN = 12,
	PAGE_HEADER = 16,
	PAGE_SIZE_MIN = 512,
	PAGE_SIZE_MAX =
	    32768, /* offsets in a page have 16 bits, and upper may equal its size */

	PAGE_BRANCH = 0x01,
	PAGE_LEAF = 0x02,
	PAGE_OVERFLOW = 0x04,
	PAGE_META = 0x08,

	NODE_SIZE = 0,
	NODE_FLAGS = 4,
	NODE_KEY_SIZE = 6,
	NODE_HEADER = 8,
	NODE_KEY_MAX = 511, /* as in every released liblmdb */

	NODE_OVERFLOW = 0x01, /* the value is on overflow pages */
	NODE_TREE = 0x02,     /* the value is the record of a named table */

	META_MAGIC = 16,
	META_VERSION = 20,
	META_MAP_SIZE = 32,
	META_FREE_TREE = 40, /* its unused u32 contains the page size */
	META_MAIN_TREE = 88,
	META_LAST_PAGE = 136,
	META_TXNID = 144,
	META_END = 152,
	META_PAGES = 2,

	TREE_PAD = 0,
	TREE_FLAGS = 4,
	TREE_DEPTH = 6,
	TREE_BRANCH_PAGES = 8,
	TREE_LEAF_PAGES = 16,
	TREE_OVERFLOW_PAGES = 24,
	TREE_ENTRIES = 32,
	TREE_ROOT = 40,
	TREE_RECORD = 48,
	TREE_DEPTH_MAX = 32, /* the depth limit of liblmdb's cursors */

	TREE_INTEGER_KEYS = 0x08 /* MDB_INTEGERKEY */
};

#define PAGE_MAGIC 0xBEEFC0DEu
#define PAGE_DATA_VERSION 1u
#define PAGE_NONE UINT64_MAX /* the root of an empty tree */

static inline uint16_t
lc__native16(const void *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t
lc__native32(const void *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t
lc__native64(const void *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/** The least number of overflow pages for a value of @p size bytes. */
static inline uint64_t
lc__overflow_pages(uint64_t size, uint32_t page_size)
{
	/* A page size is a power of two, and a division would cost more than everything
	 * else here. */
	return ((PAGE_HEADER - 1 + size) >> __builtin_ctz(page_size)) + 1;
}

#endif
