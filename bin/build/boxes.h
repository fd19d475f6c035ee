/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes as they stand in a shard: normalised, padded, with their mask. */
#ifndef CACHEX_BUILD_BOXES_H
#define CACHEX_BUILD_BOXES_H

#include "base/buf.h"
#include "lmdbcache.h"

/**
 * The first max_boxes of @p n boxes in pixels, x0, y0, x1, y1, as shares of the
 * form's width and height within 0 and 1, in the form's dtype (LC_F32 or LC_F16).
 * @param room  holds what @p boxes and @p mask then point to
 */
LC_CHECKED lc_status lc__boxes_pad(const double *pixels, uint64_t n,
    const lc_shard_info *form, struct lc__buf *room, const void **boxes,
    const void **mask);

/** A number that is neither NaN nor above 65,504 as an f16, nearest even. */
uint16_t lc__half_of(double number);

#endif
