/* SPDX-License-Identifier: BSD-2-Clause */
#include "image/blend.h"

/* 255 is odd, so no value lies halfway between two. */
static uint8_t
blended(unsigned value, unsigned alpha, unsigned colour)
{
	return (uint8_t)((value * alpha + colour * (255 - alpha) + 127) / 255);
}

void
lc__blend(const uint8_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint8_t *out)
{
	const unsigned step = channels == 4 ? 1 : 0;

	for (size_t i = 0; i < count; i++, pixels += channels)
		for (unsigned c = 0; c < 3; c++)
			out[3 * i + c] = blended(pixels[c * step],
			    pixels[channels - 1], colour[c]);
}

void
lc__blend16(const uint16_t *pixels, size_t count, unsigned channels,
    const uint8_t colour[3], uint16_t *out)
{
	const unsigned step = channels == 4 ? 1 : 0;

	for (size_t i = 0; i < count; i++, pixels += channels) {
		const uint64_t alpha = pixels[channels - 1];
		for (unsigned c = 0; c < 3; c++)
			out[3 * i + c] = (uint16_t)((pixels[c * step] * alpha +
			    colour[c] * 257ull * (65535 - alpha) + 32767) / 65535);
	}
}
