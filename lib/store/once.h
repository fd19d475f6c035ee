/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this process has verified of a module, for handles that verify once. It is a set
 * of keys; a key is computed from the address of the bytes, their checksum, and the chunk
 * that contains them. Ids of chunks are never reused, and a chunk that is rewritten under
 * its id has fewer records than before. So data from a later commit has other keys than
 * what was there before, even the same record at the same address.
 */
#ifndef LC_STORE_ONCE_H
#define LC_STORE_ONCE_H

#include <stdbool.h>
#include <stdint.h>

#include "store/snapshot.h"

struct lc__once;

/** NULL without memory. */
struct lc__once *lc__once_new(void);
/** NULL is allowed. */
void lc__once_free(struct lc__once *once);
/** Remove all keys: the environment is reopened, maybe on another file. */
void lc__once_forget(struct lc__once *once);

/** What has been verified of a chunk. All zero knows nothing and learns nothing. */
struct lc__once_seen {
	struct lc__once *once;
	uint64_t chunk;   /* part of the keys */
	uint64_t records; /* of the module: the expected number of keys, at least */
};

struct lc__once_seen lc__seen_of(struct lc__once *once,
    const struct lc__snapshot *snapshot, const struct lc__mapped_chunk *chunk);

bool lc__once_has(const struct lc__once_seen *seen, const void *at, uint64_t checksum);
void lc__once_add(const struct lc__once_seen *seen, const void *at, uint64_t checksum);

/** Were bytes at this address and with this checksum verified? Any thread may ask. */
static inline bool
lc__seen_before(const struct lc__once_seen *seen, const void *at, uint64_t checksum)
{
	return seen->once != NULL && lc__once_has(seen, at, checksum);
}

/** Prefetch what lc__seen_before() reads; seen->once must not be NULL. */
void lc__seen_fetch(const struct lc__once_seen *seen, const void *at);

/** Record that they were verified. Without memory that is lost. Any thread may call
 *  it. */
static inline void
lc__seen_note(const struct lc__once_seen *seen, const void *at, uint64_t checksum)
{
	if (seen->once != NULL)
		lc__once_add(seen, at, checksum);
}

#endif
