/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting for one who needs the record himself: in two steps, or elsewhere. */
#ifndef LC_STORE_PUT_H
#define LC_STORE_PUT_H

#include "store/cache.h"
#include "store/flush.h"

/** Takes a record; everything in @p draft is borrowed, and its tensors are as the
 *  caller put them, whatever its parts are. */
typedef lc_status lc__put_fn(void *ctx, const struct lc__draft *draft,
    struct lc__known *known);

/** Check and code as lc_put() does, for somebody else than the pending writes. */
LC_CHECKED lc_status lc__put_tensor_to(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, lc__put_fn *fn, void *ctx);
LC_CHECKED lc_status lc__put_value_to(struct lc_cache *cache, const lc_id *id,
    const lc_value *value, lc__put_fn *fn, void *ctx);

/** Check and encode as lc_put() does, the tensors as they are, into a block that
 *  the caller drops. */
LC_CHECKED lc_status lc__put_encode_tensor(struct lc_cache *cache,
    const lc_id *id, const lc_tensor *tensor, struct lc__peeked *out);
LC_CHECKED lc_status lc__put_encode_value(struct lc_cache *cache,
    const lc_id *id, const lc_value *value, struct lc__peeked *out);

/** Store what was encoded as lc_put() does: coded by the settings, or on a rank
 *  that does not write the block itself in the LRU. */
LC_CHECKED lc_status lc__put_encoded(struct lc_cache *cache,
    const struct lc__peeked *encoded);

#endif
