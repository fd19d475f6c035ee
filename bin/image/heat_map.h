/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors of any shape as areas of colour. */
#ifndef CACHEX_IMAGE_HEAT_MAP_H
#define CACHEX_IMAGE_HEAT_MAP_H

#include "image/canvas.h"
#include "image/scale.h"

/** The most slices of one picture; the others are left out. */
#define LC__HEAT_SLICES 1024
/** Pixels between slices, and of the label above each. */
#define LC__HEAT_GAP 6
#define LC__HEAT_LABEL 12

/**
 * How a tensor is laid out. The last two dimensions are rows and columns of a
 * slice; all others together count the slices. A vector of more than 64 elements
 * is folded into rows, as text is.
 */
struct lc__heat_map {
	const lc_tensor *tensor;
	uint64_t rows, columns;             /* elements of a slice */
	uint64_t slices;                    /* all of them */
	uint32_t shown;                     /* those drawn, from the first on */
	uint32_t across;                    /* slices beside each other */
	uint64_t mean_x, mean_y;            /* elements that a pixel is the mean of */
	uint32_t zoom_x, zoom_y;            /* pixels that a mean is drawn as */
	uint32_t slice_width, slice_height; /* pixels */
	uint32_t width, height;             /* pixels of the whole, labels included */
};

/** Lay a tensor out in a square of @p side pixels at most, 64 at least. */
void lc__heat_map_plan(const lc_tensor *tensor, uint32_t side, struct lc__heat_map *out);
/** Where slice @p i is drawn in a map whose upper left pixel is (x, y). */
struct lc__area lc__heat_map_slice(const struct lc__heat_map *map, int64_t x, int64_t y,
    uint32_t i);
/**
 * Draw it with its upper left pixel at (x, y): the mean of the finite elements in
 * their colour of lc__colour_heat(), LC__COLOUR_NOT_FINITE where one is not.
 */
void lc__heat_map_draw(const struct lc__heat_map *map,
    const struct lc__value_range *range, struct lc__canvas *canvas, int64_t x, int64_t y);

#endif
