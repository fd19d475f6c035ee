/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbered jobs done by several threads, with one count of bytes and one stop. */
#ifndef LC_SHARD_WORKERS_H
#define LC_SHARD_WORKERS_H

#include <pthread.h>
#include <stdint.h>

#include "lmdbcache.h"

/** A set of jobs. The caller fills the first part and zeroes the rest. */
struct lc__workers {
	lc_status (*job)(struct lc__workers *workers, uint64_t i); /* does job i */
	void *ctx;                   /* the caller's */
	uint64_t jobs;               /* how many, started in order */
	uint64_t total;              /* bytes in all of them; the lock guards it too */
	const lc_progress *progress; /* or NULL; never called twice at once */

	pthread_mutex_t lock;        /* guards what follows */
	uint64_t next;               /* the job to start next */
	uint64_t done;               /* bytes so far */
	lc_error error;              /* the first failure */
};

/**
 * Do all jobs on @p threads threads, the calling one included. After a failure
 * no job is started and those that run are stopped at their next step.
 * @return LC_OK or the first failure.
 */
LC_CHECKED lc_status lc__workers_run(struct lc__workers *workers,
    unsigned threads);

/**
 * Count bytes of a job and tell the progress callback.
 * @return LC_OK, or LC_CANCELLED if the callback or another job's failure stops
 * the work.
 */
LC_CHECKED lc_status lc__workers_step(struct lc__workers *workers,
    uint64_t bytes);

/** Have more bytes in all: some that were counted have to be done again. */
void lc__workers_again(struct lc__workers *workers, uint64_t bytes);

#endif
