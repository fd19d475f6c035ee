/* SPDX-License-Identifier: BSD-2-Clause */
/* Views for callers that have found the record themselves. */
#ifndef LC_STORE_GET_H
#define LC_STORE_GET_H

#include "store/cache.h"
#include "store/lru.h"

/** Make a view that holds nothing and has this status. */
void lc__view_clear(lc_view *view, lc_status status);

/** Make a view of a record that fills a block and is intact. The view holds the block
 *  for itself. */
LC_CHECKED lc_status lc__view_block(struct lc_cache *cache, struct lc__block *block,
    const struct lc__known *known, lc_view *out);

#endif
