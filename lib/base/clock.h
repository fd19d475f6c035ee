/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_BASE_CLOCK_H
#define LC_BASE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/** Wall clock, ms since 1970; SOURCE_DATE_EPOCH (seconds) fixes it. */
uint64_t lc__clock_wall_ms(void);
/** Monotonic clock in ns. */
uint64_t lc__clock_ns(void);
/** The same, accurate to a few milliseconds and several times as fast. */
uint64_t lc__clock_coarse_ns(void);
/** The value of lc__clock_ns() in @p ms milliseconds; UINT64_MAX if that overflows. */
uint64_t lc__clock_deadline(uint64_t timeout_ms);

/** Initialise a condition variable for lc__cond_wait(). */
void lc__cond_init(pthread_cond_t *cond);
/** Wait until @p cond is signalled. Returns false once lc__clock_ns() has reached @p
 *  deadline_ns; UINT64_MAX waits for ever. May return early, like pthread_cond_wait(). */
bool lc__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns);

/** From now on the calling thread gives up waits for a server, or for other processes that
 *  fetch, once @p stop is set, which must stay as long as the thread. */
void lc__thread_stop_by(const _Atomic bool *stop);
/** Is it set, in the calling thread? */
bool lc__thread_stopped(void);

#endif
