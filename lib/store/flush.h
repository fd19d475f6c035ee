/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The writes of a handle that no commit holds yet, and the thread that commits them. A
 * rank that does not write keeps its puts in the LRU instead.
 */
#ifndef LC_STORE_FLUSH_H
#define LC_STORE_FLUSH_H

#include "store/cache.h"
#include "store/lru.h"

/** An encoded record in memory. */
struct lc__encoded {
	struct lc__block *block; /* the whole record */
	struct lc__known *known; /* its schema */
};

/** Encode a draft, with its tensors as they are, into a block that the caller drops. */
LC_CHECKED lc_status lc__encode(const struct lc__draft *draft, struct lc__known *known,
    struct lc__encoded *out);

/**
 * Add a put, or with @p known NULL a delete. Waits while both buffers are full. Also
 * reports, once, a commit that has failed since.
 */
LC_CHECKED lc_status lc__flush_add(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known);
/** Add a put of an encoded record, whose schema id and seal are set anew. Only on a rank
 *  that writes. */
LC_CHECKED lc_status lc__flush_add_record(struct lc_cache *cache,
    const struct lc__record *record, struct lc__known *known);
/** The same of a record in a block, on any rank. */
LC_CHECKED lc_status lc__flush_add_encoded(struct lc_cache *cache,
    const struct lc__encoded *encoded);

/** What a handle's uncommitted writes say about a cache_id. */
enum lc__uncommitted {
	LC__UNCOMMITTED_NONE, /* nothing: look at the commits */
	LC__UNCOMMITTED_PUT,
	LC__UNCOMMITTED_DELETED
};

/** Look for a cache_id among the uncommitted writes.
 *  @param out  gets a copy of the record if it is a put, whose block the caller drops;
 *              may be NULL */
LC_CHECKED lc_status lc__flush_find(struct lc_cache *cache, const void *id,
    size_t id_size, struct lc__encoded *out, enum lc__uncommitted *answer);

/** Commit everything that was put so far. */
LC_CHECKED lc_status lc__flush_all(struct lc_cache *cache);
/** Save the counters of this process, unless all are saved. A failure goes to the log.
 *  @return LC_OK; LC_TIMEOUT, then the flush thread goes on with it. */
LC_CHECKED lc_status lc__flush_counters(struct lc_cache *cache);

/**
 * Commit nothing and take no more puts until lc__flush_release(): both wait for it. Reads
 * go on and see what was put. Waits for the commit that is running and for another hold.
 * @return LC_OK; LC_TIMEOUT, then nothing is held.
 */
LC_CHECKED lc_status lc__flush_hold(struct lc_cache *cache);
/** End lc__flush_hold(). With @p dropping, forget what was put before the hold; flushes
 *  then count it as committed. */
void lc__flush_release(struct lc_cache *cache, bool dropping);

/** End the flush thread without committing. */
void lc__flush_stop(struct lc_cache *cache);

#endif
