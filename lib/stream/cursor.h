/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor reads the records of a source and is used by one thread at a time. Between
 * begin and end it reads from one commit; it is at one chunk at a time. The cursor of a
 * list has a cursor of each member, and operations at a chunk are done by the cursor of
 * the chunk's member.
 */
#ifndef LC_STREAM_CURSOR_H
#define LC_STREAM_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/layout.h"

struct lc__cursor;

/** Rows of tensors, on their first axis. */
struct lc__row_span {
	uint64_t from, n;
	uint64_t done; /* not 0: this is the record that was just read, up to this row */
};

/** Bytes of a map. */
struct lc__extent {
	const unsigned char *at;
	uint64_t size;
};

struct lc__extents {
	struct lc__extent *item; /* malloc'ed */
	size_t n, room;
};

/** Add bytes, if there are any; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__extents_add(struct lc__extents *extents, const unsigned char *at,
    uint64_t size);
/** Bytes of all. */
uint64_t lc__extents_bytes(const struct lc__extents *extents);

/** Keeps the bytes of records in place after the cursor ended. The struct of each kind
 *  begins with this one. */
struct lc__pin {
	void (*drop)(struct lc__pin *pin);
	uint64_t bytes; /* size of the memory that it keeps, without the map */
};

/** Copies the tensors of a record while they are verified, instead of leaving them in
 *  place. */
struct lc__copier {
	/**
	 * Set the destination of each tensor of a record: to[i], or NULL to leave it in
	 * place. Dtypes and shapes of the tensors are known, their data is not.
	 * @return LC_OK; anything else ends the read with this status.
	 */
	lc_status (*place)(struct lc__copier *copier, const lc_tensor *tensors);
	void **to;  /* of each; set by place() */
	size_t all; /* size of all records that are copied together, set by place() at the
	             * latest */
};

/** Copy @p n tensors that were read in place. */
LC_CHECKED lc_status lc__copier_copy(struct lc__copier *copier, lc_tensor *tensors,
    size_t n);

/* ---- kinds of cursors ---------------------------------------------------------------- */

/** The functions of a kind; each implements lc__cursor_ and its name. With a copier,
 *  read() is lc__cursor_copy(), and rows is NULL. A kind whose go() leads to chunks of
 *  other cursors does not have the functions that are called on lc__cursor.at. */
struct lc__cursor_kind {
	lc_status (*begin)(struct lc__cursor *cursor);
	void (*end)(struct lc__cursor *cursor);
	lc_status (*pin)(struct lc__cursor *cursor, struct lc__pin **out);
	lc_status (*go)(struct lc__cursor *cursor, uint64_t position);
	lc_status (*find)(struct lc__cursor *cursor, uint64_t unit, uint64_t *record,
	    uint64_t *before);
	uint64_t (*units)(const struct lc__cursor *cursor, uint64_t record);
	void (*willneed)(struct lc__cursor *cursor, uint64_t first, uint64_t n);
	const unsigned char *(*address)(const struct lc__cursor *cursor, uint64_t record);
	uint64_t (*stored)(const struct lc__cursor *cursor, uint64_t record);
	lc_status (*read)(struct lc__cursor *cursor, uint64_t record,
	    const char *const *fields, size_t n, const struct lc__row_span *rows,
	    struct lc__copier *copier, lc_tensor *tensors, lc_id *id);
	lc_status (*fields)(struct lc__cursor *cursor, uint64_t record, char ***names,
	    size_t *n);
	lc_status (*view)(struct lc__cursor *cursor, uint64_t record, lc_view *out);
	void (*forget)(struct lc__cursor *cursor);
	void (*free)(struct lc__cursor *cursor);
	lc_status (
	    *name)(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run);
	/** NULL: there is no index of cache_ids. */
	lc_status (*locate)(struct lc__cursor *cursor, lc_id id, uint64_t *position,
	    uint64_t *record);
	uint64_t (*touched)(const struct lc__cursor *cursor);
	lc_status (*extents)(struct lc__cursor *cursor, uint64_t record,
	    const char *const *fields, size_t n, const struct lc__row_span *rows,
	    struct lc__extents *out);
	/** NULL: records are read whole. */
	void (*willneed_bytes)(struct lc__cursor *cursor, struct lc__extent extent);
};

