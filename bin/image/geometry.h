/* SPDX-License-Identifier: BSD-2-Clause */
/* Computes where the pixels of an image go in the target, and moves its boxes in the
 * same way. Uses numbers only, no pixels. */
#ifndef CACHEX_IMAGE_GEOMETRY_H
#define CACHEX_IMAGE_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum lc__fit {
	LC__FIT_LETTERBOX = 0, /* whole picture, aspect kept, the rest is padding */
	LC__FIT_STRETCH,       /* whole picture, aspect not kept */
	LC__FIT_COVER          /* whole target, aspect kept, centre of the picture */
};

/** "Letterbox", "Stretch", "Cover". */
const char *lc__fit_recipe_name(enum lc__fit fit);

/** A rectangle of the source that is scaled to a rectangle of the target, in pixels.
 *  The source is upright, that is after EXIF's orientation was applied. */
struct lc__geometry {
	uint32_t source_width, source_height;
	uint32_t target_width, target_height;
	double from_x, from_y, from_width, from_height; /* rectangle of the source */
	uint32_t to_x, to_y, to_width, to_height;       /* rectangle of the target */
};

/**
 * Letterbox: the scale is min(target / source) over both axes; to_width is
 * source_width * scale rounded to nearest, at least 1, and to_x half of what is
 * left, rounded down. Cover: from is the centred part of the source with the
 * target's aspect; to is all. All sizes are 1 at least.
 */
void lc__geometry_plan(enum lc__fit fit, uint32_t source_width, uint32_t source_height,
    uint32_t target_width, uint32_t target_height, struct lc__geometry *out);

/** What became of a box. */
enum lc__box_fate { LC__BOX_WHOLE, LC__BOX_CLIPPED, LC__BOX_DROPPED };

/**
 * A box x0, y0, x1, y1 from source pixels to target pixels, the exact affine map
 * of the pixels, then clipped to the part of the target that the picture fills.
 * It is dropped if less than @p least of its area is left, or none.
 */
enum lc__box_fate lc__geometry_box(const struct lc__geometry *geometry,
    const double box[4], double least, double out[4]);

/** A box of the stored picture, before EXIF's orientation 1 to 8, as a box of the
 *  upright one. Width and height are the stored picture's. */
void lc__geometry_turn(unsigned orientation, uint32_t width, uint32_t height,
    double box[4]);

#endif
