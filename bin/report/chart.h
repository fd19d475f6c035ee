/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as bar charts. */
#ifndef CACHEX_REPORT_CHART_H
#define CACHEX_REPORT_CHART_H

#include <stdbool.h>

#include "draw/axes.h"
#include "report/histogram.h"

/** What to draw, and the unit and title of its axis. */
struct lc__chart {
	const struct lc__histogram *histogram;
	/* Unit of the values; with LC__UNIT_COUNT the middle of a bin is a value. */
	enum lc__unit unit;
	bool used;        /* draw only the bins of lc__histogram_used() */
	const char *axis; /* title of the axis, or NULL */
};

/** The axes of a chart in @p area; the counts end at a round number. */
struct lc__axes lc__chart_axes(const struct lc__chart *chart, struct lc__picture *picture,
    struct lc__rect area);
/**
 * The bar of bin @p i: its edges and its height, a share of the plot's height, rounded to
 * pixels; one pixel at least where there is a value.
 */
struct lc__rect lc__chart_bar(const struct lc__chart *chart, const struct lc__axes *axes,
    uint32_t i);

#define LC__CHART_MEAN LC__ACCENT  /* colour of the line at the mean */
#define LC__CHART_MEDIAN 0x1e6b34u /* colour of the line at the median */

/**
 * Draw title, axes, bars, and lines at the mean and the median; below them how many
 * values there are, also those outside of the bins.
 */
void lc__chart_draw(const struct lc__chart *chart, struct lc__picture *picture,
    struct lc__rect area);

#endif
