/* SPDX-License-Identifier: BSD-2-Clause */
/* One walk over the trees of a snapshot: the state that the parts of the page check
 * share. */
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
	uint64_t *used;                          /** a bit for each page visited; NULL:
	                                          * not kept */
	lc_error first;       /** the first damage, if a callback gets each one */
	uint64_t tables_seen; /** a bit for each expected table */
	uint64_t free_tail;   /**< free pages after the end of the file */
};

/** A key and its value in a leaf. */
struct lc__walk_entry {
	const unsigned char *key;   /**< points into the page */
	uint32_t key_size;          /**< its size */
	unsigned flags;             /**< NODE_* */
	const unsigned char *value; /** the value, NULL if its pages were not checked */
	uint64_t size;              /**< its size */
	uint64_t page;              /**< the leaf's number, for messages */
};

/** One tree and the progress of its walk. */
struct lc__walk_tree {
	const struct lc__pages_tree *record; /**< what it should be */
	bool read_values; /** check overflow headers and hand out values even in the fast
	                  * mode */
	lc_status (
	    *entry)(struct lc__page_walk *walk, const struct lc__walk_entry *entry);
	/**< called for every entry, NULL: only plain values allowed */
	uint32_t key_size;             /**< of integer keys, 0: the first key decides */
	const unsigned char *last_key; /** the previous key, NULL at the start */
	uint32_t last_size;            /**< its size */
	bool last_separates; /** it is from a branch page: the next one may equal it */
	struct lc__pages_tree counted; /**< pages and entries so far */
	bool cut;                      /** max_pages excluded the tree, or a part */
};

/** Walk one tree: structure, order, counts. */
LC_CHECKED lc_status lc__walk_tree(struct lc__page_walk *walk,
    struct lc__walk_tree *tree);

/** Walk the main tree and every table named in it. */
LC_CHECKED lc_status lc__walk_tables(struct lc__page_walk *walk);

/** Walk the free list; count free and, if thorough, leaked pages. */
LC_CHECKED lc_status lc__walk_free_list(struct lc__page_walk *walk);

/** Mark @p count pages from @p page as visited; LC_CORRUPT if one was already. */
LC_CHECKED lc_status lc__walk_claim(struct lc__page_walk *walk, uint64_t page,
    uint64_t count);

/** Decode the record of a tree at @p bytes. */
void lc__walk_read_tree(const unsigned char *bytes, struct lc__pages_tree *out);

/**
 * The newer meta page of a file in memory.
 * @return as lc__pages_check_header()
 */
LC_CHECKED lc_status lc__walk_find_meta(const unsigned char *map, uint64_t size,
    const char *path, struct lc__pages_meta *out);

/** Does each meta page belong to the transaction that it states? */
LC_CHECKED lc_status lc__walk_check_rollback(const struct lc__page_walk *walk);

#endif
