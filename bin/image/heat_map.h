/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors of any shape as areas of colour. */
#ifndef CACHEX_IMAGE_HEAT_MAP_H
#define CACHEX_IMAGE_HEAT_MAP_H

#include <stdbool.h>

#include "draw/picture.h"
#include "lmdbcache.h"

/** The most slices of one picture; the others are left out. */
#define LC__HEAT_SLICES 1024
/** Pixels between slices, and of the label above each. */
#define LC__HEAT_GAP 6
#define LC__HEAT_LABEL 14

/**
 * How a tensor is laid out. The last two dimensions are rows and columns of a
 * slice; all others together count the slices. A vector of more than 64 elements
 * is folded into rows, as text is.
 *
 * Elements are square, so that a slice has the aspect of its shape. Only a slice that
 * would be too thin to see is made wider along that axis.
 */
struct lc__heat_map {
	const lc_tensor *tensor;
	uint64_t rows, columns;    /* elements of a slice */
	uint64_t slices;           /* number of all slices */
	uint32_t shown;            /* those drawn, from the first on */
	uint32_t across;           /* slices beside each other */
	uint32_t label;            /* pixels above a slice: LC__HEAT_LABEL or 0 */
	uint64_t mean_x, mean_y;   /* elements that a cell is the mean of */
	uint32_t cells_x, cells_y; /* of a slice */
	uint32_t zoom_x, zoom_y;   /* pixels that a cell is drawn as */
	uint32_t slice_width, slice_height; /* pixels */
	uint32_t width, height;             /* pixels of the whole, labels included */
};

/** Which colours the values get. */
struct lc__heat_scale {
	enum lc__colour_map map;
	double low, high; /* of the first and the last colour; low > high if there is no
	                         finite value */
	uint64_t below, above; /* cells drawn with values outside */
};

/**
 * Lay a tensor out in a square of @p side pixels at most, 48 at least.
 * @param labels  leave room for the indices of slices
 */
void lc__heat_map_plan(const lc_tensor *tensor, uint32_t side, bool labels,
    struct lc__heat_map *out);
/** Where slice @p i is drawn in a map whose upper left pixel is (x, y). */
struct lc__rect lc__heat_map_slice(const struct lc__heat_map *map, double x, double y,
    uint32_t i);
/**
 * The scale of what is drawn: from the 1st to the 99th percentile of the finite cells, or
 * from the least to the greatest where the percentiles are equal. Where one percentile is
 * below 0 and the other above, colours diverge, and 0 is in the middle. Of many cells only
 * some, evenly spaced, are looked at. LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__heat_map_scale(const struct lc__heat_map *map,
    struct lc__heat_scale *out);
/**
 * Draw it with its upper left pixel at (x, y): a cell is the mean of its finite elements
 * in the colour of the scale, LC__COLOUR_NOT_FINITE where an element is not finite.
 */
void lc__heat_map_draw(const struct lc__heat_map *map, const struct lc__heat_scale *scale,
    struct lc__picture *picture, double x, double y);

#endif
