/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes on a picture. */
#ifndef LC_DRAW_BOXES_H
#define LC_DRAW_BOXES_H

#include "draw/canvas.h"

/** A box as a sample has it. */
struct lc__box {
	double x0, y0, x1, y1; /* in 0..1 of the width and the height */
	int64_t class_id;      /* -1 if it has none */
};

/** Where a box is drawn on an image that takes @p area: edges rounded to pixels. */
struct lc__area lc__box_area(const struct lc__box *box, struct lc__area area);

/**
 * Draw boxes as frames of @p line pixels inside their areas, each in the colour of
 * its class with a dark line on both sides, and above each its class id, unless the
 * image is small. Boxes that are not finite are passed over.
 */
void lc__boxes_draw(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__box *boxes, size_t n, uint32_t line);

#endif
