/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The examples of one source on one layout: all epochs of them one behind the other,
 * or the R* order. Never changes once it is made; used by many threads.
 */
#ifndef LC_STREAM_SEQUENCE_H
#define LC_STREAM_SEQUENCE_H

#include <stdbool.h>

#include "order/rstar.h"
#include "order/shuffle.h"
#include "order/window.h"
#include "stream/layout.h"

/** What makes the order of the examples of a source. */
struct lc__sequence_rule {
	struct lc__windows windows; /* size 0: an example is a record */
	bool drop_short;
	uint32_t idealised;         /* R*; 0: flat */
	struct lc__shuffle_rule shuffle; /* with the seed of this source */
	uint64_t epochs;            /* 0: for ever */
	bool may_be_empty;          /* it ends at once then, and is no error */
};

struct lc__sequence {
	struct lc__sequence_rule rule;
	struct lc__layout *layout;  /* held */
	struct lc__rstar *rstar;    /* NULL for the flat order */
	bool complete;              /* nothing will come behind the layout */
	uint64_t n;                 /* examples of an epoch, as far as known; 0 with R* */
	uint64_t total;             /* in all; UINT64_MAX for ever or not known */
	uint64_t known;             /* that can be read now */
};

/**
 * Make it.
 * @param name  of the source, for errors
 * @return LC_OK; LC_INVALID if it is complete and without examples, or has more than
 * can be numbered; LC_CORRUPT, LC_IO, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__sequence_new(const struct lc__sequence_rule *rule,
    struct lc__layout *layout, bool complete, const char *name,
    struct lc__sequence **out);
/** NULL is harmless. */
void lc__sequence_free(struct lc__sequence *sequence);

/** Chunks that have to be there so that the first @p examples can be known. Fewer when
 *  the source still grew, but never others: the same at any time. */
LC_CHECKED lc_status lc__sequence_needs(const struct lc__sequence *sequence,
    uint64_t examples, uint64_t *chunks);

/* From examples of a sequence to the parts of chunks that they are made of. */

/** What a thread remembers of the last example, so that its neighbours are cheap. */
struct lc__walk {
	const struct lc__sequence *sequence; /* borrowed */
	uint64_t epoch_first, epoch_end; /* examples of the epoch below; none at first */
	struct lc__shuffle shuffle;      /* of that epoch */
	struct lc__shuffle_window near;
	uint64_t position;               /* of the row below */
	struct lc__layout_row row;       /* a chunk; none while its units are 0 */
};

/** An example, of which some units are still to come. */
struct lc__spot {
	uint64_t epoch;  /* of the next unit */
	uint64_t left;   /* units to come */
	uint64_t unit;   /* next one: of the epoch (flat) */
	uint32_t reader; /* idealised one (R*) */
	struct lc__rstar_place place; /* of the next unit (R*) */
};

/** A part of an example: what one chunk has of it. */
struct lc__example_part {
	uint64_t epoch;
	uint64_t position; /* of the chunk */
	uint64_t chunk_id;
	uint64_t first;    /* first unit, from the chunk's start */
	uint64_t units;
};

void lc__walk_init(struct lc__walk *walk, const struct lc__sequence *sequence);

/** Go to example @p index, which is known. */
void lc__walk_example(struct lc__walk *walk, uint64_t index, struct lc__spot *out);

/** The next part of an example that has units left. */
LC_CHECKED lc_status lc__walk_part(struct lc__walk *walk, struct lc__spot *spot,
    struct lc__example_part *out);

#endif
