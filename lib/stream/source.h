/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A source, from the inside: what a stream reads. Modules, shards, joins and lists are
 * kinds of sources, which are used only through this header.
 */
#ifndef LC_STREAM_SOURCE_H
#define LC_STREAM_SOURCE_H

#include <pthread.h>
#include <stdbool.h>

#include "stream/layout.h"

struct lc__cursor;

/** Shards that are fetched from a store, of a source of a stream or within one. */
struct lc__fetched {
	lc_source *source; /* that has the shards; borrowed */
	uint64_t
	    first; /* the number of its first chunk, over all sources of the stream */
	uint64_t chunks;
};

struct lc__fetched_list {
	struct lc__fetched *all; /* malloc'ed */
	size_t n, room;
};

/** The layout of the source now; the caller drops it. */
struct lc__layout *lc__source_layout(lc_source *source);

/**
 * The layout of an earlier generation, for a token; the caller drops it.
 * @return LC_OK; LC_CHANGED if the source has not reached it, or has changed since.
 */
LC_CHECKED lc_status lc__source_layout_at(lc_source *source, uint64_t generation,
    struct lc__layout **out);

/** Keep a source for a stream or a view after the caller has closed it; ended by
 *  lc_source_close(), too. */
lc_source *lc__source_hold(lc_source *source);

/** Its length field, "" for none; valid as long as the source. */
const char *lc__source_length_field(const lc_source *source);

/** Are checksums compared? */
lc_verify_mode lc__source_verifies(const lc_source *source);

/** Has the caller cancelled the present call on this source? */
bool lc__source_wants_end(const lc_source *source);

/**
 * The size of a shard's file, by the id of its row; 0 if only the file knows, and for
 * other sources. That of a part of a split is the whole file. Reads the manifest of its part.
 */
LC_CHECKED lc_status lc__source_file_bytes(lc_source *source, uint64_t shard,
    uint64_t *bytes);

/** The warehouse read by a source of a directory or a store of shards, or NULL; valid as
 *  long as the source. */
lc_warehouse *lc__source_warehouse(lc_source *source);

/** The directory of the module or the path of the shards, for errors. */
const char *lc__source_name(const lc_source *source);

/* ---- kinds of sources --------------------------------------------------------------- */

/** The functions of a kind. */
struct lc__source_kind {
	/**
	 * Create the newest layout. The caller checks whether it begins with the old one.
	 * @param old  what is known so far, or NULL; may be returned, held once more
	 */
	lc_status (
	    *newest)(lc_source *source, struct lc__layout *old, struct lc__layout **out);
	/** How many chunks of a layout belong to @p generation, which is below its
	 *  own. */
	lc_status (*chunks_at)(lc_source *source, struct lc__layout *layout,
	    uint64_t generation, uint64_t *chunks);
	/** A number that changes when newest() may return another layout. */
	lc_status (*commit)(lc_source *source, uint64_t *out);
	/** Is it unfinished and without a writer? */
	lc_status (*is_abandoned)(lc_source *source, bool *out);
	/** Does it have inputs? Then it grows until they are finished. */
	lc_status (*has_inputs)(lc_source *source, bool *out);
	lc_status (*cursor_new)(lc_source *source, struct lc__cursor **out);
	void (*free)(lc_source *source);
	/** Append what is fetched of this source, whose chunk 0 has the number @p first, in
	 *  the order of chunks. NULL: nothing. LC_NO_MEMORY. */
	lc_status (*fetched)(lc_source *source, struct lc__layout *layout, uint64_t first,
	    struct lc__fetched_list *out);
	/* lc__source_file_bytes(); NULL for 0. *bytes is 0 before. */
	lc_status (*file_bytes)(lc_source *source, uint64_t shard, uint64_t *bytes);
};

/** fetched() of a source of any kind. */
LC_CHECKED lc_status lc__source_fetched(lc_source *source, struct lc__layout *layout,
    uint64_t first, struct lc__fetched_list *out);

/** commit() for kinds that never grow, and false for is_abandoned() and has_inputs(). */
LC_CHECKED lc_status lc__final_commit(lc_source *source, uint64_t *out);
LC_CHECKED lc_status lc__final_never(lc_source *source, bool *out);

/** The struct of each kind begins with this one. */
struct lc_source {
	const struct lc__source_kind *kind;
	atomic_uint refs; /* the caller, streams, and views of its records in place */
	char *name;       /* for messages */
	char length_field[LC_LENGTH_FIELD_MAX + 1];
	lc_verify_mode verify;
	int (*stop)(void *ctx); /* of the caller; may be NULL */
	void *stop_ctx;
	bool pinned;               /* opened at one fixed generation */
	pthread_mutex_t refresh;   /* held by a thread that creates a new layout */
	pthread_mutex_t lock;      /* guards the members below */
	struct lc__layout *layout; /* held */
	struct lc__cursor
	    *cursor; /* of lc_source_get(); NULL: none, or a thread is using it */
};

/** Initialise what all kinds share; @p source is all zero before. */
LC_CHECKED lc_status lc__source_begin(lc_source *source,
    const struct lc__source_kind *kind, const char *name,
    const lc_source_options *options);

/** Set its first layout, the one of options->generation. */
LC_CHECKED lc_status lc__source_start(lc_source *source,
    const lc_source_options *options);

/** The caller's options, or the defaults; LC_INVALID if they are contradictory. */
LC_CHECKED lc_status lc__source_options_of(const lc_source_options *given,
    lc_source_options *out);

#endif
