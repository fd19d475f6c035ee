/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as inline SVG: a figure with a caption, axes and bars. */
#ifndef CACHEX_REPORT_PLOT_H
#define CACHEX_REPORT_PLOT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/distributions.h"

/** What a histogram shows. The texts are escaped. */
struct lc__plotted {
	const char *title; /* "Side of a box" */
	const char *axis;  /* what the axis shows, with its unit */
	const char *of;    /* what is counted: "boxes" */
	bool log2;         /* values are logarithms to base 2 of the numbers shown */
	bool bytes;        /* the numbers shown are bytes */
};

/** The same of a metric. */
struct lc__plotted lc__plotted_of(const struct lc__metric_row *row);

/** One histogram; counts upwards. */
void lc__plot(FILE *out, const struct lc__plotted *what,
    const struct lc__histogram *histogram);
/** Two over each other; shares upwards. @p note goes into the caption. */
void lc__plot_pair(FILE *out, const struct lc__plotted *what,
    const struct lc__histogram *old, const struct lc__histogram *new, const char *note);

#endif
