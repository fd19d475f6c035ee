/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/ring.h"

#include <stdlib.h>
#include <time.h>

#include "base/error.h"

static void
init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

lc_status
lc__ring_init(struct lc__ring *ring, size_t slots, uint64_t budget)
{
	*ring = (struct lc__ring){ .slots = slots, .budget = budget };
	ring->finished = calloc(slots, sizeof(*ring->finished));
	if (ring->finished == NULL)
		return lc__no_memory("build");
	pthread_mutex_init(&ring->lock, NULL);
	init_condition(&ring->work);
	init_condition(&ring->done);
	init_condition(&ring->memory);
	return LC_OK;
}

void
lc__ring_free(struct lc__ring *ring)
{
	if (ring->finished == NULL)
		return;
	free(ring->finished);
	ring->finished = NULL;
	pthread_cond_destroy(&ring->work);
	pthread_cond_destroy(&ring->done);
	pthread_cond_destroy(&ring->memory);
	pthread_mutex_destroy(&ring->lock);
}

static bool *
finished(struct lc__ring *ring, uint64_t job)
{
	return &ring->finished[job % ring->slots];
}

bool
lc__ring_room(struct lc__ring *ring, uint64_t *job)
{
	bool room;

	pthread_mutex_lock(&ring->lock);
	room = ring->fed - ring->taken < ring->slots;
	*job = ring->fed;
	pthread_mutex_unlock(&ring->lock);
	return room;
}

void
lc__ring_feed(struct lc__ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	*finished(ring, ring->fed++) = false;
	pthread_cond_signal(&ring->work);
	pthread_mutex_unlock(&ring->lock);
}

static struct timespec
after(unsigned ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

bool
lc__ring_wait(struct lc__ring *ring, unsigned ms, uint64_t *job)
{
	const struct timespec until = after(ms);
	bool done = false;

	pthread_mutex_lock(&ring->lock);
	while (ring->taken < ring->fed &&
	    !(done = *finished(ring, ring->taken)))
		if (pthread_cond_timedwait(&ring->done, &ring->lock, &until) != 0)
			break;
	*job = ring->taken;
	pthread_mutex_unlock(&ring->lock);
	return done;
}

void
lc__ring_take(struct lc__ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->taken++;
	pthread_mutex_unlock(&ring->lock);
}

void
lc__ring_stop(struct lc__ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->stop = true;
	pthread_cond_broadcast(&ring->work);
	pthread_cond_broadcast(&ring->done);
	pthread_cond_broadcast(&ring->memory);
	pthread_mutex_unlock(&ring->lock);
}

bool
lc__ring_start(struct lc__ring *ring, uint64_t *job)
{
	bool any;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stop && ring->started == ring->fed)
		pthread_cond_wait(&ring->work, &ring->lock);
	any = !ring->stop;
	if (any)
		*job = ring->started++;
	pthread_mutex_unlock(&ring->lock);
	return any;
}

void
lc__ring_finish(struct lc__ring *ring, uint64_t job)
{
	pthread_mutex_lock(&ring->lock);
	*finished(ring, job) = true;
	if (job == ring->taken)
		pthread_cond_signal(&ring->done);
	pthread_cond_broadcast(&ring->memory);
	pthread_mutex_unlock(&ring->lock);
}

/* Holds the lock. */
static bool
is_oldest(struct lc__ring *ring, uint64_t job)
{
	for (uint64_t older = ring->taken; older < job; older++)
		if (!*finished(ring, older))
			return false;
	return true;
}

bool
lc__ring_hold(struct lc__ring *ring, uint64_t job, uint64_t bytes)
{
	bool granted;

	pthread_mutex_lock(&ring->lock);
	while (!ring->stop && ring->held + bytes > ring->budget &&
	    !is_oldest(ring, job))
		pthread_cond_wait(&ring->memory, &ring->lock);
	granted = !ring->stop;
	if (granted)
		ring->held += bytes;
	pthread_mutex_unlock(&ring->lock);
	return granted;
}

void
lc__ring_release(struct lc__ring *ring, uint64_t bytes)
{
	pthread_mutex_lock(&ring->lock);
	ring->held -= bytes;
	pthread_cond_broadcast(&ring->memory);
	pthread_mutex_unlock(&ring->lock);
}
