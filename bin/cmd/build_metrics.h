/* SPDX-License-Identifier: BSD-2-Clause */
/* A build's counts for Prometheus, as a file that node_exporter's textfile collector
 * reads. */
#ifndef CACHEX_CMD_BUILD_METRICS_H
#define CACHEX_CMD_BUILD_METRICS_H

#include <stdbool.h>

#include "build/ingest.h"

/** Begin; @p path NULL: no metrics. Reports what cannot be written; an exit status. */
int build_metrics_begin(const char *path, const char *warehouse);
/** Replace the file, some times a minute. */
void build_metrics_progress(const struct lc__ingest_state *state);
/** Replace it for the last time; reports; an exit status. */
int build_metrics_end(const struct lc__ingest_result *result, bool success);

#endif
