/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures drawn and read back, and what is drawn. */
#ifndef T_DRAWN_H
#define T_DRAWN_H

#include <stdint.h>

#include "base/buf.h"
#include "draw/picture.h"
#include "lmdbcache.h"

/** A picture that was begun. */
struct lc__picture *drawn_begin(enum lc__picture_format format, double width, double height);
/** Its bytes, with a NUL after them; frees it. */
struct lc__buf drawn_bytes(struct lc__picture *picture);
/** The pixels of a PNG as an image reader sees them; frees the picture. */
struct lc__pixels drawn_pixels(struct lc__picture *picture);
/** A pixel's colour, 0xRRGGBB; fails outside. */
uint32_t pixel(const struct lc__pixels *pixels, double x, double y);
/** A tensor over @p data, which stays the caller's. */
lc_tensor tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape,
    const void *data);
/** Why pictures cannot be drawn, where cairo or a font is missing, or NULL. */
const char *drawn_unable(void);
/** End a program with a line that it is skipped for that reason, if there is one. */
void drawn_need(void);

#endif
