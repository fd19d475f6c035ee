/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sequence: the examples of one source in one layout, all epochs one after another, by
 * shares or not, or in the R* order. A sequence cursor maps an example to the chunks from
 * which it is read.
 */
#ifndef LC_STREAM_SEQUENCE_H
#define LC_STREAM_SEQUENCE_H

#include <stdbool.h>

#include "order/rstar.h"
#include "order/shares.h"
#include "order/shuffle.h"
#include "order/window.h"
#include "stream/layout.h"

/** The parameters of the order of a source's examples. */
struct lc__sequence_rule {
	struct lc__windows windows;      /* size 0: an example is a record */
	bool drop_short;                 /* leave out the last window if it is short */
	uint32_t idealised;              /* readers of the R* order; 0: flat */
	uint32_t shares;                 /* C; 0: none. Windows end with their chunk */
	struct lc__shuffle_rule shuffle; /* with the seed of this source */
	uint64_t epochs;                 /* 0: for ever */
	bool may_be_empty; /* a source without examples is not an error: it ends at once
	                    * */
};

/** Immutable once created; used by many threads. */
struct lc__sequence {
	struct lc__sequence_rule rule;
	struct lc__layout *layout; /* held */
	struct lc__rstar *rstar;   /* NULL but for R* */
	struct lc__shares *shares; /* NULL but for shares */
	uint64_t *units;           /* for each chunk, with windows of shares; else NULL */
	bool complete;             /* the layout will not grow */
	uint64_t n;     /* examples of an epoch, as far as known; 0 with R*; with shares,
	                 * repeated examples count twice */
	uint64_t total; /* of all epochs; UINT64_MAX: for ever, or unknown */
	uint64_t known; /* examples that can be read now */
};

/**
 * Create a sequence. It holds the layout.
 * @param complete  the layout will not grow
 * @param name      of the source, for errors
 * @return LC_OK; LC_INVALID if it is complete and without examples, or has more than can
 * be numbered; LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__sequence_new(const struct lc__sequence_rule *rule,
    struct lc__layout *layout, bool complete, const char *name,
    struct lc__sequence **out);
/** NULL is allowed. */
void lc__sequence_free(struct lc__sequence *sequence);

/** The number of chunks needed to know the first @p examples. A source that has grown
 *  since gives the same number. */
LC_CHECKED lc_status lc__sequence_needs(const struct lc__sequence *sequence,
    uint64_t examples, uint64_t *chunks);

/* ---- sequence cursors --------------------------------------------------------------- */

/** Used by one thread at a time. It remembers the previous example, which makes its
 *  neighbours cheap to find. */
struct lc__sequence_cursor {
	const struct lc__sequence *sequence; /* borrowed */
	uint64_t epoch_first, epoch_end; /* examples of the epoch below; none at first */
	struct lc__shuffle shuffle;      /* of that epoch */
	struct lc__shuffle_window near;
	struct lc__shares_cursor shares;
	uint64_t position;        /* in the layout, of the row below */
	struct lc__chunk_row row; /* a chunk; none while its units are 0 */
};

/** Where an example continues: its units that have not been returned yet. */
struct lc__sequence_position {
	uint64_t epoch;               /* of the next unit */
	uint64_t left;                /* units left */
	uint64_t unit;                /* the next one: of the epoch (flat) */
	uint32_t reader;              /* idealised reader (R*) */
	struct lc__rstar_place place; /* of the next unit (R*, shares) */
};

/** The part of an example in one chunk. */
struct lc__piece {
	uint64_t epoch;
	uint64_t position; /* of the chunk in the layout */
	uint64_t chunk_id;
	uint64_t first; /* first unit, from the start of the chunk */
	uint64_t units;
};

/** Is a position a chunk and a unit in it, or a unit of the epoch? */
static inline bool
lc__sequence_by_chunk(const struct lc__sequence *sequence)
{
	return sequence->rstar != NULL || sequence->shares != NULL;
}

void lc__sequence_cursor_init(struct lc__sequence_cursor *cursor,
    const struct lc__sequence *sequence);

/** Free its memory; an all-zero cursor has none. */
void lc__sequence_cursor_end(struct lc__sequence_cursor *cursor);

/** Move to example @p index, which is below sequence->known. LC_NO_MEMORY, with
 *  shares. */
LC_CHECKED lc_status lc__sequence_seek(struct lc__sequence_cursor *cursor, uint64_t index,
    struct lc__sequence_position *out);

/** Get the next piece of an example that has units left. May read the module, like
 *  lc__layout_row(). */
LC_CHECKED lc_status lc__sequence_next(struct lc__sequence_cursor *cursor,
    struct lc__sequence_position *position, struct lc__piece *out);

#endif
