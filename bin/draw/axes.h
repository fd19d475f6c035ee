/* SPDX-License-Identifier: BSD-2-Clause */
/* A plane with two axes, a scale of colours, and bars with names. */
#ifndef CACHEX_DRAW_AXES_H
#define CACHEX_DRAW_AXES_H

#include <stdint.h>

#include "draw/picture.h"
#include "draw/ticks.h"

/** One axis. */
struct lc__axis {
	const char *title;  /* with its unit where the numbers do not say it; or NULL */
	double low, high;   /* low < high */
	enum lc__unit unit; /* of the numbers */
	bool no_grid;       /* no lines across the plane at the round numbers */
	struct lc__ticks ticks; /* set by lc__axes_lay(): its round numbers */
};

/**
 * A plane. The caller sets area, title and the axes; x grows to the right, y upwards.
 *
 *     struct lc__axes axes = { .area = area, .title = "reads",
 *             .x = { "age", 0, 3600, LC__UNIT_SECONDS },
 *             .y = { "chunks", 0, lc__axis_top(LC__UNIT_COUNT, most), LC__UNIT_COUNT } };
 *     lc__axes_lay(picture, &axes);
 *     lc__axes_grid(picture, &axes);
 *     lc__picture_dot(picture, (struct lc__point){ lc__axes_x(&axes, 60),
 *             lc__axes_y(&axes, 7) }, 3, LC__BAR);
 *     lc__axes_draw(picture, &axes);
 */
struct lc__axes {
	struct lc__rect area; /* area of the whole chart, with titles and numbers */
	const char *title;    /* above; or NULL */
	struct lc__axis x, y;
	struct lc__rect
	    plot; /* set by lc__axes_lay(): the plane between the axes, on whole
	                         pixels */
};

/** The round number from which an axis of values up to @p most can end: @p most or more,
 *  and above 0. */
double lc__axis_top(enum lc__unit unit, double most);

/** Find the round numbers and the place of the plane. Before all else. */
void lc__axes_lay(struct lc__picture *picture, struct lc__axes *axes);
/** Draw the lines at the round numbers: before what is on the plane. */
void lc__axes_grid(struct lc__picture *picture, const struct lc__axes *axes);
/** Draw axes, numbers and titles. */
void lc__axes_draw(struct lc__picture *picture, const struct lc__axes *axes);
/** Where a value is; values outside of the axis are at its ends. */
double lc__axes_x(const struct lc__axes *axes, double value);
double lc__axes_y(const struct lc__axes *axes, double value);
/** The area between two values of each axis, its edges rounded to pixels. */
struct lc__rect lc__axes_rect(const struct lc__axes *axes, double x0, double x1,
    double y0, double y1);

/** How wide lc__colour_bar() is, its numbers included. */
#define LC__COLOUR_BAR 84
/**
 * A bar of the colours of a map, high values above, with the two ends and round numbers
 * between them. With low = high it has the one number.
 */
void lc__colour_bar(struct lc__picture *picture, struct lc__rect area,
    enum lc__colour_map map, double low, double high, enum lc__unit unit);

/** A small area of a colour and what it means, on the base line @p y; returns the width of
 *  both and of the space before the next one. */
double lc__legend(struct lc__picture *picture, double x, double y, uint32_t colour,
    const char *text);

/** One line of a list of bars. */
struct lc__named_bar {
	lc_id name;
	double value;     /* 0 or more */
	uint32_t colour;  /* of the bar: LC__BAR */
	const char *text; /* after the bar; NULL for the value */
};

/** A list of horizontal bars from 0 on, each with its name before it. */
struct lc__named_bars {
	struct lc__rect area; /* height: lc__named_bars_height() */
	const char *title;    /* above; or NULL */
	const struct lc__named_bar *bars;
	size_t n;
	enum lc__unit unit;
	double most; /* the value that fills the width; 0 for the largest of them */
	double names,
	    values; /* widths of both, so that several lists have one scale; 0 for
	                         what these need, a third of the width at most */
};

/** Pixels that @p n bars and a title take. */
double lc__named_bars_height(size_t n, bool title);
/** The bar of line @p i: lengths are proportional to the values, rounded to pixels, one
 *  pixel at least for a value above 0. */
struct lc__rect lc__named_bars_bar(struct lc__picture *picture,
    const struct lc__named_bars *list, size_t i);
/** Names that are too long for a third of the width end in "…". */
void lc__named_bars_draw(struct lc__picture *picture, const struct lc__named_bars *list);

#endif
