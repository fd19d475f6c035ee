/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A team of threads that does numbered jobs, 0 to jobs - 1. There are two ways:
 *
 *	lc__team_run()                         all jobs at once, in any order
 *	lc__team_start(), _next() ..., _end()  one after the other: the jobs are done in any
 *	                                       order, and their results taken in theirs
 *
 * The team knows numbers only. In the second way the caller keeps as many slots as the
 * window says, and the result of job n is in slot n modulo the window from the begin of
 * the job until the caller asks for the one after it.
 */
#ifndef LC_BASE_TEAM_H
#define LC_BASE_TEAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The caller sets the first group of members and zeroes the rest. The struct must not
 *  move until the team has ended. */
struct lc__team {
	/** Do a job on thread 0 to threads - 1: no two jobs run on one thread at the same
	 *  time. */
	lc_status (*work)(struct lc__team *team, unsigned thread, uint64_t job);
	void *ctx; /* the caller's */
	uint64_t jobs;
	unsigned threads; /* wanted, from 1; if fewer can be started, they do it */
	size_t window;    /* ordered: the most jobs whose slots may be in use at once */
	uint64_t budget;  /* bytes that jobs may hold together: lc__team_hold() */
	uint64_t total;   /* bytes in all jobs, for the progress; the lock guards
	                              * it while they run */
	const lc_progress *progress; /* may be NULL; never called twice at once */

	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t room;   /* a slot has become free, or the team stops */
	pthread_cond_t result; /* the job that is asked for is done */
	pthread_cond_t memory; /* less is held, another job is the oldest, or it stops */
	uint64_t begun;        /* jobs that have begun: the number of the next one */
	uint64_t taken;        /* results taken; the last one's slot is in use */
	bool taking;           /* a result has been taken, and its slot is in use */
	uint64_t held, done;   /* bytes: that jobs hold now; counted for the progress */
	bool stop;             /* begin no further job */
	lc_error error;        /* of lc__team_run(): the first failure */
	struct lc__team_result *results; /* by slot */
	struct lc__team_thread *started; /* all but the calling thread */
	unsigned n_started;
};

/**
 * Do all jobs on the calling thread and threads - 1 others. After a failure no further
 * job begins, and running jobs fail at their next lc__team_step().
 * @return LC_OK, or the first failure.
 */
LC_CHECKED lc_status lc__team_run(struct lc__team *team);

/** The number of threads for work that keeps a processor busy: that of the processors,
 *  from 1 to @p most. */
unsigned lc__team_processors(unsigned most);

/** The most that lc__team_shares() returns. */
#define LC__SHARES_MOST 64

/** The number of jobs for @p n small items, such as records of a batch, in equal parts:
 *  at most @p threads, at least one, each with at least 64 items so that a thread
 *  pays. */
uint64_t lc__team_shares(size_t n, unsigned threads);
/** The items of one of these jobs. */
void lc__team_share(size_t n, uint64_t jobs, uint64_t job, size_t *first, size_t *count);

/**
 * Start the threads on the first jobs. Call lc__team_end() afterwards, also after a
 * failure.
 * @return LC_OK; LC_NO_MEMORY, also if no thread can be started.
 */
LC_CHECKED lc_status lc__team_start(struct lc__team *team);

/**
 * Wait until the next job in order is done, and take its result. The slot of the previous
 * result becomes free. One thread calls this and lc__team_wait(), at most once for each
 * job.
 * @return what work() returned for it, with its error as this thread's last one.
 */
LC_CHECKED lc_status lc__team_next(struct lc__team *team, uint64_t *job);

/** Wait at most @p ms; returns whether lc__team_next() would return at once. */
bool lc__team_wait(struct lc__team *team, unsigned ms);

/**
 * Stop: begin no further job, wait for the running ones, and free the team's memory. The
 * content of the slots stays the caller's. Allowed on a team that is all zero, and twice.
 */
void lc__team_end(struct lc__team *team);

/* ---- for work() ------------------------------------------------------------------- */

/**
 * In lc__team_run(): count bytes of a job and call the progress callback.
 * @return LC_OK, or LC_CANCELLED if the callback or the failure of another job stops the
 * work.
 */
LC_CHECKED lc_status lc__team_step(struct lc__team *team, uint64_t bytes);

/** In lc__team_run(): increase the total, because some bytes that were counted have to be
 *  done again. */
void lc__team_again(struct lc__team *team, uint64_t bytes);

/**
 * In an ordered team: wait until @p job may hold @p bytes of the budget. The oldest job
 * always gets them, so that no two jobs wait for each other.
 * @return false if the team stops: then it holds nothing.
 */
bool lc__team_hold(struct lc__team *team, uint64_t job, uint64_t bytes);
void lc__team_release(struct lc__team *team, uint64_t bytes);

#endif