/** The struct of each kind begins with this one. */
struct lc__cursor {
	const struct lc__cursor_kind *kind;
	struct lc__cursor *at;     /* the cursor at the present chunk: this one, or that
	                            * of a member, which go() sets */
	lc_source *source;         /* borrowed */
	struct lc__layout *layout; /* held */
	uint64_t hits, misses;     /* of directories */
	struct lc__cursor_path *paths; /* of lc__cursor_field() */
};

/* ---- all cursors ---------------------------------------------------------------------- */

LC_CHECKED lc_status lc__cursor_new(lc_source *source, struct lc__layout *layout,
    struct lc__cursor **out);
/** NULL is allowed. */
void lc__cursor_free(struct lc__cursor *cursor);

/** Begin to read from the newest commit. What is read stays in place until
 *  lc__cursor_end(), or as long as a pin of lc__cursor_pin() is held. */
LC_CHECKED static inline lc_status
lc__cursor_begin(struct lc__cursor *cursor)
{
	return cursor->kind->begin(cursor);
}

static inline void
lc__cursor_end(struct lc__cursor *cursor)
{
	cursor->kind->end(cursor);
}

/** Instead of lc__cursor_end(): end the cursor, and keep what was read until
 *  lc__pin_drop(), which any thread may call. The cursor ends even if this fails. */
LC_CHECKED static inline lc_status
lc__cursor_pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	return cursor->kind->pin(cursor, out);
}

/** NULL is allowed. */
static inline void
lc__pin_drop(struct lc__pin *pin)
{
	if (pin != NULL)
		pin->drop(pin);
}

/** Memory that a pin keeps besides the map, such as decoded tensors; 0 for NULL. */
static inline uint64_t
lc__pin_bytes(const struct lc__pin *pin)
{
	return pin != NULL ? pin->bytes : 0;
}

/**
 * Move to a chunk of the layout. Its live records are numbered from 0.
 * @return LC_OK; LC_CHANGED if its records are no longer those of the layout; LC_CORRUPT,
 * LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_go(struct lc__cursor *cursor, uint64_t position)
{
	return cursor->kind->go(cursor, position);
}

/** The record of the chunk that contains its unit @p unit, and the number of units before
 *  that record; O(log records). */
LC_CHECKED static inline lc_status
lc__cursor_find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record,
    uint64_t *before)
{
	return cursor->at->kind->find(cursor->at, unit, record, before);
}

/** The number of units of a record of the chunk. */
static inline uint64_t
lc__cursor_units(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->at->kind->units(cursor->at, record);
}

/** Prefetch records [first, first + n), as far as the chunk has them. A hint. */
static inline void
lc__cursor_willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	cursor->at->kind->willneed(cursor->at, first, n);
}

/** The source of the present chunk: the cursor's own, or a member of the list; for
 *  errors. */
static inline const lc_source *
lc__cursor_member(const struct lc__cursor *cursor)
{
	return cursor->at->source;
}

/** The address of a record of the chunk, valid like what is read, and its size. Nothing
 *  was verified: for prefetching only. */
static inline const unsigned char *
lc__cursor_address(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->at->kind->address(cursor->at, record);
}

static inline uint64_t
lc__cursor_stored(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->at->kind->stored(cursor->at, record);
}

/**
 * Get tensors of a record, verified as the source requires, decoded if they are coded, in
 * place.
 * @param fields   @p n paths as in lc_reader_options; the same array must always have the
 *                 same paths
 * @param rows     only these rows are needed: others need not be verified. NULL: all. If
 *                 rows->done is not 0, tensors and id contain the result of the previous
 *                 call
 * @param tensors  gets the tensors
 * @param id       gets the cache_id; empty if there is none
 * @return LC_OK; LC_SCHEMA with the key if such a tensor is missing; LC_CORRUPT with the
 * key; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_read(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	return cursor->at->kind->read(cursor->at, record, fields, n, rows, NULL, tensors,
	    id);
}

/** The same for a whole record, whose tensors are copied to the destinations of @p
 *  copier. */
LC_CHECKED static inline lc_status
lc__cursor_copy(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, struct lc__copier *copier, lc_tensor *tensors, lc_id *id)
{
	return cursor->at->kind->read(cursor->at, record, fields, n, NULL, copier,
	    tensors, id);
}

