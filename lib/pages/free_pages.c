/* SPDX-License-Identifier: BSD-2-Clause */
/* The free list: a tree from a transaction's number to the pages it freed. */
#include "base/error.h"
#include "pages/page_layout.h"
#include "pages/page_walk.h"

typedef unsigned long long ull;

enum {
	/* Flags of the environment that share the field with those of the tree. */
	FLAG_FIXED_MAP = 0x01,
	FLAG_NO_SUBDIR = 0x4000
};

/*
 * One record: a count, then so many page numbers, falling. A writer reserves records
 * before it knows what they will hold, so that there may be room behind the last.
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

/*
 * A file may end before its last page: pages taken and given back by one transaction
 * are never written. Then all that is missing is in the free list.
 */
static lc_status
check_end_of_file(const struct lc__page_walk *walk)
{
	const uint64_t pages = walk->report->meta.last_page + 1;

	if (walk->file_pages >= pages || walk->free_tail == pages - walk->file_pages)
		return LC_OK;
	return lc__error(LC_CORRUPT, 0,
	    "truncated: the file has %llu of %llu pages, and "
	    "only %llu of the rest are free",
	    (ull)walk->file_pages, (ull)pages, (ull)walk->free_tail);
}

lc_status
lc__walk_free_list(struct lc__page_walk *walk)
{
	struct lc__pages_report *report = walk->report;
	const struct lc__pages_tree *record = &report->meta.free_tree;
	struct lc__walk_tree tree = {
		.record = record,
		.read_values = true,
		.unlimited = true,
		.entry = free_entry,
		.key_size = 8,
	};
	uint64_t used;

	if ((record->flags & ~(FLAG_FIXED_MAP | FLAG_NO_SUBDIR)) != TREE_INTEGER_KEYS)
		return lc__error(LC_CORRUPT, 0, "free list: flags 0x%x", record->flags);
	if (lc__walk_tree(walk, &tree) != LC_OK)
		return lc__error_prefix("free list");
	return_if_error(check_end_of_file(walk));
	used = report->tree_pages + report->overflow_pages + report->free_pages;
	if (walk->options->thorough && walk->first.status == LC_OK)
		report->leaked_pages = report->meta.last_page + 1 - META_PAGES - used;
	return LC_OK;
}
