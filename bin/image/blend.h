/* SPDX-License-Identifier: BSD-2-Clause */
/* Pixels with alpha over a colour. */
#ifndef CACHEX_IMAGE_BLEND_H
#define CACHEX_IMAGE_BLEND_H

#include <stddef.h>
#include <stdint.h>

/**
 * count pixels of grey and alpha (2 channels) or RGB and alpha (4) over @p colour,
 * to RGB: (value * alpha + colour * (255 - alpha)) / 255, rounded to nearest.
 */
void lc__blend(const uint8_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint8_t *out);

/** The same of samples of 16 bits, over @p colour * 257, with 65535 for 255. */
void lc__blend16(const uint16_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint16_t *out);

#endif
