/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is what is stored as it is demanded? Looks at heads of records only: no byte of a
 * tensor is read, unless the demands are deep.
 */
#ifndef CACHEX_FILL_DONE_H
#define CACHEX_FILL_DONE_H

#include "fill/fill.h"

/** What stands under a cache_id. */
enum lc__stored {
	LC__STORED_MISSING,
	LC__STORED_DONE,
	LC__STORED_WRONG /* not as demanded, or damaged */
};

/**
 * Look @p n items up under one snapshot; what the handle has pending counts as done.
 * @param check  as in struct lc__fill, with @p ctx; values have tensors without data
 *               unless the demands are deep
 * @param out    room for n
 */
LC_CHECKED lc_status lc__done_look(lc_cache *cache, const struct lc__demands *demands,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, const struct lc__item *items, size_t n, enum lc__stored *out);

/**
 * Is a value that a producer made as demanded, and of the structure that a strict
 * module holds? LC_SCHEMA or LC_INVALID with what is wrong.
 */
LC_CHECKED lc_status lc__demands_value(lc_cache *cache,
    const struct lc__demands *demands, const lc_value *value);

#endif
