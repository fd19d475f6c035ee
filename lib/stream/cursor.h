/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor: a way into the records of a source, used by one thread at a time. While it is
 * begun it reads from one commit; it is at one chunk at a time. That of a list has a cursor
 * of each member, and what is done at a chunk is done by that of the chunk's member.
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
	uint64_t done; /* not 0: this is the record that was read just before, up to this
	                  row */
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

/** What keeps the bytes of records in place after the cursor ended. The struct of a kind
 * begins with this one. */
struct lc__pin {
	void (*drop)(struct lc__pin *pin);
	uint64_t bytes; /* of memory that it keeps, without the map */
};

/** Has the tensors of a record copied while they are verified, instead of left in place. */
struct lc__copier {
	/**
	 * Say where each tensor of a record goes: to[i], or NULL to leave it in place. Their
	 * dtypes and shapes are known, their data is not.
	 * @return LC_OK; anything else ends the read with this status.
	 */
	lc_status (*place)(struct lc__copier *copier, const lc_tensor *tensors);
	void **to;  /* of each; set by place() */
	size_t all; /* bytes of all records that are copied together, at the latest set
		       by place() */
};

/** Copy @p n tensors that were read in place. */
LC_CHECKED lc_status lc__copier_copy(struct lc__copier *copier, lc_tensor *tensors,
    size_t n);

/* ---- kinds of cursors ---------------------------------------------------------------- */

/** What differs between them; each function is that of lc__cursor_ and its name. With a
 *  copier read() is lc__cursor_copy(), and rows is NULL. A kind whose go() leads to the
 *  chunks of other cursors has none of those that are called of lc__cursor.at. */
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

/** The struct of a kind begins with this one. */
struct lc__cursor {
	const struct lc__cursor_kind *kind;
	struct lc__cursor *at;     /* that has the chunk at hand: this one, or that of a
	                                  member, which go() sets */
	lc_source *source;         /* borrowed */
	struct lc__layout *layout; /* held */
	uint64_t hits, misses;     /* of directories */
	struct lc__cursor_path *paths; /* of lc__cursor_field() */
};

/* ---- all cursors ---------------------------------------------------------------------- */

LC_CHECKED lc_status lc__cursor_new(lc_source *source, struct lc__layout *layout,
    struct lc__cursor **out);
/** NULL is harmless. */
void lc__cursor_free(struct lc__cursor *cursor);

/** Begin to read, from the newest commit. What is read stays in place until
 *  lc__cursor_end(), or while a pin of lc__cursor_pin() is held. */
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
 *  lc__pin_drop(), which any thread may call. The cursor ends also if this fails. */
LC_CHECKED static inline lc_status
lc__cursor_pin(struct lc__cursor *cursor, struct lc__pin **out)
{
	return cursor->kind->pin(cursor, out);
}

/** NULL is harmless. */
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
 * Go to a chunk of the layout. Its live records are numbered from 0.
 * @return LC_OK; LC_CHANGED if its records are not those of the layout any more;
 * LC_CORRUPT, LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_go(struct lc__cursor *cursor, uint64_t position)
{
	return cursor->kind->go(cursor, position);
}

/** The record of the chunk that has its unit @p unit, and the units before that
 *  record; O(log records). */
LC_CHECKED static inline lc_status
lc__cursor_find(struct lc__cursor *cursor, uint64_t unit, uint64_t *record,
    uint64_t *before)
{
	return cursor->at->kind->find(cursor->at, unit, record, before);
}

/** Units of a record of the chunk. */
static inline uint64_t
lc__cursor_units(const struct lc__cursor *cursor, uint64_t record)
{
	return cursor->at->kind->units(cursor->at, record);
}

/** Ask the system to have records [first, first + n) ready, as far as the chunk has
 *  them. A hint. */
static inline void
lc__cursor_willneed(struct lc__cursor *cursor, uint64_t first, uint64_t n)
{
	cursor->at->kind->willneed(cursor->at, first, n);
}

/** The source that has the chunk at hand: the cursor's own, or a member of the list, for
 *  errors. */
static inline const lc_source *
lc__cursor_member(const struct lc__cursor *cursor)
{
	return cursor->at->source;
}

/** Where a record of the chunk begins in memory, valid as what is read, and the bytes that
 *  it takes there. Nothing was checked: for prefetching only. */
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
 * Tensors of a record, verified as the source says, decoded if they are coded,
 * in place.
 * @param fields   paths as in lc_reader_options, @p n of them; as long as it is the same
 *                 array, it has the same paths
 * @param rows     only these rows are needed: others need not be verified. NULL: all. If
 *                 rows->done is not 0, tensors and id have what the call before gave
 * @param tensors  gets them
 * @param id       gets the cache_id; empty if there is none
 * @return LC_OK; LC_SCHEMA with the key if it has not such a tensor; LC_CORRUPT
 * with the key; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_read(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, const struct lc__row_span *rows, lc_tensor *tensors, lc_id *id)
{
	return cursor->at->kind->read(cursor->at, record, fields, n, rows, NULL, tensors,
	    id);
}

