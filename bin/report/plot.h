/* SPDX-License-Identifier: BSD-2-Clause */
/* Histograms as inline SVG: a figure with a caption, axes and bars. */
#ifndef CACHEX_REPORT_PLOT_H
#define CACHEX_REPORT_PLOT_H

#include <stdio.h>

#include "report/distributions.h"

/** One histogram; counts upwards. */
void lc__plot(FILE *out, const struct lc__metric_row *row,
    const struct lc__histogram *histogram);
/** Two over each other; shares upwards. @p note goes into the caption. */
void lc__plot_pair(FILE *out, const struct lc__metric_row *row,
    const struct lc__histogram *old, const struct lc__histogram *new, const char *note);

#endif
