/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A layout: the chunks of a source at one generation, in order, with the number of
 * records and units of each. It is immutable once created, shared, counted, and used by
 * many threads. A unit is what windows consist of: with a length field a row on its first
 * axis, else a record.
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
	uint64_t prefix_hash;  /* of the order up to and including it */
	uint32_t series;       /* for shards: the index of its image size */
	uint64_t ordinal; /* for a module, from its ledger row: as long as it is the same,
	                   * so are the records */
};

struct lc__layout *lc__layout_hold(struct lc__layout *layout);
/** NULL is allowed. */
void lc__layout_drop(struct lc__layout *layout);

/** The sums over all chunks, and the source's information at that time. */
const lc_source_info *lc__layout_info(const struct lc__layout *layout);

/** Row @p position, below info->chunks. May read the module. */
LC_CHECKED lc_status lc__layout_row(struct lc__layout *layout, uint64_t position,
    struct lc__chunk_row *out);

/** The number of image sizes of its chunks; 1 without images. Chunks of one size are
 *  consecutive. */
uint32_t lc__layout_series(const struct lc__layout *layout);

/** Only the chunks of one image size, and the number of chunks before them. */
LC_CHECKED lc_status lc__layout_of_series(struct lc__layout *layout, uint32_t series,
    uint64_t *before, struct lc__layout **out);

/** The chunk with record or unit @p i, below info->records or info->length; O(log
 *  chunks). */
LC_CHECKED lc_status lc__layout_find_record(struct lc__layout *layout, uint64_t i,
    uint64_t *position, struct lc__chunk_row *out);
LC_CHECKED lc_status lc__layout_find_unit(struct lc__layout *layout, uint64_t i,
    uint64_t *position, struct lc__chunk_row *out);

/* ---- rows ---------------------------------------------------------------------------
 * A layout has sums and rows. Several layouts of one source may share rows; a shorter one
 * uses the first of them. */

struct lc__rows;

/** The source of rows. @p n is the number of rows of the layout, at least 1. */
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
	atomic_uint refs; /* by layouts, and by the thread that builds one */
};

struct lc__rows *lc__rows_hold(struct lc__rows *rows);
/** NULL is allowed. */
void lc__rows_drop(struct lc__rows *rows);

/** Of @p n consecutive rows, find the one with record or unit @p i; one of them has
 *  it. */
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

/** Create an empty one, held by the caller; NULL without memory. */
struct lc__row_array *lc__row_array_new(void);
/** Add a row at the end; its first_record and first_unit are set. LC_CORRUPT if the sums
 *  overflow. */
LC_CHECKED lc_status lc__row_array_add(struct lc__row_array *array,
    const struct lc__chunk_row *row);

/** Set the chunks, records and length of @p info to the sums over all rows. */
void lc__row_array_sum(const struct lc__row_array *array, lc_source_info *info);

/**
 * Create a layout of the first info->chunks rows, which it holds.
 * @param commit  from which it was made; 0 if that is not known
 */
LC_CHECKED lc_status lc__layout_new(const lc_source_info *info, struct lc__rows *rows,
    uint64_t commit, struct lc__layout **out);

uint64_t lc__layout_commit(const struct lc__layout *layout);

/**
 * Create a layout of the first @p chunks rows of another one, for an earlier generation.
 */
LC_CHECKED lc_status lc__layout_cut(struct lc__layout *layout, uint64_t chunks,
    uint64_t generation, struct lc__layout **out);

/** Set its number of image sizes; before it is shared. */
void lc__layout_set_series(struct lc__layout *layout, uint32_t series);

/** Mark it as final; before it is shared. */
void lc__layout_set_final(struct lc__layout *layout);

/** The rows, borrowed. */
struct lc__rows *lc__layout_rows(const struct lc__layout *layout);

/** Does a layout begin with all chunks of another one? If not, LC_CHANGED. */
LC_CHECKED lc_status lc__layout_check_prefix(struct lc__layout *layout,
    struct lc__layout *prefix, const char *name);

/* ---- rows of the published order of a module -----------------------------------------
 * They are read when they are first needed, and kept from then on: to open a module of a
 * million chunks reads a few rows, and shuffled reading finds all of them in arrays in the
 * end. Published rows never change, so layouts share them while the order grows. */

/** Create rows, none of which is read yet. With @p lengths units are lengths, else
 *  records. */
LC_CHECKED lc_status lc__order_rows_new(struct lc__env *env, bool lengths,
    struct lc__rows **out);

bool lc__is_order_rows(const struct lc__rows *rows);

/**
 * Make the first @p n rows of the order usable, which it has in this snapshot.
 * @param same  set to false if the order does not begin with the rows that were known:
 *              the module was cleared, and nothing is changed here
 */
LC_CHECKED lc_status lc__order_rows_extend(struct lc__rows *rows,
    struct lc__snapshot *snapshot, uint64_t n, bool *same);

#endif
