/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fill tells: progress, failures and the trace meanwhile, then its result. */
#ifndef CACHEX_CMD_FILL_REPORT_H
#define CACHEX_CMD_FILL_REPORT_H

#include "fill/inputs.h"
#include "ui/opt.h"

/** Begin; @p total items are expected, 0: not known. */
void fill_report_begin(const char *module, const char *failures, uint64_t total,
    const struct opt *options);

/** For lc__producers.line: with -v what producers write to their standard error. */
void fill_report_line(void *ctx, unsigned child, const char *line);

/* For struct lc__fill. */
void fill_report_batch(void *ctx, const struct lc__items *batch);
lc_status fill_report_item(void *ctx, const struct lc__item *item);
lc_status fill_report_progress(void *ctx, const struct lc__filled *so_far);

/* For struct lc__inputs_fill. */
void fill_report_failed(void *ctx, const struct lc__item *item);
void fill_report_stopped(void *ctx, const char *name, const char *why);
lc_status fill_report_inputs_progress(void *ctx, const struct lc__inputs_filled *so_far);

/** The end: the result, the failure that stopped it if there was one, and the end of
 *  the trace; an exit status. */
int fill_report_end(lc_status status, const struct lc__filled *filled, bool dry_run);
int fill_report_inputs_end(lc_status status, const struct lc__inputs_filled *filled,
    bool dry_run);

#endif
