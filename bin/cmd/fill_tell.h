/* SPDX-License-Identifier: BSD-2-Clause */
/* What a fill reports: progress, trace and messages while it runs, and its result. */
#ifndef CACHEX_CMD_FILL_TELL_H
#define CACHEX_CMD_FILL_TELL_H

#include <stdbool.h>
#include <stdint.h>

#include "fill/inputs.h"
#include "lmdbcache.h"
#include "ui/opt.h"
#include "ui/task.h"

/** How the fill was asked for. */
struct fill_telling {
	bool dry_run;
	const char *const *failures; /* file of failed items; NULL before it is known */
	const struct job_task *task;
	bool pushes;            /* parts go to a store, */
	const uint64_t *pushed; /* which had so many of them before */
	const struct opt *options;
};

/** Call before the other functions; what @p telling points to must stay. */
void fill_tell_how(const struct fill_telling *telling);
void fill_tell_begin(const char *module);
/** How many items there are, if that is known. */
void fill_tell_total(uint64_t items);

/* What producers and the fill call; @p ctx is not used. */

void fill_tell_line(void *ctx, unsigned child, const char *line);
void fill_tell_reported(void *ctx, unsigned child, const struct lc__reported *all,
    size_t n);
void fill_tell_batch(void *ctx, const struct lc__items *items);
void fill_tell_failed(void *ctx, const struct lc__item *item);
void fill_tell_stopped(void *ctx, const char *name, const char *why);
lc_status fill_tell_item(void *ctx, const struct lc__item *item);
lc_status fill_tell_progress(void *ctx, const struct lc__filled *so_far);
lc_status fill_tell_inputs_progress(void *ctx, const struct lc__inputs_filled *so_far);

/** Show the result, and the failure that stopped it if there was one; an exit status. */
int fill_tell_end(lc_status status, const struct lc__filled *filled);
int fill_tell_inputs_end(lc_status status, const struct lc__inputs_filled *filled);

#endif
