/* SPDX-License-Identifier: BSD-2-Clause */
/* Putting for callers that need the record itself: in two steps, or elsewhere. */
#ifndef LC_STORE_PUT_H
#define LC_STORE_PUT_H

#include "store/flush.h"

/**
 * May values of this structure be put? In a strict module the structure must be like the
 * first one. The first put of all makes its structure the first, in a commit of its own,
 * so that two processes cannot each have another one.
 * @return LC_OK; LC_SCHEMA, naming both structures; the status of the look-up or commit.
 */
LC_CHECKED lc_status lc__check_schema(struct lc_cache *cache,
    const struct lc__schema *schema);

/** The module's versions of structures in another module's records, by their ids there.
 *  All zero is empty. */
struct lc__known_by_id {
	struct lc__known **all; /* NULL for structures not put yet; to be freed */
	size_t n;
};

/** Check structure @p id of another module in the same way, and keep it. Also LC_SCHEMA
 *  if the module has too many. */
LC_CHECKED lc_status lc__put_schema(struct lc_cache *cache, uint32_t id,
    const struct lc__schema *schema, struct lc__known_by_id *known,
    struct lc__known **out);

/** The checks of lc_put() before it reads the tensor: may this handle put this key? */
LC_CHECKED lc_status lc__put_check(struct lc_cache *cache, const lc_id *id);

/** Receives a record. Everything in @p draft is borrowed; its tensors are as the caller
 *  put them, whatever its parts are. */
typedef lc_status lc__put_fn(void *ctx, const struct lc__draft *draft,
    struct lc__known *known);

/** Check and code as lc_put() does, then pass the record to @p fn instead of the pending
 *  writes. */
LC_CHECKED lc_status lc__put_tensor_to(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, lc__put_fn *fn, void *ctx);
LC_CHECKED lc_status lc__put_value_to(struct lc_cache *cache, const lc_id *id,
    const lc_value *value, lc__put_fn *fn, void *ctx);

/** Check as lc_put() does, and pass the record to @p fn with its tensor uncoded. */
LC_CHECKED lc_status lc__put_plan_tensor(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, lc__put_fn *fn, void *ctx);

/** Check and encode as lc_put() does, with the tensors uncoded, into a block that the
 *  caller releases. */
LC_CHECKED lc_status lc__put_encode_tensor(struct lc_cache *cache, const lc_id *id,
    const lc_tensor *tensor, struct lc__encoded *out);
LC_CHECKED lc_status lc__put_encode_value(struct lc_cache *cache, const lc_id *id,
    const lc_value *value, struct lc__encoded *out);

/** Store an encoded record as lc_put() does: coded by the settings, or on a rank that
 *  does not write, the block itself in the LRU. */
LC_CHECKED lc_status lc__put_encoded(struct lc_cache *cache,
    const struct lc__encoded *encoded);

#endif
