/* SPDX-License-Identifier: BSD-2-Clause */
/* What a migration tells while it runs, and at its end. */
#ifndef CACHEX_CMD_MIGRATE_REPORT_H
#define CACHEX_CMD_MIGRATE_REPORT_H

#include "migrate/stage2.h"

/** Begin; signals are deferred until migrate_report_end(). @p what is the work that progress
 *  counts in bytes, "verify"; NULL for migrating, which counts records. */
void migrate_report_begin(const struct lc__stage2 *how, const char *what);
void migrate_report_end(void);

/** The callbacks of lc__stage2; they need no ctx. */
void migrate_report_bad(void *ctx, uint64_t line, uint64_t column, const char *why);
void migrate_report_warning(void *ctx, const char *text);
void migrate_report_finding(void *ctx, uint64_t line, const char *id, const char *what);
int migrate_report_progress(void *ctx, const struct lc__stage2_counts *counts,
    uint64_t done, uint64_t total);
int migrate_report_filling(void *ctx, enum lc__stage2_pass pass,
    const struct lc__filled *so_far);

/** The result, on standard output. */
void migrate_report_done(const struct lc__stage2_done *done);
void migrate_report_rolled(const struct lc__stage2_rolled *rolled);
void migrate_report_verified(const struct lc__stage2_verified *verified);

#endif
