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

/** The caller sets the first part and zeroes the rest. It stays where it is until the
 *  team has ended. */
struct lc__team {
	/** Do a job, on thread 0 to threads - 1: no two jobs run at once with the same one. */
	lc_status (*work)(struct lc__team *team, unsigned thread, uint64_t job);
	void *ctx; /* the caller's */
	uint64_t jobs;
	unsigned threads; /* wanted, from 1; if fewer can be started, they do it */
	size_t window;    /* ordered: jobs begun whose slots are in use, at most */
	uint64_t budget;  /* bytes that jobs may hold together: lc__team_hold() */
	uint64_t total;   /* bytes in all jobs, for the progress; the lock guards
	                              * it while they run */
	const lc_progress *progress; /* or NULL; never called twice at once */

	pthread_mutex_t lock;  /* guards what follows */
	pthread_cond_t room;   /* a slot has become free, or the team stops */
	pthread_cond_t result; /* the job that is asked for is done */
	pthread_cond_t memory; /* less is held, another job is the oldest, or it stops */
	uint64_t begun;        /* jobs that were begun: the next one's number */
	uint64_t taken;        /* results taken; the last one's slot is in use */
	bool taking;           /* a result has been taken, and its slot is in use */
	uint64_t held, done;   /* bytes: that jobs hold now; counted for the progress */
	bool stop;             /* begin no job any more */
	lc_error error;        /* of lc__team_run(): the first failure */
	struct lc__team_result *results; /* by slot */
	struct lc__team_thread *started; /* all but the calling one */
	unsigned n_started;
};

/**
 * Do all jobs on the calling thread and threads - 1 others. After a failure no job is
 * begun, and those that run fail at their next lc__team_step().
 * @return LC_OK, or the first failure.
 */
LC_CHECKED lc_status lc__team_run(struct lc__team *team);

/** Threads for work that keeps a processor busy: as many as there are processors, from 1 to
 *  @p most. */
unsigned lc__team_processors(unsigned most);

/** lc__team_shares() is at most so many. */
#define LC__SHARES_MOST 64

/** Jobs for @p n small items, such as records of a batch, in equal shares: as many as
 *  @p threads, but at least one, and with 64 items each at least, which are worth a thread. */
uint64_t lc__team_shares(size_t n, unsigned threads);
/** The items of one of those jobs. */
void lc__team_share(size_t n, uint64_t jobs, uint64_t job, size_t *first, size_t *count);

/**
 * Start the threads on the first jobs. lc__team_end() ends it, also after a failure.
 * @return LC_OK; LC_NO_MEMORY, also if no thread can be started.
 */
LC_CHECKED lc_status lc__team_start(struct lc__team *team);

/**
 * Wait until the next job in order is done, and take its result. The slot of the one
 * taken before is in use no more. One thread calls this and lc__team_wait(), at most once
 * for each job.
 * @return what work() returned for it, with its error as this thread's last one.
 */
LC_CHECKED lc_status lc__team_next(struct lc__team *team, uint64_t *job);

/** The same wait for @p ms at most: would lc__team_next() return at once? */
bool lc__team_wait(struct lc__team *team, unsigned ms);

/**
 * Stop: begin no job any more, wait for those that run, and free what the team has. What
 * is in the slots stays the caller's. Harmless on a team that is all zero, and twice.
 */
void lc__team_end(struct lc__team *team);

/* ---- for work() ------------------------------------------------------------------- */

/**
 * In lc__team_run(): count bytes of a job and call the progress callback.
 * @return LC_OK, or LC_CANCELLED if the callback or another job's failure stops the work.
 */
LC_CHECKED lc_status lc__team_step(struct lc__team *team, uint64_t bytes);

/** In lc__team_run(): have more bytes in all, as some that were counted have to be done again. */
void lc__team_again(struct lc__team *team, uint64_t bytes);

/**
 * In an ordered team: wait until @p job may hold @p bytes of the budget. The oldest job
 * gets them in any case, so that no two wait for each other.
 * @return false if the team stops: then it holds nothing.
 */
bool lc__team_hold(struct lc__team *team, uint64_t job, uint64_t bytes);
void lc__team_release(struct lc__team *team, uint64_t bytes);

#endif
