/* SPDX-License-Identifier: BSD-2-Clause */
/* A source as its kinds see it: modules, shards and joins. */
#ifndef LC_STREAM_SOURCE_PRIVATE_H
#define LC_STREAM_SOURCE_PRIVATE_H

#include <pthread.h>
#include <stdbool.h>

#include "stream/cursor.h"
#include "stream/layout_private.h"
#include "stream/source.h"

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

/* ---- cursors --------------------------------------------------------------- */

struct lc__cursor_kind {
	lc_status (*begin)(struct lc__cursor *cursor);
	void (*end)(struct lc__cursor *cursor);
	lc_status (*pin)(struct lc__cursor *cursor, struct lc__pin **out);
	lc_status (*go)(struct lc__cursor *cursor, uint64_t position);
	lc_status (*find)(struct lc__cursor *cursor, uint64_t unit, uint64_t *record,
	    uint64_t *before);
	uint64_t (*units)(const struct lc__cursor *cursor, uint64_t record);
	void (*willneed)(struct lc__cursor *cursor, uint64_t first, uint64_t n);
	const unsigned char *(*place)(const struct lc__cursor *cursor,
	    uint64_t record);
	uint64_t (*stored)(const struct lc__cursor *cursor, uint64_t record);
	lc_status (*read)(struct lc__cursor *cursor, uint64_t record,
	    const char *const *fields, size_t n, const struct lc__row_span *rows,
	    lc_tensor *tensors, lc_id *id);
	lc_status (*fields)(struct lc__cursor *cursor, uint64_t record,
	    char ***names, size_t *n);
	void (*forget)(struct lc__cursor *cursor);
	void (*free)(struct lc__cursor *cursor);
	lc_status (*name)(struct lc__cursor *cursor, uint64_t record, lc_id *id,
	    lc_id *run);
	uint64_t (*touched)(const struct lc__cursor *cursor);
	lc_status (*extents)(struct lc__cursor *cursor, uint64_t record,
	    const char *const *fields, size_t n, const struct lc__row_span *rows,
	    struct lc__extents *out);
	/** NULL: records are read whole. */
	void (*ask)(struct lc__cursor *cursor, struct lc__extent extent);
};

struct lc__cursor {
	const struct lc__cursor_kind *kind;
	lc_source *source;         /* borrowed */
	struct lc__layout *layout; /* held */
	uint64_t hits, misses;     /* of directories */
};

/** What keeps bytes in place: its kind's own struct begins with this. */
struct lc__pin {
	void (*drop)(struct lc__pin *pin);
	uint64_t bytes; /* of memory that it keeps, but for what is mapped */
};

#endif
