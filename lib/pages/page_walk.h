/* SPDX-License-Identifier: BSD-2-Clause */
/* One walk over the trees of a snapshot: what the parts of the page check share. */
#ifndef LC_PAGES_PAGE_WALK_H
#define LC_PAGES_PAGE_WALK_H

#include "pages/pages.h"
#include "pages/tree_page.h"

/** A walk over one snapshot. */
struct lc__page_walk {
	const unsigned char *map; /**< page 0 */
	uint64_t end;        /**< pages below this number may be referenced and read */
	uint64_t file_pages; /**< whole pages in the file */
	const struct lc__pages_options *options; /**< what to check */
	struct lc__pages_report *report;         /**< counts so far, and the snapshot */
	uint64_t *used;                          /**< a bit a page seen; NULL: not kept */
	lc_error first;       /**< the first damage, if a callback hears of all */
	uint64_t tables_seen; /**< a bit an expected table */
	uint64_t free_tail;   /**< free pages after the end of the file */
};

/** A key and its value as a leaf holds them. */
struct lc__walk_entry {
	const unsigned char *key; /**< points into the page */
	uint32_t key_size;        /**< its size */
	unsigned flags;           /**< NODE_* */
	const unsigned char
	    *value;    /**< the value, NULL if its pages were not looked at */
	uint64_t size; /**< its size */
	uint64_t page; /**< the leaf's number, for messages */
};

/** One tree and how far its walk got. */
struct lc__walk_tree {
	const struct lc__pages_tree *record; /**< what it should be */
	bool
	    read_values; /**< check overflow headers and hand out values also when fast */
	lc_status (
	    *entry)(struct lc__page_walk *walk, const struct lc__walk_entry *entry);
	/**< called for every entry, NULL: only plain values allowed */
	uint32_t key_size;             /**< of integer keys, 0: the first key decides */
	const unsigned char *last_key; /**< the key before, NULL at the start */
	uint32_t last_size;            /**< its size */
	bool last_separates; /**< it came from a branch page: the next may equal it */
	struct lc__pages_tree counted; /**< pages and entries so far */
	bool cut;                      /**< max_pages left out the tree, or a part */
};

/** Walk one tree: structure, order, counts. */
LC_CHECKED lc_status lc__walk_tree(struct lc__page_walk *walk,
    struct lc__walk_tree *tree);

/** Walk the main tree and every table named in it. */
LC_CHECKED lc_status lc__walk_tables(struct lc__page_walk *walk);

/** Walk the free list; count free and, if thorough, leaked pages. */
LC_CHECKED lc_status lc__walk_free_list(struct lc__page_walk *walk);

/** Note @p count pages from @p page as seen; LC_CORRUPT if one was before. */
LC_CHECKED lc_status lc__walk_claim(struct lc__page_walk *walk, uint64_t page,
    uint64_t count);

/** The record of a tree at @p bytes. */
void lc__walk_read_tree(const unsigned char *bytes, struct lc__pages_tree *out);

/**
 * The newer meta page of a file in memory, as lc__pages_check_header() finds it.
 * @return as that.
 */
LC_CHECKED lc_status lc__walk_find_meta(const unsigned char *map, uint64_t size,
    const char *path, struct lc__pages_meta *out);

/** Does each meta page show the transaction that it claims to? */
LC_CHECKED lc_status lc__walk_check_rollback(const struct lc__page_walk *walk);

#endif
