/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors that are images, as pixels. */
#ifndef CACHEX_IMAGE_TENSOR_IMAGE_H
#define CACHEX_IMAGE_TENSOR_IMAGE_H

#include <stdbool.h>

#include "draw/pixels.h"
#include "image/scale.h"

/** How a tensor's dimensions are read. */
struct lc__image_form {
	uint32_t channels; /* 1, 3 or 4 */
	uint32_t height, width;
	uint64_t channel_step, row_step, column_step; /* in elements */
};

/**
 * True if a tensor looks like an image: u8, f16, bf16 or f32 of rank 3 with 1, 3 or
 * 4 channels, which come first (CHW; sides of 2 pixels at least); or, in u8 only,
 * last (HWC; 8 pixels).
 */
bool lc__image_form_of(const lc_tensor *tensor, struct lc__image_form *out);

/**
 * The image, one pixel for each of the tensor. u8 is 0 to 255; floats are 0 to 1 if they all lie
 * there, else from the least to the greatest. Pixels that are not finite get
 * LC__COLOUR_NOT_FINITE. A fourth channel is opacity, over a chequered ground.
 * @param range  gets the values shown as black and as white, and the counts
 * @return LC_OK; LC_INVALID for an image that is too large; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__image_pixels(const lc_tensor *tensor,
    const struct lc__image_form *form, struct lc__pixels *out,
    struct lc__value_range *range);

#endif
