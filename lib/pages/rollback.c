/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bit set in the number of a transaction can make the snapshot before the
 * newest look like the newest: every page of it is sound, only an acknowledged
 * commit is missing. But a transaction that changes anything frees pages, and
 * its free list ends with a record of its own number: which tells on the lie.
 * (A bit cleared in the newest number cannot be told from a meta page that failed
 * to be written: LMDB then puts the old number over the new roots.)
 */
#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

/* A file whose pages are looked at with no trust in them. */
struct file {
	const unsigned char *map;
	uint64_t pages;
	uint32_t page_size;
};

/* The last node of a tree page with this flag; NULL if the page has none. */
static const unsigned char *
last_node(const struct file *file, uint64_t number, unsigned flag)
{
	const unsigned char *page;
	uint32_t lower, offset;

	if (number < META_PAGES || number >= file->pages)
		return NULL;
	page = file->map + number * file->page_size;
	lower = lc__native16(page + PAGE_LOWER);
	if (lc__native16(page + PAGE_FLAGS) != flag || lower < PAGE_HEADER + 2 ||
	    lower > file->page_size || lower % 2 != 0)
		return NULL;
	offset = lc__native16(page + lower - 2);
	if (offset > file->page_size - NODE_HEADER - 8)
		return NULL;
	return page + offset;
}

/* The last transaction in the free list of a meta page; 0 if none can be told. */
static uint64_t
last_freeing(const struct file *file, const unsigned char *meta)
{
	const unsigned char *tree = meta + META_FREE_TREE;
	uint64_t number = lc__native64(tree + TREE_ROOT);
	const unsigned char *node;

	for (unsigned depth = lc__native16(tree + TREE_DEPTH); depth > 1; depth--) {
		node = last_node(file, number, PAGE_BRANCH);
		if (node == NULL)
			return 0;
		number = lc__native32(node + NODE_SIZE) |
		    (uint64_t)lc__native16(node + NODE_FLAGS) << 32;
	}
	node = last_node(file, number, PAGE_LEAF);
	if (node == NULL || lc__native16(node + NODE_KEY_SIZE) != 8)
		return 0;
	return lc__native64(node + NODE_HEADER);
}

static lc_status
check_meta(const struct file *file, unsigned which)
{
	const unsigned char *meta = file->map + (uint64_t)which * file->page_size;

	/* A commit by another process may rewrite the page meanwhile. */
	for (int i = 0; i < 50; i++) {
		const uint64_t id =
		    __atomic_load_n((const uint64_t *)(const void *)(meta + META_TXNID),
			__ATOMIC_ACQUIRE);
		const uint64_t freeing = last_freeing(file, meta);

		if (freeing == 0 || freeing + 2 != id)
			return LC_OK;
		if (__atomic_load_n((const uint64_t *)(const void *)(meta + META_TXNID),
			__ATOMIC_ACQUIRE) == id &&
		    i > 3)
			return lc__error(LC_CORRUPT, 0,
			    "page %u: says transaction "
			    "%llu, its free list ends with %llu",
			    which, (unsigned long long)id, (unsigned long long)freeing);
	}
	return LC_OK;
}

lc_status
lc__walk_check_rollback(const struct lc__page_walk *walk)
{
	const struct file file = {
		.map = walk->map,
		.pages = walk->file_pages,
		.page_size = walk->report->meta.page_size,
	};

	/* The liar is the page that seems to be the newer. The pages of the older
	 * snapshot may have been written over, if a relaxed commit after the two was
	 * lost with the power and its successor had begun to write. */
	return check_meta(&file, walk->report->meta.txnid & 1);
}
