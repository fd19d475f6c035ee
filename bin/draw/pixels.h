/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels in memory, as images are before they are put on a picture. */
#ifndef CACHEX_DRAW_PIXELS_H
#define CACHEX_DRAW_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The most pixels of one image and of one picture. */
#define LC__PIXELS_MOST (UINT64_C(1) << 27)

/** 8 bits a channel, red, green, blue, rows without gaps. */
struct lc__pixels {
	uint32_t width, height;
	uint8_t *data; /* malloc'ed */
};

/**
 * Pixels of one colour, 0xRRGGBB; free with lc__pixels_free().
 * @return LC_OK; LC_INVALID if a side is 0 or there are more than LC__PIXELS_MOST;
 * LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__pixels_new(uint32_t width, uint32_t height, uint32_t colour,
    struct lc__pixels *out);
void lc__pixels_free(struct lc__pixels *pixels);

/** Set a pixel, which is inside. */
static inline void
lc__pixels_set(struct lc__pixels *pixels, uint32_t x, uint32_t y, uint32_t colour)
{
	uint8_t *pixel = pixels->data + ((size_t)y * pixels->width + x) * 3;

	pixel[0] = (uint8_t)(colour >> 16);
	pixel[1] = (uint8_t)(colour >> 8);
	pixel[2] = (uint8_t)colour;
}

/** The colour of a pixel, which is inside. */
static inline uint32_t
lc__pixels_get(const struct lc__pixels *pixels, uint32_t x, uint32_t y)
{
	const uint8_t *pixel = pixels->data + ((size_t)y * pixels->width + x) * 3;

	return (uint32_t)pixel[0] << 16 | (uint32_t)pixel[1] << 8 | pixel[2];
}

/**
 * The same image with other sides, which are 1 at least. Along an axis where it gets
 * smaller, a pixel becomes the mean of the pixels that it covers, rounded to nearest;
 * where it gets larger, a copy of the nearest pixel. Errors as lc__pixels_new().
 */
LC_CHECKED lc_status lc__pixels_resize(const struct lc__pixels *pixels, uint32_t width,
    uint32_t height, struct lc__pixels *out);

#endif
