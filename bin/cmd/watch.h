/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes in a module, of cachex stat --watch and cachex top. */
#ifndef CACHEX_CMD_WATCH_H
#define CACHEX_CMD_WATCH_H

#include <stdint.h>

#include "lmdbcache.h"
#include "ui/json.h"

/** A module at one time. */
struct watch_sample {
	uint64_t ns;    /* lc__clock_ns() */
	lc_stats stats; /* readers without the one that looks */
	lc_counters counters;
	lc_fill fill;
};

/** What was counted between two samples. */
struct watch_change {
	double seconds; /* between them, 0 if there is only one */
	uint64_t puts, deletes, put_bytes, commits;
	uint64_t lookups; /* of writers: hits and misses */
};

/** Read it from the module's own tables, of all processes. The errors of lc_open(). */
LC_CHECKED lc_status watch_take(const char *module, struct watch_sample *out);

/**
 * From @p before, or NULL, to @p after. Counters that went back, as those of a module that was
 * made anew, count as no change.
 */
struct watch_change watch_between(const struct watch_sample *before,
    const struct watch_sample *after);

/** Per second; 0 without time. */
double watch_rate(const struct watch_change *change, uint64_t n);

/** Bytes of dead records for each 100 of all, rounded. */
unsigned watch_dead_share(const struct watch_sample *sample);

/** The members of an object: totals, "new" with what was counted since @p before, and
 *  "rates" per second, of which a first sample has none. */
void watch_json(struct json *json, const struct watch_sample *before,
    const struct watch_sample *after);

#endif
