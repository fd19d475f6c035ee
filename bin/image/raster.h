/* SPDX-License-Identifier: BSD-2-Clause */
/* A decoded image as a tensor: rows come in, elements go out. */
#ifndef CACHEX_IMAGE_RASTER_H
#define CACHEX_IMAGE_RASTER_H

#include "image/image.h"
#include "image/sink.h"

struct lc__raster {
	struct lc__sink sink;   /* first: for the decoders */
	const struct lc__image_options *options;
	uint32_t width, height; /* as the file has them, before turning */
	unsigned channels;      /* 1 to 4 */
	bool deep;              /* samples that come in have 16 bits */
	bool reduced;           /* their lower 8 bits were dropped */
	unsigned element;       /* bytes of one that goes out */
	lc_tensor tensor;       /* its data is malloc'ed, 64-byte aligned */
	ptrdiff_t origin;       /* where the file's first sample goes */
	ptrdiff_t step_x;       /* bytes to the file's next column, */
	ptrdiff_t step_y;       /* row, */
	ptrdiff_t step_c;       /* and channel */
};

/** A raster that a decoder can fill; the caller frees its tensor. */
void lc__raster_init(struct lc__raster *raster,
    const struct lc__image_options *options, struct lc__scratch *band);

#endif
