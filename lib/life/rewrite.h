/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbouring chunks that compact makes one chunk of. */
#ifndef LC_LIFE_REWRITE_H
#define LC_LIFE_REWRITE_H

#include "store/change.h"

/* One transaction rewrites a group: it has no more chunks and bytes than these,
 * unless a single chunk is larger. */
#define LC__GROUP_CHUNKS 256
#define LC__GROUP_BYTES ((uint64_t)256 << 20)

/** Chunks in a row, and what their ledger rows say. */
struct lc__chunk_group {
	uint64_t ids[LC__GROUP_CHUNKS];
	unsigned count;
	bool sparse;            /* one of them has too many dead records */
	uint64_t source;        /* of all */
	uint64_t records, live; /* in all */
	uint64_t bytes, live_bytes;
};

/**
 * The next group that is worth rewriting, from chunk *next on; *next gets the chunk to go
 * on with.
 * @param looked  the bytes of the chunks looked at are added to it
 * @return LC_OK; LC_END.
 */
LC_CHECKED lc_status lc__chunk_group_next(struct lc__snapshot *snapshot,
    const lc_compact_options *options, uint64_t *next, uint64_t *looked,
    struct lc__chunk_group *out);

/** The rewriting of a group, and its result. */
struct lc__rewrite {
	const struct lc__chunk_group *group;
	const lc_compact_options *options;
	uint64_t next;      /* chunk to go on with */
	uint64_t rewritten; /* chunks */
	uint64_t moved;     /* live records */
	uint64_t dropped;   /* dead records */
	bool needless;      /* nothing would be better for it: nothing was written */
};

/**
 * Make one chunk of the live records of a group, under the id of its first chunk, in one
 * commit. A damaged chunk ends the group; rewrite->next is its id then. If by now nothing
 * would be better for it, nothing is written: rewrite->needless.
 * @return LC_OK; LC_CORRUPT if the first chunk is damaged: rewrite->next is the one after it;
 * as lc__change_run().
 */
LC_CHECKED lc_status lc__rewrite(struct lc__env *env, lc_durability durability,
    struct lc__rewrite *rewrite);

#endif
