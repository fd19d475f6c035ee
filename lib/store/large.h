/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of large pending records, a mapping for each record. So a record is written
 * without a lock, by a put or by the caller itself, and is then added without a copy.
 * Mappings are kept after their records are committed: the system clears a page when it
 * is first touched, which takes longer than copying it. A pool has no lock of its own:
 * its owner guards it.
 */
#ifndef LC_STORE_LARGE_H
#define LC_STORE_LARGE_H

#include <stddef.h>

#include "lmdbcache.h"

/* Records from this size on have their own memory; shorter ones are copied while they are
 * in the processor's cache. */
#define LC__LARGE_MIN ((size_t)65536)

struct lc__draft;

struct lc__large {
	struct lc__large *next; /* in a pool */
	unsigned char *bytes;   /* mapped; page-aligned, not set */
	size_t room;            /* bytes mapped */
	const struct lc__draft
	    *rest; /* if not NULL, bytes has only the head of the record:
	                                 its tensors are still in the caller's memory */
};

struct lc__large_pool {
	struct lc__large *first; /* the one returned last */
	size_t bytes;            /* bytes of all buffers in the pool */
};

/** Take memory for @p size bytes from the pool; NULL if none fits. */
struct lc__large *lc__large_take(struct lc__large_pool *pool, size_t size);
/** Keep memory for the next record. If the pool then has more than @p most bytes, the
 *  memory is freed instead. */
void lc__large_give(struct lc__large_pool *pool, struct lc__large *large, size_t most);
/** Free all memory in the pool. */
void lc__large_pool_empty(struct lc__large_pool *pool);

/** New memory for @p size bytes, not touched yet.
 *  @return LC_OK; LC_NO_MEMORY. */
LC_CHECKED lc_status lc__large_new(size_t size, struct lc__large **out);
/** NULL is allowed. */
void lc__large_free(struct lc__large *large);

#endif
