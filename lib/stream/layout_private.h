/* SPDX-License-Identifier: BSD-2-Clause */
/* What a layout is made of: sums, and rows that several layouts of one source may
 * share, the shorter ones using the first of them. */
#ifndef LC_STREAM_LAYOUT_PRIVATE_H
#define LC_STREAM_LAYOUT_PRIVATE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "stream/layout.h"

struct lc__rows;

/** How rows are had. @p n is how many of them the layout has, at least 1. */
struct lc__rows_kind {
	lc_status (*get)(struct lc__rows *rows, uint64_t n, uint64_t position,
	    struct lc__layout_row *out);
	/** The row that has record or unit @p i. */
	lc_status (*find)(struct lc__rows *rows, uint64_t n, bool units, uint64_t i,
	    uint64_t *position, struct lc__layout_row *out);
	void (*free)(struct lc__rows *rows);
};

struct lc__rows {
	const struct lc__rows_kind *kind;
	atomic_uint refs; /* layouts that use it, and whoever makes it */
};

struct lc__rows *lc__rows_hold(struct lc__rows *rows);
/** NULL is harmless. */
void lc__rows_drop(struct lc__rows *rows);

/** Of @p n rows that follow each other, the first that ends behind record or unit
 *  @p i, which is in one of them. */
uint64_t lc__row_search(const struct lc__layout_row *row, uint64_t n, bool units,
    uint64_t i);

/** What stands before a row. */
static inline uint64_t
lc__row_first(const struct lc__layout_row *row, bool units)
{
	return units ? row->first_unit : row->first_record;
}

/** And with it. */
static inline uint64_t
lc__row_end(const struct lc__layout_row *row, bool units)
{
	return units ? row->first_unit + row->units :
	    row->first_record + row->records;
}

/** Rows in memory. */
struct lc__row_array {
	struct lc__rows rows;
	struct lc__layout_row *row; /* malloc'ed */
	uint64_t n;
	size_t room;
};

/** Empty, with one holder; NULL without memory. */
struct lc__row_array *lc__row_array_new(void);
/** Add a row behind the others; its first_record and first_unit are set. LC_CORRUPT if
 *  the sums overflow. */
LC_CHECKED lc_status lc__row_array_add(struct lc__row_array *array,
    const struct lc__layout_row *row);

/** Set the chunks, records and length of @p info to those of all rows. */
void lc__row_array_sum(const struct lc__row_array *array, lc_source_info *info);

/**
 * A layout over the first info->chunks rows, which it holds for itself.
 * @param commit  what it was made from; 0 if that is not known
 */
LC_CHECKED lc_status lc__layout_new(const lc_source_info *info,
    struct lc__rows *rows, uint64_t commit, struct lc__layout **out);

uint64_t lc__layout_commit(const struct lc__layout *layout);

/**
 * The first @p chunks rows of a layout as one of their own, which says that it is
 * of @p generation.
 */
LC_CHECKED lc_status lc__layout_cut(struct lc__layout *layout, uint64_t chunks,
    uint64_t generation, struct lc__layout **out);

/** Say how many sizes of image its chunks have; before it is shared. */
void lc__layout_set_series(struct lc__layout *layout, uint32_t series);

/** Say that nothing will come behind it; before it is shared. */
void lc__layout_set_final(struct lc__layout *layout);

/** The rows, borrowed. */
struct lc__rows *lc__layout_rows(const struct lc__layout *layout);

/** Does a layout begin with all that another one has? LC_CHANGED if not. */
LC_CHECKED lc_status lc__layout_check_prefix(struct lc__layout *layout,
    struct lc__layout *prefix, const char *name);

#endif
