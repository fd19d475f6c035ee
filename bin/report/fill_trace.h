/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the trace of a fill, which `cachex fill --trace` writes, as counts over
 * time. */
#ifndef CACHEX_REPORT_FILL_TRACE_H
#define CACHEX_REPORT_FILL_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

#define LC__FILL_METRICS \
	8 /* the most names of numbers from producers; others are ignored */

/** The counts at one time. */
struct lc__fill_point {
	double seconds; /* since the fill began */
	/* Records stored; items and bad lines; bytes of tensors. */
	double stored, failed, bytes;
	/* Batches given to another producer; producers that died, were too slow, or
	 * gave an invalid answer. */
	double retried, lost;
	double running, busy; /* producers at this time */
};

/** A number that producers report. */
struct lc__fill_metric {
	char *name; /* malloc'ed */
	struct {
		double seconds, value;
	} * points; /* finite values; malloc'ed */
	size_t n, room;
	uint64_t others; /* number of values that are NaN or infinite */
};

struct lc__fill_trace {
	const char *path;  /* borrowed */
	char *module;      /* malloc'ed; NULL if the trace does not say */
	char *status;      /* of the end of the fill, malloc'ed; NULL before the end */
	uint64_t began_ms; /* ms since 1970, 0 if unknown */
	struct lc__fill_point *points; /* by time */
	size_t n, room;
	bool producers; /* the trace has the numbers of producers */
	struct lc__fill_metric metrics[LC__FILL_METRICS];
	size_t n_metrics;
	/* Lines that do not belong to a trace; the last line may be incomplete. */
	uint64_t bad;
};

/** Read a trace; the fill may still be running. Free it also after a failure. LC_IO;
 *  LC_NO_MEMORY; LC_CORRUPT if the file has no line of the trace of a fill. */
LC_CHECKED lc_status lc__fill_trace_read(const char *path, struct lc__fill_trace *out);
void lc__fill_trace_free(struct lc__fill_trace *trace);

#endif
