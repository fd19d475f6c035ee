/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that is fed in order, done by threads in any order, and taken in order
 * again. Knows numbers only: job n stands in slot n modulo the number of slots,
 * which the caller keeps. Memory that jobs need for a while is granted from a
 * budget; the oldest job always gets what it asks for, so that there is no waiting
 * in a circle.
 */
#ifndef CACHEX_BUILD_RING_H
#define CACHEX_BUILD_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

struct lc__ring {
	size_t slots;            /* jobs between feeding and taking */
	uint64_t budget;         /* bytes that jobs may hold together */

	pthread_mutex_t lock;    /* guards what follows */
	pthread_cond_t work;     /* a job was fed: one of the threads is told */
	pthread_cond_t done;     /* a job was finished: who takes them is told */
	pthread_cond_t memory;   /* less is held, or another job is the oldest */
	bool *finished;          /* by slot */
	uint64_t fed, started, taken; /* jobs so far */
	uint64_t held;           /* bytes granted */
	bool stop;               /* no job is to be started any more */
};

LC_CHECKED lc_status lc__ring_init(struct lc__ring *ring, size_t slots,
    uint64_t budget);
void lc__ring_free(struct lc__ring *ring);

/** The feeding thread: is a slot free? Then the job to prepare in it. */
bool lc__ring_room(struct lc__ring *ring, uint64_t *job);
/** The job that was prepared may be done. */
void lc__ring_feed(struct lc__ring *ring);
/** Wait until the oldest job is done, @p ms at most. False if it is not, or there
 *  is none; then its number. */
bool lc__ring_wait(struct lc__ring *ring, unsigned ms, uint64_t *job);
/** The oldest job's slot is free again. */
void lc__ring_take(struct lc__ring *ring);
/** Start no job any more, and let those go that wait. */
void lc__ring_stop(struct lc__ring *ring);

/** A working thread: wait for a job; false when there will be none. */
bool lc__ring_start(struct lc__ring *ring, uint64_t *job);
void lc__ring_finish(struct lc__ring *ring, uint64_t job);
/** Wait until @p job may hold @p bytes. False after lc__ring_stop(); then it holds
 *  nothing. */
bool lc__ring_hold(struct lc__ring *ring, uint64_t job, uint64_t bytes);
void lc__ring_release(struct lc__ring *ring, uint64_t bytes);

#endif
