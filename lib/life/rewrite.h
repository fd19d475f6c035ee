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
};

/**
 * Make one chunk of the live records of a group, under the id of its first chunk.
 * A damaged chunk ends the group; rewrite->next is its id then. A body for
 * lc__change_run(), with a struct lc__rewrite.
 * @return LC_OK; LC_NOT_FOUND if meanwhile nothing would be better for it;
 * LC_CORRUPT if the first chunk is damaged: rewrite->next is the one after it.
 */
LC_CHECKED lc_status lc__rewrite(struct lc__change *change, void *rewrite);

#endif
