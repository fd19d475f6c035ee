/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_STORE_ITERATE_H
#define LC_STORE_ITERATE_H

#include "store/cache.h"

/**
 * lc_iter_next() for callers that need the record: the next one, verified unless the walk
 * is LC_ITER_LISTED, and its location. The struct is borrowed until the next step; its
 * bytes stay valid until lc_iter_close().
 */
LC_CHECKED lc_status lc__iter_step(lc_iter *iter, const struct lc__record **out,
    uint64_t *location);

/** Open a walk by commit that verifies every record, whatever the handle's options. */
LC_CHECKED lc_status lc__iter_open_checked(lc_cache *cache, const void *prefix,
    size_t prefix_size, lc_iter **out);

/** Restart a walk by chunks, over the same snapshot. */
void lc__iter_rewind(lc_iter *iter);

/** The input of the current record, in a walk by order or by input; 0 in a module without
 *  inputs. */
uint32_t lc__iter_input(const lc_iter *iter);

/** Restrict a walk by input, before its first step, to this input. */
void lc__iter_only_input(lc_iter *iter, uint32_t input);

/** The snapshot of the walk; held until lc_iter_close(). */
struct lc__snapshot *lc__iter_snapshot(const lc_iter *iter);

/** The schema of the current record; it lives as long as the environment. */
const struct lc__schema *lc__iter_schema(const lc_iter *iter);

#endif
