/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours by their lightness and hue, in OKLab (Björn Ottosson, 2020). */
#ifndef CACHEX_IMAGE_COLOUR_H
#define CACHEX_IMAGE_COLOUR_H

#include <stdint.h>

/** Lightness, and two axes of colour: green to red, blue to yellow. */
struct lc__oklab {
	double l, a, b;
};

/** 0xRRGGBB of sRGB; what it cannot show is cut off a channel at a time. */
uint32_t lc__colour_of(struct lc__oklab colour);

#define LC__HEAT_COLOURS 256
/**
 * The colours of heat maps, from low to high: dark blue, purple, red, orange, light
 * yellow. They lie on a helix in OKLab whose lightness and hue grow evenly and
 * whose chroma stays, so neighbours differ by the same everywhere, and lightness
 * alone tells them apart.
 */
void lc__colour_heat(uint32_t out[LC__HEAT_COLOURS]);
/** What is no number in a heat map: a green that the helix does not come near. */
#define LC__COLOUR_NOT_FINITE 0x00d28cu

/** A colour for a class; those of the first 12 differ well. White for -1. */
uint32_t lc__colour_class(int64_t class_id);

#endif
