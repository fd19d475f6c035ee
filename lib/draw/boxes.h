/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes on a picture. */
#ifndef LC_DRAW_BOXES_H
#define LC_DRAW_BOXES_H

#include "draw/canvas.h"

/** Boxes as a sample has them: x0, y0, x1, y1 in 0..1 of the width and the height. */
struct lc__boxes {
	const double (*at)[4];
	const int64_t *class_ids; /* -1 for none; NULL if no box has one */
	size_t n;
};

/** Where a box is drawn on an image that takes @p area: edges rounded to pixels. */
struct lc__area lc__box_area(const double box[4], struct lc__area area);

/**
 * Draw boxes as frames of @p line pixels inside their areas, each in the colour of
 * its class with a dark line on both sides, and above each its class id, unless the
 * image is small. Boxes that are not finite are passed over.
 */
void lc__boxes_draw(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__boxes *boxes, uint32_t line);

#endif
