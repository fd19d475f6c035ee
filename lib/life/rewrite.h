/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbouring chunks that compact joins into one. */
#ifndef LC_LIFE_REWRITE_H
#define LC_LIFE_REWRITE_H

#include "store/change.h"

/* The limits of a group, which one transaction rewrites; a single chunk may be larger. */
#define LC__GROUP_CHUNKS 256
#define LC__GROUP_BYTES ((uint64_t)256 << 20)

/** Consecutive chunks, and the data of their ledger rows. */
struct lc__chunk_group {
	uint64_t ids[LC__GROUP_CHUNKS];
	unsigned count;
	bool sparse;            /* one of them has too many dead records */
	uint64_t source;        /* the one source of all its chunks */
	uint64_t records, live; /* in all its chunks: records, live ones */
	uint64_t bytes, live_bytes;
};

/**
 * Find the next group worth rewriting, from chunk *next on; *next becomes the chunk from
 * which to continue.
 * @param looked  is increased by the size of the chunks examined
 * @return LC_OK; LC_END.
 */
LC_CHECKED lc_status lc__chunk_group_next(struct lc__snapshot *snapshot,
    const lc_compact_options *options, uint64_t *next, uint64_t *looked,
    struct lc__chunk_group *out);

/** The rewriting of a group, and its result. */
struct lc__rewrite {
	const struct lc__chunk_group *group;
	const lc_compact_options *options;
	uint64_t next;      /* chunk from which to continue */
	uint64_t rewritten; /* chunks */
	uint64_t moved;     /* live records */
	uint64_t dropped;   /* dead records */
	bool needless;      /* it would not improve anything: nothing was written */
};

/**
 * Write one chunk with the live records of a group, under the id of its first chunk, in
 * one commit. A damaged chunk ends the group; then rewrite->next is its id. If this would
 * no longer improve anything, nothing is written: rewrite->needless.
 * @return LC_OK; LC_CORRUPT if the first chunk is damaged: then rewrite->next is the one
 * after it; as lc__change_run().
 */
LC_CHECKED lc_status lc__rewrite(struct lc__env *env, lc_durability durability,
    struct lc__rewrite *rewrite);

#endif
