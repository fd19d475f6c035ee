/* SPDX-License-Identifier: BSD-2-Clause */
/* From examples of a sequence to the parts of chunks that they are made of. */
#ifndef LC_STREAM_WALK_H
#define LC_STREAM_WALK_H

#include "stream/sequence.h"

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
struct lc__part {
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
    struct lc__part *out);

#endif
