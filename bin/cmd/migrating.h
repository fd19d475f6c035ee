/* SPDX-License-Identifier: BSD-2-Clause */
/* What a migration tells while it runs, and at its end. */
#ifndef CACHEX_CMD_MIGRATING_H
#define CACHEX_CMD_MIGRATING_H

#include "migrate/stage2.h"

/** Begin; signals are deferred until migrating_end(). @p what is the work that progress
 *  counts in bytes, "verify"; NULL for migrating, which counts records. */
void migrating_begin(const struct lc__stage2 *how, const char *what);
void migrating_end(void);

/** The callbacks of lc__stage2; they need no ctx. */
void migrating_bad(void *ctx, uint64_t line, uint64_t column, const char *why);
void migrating_warn(void *ctx, const char *text);
void migrating_finding(void *ctx, uint64_t line, const char *id, const char *what);
int migrating_step(void *ctx, const struct lc__stage2_counts *counts, uint64_t done,
    uint64_t total);
int migrating_filling(void *ctx, enum lc__stage2_pass pass,
    const struct lc__filled *so_far);

/** What came of it, on standard output. */
void migrating_show(const struct lc__stage2_done *done);
void migrating_show_rolled(const struct lc__stage2_rolled *rolled);
void migrating_show_verified(const struct lc__stage2_verified *verified);

#endif
