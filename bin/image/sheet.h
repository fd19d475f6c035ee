/* SPDX-License-Identifier: BSD-2-Clause */
/* A contact sheet: small pictures in a grid, each with a caption. */
#ifndef CACHEX_IMAGE_SHEET_H
#define CACHEX_IMAGE_SHEET_H

#include "draw/picture.h"
#include "image/boxes.h"
#include "image/heat_map.h"

/** A sheet being filled. */
struct lc__sheet {
	struct lc__picture *picture; /* borrowed */
	uint32_t columns;            /* cells beside each other */
	uint32_t cell;               /* pixels of a cell's side */
	struct lc__class_names
	    names; /* set by the caller; zeroed: boxes have their ids */
};

/** The two lines below a cell; what does not fit is cut. */
struct lc__caption {
	lc_id name; /* what it is: its end matters most */
	lc_id
	    note; /* facts about it, separated by two blanks: those that fit are shown */
};

/** Pixels of the caption below a cell. */
#define LC__SHEET_CAPTION 34

/** The smallest cell, in pixels, and the largest. */
#define LC__SHEET_LEAST_CELL 48
#define LC__SHEET_MOST_CELL 2048

/**
 * Begin a picture with @p n empty cells, a title and a line below it.
 * @param picture  without a size yet Errors as lc__picture_begin(), of which a sheet with
 *                 too many or too large cells is one.
 */
LC_CHECKED lc_status lc__sheet_begin(struct lc__picture *picture, lc_id title, lc_id line,
    uint32_t n, uint32_t columns, uint32_t cell, struct lc__sheet *out);

/** The square of cell @p i. */
struct lc__rect lc__sheet_cell(const struct lc__sheet *sheet, uint32_t i);
/** The part of it that an image of this size takes: as much as fits, centred. */
struct lc__rect lc__sheet_place(const struct lc__sheet *sheet, uint32_t i, uint32_t width,
    uint32_t height);

/** Fill a cell with an image and the boxes on it. */
void lc__sheet_image(struct lc__sheet *sheet, uint32_t i, const struct lc__pixels *image,
    const struct lc__box *boxes, size_t n, struct lc__caption caption);
/** Fill a cell with a heat map, planned for a side of sheet->cell; returns its place. */
struct lc__rect lc__sheet_heat(struct lc__sheet *sheet, uint32_t i,
    const struct lc__heat_map *map, const struct lc__heat_scale *scale,
    struct lc__caption caption);
/** Fill a cell with text: as many lines as fit. */
void lc__sheet_text(struct lc__sheet *sheet, uint32_t i, lc_id text,
    struct lc__caption caption);
/** Fill a cell with a cross and the reason why there is no picture. */
void lc__sheet_missing(struct lc__sheet *sheet, uint32_t i, lc_id reason,
    struct lc__caption caption);

#endif
