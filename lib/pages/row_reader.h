/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the rows of a snapshot without liblmdb, and checks pages as it reads them. So a
 * table need not be checked as a whole to read one of its rows.
 *
 * On the way to a row, the header of each page is checked, and whether the keys of each
 * leaf are between those of the branches above it. In a walk, and for names, it is also
 * checked that the nodes fill the page, so that no row is skipped; looking up a number
 * needs less, because the caller knows that its row exists. Nothing is ever read outside
 * of the file, and a walk cannot loop.
 */
#ifndef LC_PAGES_ROW_READER_H
#define LC_PAGES_ROW_READER_H

#include "pages/page_layout.h"
#include "pages/pages.h"
#include "pages/tree_page.h"

/** A file in memory. A transaction pins the snapshots that are read. */
struct lc__page_map {
	const unsigned char *bytes; /**< page 0 */
	uint32_t page_size;         /**< bytes a page */
	uint64_t pages;             /**< those in the file and in the map */
};

/** The position of a row in a table. Pointers from it are valid as long as the
 *  snapshot. */
struct lc__row_place {
	struct lc__page_map map; /**< of the file */
	uint32_t key_size;       /**< of integer keys; 0: keys are bytes */
	unsigned depth;          /**< levels of the tree */
	/** The page and the node on each level; the last one is that of the row. */
	struct {
		struct lc__tree_page page;
		uint32_t node;
	} level[TREE_DEPTH_MAX];
	uint64_t pages_read; /** counts the pages visited; never reset here */
};

/** A row. */
struct lc__pages_row {
	const unsigned char *key;   /**< in the map */
	uint32_t key_size;          /**< its size */
	const unsigned char *value; /**< in the map, all of it in the file */
	uint64_t size;              /**< its size */
};

/** Decode the record of a table from its value in the main table; false if it is
 *  malformed. */
bool lc__row_tree(const void *value, size_t size, struct lc__pages_tree *out);

/**
 * Move to the first row with a key >= @p key.
 * @param place  map and key_size are set by the caller, the rest is set here
 * @return LC_OK; LC_END if there is none; LC_CORRUPT with page and damage.
 */
LC_CHECKED lc_status lc__row_seek(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size);

/** Move to the last row with a key <= @p key, with as few checks as lc__row_find().
 *  @return as lc__row_seek(). */
LC_CHECKED lc_status lc__row_seek_back(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size);

/** Move to the next row.
 *  @return as lc__row_seek(); the position is invalid unless LC_OK. */
LC_CHECKED lc_status lc__row_next(struct lc__row_place *place);

/** Get the row at a position.
 *  @return LC_OK; LC_CORRUPT. */
LC_CHECKED lc_status lc__row_at(const struct lc__row_place *place,
    struct lc__pages_row *out);

/** Find the row with this key.
 *  @return LC_OK; LC_NOT_FOUND; LC_CORRUPT. */
LC_CHECKED lc_status lc__row_find(struct lc__row_place *place,
    const struct lc__pages_tree *tree, const void *key, uint32_t key_size,
    struct lc__pages_row *out);

#endif
