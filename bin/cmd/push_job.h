/* SPDX-License-Identifier: BSD-2-Clause */
/* Pushing parts to a store: shared by cachex push and the option --push of other
 * commands. */
#ifndef CACHEX_CMD_PUSH_JOB_H
#define CACHEX_CMD_PUSH_JOB_H

#include <stdbool.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/push.h"

/* The defaults of cachex push. */
#define PUSH_SHARD_SIZE ((uint64_t)192 << 20)
#define PUSH_THREADS 8

/** Where parts go and how they are made. */
struct push_job {
	struct lc__objects *store;
	char *producer; /* what --producer gave; malloc'ed */
	lc_export_options how;
	/* Directory where shards are made; NULL: ROOT/.MODULE.push. */
	const char *staging;
	bool check, first_wins; /* as in struct lc__push */
};

/* These functions report errors and return an exit status. */

/** Open the store; all other members get the defaults of cachex push.
 *  @param producer the text, or @FILE with it */
int push_job_open(struct push_job *job, const char *url, const char *producer);
/** Before long work whose result is to be pushed: check that the store accepts puts. */
int push_job_probe(const struct push_job *job);
/** Close the store. A job that is all zero is harmless. */
void push_job_close(struct push_job *job);

/** Push the parts of a source, and print the result. */
int push_job_source(const struct push_job *job, const struct lc__push_source *source);
/** Push a directory of shards as a series. */
int push_job_shards(const struct push_job *job, const char *dir);
/** Push the completed inputs of a module. */
int push_job_module(const struct push_job *job, const char *root, const char *module);

#endif
