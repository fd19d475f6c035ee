/* SPDX-License-Identifier: BSD-2-Clause */
/* Curves over one axis, and spans of time, as figures of a page (page.h). */
#ifndef CACHEX_REPORT_CURVES_H
#define CACHEX_REPORT_CURVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "draw/ticks.h"

#define LC__CURVES 3 /* that a figure may have */

struct lc__curve {
	const char *name;
	const double *y; /* a value for each x */
};

/** A figure of curves, over 0, or the least value below it. Title, note and the names of
 *  curves are escaped. */
struct lc__curves {
	const char *title, *note;
	const char *x_title;
	enum lc__unit x_unit, y_unit; /* LC__UNIT_POWER: @p x are logarithms to base 10 */
	const double *x;              /* ascending */
	size_t n;                     /* of them, 1 at least */
	struct lc__curve curves[LC__CURVES];
	size_t n_curves;
	bool marked; /* a line at this x */
	double mark;
	const char *mark_name;
};

void lc__curves_draw(FILE *out, const struct lc__curves *curves);

/** From one time to another in a row. */
struct lc__span {
	double from, to;
	double row; /* from 0, at the top */
	bool strong;
};

/** A figure of spans. */
struct lc__spans {
	const char *title, *note;
	const char *x_title, *y_title;
	const struct lc__span *all;
	size_t n;
	double end, rows;    /* of the axes, which begin at 0 */
	const double *lines; /* lines at these times */
	size_t n_lines;
	const char *weak_name, *strong_name;
};

void lc__spans_draw(FILE *out, const struct lc__spans *spans);

#endif
