/* SPDX-License-Identifier: BSD-2-Clause */
/* What a build tells: while it runs, on standard error, to the trace and the metrics;
 * and what it came to. One build a process. */
#ifndef CACHEX_CMD_BUILDWATCH_H
#define CACHEX_CMD_BUILDWATCH_H

#include "build/ingest.h"

extern const struct lc__ingest_watch build_watch;

/** Show what lc__ingest_run() came to; lc_last_error() is its own. Reports; an exit
 *  status. */
int build_told(lc_status status, const struct lc__ingest *in,
    const struct lc__ingest_result *result);

#endif
