/* SPDX-License-Identifier: BSD-2-Clause */
/* The distributions of a warehouse on one picture. */
#ifndef CACHEX_REPORT_CHARTS_H
#define CACHEX_REPORT_CHARTS_H

#include "draw/picture.h"
#include "report/facts.h"

/**
 * Draw a chart of each metric that has values, and the classes of the boxes.
 * @param picture  without a size yet Errors as lc__picture_begin().
 */
LC_CHECKED lc_status lc__charts_draw(struct lc__picture *picture,
    const struct lc__facts *facts);

#endif
