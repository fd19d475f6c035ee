/* SPDX-License-Identifier: BSD-2-Clause */
/* The pending writes of a handle, and the thread that commits them. */
#ifndef LC_STORE_FLUSH_H
#define LC_STORE_FLUSH_H

#include "store/cache.h"
#include "store/lru.h"

/** Add a put, or with known NULL a delete, waiting for room. */
LC_CHECKED lc_status lc__flush_add(struct lc_cache *cache,
    const struct lc__draft *draft, struct lc__known *known);
/** Add a put of an encoded record, whose schema id and seal are set anew. */
LC_CHECKED lc_status lc__flush_add_record(struct lc_cache *cache,
    const struct lc__record *record, struct lc__known *known);
/** Commit everything that was put so far. */
LC_CHECKED lc_status lc__flush_all(struct lc_cache *cache);
/**
 * Commit nothing and take no more puts until lc__flush_release(): both wait for it. Reads
 * go on and see what was put. A commit under way ends first, and so does another hold.
 */
void lc__flush_hold(struct lc_cache *cache);
/** End lc__flush_hold(). With @p dropping, forget what was put before it: flushes take it as
 *  committed. */
void lc__flush_release(struct lc_cache *cache, bool dropping);
/** End the flush thread without committing. */
void lc__flush_stop(struct lc_cache *cache);

/** What a handle's pending writes say of a cache_id. */
enum lc__pending_answer {
	LC__PENDING_UNKNOWN, /* nothing: look at the commits */
	LC__PENDING_PUT,
	LC__PENDING_DELETED
};

/** What stands there, if it is a put: a copy that the caller drops. */
struct lc__peeked {
	struct lc__block *block; /* holds the whole record */
	struct lc__known *known; /* its schema */
};

/** Look among the pending writes. @p out may be NULL. */
LC_CHECKED lc_status lc__flush_peek(struct lc_cache *cache, const void *id,
    size_t id_size, struct lc__peeked *out, enum lc__pending_answer *answer);

#endif
