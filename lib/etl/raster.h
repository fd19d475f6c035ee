/* SPDX-License-Identifier: BSD-2-Clause */
/* The pixels of a decoded image: rows come in, a tensor's bytes go out. */
#ifndef LC_ETL_RASTER_H
#define LC_ETL_RASTER_H

#include "etl/image.h"

/** Rows that are best stored at a time. */
#define LC__RASTER_BAND 16

struct lc__raster {
	const struct lc__image_options *options;
	uint32_t width, height; /* as the file has them, before turning */
	unsigned channels;      /* 1 to 4, one byte each */
	lc_tensor tensor;       /* its data is malloc'ed, 64-byte aligned */
	ptrdiff_t origin;       /* where the file's first sample goes */
	ptrdiff_t step_x;       /* bytes to the file's next column, */
	ptrdiff_t step_y;       /* row, */
	ptrdiff_t step_c;       /* and channel */
};

/** Refuse an image that is empty or above the limit. */
LC_CHECKED lc_status lc__raster_check(const struct lc__raster *raster,
    uint32_t width, uint32_t height);

/**
 * Set the size and allocate. @p orientation is EXIF's, 1 to 8; 1 if the
 * options ignore it.
 */
LC_CHECKED lc_status lc__raster_begin(struct lc__raster *raster, uint32_t width,
    uint32_t height, unsigned channels, unsigned orientation);

/** Store rows y to y + rows - 1, channels interleaved, rows back to back. */
void lc__raster_store(struct lc__raster *raster, uint32_t y, uint32_t rows,
    const uint8_t *pixels);

/** The decoders, one a library. They fill a raster; the caller frees its tensor. */
LC_CHECKED lc_status lc__image_read_jpeg(const void *bytes, size_t size,
    struct lc__raster *raster);
LC_CHECKED lc_status lc__image_read_png(const void *bytes, size_t size,
    struct lc__raster *raster);

#endif
