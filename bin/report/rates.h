/* SPDX-License-Identifier: BSD-2-Clause */
/* Amounts in equal spans of time, as rates for curves. */
#ifndef CACHEX_REPORT_RATES_H
#define CACHEX_REPORT_RATES_H

#include <stddef.h>

#include "lmdbcache.h"
#include "report/curves.h"

#define LC__RATES_SPANS 120 /* most spans */

/** The time from 0 to `end`, in seconds, divided into n spans. */
struct lc__rates {
	double end;
	size_t n;                  /* number of spans */
	double x[LC__RATES_SPANS]; /* the middle of each span, in seconds */
	/* The sum of each span; rates after lc__rates_end(). */
	double y[LC__CURVES][LC__RATES_SPANS];
};

/** Begin. Spans last at least a second; @p end is above 0. */
void lc__rates_init(struct lc__rates *rates, double end);
/** Add an amount to curve @p k, spread evenly over the time between @p from and
 *  @p to. */
void lc__rates_add(struct lc__rates *rates, size_t k, double from, double to,
    double amount);
/** Divide each sum by the length of a span, which makes it a rate per second. */
void lc__rates_end(struct lc__rates *rates);

#endif
