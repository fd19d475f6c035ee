/* SPDX-License-Identifier: BSD-2-Clause */
/* The free list: a tree from a transaction's number to the pages that it freed. */
#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

typedef unsigned long long ull;

enum {
	/* Flags of the environment in the same field as those of the tree. */
	FLAG_FIXED_MAP = 0x01,
	FLAG_NO_SUBDIR = 0x4000
};

/*
 * One record: a count, then that many page numbers in descending order. A writer reserves
 * records before it knows their content, so there may be unused bytes after the last
 * number.
 */
static lc_status
free_entry(struct lc__page_walk *walk, const struct lc__walk_entry *entry)
{
	const struct lc__pages_meta *meta = &walk->report->meta;
	const uint64_t id = lc__native64(entry->key);
	uint64_t count, above = meta->last_page + 1;

	if (id == 0 || id > meta->txnid)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: freed by transaction %llu of %llu", (ull)entry->page,
		    (ull)id, (ull)meta->txnid);
	if (entry->flags == NODE_TREE || entry->size < 8 || entry->size % 8 != 0)
		return lc__error(LC_CORRUPT, 0, "page %llu: record %llu of %llu bytes",
		    (ull)entry->page, (ull)id, (ull)entry->size);
	count = lc__native64(entry->value);
	if (count > entry->size / 8 - 1)
		return lc__error(LC_CORRUPT, 0,
		    "page %llu: record %llu of %llu bytes counts %llu pages",
		    (ull)entry->page, (ull)id, (ull)entry->size, (ull)count);
	for (uint64_t i = 1; i <= count; i++) {
		const uint64_t page = lc__native64(entry->value + 8 * i);

		if (page < META_PAGES || page >= above)
			return lc__error(LC_CORRUPT, 0,
			    "page %llu: record %llu: page %llu follows %llu",
			    (ull)entry->page, (ull)id, (ull)page, (ull)above);
		if (lc__walk_claim(walk, page, 1) != LC_OK)
			return lc__error(LC_CORRUPT, 0,
			    "page %llu: record %llu: page %llu is in use, or free twice",
			    (ull)entry->page, (ull)id, (ull)page);
		walk->free_tail += page >= walk->file_pages;
		above = page;
	}
	walk->report->free_pages += count;
	return LC_OK;
}

lc_status
lc__walk_free_list(struct lc__page_walk *walk)
{
	struct lc__pages_report *report = walk->report;
	const struct lc__pages_tree *record = &report->meta.free_tree;
	const uint64_t pages = report->meta.last_page + 1;
	struct lc__walk_tree tree = {
		.record = record,
		.read_values = true,
		.entry = free_entry,
		.key_size = 8,
	};
	uint64_t used;

	if ((record->flags & ~(FLAG_FIXED_MAP | FLAG_NO_SUBDIR)) != TREE_INTEGER_KEYS)
		return lc__error(LC_CORRUPT, 0, "free list: flags 0x%x", record->flags);
	if (lc__walk_tree(walk, &tree) != LC_OK)
		return lc__error_prefix("free list");
	if (tree.cut)
		return LC_OK;
	/* A file may end before its last page: pages that one transaction takes and gives
	 * back are never written. Then all missing pages are in the free list. */
	if (walk->file_pages < pages && walk->free_tail != pages - walk->file_pages)
		return lc__error(LC_CORRUPT, 0,
		    "truncated: the file has %llu of %llu pages, and "
		    "only %llu of the rest are free",
		    (ull)walk->file_pages, (ull)pages, (ull)walk->free_tail);
	used = report->tree_pages + report->overflow_pages + report->free_pages;
	if (walk->options->thorough && walk->first.status == LC_OK)
		report->leaked_pages = pages - META_PAGES - used;
	return LC_OK;
}

/* ---- a meta page with a transaction number that is too high -------------------------- */

/*
 * A bit that flips in a transaction number can make the older snapshot look like the
 * newest: all of its pages are sound, but an acknowledged commit is missing. A
 * transaction that changes anything frees pages, though, and its free list ends with a
 * record of its own number, which reveals the wrong number. (A bit cleared in the newest
 * number cannot be told from a meta page that failed to be written: LMDB then writes the
 * old number over the new roots.)
 */

/* A file whose pages are read as untrusted bytes. */
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

/* The last transaction in the free list of a meta page; 0 if it cannot be read. */
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

	/* Another process may rewrite the page with a commit meanwhile. */
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

	/* The wrong page is the one that seems newer. The pages of the older snapshot may
	 * have been overwritten, if a relaxed commit after the two was lost in a power
	 * failure and its successor had begun to write. */
	return check_meta(&file, walk->report->meta.txnid & 1);
}
