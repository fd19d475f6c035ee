/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of a fill, as `cachex fill --trace` writes it, as counts over time. */
#ifndef CACHEX_REPORT_FILL_TRACE_H
#define CACHEX_REPORT_FILL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

#define LC__FILL_METRICS \
	8 /* names of numbers that producers report; others are left out */

/** All counts at one time. */
struct lc__fill_point {
	double seconds;               /* since the begin */
	double stored, failed, bytes; /* records; items and bad lines; of tensors */
	double retried,
	    lost; /* batches given to another producer; producers that died, were
	                           too slow, or gave an invalid answer */
	double running, busy; /* producers now */
};

/** A number that producers report. */
struct lc__fill_metric {
	char *name; /* malloc'ed */
	struct {
		double seconds, value;
	} * points; /* finite ones; malloc'ed */
	size_t n, room;
	uint64_t others; /* NaN and infinity */
};

struct lc__fill_trace {
	const char *path;  /* borrowed */
	char *module;      /* malloc'ed; NULL if the trace does not say */
	char *status;      /* of the end, the same; NULL if it has not ended */
	uint64_t began_ms; /* since 1970, 0 if not known */
	struct lc__fill_point *points; /* in the order of time */
	size_t n, room;
	bool producers; /* it says how many run */
	struct lc__fill_metric metrics[LC__FILL_METRICS];
	size_t n_metrics;
	uint64_t bad; /* lines that are not of a trace; the last may be incomplete */
};

/** Read a trace, also one that is still written. Free it also after a failure. LC_IO;
 *  LC_NO_MEMORY; LC_CORRUPT if no line is of a trace of a fill. */
LC_CHECKED lc_status lc__fill_trace_read(const char *path, struct lc__fill_trace *out);
void lc__fill_trace_free(struct lc__fill_trace *trace);

#endif
