/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbouring chunks that compaction makes one of. */
#ifndef LC_LIFE_GROUP_H
#define LC_LIFE_GROUP_H

#include "store/change.h"

/* One transaction rewrites a group: it has no more chunks and bytes than these,
 * unless a single chunk is larger. */
#define LC__GROUP_CHUNKS 256
#define LC__GROUP_BYTES ((uint64_t)256 << 20)

/** Chunks in a row, and what their ledger rows say. */
struct lc__group {
	uint64_t ids[LC__GROUP_CHUNKS];
	unsigned count;
	bool sparse;         /* one of them has too many dead records */
	uint64_t source;     /* of all */
	uint64_t records, live; /* in all */
	uint64_t bytes, live_bytes;
};

/** Add a chunk if it is one to be rewritten or joined, and fits. */
bool lc__group_add(struct lc__group *group, uint64_t id,
    const struct lc__ledger_row *row, const lc_compact_options *options);

/** Would rewriting it make anything better? */
bool lc__group_worth(const struct lc__group *group);

/**
 * The next group that is worth it, from chunk *next on; *next is set behind it.
 * @param looked  gets the bytes of the chunks looked at
 * @return LC_OK; LC_END if there is none.
 */
LC_CHECKED lc_status lc__group_next(struct lc__snapshot *snapshot,
    const lc_compact_options *options, uint64_t *next, uint64_t *looked,
    struct lc__group *out);

#endif