/** The same of a whole record, whose tensors are copied to where @p copier says. */
LC_CHECKED static inline lc_status
lc__cursor_copy(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, struct lc__copier *copier, lc_tensor *tensors, lc_id *id)
{
	return cursor->at->kind->read(cursor->at, record, fields, n, NULL, copier,
	    tensors, id);
}

/**
 * Instead of lc__cursor_end(): view a record of the chunk, and end the cursor, also if this
 * fails. The view needs no cursor.
 * @return LC_OK; LC_UNSUPPORTED if records of the source are made of several; LC_CORRUPT with
 * the key; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_view(struct lc__cursor *cursor, uint64_t record, lc_view *out)
{
	return cursor->kind->view(cursor, record, out);
}

/** Stored bytes that lc__cursor_read() has read or verified so far of the source that has
 *  the chunk: heads of records, and the needed parts of tensors. */
static inline uint64_t
lc__cursor_touched(const struct lc__cursor *cursor)
{
	return cursor->at->kind->touched(cursor->at);
}

/**
 * Add the extents that lc__cursor_read() of the same would touch, in any order. May read
 * the head of the record, which is not verified.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED static inline lc_status
lc__cursor_extents(struct lc__cursor *cursor, uint64_t record, const char *const *fields,
    size_t n, const struct lc__row_span *rows, struct lc__extents *out)
{
	return cursor->at->kind->extents(cursor->at, record, fields, n, rows, out);
}

/** Can records of the chunk be read in parts? Else lc__cursor_read() touches all of them. */
static inline bool
lc__cursor_reads_parts(const struct lc__cursor *cursor)
{
	return cursor->at->kind->willneed_bytes != NULL;
}

/** Ask the system to have bytes of records ready. A hint. */
static inline void
lc__cursor_willneed_bytes(struct lc__cursor *cursor, struct lc__extent extent)
{
	if (cursor->at->kind->willneed_bytes != NULL)
		cursor->at->kind->willneed_bytes(cursor->at, extent);
}

/** The cache_id and the run of a record, empty if there is none, as they are stored:
 *  nothing is verified and no tensor is touched. LC_CORRUPT if there is no record. */
LC_CHECKED static inline lc_status
lc__cursor_name(struct lc__cursor *cursor, uint64_t record, lc_id *id, lc_id *run)
{
	return cursor->at->kind->name(cursor->at, record, id, run);
}

/**
 * Go to the chunk that has a cache_id, and find its record there.
 * @return LC_OK; LC_NOT_FOUND if the layout has it not; LC_UNSUPPORTED if the source cannot
 * tell; else as lc__cursor_go().
 */
LC_CHECKED lc_status lc__cursor_locate(struct lc__cursor *cursor, lc_id id,
    uint64_t *position, uint64_t *record);

/** The path of a field as lc__cursor_read() takes it: the same array each time, which is the
 *  cursor's; NULL without memory. */
const char *const *lc__cursor_field(struct lc__cursor *cursor, const char *path);

/** Free what was decoded so far of the source that has the chunk: the caller does not need it
 *  any more. */
static inline void
lc__cursor_forget(struct lc__cursor *cursor)
{
	cursor->at->kind->forget(cursor->at);
}

/** Names of all tensors of a record, malloc'ed and each too, in the order of the
 *  structure. */
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

/** Copy the names of fields: malloc'ed, and each too. */
LC_CHECKED lc_status lc__field_names_copy(const char *const *from, size_t count,
    char ***names, size_t *n);
/** NULL is harmless. */
void lc__field_names_free(char **names, size_t n);

/* ---- is a prefetch worth its call? --------------------------------------------------- */

/** What was seen of small ranges so far; all zeros at first. */
struct lc__hints {
	unsigned left; /* small ranges until one is looked at again */
	bool cold;     /* the last one was not in memory */
};

/**
 * Should the system be asked to read these bytes? Only if they are not in memory: to ask
 * costs as much as to read them. To look whether they are costs less, but too much for
 * small ranges: one of many is looked at, and taken for those that follow.
 * @param page_size  of the map, a power of two
 */
bool lc__hints_worth(struct lc__hints *hints, const unsigned char *start, uint64_t size,
    uint32_t page_size);

/** The same of a part of a large record, where looking costs little: always looks. */
bool lc__hints_missing(const unsigned char *start, uint64_t size, uint32_t page_size);

#endif
