/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes of a sample, read and drawn. */
#ifndef CACHEX_IMAGE_BOXES_H
#define CACHEX_IMAGE_BOXES_H

#include "draw/picture.h"
#include "lmdbcache.h"

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
struct lc__rect lc__box_area(const struct lc__box *box, struct lc__rect area);

/** Names of classes. */
struct lc__class_names {
	const char *(*find)(const void *ctx, int64_t class_id); /* NULL for none */
	const void *ctx;
};

/**
 * Draw boxes as frames of @p line pixels inside their areas, each in the colour of
 * its class with a dark line on both sides, and above each the name of its class, cut to
 * the image, or its id where it has no name; neither if the image is small. Boxes that are
 * not finite are skipped.
 * @param names  may be NULL
 */
void lc__boxes_draw(struct lc__picture *picture, struct lc__rect area,
    const struct lc__box *boxes, size_t n, double line,
    const struct lc__class_names *names);

#endif
