/* SPDX-License-Identifier: BSD-2-Clause */
/* How many boxes each class has, as bars with names. */
#ifndef CACHEX_REPORT_CLASS_BARS_H
#define CACHEX_REPORT_CLASS_BARS_H

#include "draw/axes.h"
#include "image/boxes.h"
#include "report/distributions.h"

#define LC__CLASS_BARS 50 /* the most bars; the last one counts all other classes */

struct lc__class_bars {
	struct lc__named_bar bars[LC__CLASS_BARS];
	/* Storage for the names of classes that have none. */
	char texts[LC__CLASS_BARS][48];
	size_t n;
	double most; /* the largest number of boxes */
};

/**
 * The bars of classes, the most boxes first; of equally many the smaller id first.
 * The result borrows the names and points into itself: it is not to be moved. LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__class_bars_of(const struct lc__classes *classes,
    const struct lc__class_names *names, struct lc__class_bars *out);

#endif
