/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as inline SVG: a figure with a caption, axes and bars. */
#ifndef CACHEX_REPORT_PLOT_H
#define CACHEX_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/distributions.h"

/** What a histogram shows. The texts are escaped. */
struct lc__plotted {
	const char *title; /* for example "Side of a box" */
	const char *axis;  /* title of the axis, with its unit */
	const char *of;    /* the objects that are counted: "boxes" */
	bool log2;         /* the bins hold base-2 logarithms of the numbers shown */
	bool bytes;        /* the numbers shown are in bytes */
};

/** The texts of a metric. */
struct lc__plotted lc__plotted_of(const struct lc__metric_row *row);

/** Draw one histogram; the vertical axis has counts. */
void lc__plot(FILE *out, const struct lc__plotted *what,
    const struct lc__histogram *histogram);
/** Draw two histograms over each other; the vertical axis has shares. @p note is added
 *  to the caption. */
void lc__plot_pair(FILE *out, const struct lc__plotted *what,
    const struct lc__histogram *old, const struct lc__histogram *new, const char *note);

#endif
