/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chunks of a source at one generation, in order: how many records and units
 * each has and where they begin. Never changes once it is made; shared and counted.
 * Used by many threads.
 */
#ifndef LC_STREAM_LAYOUT_H
#define LC_STREAM_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lmdbcache.h"

struct lc__env;
struct lc__snapshot;
struct lc__layout;

/** One chunk of it. */
struct lc__layout_row {
	uint64_t id;           /* of the chunk in the module, or number of the shard */
	uint64_t first_record; /* records before it */
	uint64_t records;      /* in it */
	uint64_t first_unit;   /* units before it */
	uint64_t units;        /* in it; without a length field, records */
	uint64_t prefix_hash;  /* of the order up to it, included */
	uint32_t series;       /* of shards: which size of image, from 0 */
	uint64_t ordinal;      /* of a module, as its ledger row has it: as long as it is the
	                          same, so are the records */
};

struct lc__layout *lc__layout_hold(struct lc__layout *layout);
/** NULL is harmless. */
void lc__layout_drop(struct lc__layout *layout);

/** Sums, and what the source said of itself then. */
const lc_source_info *lc__layout_info(const struct lc__layout *layout);

/** Row @p position, below info->chunks. May read the module. */
LC_CHECKED lc_status lc__layout_row(struct lc__layout *layout,
    uint64_t position, struct lc__layout_row *out);

/** Sizes of image that its chunks have, 1 where there are no images; those of one size
 *  follow one another. */
uint32_t lc__layout_series(const struct lc__layout *layout);

/** The chunks of one size of image alone, and how many chunks are before them. */
LC_CHECKED lc_status lc__layout_of_series(struct lc__layout *layout,
    uint32_t series, uint64_t *before, struct lc__layout **out);

/** The chunk that has record or unit @p i, below info->records or info->length;
 *  O(log chunks). */
LC_CHECKED lc_status lc__layout_find_record(struct lc__layout *layout,
    uint64_t i, uint64_t *position, struct lc__layout_row *out);
LC_CHECKED lc_status lc__layout_find_unit(struct lc__layout *layout,
    uint64_t i, uint64_t *position, struct lc__layout_row *out);

/* What a layout is made of: sums, and rows that several layouts of one source may
 * share, the shorter ones using the first of them. */

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

/*
 * Rows of a module's published order, read from it when they are asked for and kept
 * from then on: opening a module of a million chunks reads a few, and shuffled
 * reading comes to look rows up in arrays. Published rows never change, so several
 * layouts share them while the order grows.
 */

/** None is read yet. With @p lengths units are lengths, else records. */
LC_CHECKED lc_status lc__order_rows_new(struct lc__env *env, bool lengths,
    struct lc__rows **out);

bool lc__is_order_rows(const struct lc__rows *rows);

/**
 * The order has @p n rows in a snapshot, which layouts may use from now on.
 * @param same  gets false if it does not begin with the rows that were known: it was
 *              cleared meanwhile, and nothing is changed
 */
LC_CHECKED lc_status lc__order_rows_extend(struct lc__rows *rows,
    struct lc__snapshot *snapshot, uint64_t n, bool *same);

#endif
