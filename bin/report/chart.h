/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as bar charts. */
#ifndef CACHEX_REPORT_CHART_H
#define CACHEX_REPORT_CHART_H

#include <stdbool.h>

#include "image/boxes.h"
#include "image/canvas.h"
#include "report/histogram.h"

/** What to draw, and how the values along its axis read. */
struct lc__chart {
	const struct lc__histogram *histogram;
	bool log2;  /* values are logarithms of ratios: -1 reads 1:2, 0 1:1, 1 2:1 */
	bool whole; /* values are whole numbers; a bin's middle is one */
	bool names; /* values are names: without mean and median */
	struct lc__class_names classes; /* that the values are ids of; find may be NULL */
};

/** The area of the bars, inside the axes. */
struct lc__area lc__chart_plot(struct lc__area area);
/** The count at the top of the plot, a round number. */
uint64_t lc__chart_top(const struct lc__histogram *histogram);
/**
 * The bar of bin @p i: its edges and its height, count / top of the plot's height,
 * rounded to pixels; one pixel at least where there is a value.
 */
struct lc__area lc__chart_bar(const struct lc__chart *chart, struct lc__area area,
    uint32_t i);

/**
 * Draw title, axes with round numbers, bars, and lines at the mean and the median;
 * below them how many values there are, also those outside of the bins.
 */
void lc__chart_draw(const struct lc__chart *chart, struct lc__canvas *canvas,
    struct lc__area area);

#endif
