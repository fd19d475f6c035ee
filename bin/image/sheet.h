/* SPDX-License-Identifier: BSD-2-Clause */
/* A contact sheet: small pictures of samples in a grid, each with a caption. */
#ifndef CACHEX_IMAGE_SHEET_H
#define CACHEX_IMAGE_SHEET_H

#include "image/boxes.h"
#include "image/canvas.h"

/** A sheet being filled. */
struct lc__sheet {
	struct lc__canvas canvas;
	uint32_t columns; /* cells beside each other */
	uint32_t cell;    /* pixels of a cell's side */
	struct lc__class_names
	    names; /* set by the caller; zeroed: boxes have their ids */
};

/** The two lines below a cell; what does not fit is cut. */
struct lc__caption {
	lc_id name; /* what it is: its end matters most */
	lc_id note; /* facts about it, separated by two blanks */
};

/** The smallest cell, in pixels, and the largest. */
#define LC__SHEET_LEAST_CELL 48
#define LC__SHEET_MOST_CELL 2048

/**
 * A sheet of @p n empty cells with a title and a line below it.
 * @return LC_OK; LC_INVALID if it is too large for a picture; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__sheet_new(lc_id title, lc_id line, uint32_t n, uint32_t columns,
    uint32_t cell, struct lc__sheet *out);
void lc__sheet_free(struct lc__sheet *sheet);

/** The square of cell @p i. */
struct lc__area lc__sheet_cell(const struct lc__sheet *sheet, uint32_t i);
/** The part of it that a picture of this size takes: as much as fits, centred. */
struct lc__area lc__sheet_place(const struct lc__sheet *sheet, uint32_t i, uint32_t width,
    uint32_t height);

/** Fill a cell with a picture and the boxes on it. */
void lc__sheet_picture(struct lc__sheet *sheet, uint32_t i,
    const struct lc__canvas *picture, const struct lc__box *boxes, size_t n,
    struct lc__caption caption);
/** Fill a cell with a cross and the reason why there is no picture. */
void lc__sheet_missing(struct lc__sheet *sheet, uint32_t i, lc_id reason,
    struct lc__caption caption);

#endif
