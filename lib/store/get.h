/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that the reading calls share. */
#ifndef LC_STORE_GET_H
#define LC_STORE_GET_H

#include "store/cache.h"
#include "store/lookup.h"

/**
 * Decode and verify a record that was found.
 * @return LC_OK with the tensor in place; LC_CORRUPT with the key in the error.
 */
LC_CHECKED lc_status lc__get_tensor(struct lc__snapshot *snapshot,
    const struct lc__record *record, bool verify, lc_tensor *out);

/** Make a view of a pinned snapshot, or with NULL of owned memory. */
void lc__view_hold(lc_view *view, const lc_tensor *tensor,
    struct lc__snapshot *snapshot);

/** A view that holds nothing. */
void lc__view_clear(lc_view *view, lc_status status);

/** Ask the system for the pages of a record, if it is large enough for that. */
void lc__get_willneed(const struct lc__env *env, const struct lc__record *record);

#endif
