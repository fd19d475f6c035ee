/* SPDX-License-Identifier: BSD-2-Clause */
/* What a build reports: progress, trace and metrics while it runs, and its result. */
#ifndef CACHEX_CMD_BUILD_TELL_H
#define CACHEX_CMD_BUILD_TELL_H

#include <stdbool.h>

#include "build/ingest.h"
#include "lmdbcache.h"
#include "ui/json.h"
#include "ui/task.h"

/** How the build was asked for. */
struct build_telling {
	const char *warehouse;
	const char *metrics; /* file of counts for Prometheus, or NULL */
	bool dry_run, pack;
	const struct job_task *task;
};

/** Call before the build; what @p telling points to must stay. Writes the first metrics.
 *  Reports; an exit status. */
int build_tell_begin(const struct build_telling *telling);

/** What the build calls. */
extern const struct lc__ingest_watch build_watch;

/** The counts of a build as members of a JSON object. */
void build_tell_members(struct json *json, const struct lc__ingest_result *result);

/** Show what lc__ingest_run() did; lc_last_error() is its error. Reports; an exit status. */
int build_tell_end(lc_status status, const struct lc__ingest_result *result);

#endif
