/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of a command in Prometheus's text format: a file that is replaced at once, as the
 * textfile collector of node_exporter needs it. */
#ifndef CACHEX_UI_METRICS_H
#define CACHEX_UI_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** The file. The first four are set by the caller. */
struct metrics {
	const char *path;    /* NULL: no metrics */
	const char *command; /* each name begins with cachex_COMMAND_ */
	const char *label;   /* a label for every count */
	const char *subject; /* and its value */
	uint64_t next;       /* ns: when the file is due */
	struct lc__buf text;
	FILE *out; /* of the text */
};

/** Is the file due? At most once in ten seconds. */
bool metrics_due(struct metrics *m);

/** Begin its text. */
LC_CHECKED lc_status metrics_begin(struct metrics *m);
/** The lines before the counts of a name: its description, "gauge" or "counter". */
void metrics_head(struct metrics *m, const char *name, const char *type,
    const char *help);
/** A count, or a duration given in nanoseconds and written in seconds; @p label is a
 *  further label, or NULL. */
void metrics_count(struct metrics *m, const char *name, const char *label,
    const char *value, uint64_t count);
void metrics_seconds(struct metrics *m, const char *name, const char *label,
    const char *value, uint64_t ns);
/** The last lines of a command that has ended: its success, and when. */
void metrics_outcome(struct metrics *m, bool success);
/** Replace the file. */
LC_CHECKED lc_status metrics_end(struct metrics *m);

#endif
