/* SPDX-License-Identifier: BSD-2-Clause */
/* Views for callers that have found the record themselves. */
#ifndef LC_STORE_GET_H
#define LC_STORE_GET_H

#include "store/cache.h"
#include "store/decode.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "store/lru.h"

/** Make an empty view with this status. */
void lc__view_clear(lc_view *view, lc_status status);

/**
 * Make a view of a record of a snapshot that the caller has taken; @p verify it as the
 * handle requires. If the view borrows from the snapshot, *pins grows by 1: the caller
 * passes it to lc__snapshot_give().
 * @return LC_OK; LC_CORRUPT, naming the key; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__view_record(struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__record *record, uint64_t location,
    bool verify, lc_view *out, unsigned *pins);

/** Begin the search for a record that will be read; @p copies if all of it will be
 *  copied. */
void lc__view_lookup(struct lc__lookup *lookup, const struct lc_cache *cache,
    const void *id, size_t id_size, bool copies);

/** Must any of the record be verified? */
static inline bool
lc__view_verifies(const struct lc_cache *cache, const struct lc__verified *before)
{
	return cache->options.verify != LC_VERIFY_NEVER && !before->all;
}

/** Must all of it be read to verify it? */
static inline bool
lc__view_reads(const struct lc_cache *cache, const struct lc__verified *before)
{
	return cache->options.verify != LC_VERIFY_NEVER && !before->head;
}

/** Prefetch the pages of a record if a view of it reads all of them: if it @p reads them,
 *  to verify or copy them, or to decode a tensor that is not in the LRU. */
void lc__view_willneed(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location, bool reads);

/** Make a view of a value that was built, a tensor or a map; ownership passes to the
 *  view. NULL is LC_NO_MEMORY. When the view is released, @p drop is called with @p
 *  keeper, which owns what the tensors borrow. Both happen at once if this fails. */
LC_CHECKED lc_status lc__view_value(lc_value *value, void (*drop)(void *keeper),
    void *keeper, lc_view *out);

/** Look for a cache_id among the uncommitted writes, and view a put. */
LC_CHECKED lc_status lc__view_uncommitted(struct lc_cache *cache, const void *id,
    size_t id_size, lc_view *out, enum lc__uncommitted *answer);

/** The same without a view: call @p copy with the record. */
LC_CHECKED lc_status lc__copy_uncommitted(struct lc_cache *cache, const void *id,
    size_t id_size, lc_status (*copy)(struct lc__decoder *decoder, void *ctx), void *ctx,
    enum lc__uncommitted *answer);

/** Call @p copy with a record that was found. */
LC_CHECKED lc_status lc__copy_record(struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__lookup *lookup,
    lc_status (*copy)(struct lc__decoder *decoder, void *ctx), void *ctx);

/** Make a view of a record that fills a block and is intact. The view holds the block
 *  for itself. */
LC_CHECKED lc_status lc__view_block(struct lc_cache *cache, struct lc__block *block,
    const struct lc__known *known, lc_view *out);

#endif
