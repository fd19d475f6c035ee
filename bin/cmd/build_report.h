/* SPDX-License-Identifier: BSD-2-Clause */
/* What a build did, as a table for people. */
#ifndef CACHEX_CMD_BUILD_REPORT_H
#define CACHEX_CMD_BUILD_REPORT_H

#include <stdbool.h>

#include "build/ingest.h"
#include "ui/opt.h"

/** Print it on standard output. */
void print_table(const struct lc__ingest_result *result, bool dry_run);

extern const struct lc__ingest_watch build_watch;

/** Show the result of lc__ingest_run(), whose error lc_last_error() is. Reports; an exit
 *  status. */
int build_report(lc_status status, const struct lc__ingest *in,
    const struct lc__ingest_result *result);

/** The trace's event "begin": what is built, with the value of every option. */
void build_trace_begin(const char *dataset, const char *warehouse,
    const struct opt *options);
/** A "phase" for each, then "end". @p error is NULL if there was none. */
void build_trace_end(const struct lc__ingest_result *result, const char *status,
    const char *error);

#endif
