/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes of a sample, read and drawn. */
#ifndef CACHEX_IMAGE_BOXES_H
#define CACHEX_IMAGE_BOXES_H

#include "image/canvas.h"

struct lc__box {
	double x0, y0, x1, y1; /* 0 to 1 of the image's width and height */
	int64_t class_id;      /* -1 if it has none */
};

/**
 * The boxes that a sample's mask counts, in their order.
 * @param class_ids  of all rows of the mask, or NULL if no box has one
 * @param out        has room for @p room boxes; the others are left out
 * @return how many were read
 */
size_t lc__boxes_read(const lc_sample *sample, const int64_t *class_ids,
    struct lc__box *out, size_t room);

/** Where a box is drawn on an image that takes @p area: edges rounded to pixels. */
struct lc__area lc__box_area(const struct lc__box *box, struct lc__area area);

/** Names of classes. */
struct lc__class_names {
	const char *(*find)(const void *ctx, int64_t class_id); /* NULL for none */
	const void *ctx;
};

/**
 * As lc__boxes_draw(), with the name of the class instead of its id where there is one
 * and the image has room for it; @p names may be NULL.
 */
void lc__boxes_draw_named(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__box *boxes, size_t n, uint32_t line,
    const struct lc__class_names *names);

/**
 * Draw boxes as frames of @p line pixels inside their areas, each in the colour of
 * its class with a dark line on both sides, and above each its class id, unless the
 * image is small. Boxes that are not finite are skipped.
 */
void lc__boxes_draw(struct lc__canvas *canvas, struct lc__area area,
    const struct lc__box *boxes, size_t n, uint32_t line);

#endif