/**
 * Instead of lc__cursor_end(): view a record of the chunk, and end the cursor, even if
 * this fails. The view does not need the cursor.
 * @return LC_OK; LC_UNSUPPORTED if records of the source consist of several; LC_CORRUPT
 * with the key; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_view(struct lc__cursor *cursor, uint64_t record, lc_view *out)
{
	return cursor->kind->view(cursor, record, out);
}

/** Stored bytes that lc__cursor_read() has read or verified so far in the source of the
 *  chunk: heads of records, and the needed parts of tensors. */
static inline uint64_t
lc__cursor_touched(const struct lc__cursor *cursor)
{
	return cursor->at->kind->touched(cursor->at);
}

/**
 * Add the extents that the same lc__cursor_read() would touch, in any order. May read the
 * head of the record without verifying it.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_extents(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, const struct lc__row_span *rows, struct lc__extents *out)
{
	return cursor->at->kind->extents(cursor->at, record, fields, n, rows, out);
}

/** Can records of the chunk be read in part? If not, lc__cursor_read() touches all of a
 *  record. */
static inline bool
lc__cursor_reads_parts(const struct lc__cursor *cursor)
{
	return cursor->at->kind->willneed_bytes != NULL;
}

/** Prefetch bytes of records. A hint. */
static inline void
lc__cursor_willneed_bytes(struct lc__cursor *cursor, struct lc__extent extent)
{
	if (cursor->at->kind->willneed_bytes != NULL)
		cursor->at->kind->willneed_bytes(cursor->at, extent);
}

/** The cache_id and the run of a record as they are stored, empty if there is none:
 *  nothing is verified and no tensor is touched. LC_CORRUPT if there is no record. */
LC_CHECKED static inline lc_status
lc__cursor_name(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run)
{
	return cursor->at->kind->name(cursor->at, record, id, run);
}

/**
 * Move to the chunk with a cache_id, and find its record there.
 * @return LC_OK; LC_NOT_FOUND if the layout does not have it; LC_UNSUPPORTED if the
 * source has no index; else as lc__cursor_go().
 */
LC_CHECKED lc_status lc__cursor_locate(struct lc__cursor *cursor, lc_id id,
    uint64_t *position, uint64_t *record);

/** The path of a field for lc__cursor_read(): always the same array, owned by the cursor;
 *  NULL without memory. */
const char *const *lc__cursor_field(struct lc__cursor *cursor, const char *path);

/** Free what was decoded so far in the source of the chunk, when the caller no longer
 *  needs it. */
static inline void
lc__cursor_forget(struct lc__cursor *cursor)
{
	cursor->at->kind->forget(cursor->at);
}

/** The names of all tensors of a record, in the order of the structure; array and names
 *  are malloc'ed. */
LC_CHECKED static inline lc_status
lc__cursor_fields(struct lc__cursor *cursor, uint64_t record, char ***names, size_t *n)
{
	return cursor->at->kind->fields(cursor->at, record, names, n);
}

/** How many directories of chunks were known, and how many had to be read. */
static inline void
lc__cursor_counts(const struct lc__cursor *cursor, uint64_t *hits, uint64_t *misses)
{
	*hits = cursor->hits;
	*misses = cursor->misses;
}

/** Copy the names of fields; array and names are malloc'ed. */
LC_CHECKED lc_status lc__field_names_copy(const char *const *from, size_t count,
    char ***names, size_t *n);
/** NULL is allowed. */
void lc__field_names_free(char **names, size_t n);

/* ---- does a prefetch pay? -------------------------------------------------------- */

/** Observations of small ranges so far; initially zero. */
struct lc__hints {
	unsigned left; /* small ranges until the next check */
	bool cold;     /* the last one was not in memory */
};

/**
 * Should these bytes be prefetched? Only if they are not in memory: prefetching costs as
 * much as reading them. Checking costs less, but too much for small ranges: one of many
 * is checked, and its result used for those that follow.
 * @param page_size  of the map, a power of two
 */
bool lc__hints_worth(struct lc__hints *hints, const unsigned char *start, uint64_t size,
    uint32_t page_size);

/** The same for a part of a large record, where checking is cheap: always checks. */
bool lc__hints_missing(const unsigned char *start, uint64_t size, uint32_t page_size);

#endif
