/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec ts = { 0, 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t
lc__clock_wall_ms(void)
{
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	char *end;

	if (epoch != NULL && *epoch >= '0' && *epoch <= '9') {
		errno = 0;
		const unsigned long long s = strtoull(epoch, &end, 10);
		if (errno == 0 && *end == '\0' && s < UINT64_MAX / 1000)
			return (uint64_t)s * 1000;
	}
	return now_ns(CLOCK_REALTIME) / 1000000;
}

uint64_t
lc__clock_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t
lc__clock_coarse_ns(void)
{
	return now_ns(CLOCK_MONOTONIC_COARSE);
}

uint64_t
lc__clock_deadline(uint64_t timeout_ms)
{
	const uint64_t now = timeout_ms == UINT64_MAX ? 0 : lc__clock_ns();

	return timeout_ms > (UINT64_MAX - now) / 1000000 ? UINT64_MAX
							 : now + timeout_ms * 1000000;
}

/* Monotonic, so that setting the system's clock does not change how long a wait takes. */
void
lc__cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

bool
lc__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / 1000000000),
		.tv_nsec = (long)(deadline_ns % 1000000000),
	};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(cond, mutex) == 0;
	return pthread_cond_timedwait(cond, mutex, &ts) != ETIMEDOUT;
}

/* ---- waits that are given up --------------------------------------------------------- */

static _Thread_local const _Atomic bool *stop_by; /* may be NULL */

void
lc__thread_stop_by(const _Atomic bool *stop)
{
	stop_by = stop;
}

bool
lc__thread_stopped(void)
{
	return stop_by != NULL && atomic_load_explicit(stop_by, memory_order_relaxed);
}
