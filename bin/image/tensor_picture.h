/* SPDX-License-Identifier: BSD-2-Clause */
/* A page that shows one tensor. */
#ifndef CACHEX_IMAGE_TENSOR_PICTURE_H
#define CACHEX_IMAGE_TENSOR_PICTURE_H

#include <stdbool.h>

#include "image/canvas.h"
#include "image/heat_map.h"
#include "image/scale.h"

/** What was drawn. */
struct lc__tensor_picture {
	bool image;                   /* an image, else a heat map */
	uint32_t width, height;       /* pixels that the tensor takes on the page */
	struct lc__value_range range; /* the values of the first and the last colour */
	struct lc__heat_map map;      /* of a heat map */
};

/**
 * Draw a tensor with a title, its type, a scale and notes.
 * @param title  what it is called, cut to fit
 * @param heat   draw a heat map also if it looks like an image
 * @param side   pixels of the drawing's longer side at most, 64 at least
 * @param facts  filled in; facts->map borrows the tensor
 * @return LC_OK; LC_UNSUPPORTED for a dtype that is no number; LC_INVALID for an image
 * that is too large; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__tensor_picture(const lc_tensor *tensor, lc_id title, bool heat,
    uint32_t side, struct lc__canvas *out, struct lc__tensor_picture *facts);

#endif
