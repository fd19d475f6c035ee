/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture in memory that is drawn on and written as PNG. */
#ifndef LC_DRAW_CANVAS_H
#define LC_DRAW_CANVAS_H

#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** 8 bits a channel, red, green, blue, rows without gaps. */
struct lc__canvas {
	uint32_t width, height;
	uint8_t *pixels; /* malloc'ed */
};

LC_CHECKED lc_status lc__canvas_new(uint32_t width, uint32_t height,
    uint32_t colour, struct lc__canvas *out);
void lc__canvas_free(struct lc__canvas *canvas);
/** Append the picture as a PNG file. The same picture gives the same bytes. */
LC_CHECKED lc_status lc__canvas_png(const struct lc__canvas *canvas,
    struct lc__buf *out);

#endif
