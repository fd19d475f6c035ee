/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_STORE_ITERATE_H
#define LC_STORE_ITERATE_H

#include "store/cache.h"

/**
 * lc_iter_next() for those who work on records: the next one, verified unless the
 * walk is LC_ITER_LISTED, and its place. The struct is borrowed until the next
 * step; its bytes stay valid until lc_iter_close().
 */
LC_CHECKED lc_status lc__iter_step(lc_iter *iter,
    const struct lc__record **out, uint64_t *location);

/** The schema of the record it stands on; lives as long as the environment. */
const struct lc__schema *lc__iter_schema(const lc_iter *iter);

#endif
