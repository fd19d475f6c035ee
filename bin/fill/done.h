/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Are stored records as a fill demands? Only their heads are read, no byte of a tensor,
 * unless the demands are deep.
 */
#ifndef CACHEX_FILL_DONE_H
#define CACHEX_FILL_DONE_H

#include "fill/fill.h"
#include "store/tool.h"

/**
 * Look @p n items up in one snapshot; records that the handle has not committed yet count
 * as done.
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
