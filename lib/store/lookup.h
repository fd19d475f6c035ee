/* SPDX-License-Identifier: BSD-2-Clause */
/* Looking a cache_id up in all runs of a snapshot, newest first. */
#ifndef LC_STORE_LOOKUP_H
#define LC_STORE_LOOKUP_H

#include "store/snapshot.h"

/** A cache_id on its way through the index. */
struct lc__lookup {
	lc_id id;              /* borrowed */
	uint64_t hash;         /* lc__run_hash() of it */
	uint64_t location;     /* of the record, once found or guessed */
	uint32_t guess;        /* position + 1 of the run that a guess met, 0 for none */
	struct lc__record record; /* taken apart, once found; not verified */
};

/** Set id and hash. */
void lc__lookup_start(struct lc__lookup *lookup, struct lc__env *env,
    const void *id, size_t id_size);

/** Ask for the cache lines that lc__index_find() will read first. */
void lc__index_prefetch(const struct lc__snapshot *snapshot,
    const struct lc__lookup *lookup);

/**
 * Find the newest record of a cache_id.
 * @p checked verifies the index as it is read.
 * @return LC_OK; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_find(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, bool checked);

/**
 * The first half of lc__index_find(), so that a batch can prefetch in between:
 * finds a location whose fingerprint agrees, and touches no record.
 * lc__index_find() goes on from there.
 * @return LC_OK with lookup->location; LC_NOT_FOUND; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__index_guess(struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, bool checked);

#endif
