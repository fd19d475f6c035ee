/* SPDX-License-Identifier: BSD-2-Clause */
/* What is drawn, and what is to be. */
#ifndef T_DRAWN_H
#define T_DRAWN_H

#include <stdint.h>

#include "image/canvas.h"
#include "lmdbcache.h"

/** A pixel's colour, 0xRRGGBB. */
uint32_t pixel(const struct lc__canvas *canvas, int64_t x, int64_t y);
/** A tensor over @p data, which stays the caller's. */
lc_tensor tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape,
    const void *data);

#endif
