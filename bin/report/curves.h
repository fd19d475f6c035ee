/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves over one axis, and spans of time, as figures of a page (page.h). */
#ifndef CACHEX_REPORT_CURVES_H
#define CACHEX_REPORT_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "draw/ticks.h"

#define LC__CURVES 3 /* the most curves in a figure */

struct lc__curve {
	const char *name;
	const double *y; /* a value for each x */
};

/** A figure of curves. Its vertical axis begins at 0, or at the least value if that is
 *  negative. Title, note and names of curves are escaped. */
struct lc__curves {
	const char *title, *note;
	const char *x_title;
	/* LC__UNIT_POWER: `x` holds logarithms to base 10. */
	enum lc__unit x_unit, y_unit;
	const double *x; /* ascending */
	size_t n;        /* the number of x, at least 1 */
	struct lc__curve curves[LC__CURVES];
	size_t n_curves;
	bool marked; /* draw a line at x = mark */
	double mark;
	const char *mark_name;
};

void lc__curves_draw(FILE *out, const struct lc__curves *curves);

/** A bar in a row, from one time to another. */
struct lc__span {
	double from, to;
	double row; /* 0 is the top row */
	bool strong;
};

/** A figure of spans. */
struct lc__spans {
	const char *title, *note;
	const char *x_title, *y_title;
	const struct lc__span *all;
	size_t n;
	double end, rows;    /* where the axes end; they begin at 0 */
	const double *lines; /* times at which a vertical line is drawn */
	size_t n_lines;
	const char *weak_name, *strong_name;
};

void lc__spans_draw(FILE *out, const struct lc__spans *spans);

#endif
