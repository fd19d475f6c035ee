/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A layout: the chunks of a source at one generation, in order, with the records and units
 * of each. It never changes once it is made; shared and counted, used by many threads.
 *
 * A unit is what windows are cut from: with a length field a row on its first axis, else a
 * record.
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
struct lc__chunk_row {
	uint64_t id;           /* of the chunk in the module, or number of the shard */
	uint64_t first_record; /* records before it */
	uint64_t records;      /* in it */
	uint64_t first_unit;   /* units before it */
	uint64_t units;        /* in it; without a length field, records */
	uint64_t prefix_hash;  /* of the order up to it, included */
	uint32_t series;       /* of shards: which size of image, from 0 */
	uint64_t ordinal; /* of a module, as its ledger row has it: as long as it is the
	                          same, so are the records */
};

struct lc__layout *lc__layout_hold(struct lc__layout *layout);
/** NULL is harmless. */
void lc__layout_drop(struct lc__layout *layout);

/** The sums of all chunks, and what the source said of itself then. */
const lc_source_info *lc__layout_info(const struct lc__layout *layout);

/** Row @p position, below info->chunks. May read the module. */
LC_CHECKED lc_status lc__layout_row(struct lc__layout *layout, uint64_t position,
    struct lc__chunk_row *out);

/** How many sizes of image its chunks have; 1 without images. Chunks of one size follow
 *  each other. */
uint32_t lc__layout_series(const struct lc__layout *layout);

/** The chunks of one size of image alone, and how many chunks are before them. */
LC_CHECKED lc_status lc__layout_of_series(struct lc__layout *layout, uint32_t series,
    uint64_t *before, struct lc__layout **out);

/** The chunk that has record or unit @p i, below info->records or info->length;
 *  O(log chunks). */
LC_CHECKED lc_status lc__layout_find_record(struct lc__layout *layout, uint64_t i,
    uint64_t *position, struct lc__chunk_row *out);
LC_CHECKED lc_status lc__layout_find_unit(struct lc__layout *layout, uint64_t i,
    uint64_t *position, struct lc__chunk_row *out);

/* ---- rows ---------------------------------------------------------------------------
 * A layout has sums and rows. Several layouts of one source may share rows; a shorter one
 * uses the first of them. */

struct lc__rows;

/** Where rows come from. @p n is how many of them the layout has, at least 1. */
struct lc__rows_kind {
	lc_status (*get)(struct lc__rows *rows, uint64_t n, uint64_t position,
	    struct lc__chunk_row *out);
	/** The row that has record or unit @p i. */
	lc_status (*find)(struct lc__rows *rows, uint64_t n, bool units, uint64_t i,
	    uint64_t *position, struct lc__chunk_row *out);
	void (*free)(struct lc__rows *rows);
};

struct lc__rows {
	const struct lc__rows_kind *kind;
	atomic_uint refs; /* of layouts, and of the thread that makes one */
};

struct lc__rows *lc__rows_hold(struct lc__rows *rows);
/** NULL is harmless. */
void lc__rows_drop(struct lc__rows *rows);

/** Of @p n rows that follow each other, find the one that has record or unit @p i, which
 *  is in one of them. */
uint64_t lc__row_search(const struct lc__chunk_row *row, uint64_t n, bool units,
    uint64_t i);

/** Records or units before a row. */
static inline uint64_t
lc__row_first(const struct lc__chunk_row *row, bool units)
{
	return units ? row->first_unit : row->first_record;
}

/** Records or units up to its end. */
static inline uint64_t
lc__row_end(const struct lc__chunk_row *row, bool units)
{
	return units ? row->first_unit + row->units : row->first_record + row->records;
}

/** Rows in memory. */
struct lc__row_array {
	struct lc__rows rows;
	struct lc__chunk_row *row; /* malloc'ed */
	uint64_t n;
	size_t room;
};

/** An empty one, held by the caller; NULL without memory. */
struct lc__row_array *lc__row_array_new(void);
/** Add a row at the end; its first_record and first_unit are set. LC_CORRUPT if the sums
 *  overflow. */
LC_CHECKED lc_status lc__row_array_add(struct lc__row_array *array,
    const struct lc__chunk_row *row);

/** Set the chunks, records and length of @p info to those of all rows. */
void lc__row_array_sum(const struct lc__row_array *array, lc_source_info *info);

/**
 * Make a layout of the first info->chunks rows, which it holds for itself.
 * @param commit  that it was made from; 0 if that is not known
 */
LC_CHECKED lc_status lc__layout_new(const lc_source_info *info, struct lc__rows *rows,
    uint64_t commit, struct lc__layout **out);

uint64_t lc__layout_commit(const struct lc__layout *layout);

/**
 * Make a layout of the first @p chunks rows of another one, of an earlier generation.
 */
LC_CHECKED lc_status lc__layout_cut(struct lc__layout *layout, uint64_t chunks,
    uint64_t generation, struct lc__layout **out);

/** Set how many sizes of image its chunks have; before it is shared. */
void lc__layout_set_series(struct lc__layout *layout, uint32_t series);

/** Set that nothing will come after it; before it is shared. */
void lc__layout_set_final(struct lc__layout *layout);

/** The rows, borrowed. */
struct lc__rows *lc__layout_rows(const struct lc__layout *layout);

/** Does a layout begin with all chunks of another one? LC_CHANGED if not. */
LC_CHECKED lc_status lc__layout_check_prefix(struct lc__layout *layout,
    struct lc__layout *prefix, const char *name);

/* ---- rows of the published order of a module -----------------------------------------
 * They are read when they are first needed, and kept from then on: to open a module of a
 * million chunks reads a few rows, and shuffled reading finds all of them in arrays in the
 * end. Published rows never change, so layouts share them while the order grows. */

/** Rows of which none is read yet. With @p lengths units are lengths, else records. */
LC_CHECKED lc_status lc__order_rows_new(struct lc__env *env, bool lengths,
    struct lc__rows **out);

bool lc__is_order_rows(const struct lc__rows *rows);

/**
 * Make the first @p n rows of the order usable, which it has in this snapshot.
 * @param same  gets false if the order does not begin with the rows that were known: the
 *              module was cleared, and nothing is changed here
 */
LC_CHECKED lc_status lc__order_rows_extend(struct lc__rows *rows,
    struct lc__snapshot *snapshot, uint64_t n, bool *same);

#endif
