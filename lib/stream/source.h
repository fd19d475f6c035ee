/* SPDX-License-Identifier: BSD-2-Clause */
/* What a stream reads, from the inside: modules and shards behind one face. */
#ifndef LC_STREAM_SOURCE_H
#define LC_STREAM_SOURCE_H

#include <pthread.h>
#include <stdbool.h>

#include "stream/layout.h"

struct lc__cursor;

/** The layout that the source stands on now; to be dropped. */
struct lc__layout *lc__source_layout(lc_source *source);

/**
 * The layout of an earlier generation, for a token.
 * @return LC_OK; LC_CHANGED if the source is not so far, or not the same any more.
 */
LC_CHECKED lc_status lc__source_layout_at(lc_source *source,
    uint64_t generation, struct lc__layout **out);

/** Its length field, "" for none; lives as long as the source. */
const char *lc__source_length_field(const lc_source *source);

/** Whether checksums are compared. */
bool lc__source_verifies(const lc_source *source);

/** The module's directory or the path of the shards, for errors. */
const char *lc__source_name(const lc_source *source);

/* A source as its kinds see it: modules, shards and joins. */

/** What differs between them. */
struct lc__source_kind {
	/**
	 * The newest layout.
	 * @param old  what is known so far, or NULL; may be what is returned, held anew.
	 *             Whether the new one begins with it is the caller's to check
	 */
	lc_status (*newest)(lc_source *source, struct lc__layout *old,
	    struct lc__layout **out);
	/** How many chunks of a layout are of @p generation, below its own. */
	lc_status (*chunks_at)(lc_source *source, struct lc__layout *layout,
	    uint64_t generation, uint64_t *chunks);
	/** A number that changes when newest() may give another layout. */
	lc_status (*commit)(lc_source *source, uint64_t *out);
	/** Has everybody left who could add to it? */
	lc_status (*is_abandoned)(lc_source *source, bool *out);
	lc_status (*cursor_new)(lc_source *source, struct lc__cursor **out);
	void (*free)(lc_source *source);
};

/** commit() and is_abandoned() of kinds that never grow. */
LC_CHECKED lc_status lc__final_commit(lc_source *source, uint64_t *out);
LC_CHECKED lc_status lc__final_is_abandoned(lc_source *source, bool *out);

struct lc_source {
	const struct lc__source_kind *kind;
	char *name;               /* for messages */
	char length_field[LC_LENGTH_FIELD_MAX + 1];
	bool verify;
	bool pinned;              /* to one generation */
	pthread_mutex_t refresh;  /* held by the one who makes a new layout */
	pthread_mutex_t lock;     /* guards what follows */
	struct lc__layout *layout; /* held */
};

/** Set up the parts that all have; @p source is zeros. */
LC_CHECKED lc_status lc__source_begin(lc_source *source,
    const struct lc__source_kind *kind, const char *name,
    const lc_source_options *options);

/** Give it its first layout, the one of options->generation. */
LC_CHECKED lc_status lc__source_start(lc_source *source,
    const lc_source_options *options);

/** Options that are given or the defaults; LC_INVALID if they make no sense. */
LC_CHECKED lc_status lc__source_options_of(const lc_source_options *given,
    lc_source_options *out);

#endif
