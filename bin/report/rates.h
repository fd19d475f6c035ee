/* SPDX-License-Identifier: BSD-2-Clause */
/* What happened in each of many equal spans of time, for curves. */
#ifndef CACHEX_REPORT_RATES_H
#define CACHEX_REPORT_RATES_H

#include <stddef.h>

#include "lmdbcache.h"
#include "report/curves.h"

#define LC__RATES_SPANS 120 /* the most */

/** Spans of the time from 0 to `end`, in seconds. */
struct lc__rates {
	double end;
	size_t n;                              /* spans */
	double x[LC__RATES_SPANS];             /* their middles */
	double y[LC__CURVES][LC__RATES_SPANS]; /* sums */
};

/** Spans of a second at least; @p end is above 0. */
void lc__rates_init(struct lc__rates *rates, double end);
/** Add an amount to curve @p k that came between two times, evenly. */
void lc__rates_add(struct lc__rates *rates, size_t k, double from, double to,
    double amount);
/** Divide all sums by the seconds of a span: rates. */
void lc__rates_end(struct lc__rates *rates);

#endif
