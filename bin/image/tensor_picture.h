/* SPDX-License-Identifier: BSD-2-Clause */
/* A page that shows one tensor. */
#ifndef CACHEX_IMAGE_TENSOR_PICTURE_H
#define CACHEX_IMAGE_TENSOR_PICTURE_H

#include <stdbool.h>

#include "draw/picture.h"
#include "image/heat_map.h"
#include "image/scale.h"

/** What was drawn. */
struct lc__tensor_picture {
	bool image;                   /* an image, else a heat map */
	struct lc__rect place;        /* of the tensor on the page */
	struct lc__value_range range; /* of its finite values; of an image those shown as
	                                 black and as white */
	struct lc__heat_map map;      /* of a heat map */
	struct lc__heat_scale scale;  /* of a heat map */
};

/**
 * Draw a tensor with a title, its type, a scale and notes.
 * @param picture  without a size yet
 * @param title    what it is called, cut to fit
 * @param heat     draw a heat map also if it looks like an image
 * @param side     pixels of the drawing's longer side at most, 64 at least
 * @param facts    filled in; facts->map borrows the tensor
 * @return LC_OK; LC_UNSUPPORTED for a dtype that is not a number; LC_INVALID for an image
 * that is too large; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__tensor_picture(const lc_tensor *tensor, lc_id title, bool heat,
    uint32_t side, struct lc__picture *picture, struct lc__tensor_picture *facts);

#endif
