/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of a module's published order, read from it when they are asked for and kept
 * from then on: opening a module of a million chunks reads a few, and shuffled
 * reading comes to look rows up in arrays. Published rows never change, so several
 * layouts share them while the order grows.
 */
#ifndef LC_STREAM_LAYOUT_ORDER_H
#define LC_STREAM_LAYOUT_ORDER_H

#include "store/snapshot.h"
#include "stream/layout_private.h"

/** None is read yet. With @p lengths units are lengths, else records. */
LC_CHECKED lc_status lc__order_rows_new(struct lc__env *env, bool lengths,
    struct lc__rows **out);

bool lc__is_order_rows(const struct lc__rows *rows);

/**
 * The order has @p n rows in a snapshot, which layouts may use from now on.
 * @param same  gets false if it does not begin with the rows that were known: it was
 *              cleared meanwhile, and nothing is changed
 */
LC_CHECKED lc_status lc__order_rows_extend(struct lc__rows *rows,
    struct lc__snapshot *snapshot, uint64_t n, bool *same);

#endif
