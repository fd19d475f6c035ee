/* SPDX-License-Identifier: BSD-2-Clause */
/* A picture in memory to draw on and to write as PNG, and its colours. */
#ifndef CACHEX_IMAGE_CANVAS_H
#define CACHEX_IMAGE_CANVAS_H

#include <stdint.h>

#include "base/buf.h"
#include "draw/colours.h"
#include "draw/picture.h"
#include "lmdbcache.h"

/** The most pixels of a picture. */
#define LC__CANVAS_PIXELS (UINT64_C(1) << 27)

/** 8 bits a channel, red, green, blue, rows without gaps. */
struct lc__canvas {
	uint32_t width, height;
	uint8_t *pixels; /* malloc'ed */
};

/** A rectangle of pixels; parts outside of a picture are not drawn. */
struct lc__area {
	int64_t x, y;          /* upper left pixel */
	int64_t width, height; /* nothing if one is 0 or less */
};

/**
 * A picture of one colour, 0xRRGGBB.
 * @return LC_OK; LC_INVALID if a side is 0 or there are more than
 * LC__CANVAS_PIXELS; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__canvas_new(uint32_t width, uint32_t height, uint32_t colour,
    struct lc__canvas *out);
void lc__canvas_free(struct lc__canvas *canvas);

/** Fill an area; lines along the axes are areas, too. */
void lc__canvas_fill(struct lc__canvas *canvas, struct lc__area area, uint32_t colour);
/** The outline of an area, @p line pixels wide, inside of it. */
void lc__canvas_frame(struct lc__canvas *canvas, struct lc__area area, uint32_t line,
    uint32_t colour);
/** Both diagonals of an area, one pixel wide. */
void lc__canvas_cross(struct lc__canvas *canvas, struct lc__area area, uint32_t colour);
/**
 * Draw another picture over an area. Along an axis where the area is smaller, a
 * pixel becomes the mean of what it covers, rounded to nearest; where it is
 * larger, a copy of the nearest.
 */
void lc__canvas_blit(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__canvas *source);

/** Append the picture as a PNG file. The same picture gives the same bytes. */
LC_CHECKED lc_status lc__canvas_png(const struct lc__canvas *canvas, struct lc__buf *out);

#define LC__HEAT_COLOURS LC__COLOUR_STEPS
/** The colours of heat maps: those of LC__COLOURS_HEAT. */
void lc__colour_heat(uint32_t out[LC__HEAT_COLOURS]);

#endif
