/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a handle has put itself and no commit holds: its pending writes, or on a
 * rank that does not write what the LRU keeps of them.
 */
#ifndef LC_STORE_OWN_H
#define LC_STORE_OWN_H

#include "store/cache.h"
#include "store/flush.h"

/** Encode a draft, with its tensors as they are, into a block of its own. */
LC_CHECKED lc_status lc__own_encode(const struct lc__draft *draft,
    struct lc__known *known, struct lc__peeked *out);

/** Keep a record in the LRU, on a rank that does not write. */
LC_CHECKED lc_status lc__own_keep(struct lc_cache *cache,
    const struct lc__draft *draft, struct lc__known *known);
/** Keep one that fills a block. */
void lc__own_keep_block(struct lc_cache *cache, const lc_id *id,
    struct lc__block *block, struct lc__known *known);
/** Forget a cache_id that was kept. */
void lc__own_forget(struct lc_cache *cache, const lc_id *id);

/** Is a cache_id there? */
LC_CHECKED lc_status lc__own_has(struct lc_cache *cache, const void *id,
    size_t id_size, enum lc__pending_answer *answer);

/** If it is, make a view of it. */
LC_CHECKED lc_status lc__own_view(struct lc_cache *cache, const void *id,
    size_t id_size, lc_view *out, enum lc__pending_answer *answer);

#endif
