/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts that a command pushes: what cachex push and the option --push of
 * others share. */
#ifndef CACHEX_CMD_PUSH_JOB_H
#define CACHEX_CMD_PUSH_JOB_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/push.h"

/* The defaults of cachex push. */
#define PUSH_SHARD_SIZE ((uint64_t)192 << 20)
#define PUSH_THREADS 8

/** Where parts go, and how they are made. */
struct push_job {
	struct lc__objects *store;
	char *producer; /* the text of --producer; malloc'ed */
	lc_export_options how;
	const char *staging;    /* where shards are made; NULL for ROOT/.MODULE.push */
	bool check, first_wins; /* as of struct lc__push */
};

/* These report, and return an exit status. */

/** Open the store, with everything else as cachex push has it by default.
 *  @param producer  the text, or @FILE */
int push_job_open(struct push_job *job, const char *url, const char *producer);
/** Before long work whose result is to be pushed: check that the store accepts puts. */
int push_job_probe(const struct push_job *job);
/** One that is not open is harmless, if it is zero. */
void push_job_close(struct push_job *job);

/** Push the parts of a source, and say what became of them. */
int push_job_source(const struct push_job *job, const struct lc__push_source *source);
/** Push the series of a directory of shards. */
int push_job_shards(const struct push_job *job, const char *dir);
/** Push the inputs of a module that are finished. */
int push_job_module(const struct push_job *job, const char *root, const char *module);

#endif
