/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours, 0xRRGGBB of sRGB: those of all pictures, of values and of classes. */
#ifndef CACHEX_DRAW_COLOURS_H
#define CACHEX_DRAW_COLOURS_H

#include <stdint.h>

#define LC__PAPER 0xffffffu   /* the background */
#define LC__INK 0x202020u     /* text */
#define LC__DIM_INK 0x606060u /* text of less weight, axes */
#define LC__RULE 0xc4c4c4u    /* frames */
#define LC__GRID 0xe6e6e6u    /* lines of a plot at round numbers */
#define LC__WASH 0xeeeeeeu    /* an area without an image */
#define LC__BAR 0x4c7fb0u     /* a bar, the first line of a plot */
#define LC__ACCENT 0xd9600fu  /* the second line of a plot, a mark */
#define LC__ALARM 0xb3261eu   /* what is missing or damaged */

/** Lightness, and two axes of colour: green to red, blue to yellow (OKLab, Björn
 *  Ottosson, 2020). */
struct lc__oklab {
	double l, a, b;
};

/** Each channel is cut off at 0 and 255. */
uint32_t lc__colour_of(struct lc__oklab colour);

/** The colours that values are drawn in, from low to high. */
enum lc__colour_map {
	/** Dark blue, purple, red, orange, light yellow: lightness grows evenly, so it
	 *  reads in grey, too. For values of one sign. */
	LC__COLOURS_HEAT,
	/** Blue, white in the middle, red; both ends are as dark. For values around 0. */
	LC__COLOURS_DIVERGING,
	/** White, yellow, orange, red, purple, dark blue: how many, on white paper. */
	LC__COLOURS_DENSITY,
};

#define LC__COLOUR_STEPS 256
/** The colours of a map, LC__COLOUR_STEPS of them. */
const uint32_t *lc__colours(enum lc__colour_map map);
/** The colour of a share of the way from low to high; below 0 as 0, above 1 as 1. */
uint32_t lc__colour_at(enum lc__colour_map map, double share);

/** NaN and infinity in a heat map: a green that neither map comes near. */
#define LC__COLOUR_NOT_FINITE 0x00d28cu

/** A colour for a class or a series; those of the first 12 differ well. White for -1. */
uint32_t lc__colour_class(int64_t class_id);

#endif
