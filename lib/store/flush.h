/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The uncommitted writes of a module, and the thread that commits them. The handles of
 * one process share both: each reads what any of them has put, and a flush by one flushes
 * all. A rank that does not write keeps its puts in the LRU of its handle instead.
 */
#ifndef LC_STORE_FLUSH_H
#define LC_STORE_FLUSH_H

#include "store/cache.h"
#include "store/large.h"
#include "store/lru.h"

struct lc__flusher;

/** NULL without memory. */
struct lc__flusher *lc__flusher_new(struct lc__env *env);
/** No handle may be using it. NULL is allowed. */
void lc__flusher_free(struct lc__flusher *flusher);
/* Around a fork: take the lock, release it, and start empty in the child. */
void lc__flusher_before_fork(struct lc__flusher *flusher);
void lc__flusher_after_fork_parent(struct lc__flusher *flusher);
void lc__flusher_after_fork_child(struct lc__flusher *flusher);

/** Let a handle use the flusher of its module. */
void lc__flush_enter(struct lc_cache *cache);
/** End that. The last handle that commits ends the flush thread and drops uncommitted
 *  writes; it waits for the running commit. */
void lc__flush_leave(struct lc_cache *cache);

/** An encoded record in memory. */
struct lc__encoded {
	struct lc__block *block; /* the whole record */
	struct lc__known *known; /* its schema */
};

/** Encode a draft, with its tensors as they are, into a block that the caller drops. */
LC_CHECKED lc_status lc__encode(const struct lc__draft *draft, struct lc__known *known,
    struct lc__encoded *out);

/**
 * Add a put, or with @p known NULL a delete. Waits while both buffers are full by the
 * handle's limits. Also reports, once to each handle, a commit that has failed since.
 */
LC_CHECKED lc_status lc__flush_add(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known);
/** Add a put and commit everything, as lc__flush_all() does. The tensors of a large
 *  record go from the draft into the chunk without an intermediate copy; the draft is no
 *  longer used when this returns. */
LC_CHECKED lc_status lc__flush_put(struct lc_cache *cache, const struct lc__draft *draft,
    struct lc__known *known);
/** Add a put of an encoded record, whose schema id and seal are set anew. Only on a rank
 *  that writes. */
LC_CHECKED lc_status lc__flush_add_record(struct lc_cache *cache,
    const struct lc__record *record, struct lc__known *known);
/** The same of a record in a block, on any rank. */
LC_CHECKED lc_status lc__flush_add_encoded(struct lc_cache *cache,
    const struct lc__encoded *encoded);

/** Memory for a record of @p size bytes that is written before it is added: kept from
 *  earlier records, or new. */
LC_CHECKED lc_status lc__flush_memory(struct lc_cache *cache, size_t size,
    struct lc__large **out);
/** Return memory with which no record was added. */
void lc__flush_memory_give(struct lc_cache *cache, struct lc__large *large);
/** Add a put of a record that is encoded in such memory, whose ownership passes on LC_OK.
 *  Its schema id and seal are set anew. Only on a rank that writes. */
LC_CHECKED lc_status lc__flush_add_large(struct lc_cache *cache, const lc_id *id,
    struct lc__large *large, struct lc__known *known);

/** The state of a cache_id in the uncommitted writes. */
enum lc__uncommitted {
	LC__UNCOMMITTED_NONE, /* not there: search the commits */
	LC__UNCOMMITTED_PUT,
	LC__UNCOMMITTED_DELETED
};

/** Look for a cache_id among the uncommitted writes.
 *  @param out  gets a copy of the record if it is a put, whose block the caller drops;
 *              may be NULL */
LC_CHECKED lc_status lc__flush_find(struct lc_cache *cache, const void *id,
    size_t id_size, struct lc__encoded *out, enum lc__uncommitted *answer);

/** The number of uncommitted writes. */
uint64_t lc__flush_pending(const struct lc_cache *cache);
/** That number, and the size of their records. */
void lc__flush_count(struct lc_cache *cache, uint64_t *records, uint64_t *bytes);

/** Commit everything that was put so far, through any handle. */
LC_CHECKED lc_status lc__flush_all(struct lc_cache *cache);
/** Save the counters of this process, unless all are saved. A failure goes to the log.
 *  @return LC_OK; LC_TIMEOUT, then the flush thread continues with it. */
LC_CHECKED lc_status lc__flush_counters(struct lc_cache *cache);

/**
 * Stop commits and puts until lc__flush_release(): both wait for it. Reads continue and
 * see what was put. Waits for the running commit and for another hold.
 * @return LC_OK; LC_TIMEOUT, then nothing is held.
 */
LC_CHECKED lc_status lc__flush_hold(struct lc_cache *cache);
/** End lc__flush_hold(). With @p dropping, drop what was put before the hold; flushes
 *  then count it as committed. */
void lc__flush_release(struct lc_cache *cache, bool dropping);

#endif
