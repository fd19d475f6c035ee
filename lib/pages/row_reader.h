/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a snapshot, read without liblmdb: what was not checked before is checked as
 * far as it is read. So a table need not be checked as a whole to read a row of it.
 *
 * Of each page on the way to a row the header is checked, of each leaf whether its keys are
 * between those of the branches above it; in a walk, and among names, also whether the
 * nodes fill the page: no row is passed over. To find a number takes less: who asks for one
 * knows that it is there. Never is anything read outside of the file, nor does a walk go
 * round in circles.
 */
#ifndef LC_PAGES_ROW_READER_H
#define LC_PAGES_ROW_READER_H

#include "pages/page_layout.h"
#include "pages/pages.h"
#include "pages/tree_page.h"

/** A file in memory. The snapshots that are read of it are pinned by a transaction. */
struct lc__page_map {
	const unsigned char *bytes; /**< page 0 */
	uint32_t page_size;         /**< bytes a page */
	uint64_t pages;             /**< those in the file and in the map */
};

/** The place of a row in a table. What it points to stays as long as the snapshot. */
struct lc__row_place {
	struct lc__page_map map; /**< of the file */
	uint32_t key_size;       /**< of integer keys; 0: keys are bytes */
	unsigned depth;          /**< levels of the tree */
	/** The page and the node on each level; that of the row is the last. */
	struct {
		struct lc__tree_page page;
		uint32_t node;
	} level[TREE_DEPTH_MAX];
	uint64_t pages_read; /**< counts pages that were gone to, never set to 0 here */
};

/** A row. */
struct lc__pages_row {
	const unsigned char *key;   /**< in the map */
	uint32_t key_size;          /**< its size */
	const unsigned char *value; /**< in the map, all of it in the file */
	uint64_t size;              /**< its size */
};

/** The record of a table, from the value that the main table has under its name; false if
 *  it is none. */
bool lc__row_tree(const void *value, size_t size, struct lc__pages_tree *out);

/**
 * Go to the first row with a key >= @p key.
 * @param place  map and key_size are set, the rest is set here
 * @return LC_OK; LC_END if there is none; LC_CORRUPT with page and damage.
 */
LC_CHECKED lc_status lc__row_seek(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size);

/** Go to the last row with a key <= @p key, with as few checks as lc__row_find().
 *  @return as lc__row_seek(). */
LC_CHECKED lc_status lc__row_seek_back(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size);

/** Go to the next row. @return as lc__row_seek(); the place is void unless LC_OK. */
LC_CHECKED lc_status lc__row_next(struct lc__row_place *place);

/** The row at a place. @return LC_OK; LC_CORRUPT. */
LC_CHECKED lc_status lc__row_at(const struct lc__row_place *place,
    struct lc__pages_row *out);

/** The row with this key. @return LC_OK; LC_NOT_FOUND; LC_CORRUPT. */
LC_CHECKED lc_status lc__row_find(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size,
    struct lc__pages_row *out);

#endif
