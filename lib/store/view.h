/* SPDX-License-Identifier: BSD-2-Clause */
/* Views: one record that a caller holds. */
#ifndef LC_STORE_VIEW_H
#define LC_STORE_VIEW_H

#include "store/cache.h"
#include "store/lru.h"

/** A view that holds nothing. */
void lc__view_clear(lc_view *view, lc_status status);

/**
 * Make a view of a record of a snapshot that the caller has taken.
 * @param pins  gets 1 more if the view stands on the snapshot: to be given to
 *              lc__snapshot_give()
 * @return LC_OK; LC_CORRUPT with the key in the error; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__view_open(struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__record *record,
    uint64_t location, lc_view *out, unsigned *pins);

/**
 * Make a view of a record that fills a block, which is known to be whole. Holds
 * the block for itself.
 */
LC_CHECKED lc_status lc__view_block(struct lc_cache *cache,
    struct lc__block *block, const struct lc__known *known, lc_view *out);

/**
 * Ask the system for the pages of a record if a view of it will read them all: to
 * verify them, or to decode what the LRU does not hold.
 */
void lc__view_expect(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location);

/** Ask the system for the pages of a record, if it is large enough for that. */
void lc__view_willneed(const struct lc__env *env,
    const struct lc__record *record);

#endif
