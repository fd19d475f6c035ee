/* SPDX-License-Identifier: BSD-2-Clause */
/* TIFF and WebP files by their own libraries, and what their pixels are. */
#ifndef T_MADE_TIFF_H
#define T_MADE_TIFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum { ALPHA_NONE, ALPHA_PLAIN, ALPHA_MULTIPLIED };

/** What to make; the samples come from noise() of made_image.h. */
struct tiff_kind {
	const char *photometric; /* black, white, rgb, palette, cmyk */
	unsigned bits;           /* of a sample */
	int alpha;
	bool separate;           /* a plane for each sample */
	unsigned tile;           /* its side, 0 for strips */
	unsigned rows;           /* of a strip */
	const char *compression; /* none, lzw, deflate, packbits */
	const char *mode;        /* of TIFFOpen(): byte order, BigTIFF */
	unsigned channels;       /* of the tensor, alpha kept */
};

enum { TIFF_ROWS = 20 };
extern const struct tiff_kind tiff_rows[TIFF_ROWS];

/** Whether the library is there; then append a file. With more than one page, the others
 *  are of one pixel. */
bool make_tiff(const struct tiff_kind *kind, uint32_t width, uint32_t height,
    unsigned orientation, unsigned pages, struct lc__buf *out);
/** Channel c of a pixel, from 0 to 255, or to 65,535 if the file has 16 bits. */
unsigned tiff_want(const struct tiff_kind *kind, uint32_t x, uint32_t y, unsigned c);
/** A small file with another number in one of its fields. */
bool make_tiff_with(unsigned tag, unsigned value, struct lc__buf *out);
/** JPEG within TIFF: grey or YCbCr, from smooth(). */
bool make_tiff_jpeg(bool grey, uint32_t width, uint32_t height, struct lc__buf *out);

/** Whether the library is there; then append a file without loss, with noise() as pixels,
 *  and with alpha of 4 channels. @p exif may be NULL: then there is no VP8X chunk. */
bool make_webp(uint32_t width, uint32_t height, unsigned channels, const void *exif,
    size_t exif_size, struct lc__buf *out);
/** One with loss, of smooth(). */
bool make_webp_lossy(uint32_t width, uint32_t height, struct lc__buf *out);
/** The pixels by libwebp's plainest use, malloc'ed. */
uint8_t *plain_webp(const struct lc__buf *file, bool alpha);

#endif
