/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/crew.h"

#include <stdlib.h>

#include "base/error.h"

/* Frames on their way for each thread: enough that the slowest of a few does not
 * make the others wait. */
#define SLOTS_PER_THREAD 4
/* Memory for results, unless that is less than a slot a thread. */
#define SLOT_BUDGET ((uint64_t)512 << 20)
/* Memory for files; a larger one is read alone. */
#define FILE_BUDGET ((uint64_t)256 << 20)
#define IDLE_MS 100

/* What a thread is given. */
struct hand {
	struct lc__crew *crew;
	struct lc__maker *maker;
};

static void *
labour(void *arg)
{
	struct hand hand = *(struct hand *)arg;
	struct lc__ring *ring = &hand.crew->ring;
	uint64_t job;

	free(arg);
	while (lc__ring_start(ring, &job)) {
		hand.crew->work(hand.maker, &hand.crew->slots[job % ring->slots]);
		lc__ring_finish(ring, job);
	}
	return NULL;
}

static lc_status
start_one(struct lc__crew *crew)
{
	struct lc__maker *maker = &crew->makers[crew->started];
	struct hand *hand = malloc(sizeof(*hand));
	lc_status status;

	if (hand == NULL)
		return lc__no_memory("build");
	*hand = (struct hand){ crew, maker };
	status = lc__maker_init(maker, &crew->making);
	if (status == LC_OK && pthread_create(&crew->ids[crew->started], NULL,
	        labour, hand) != 0)
		status = lc__error(LC_NO_MEMORY, 0,
		    "build: no thread can be started");
	if (status == LC_OK) {
		crew->started++;
		return LC_OK;
	}
	lc__maker_free(maker);
	free(hand);
	return status;
}

static size_t
count_slots(const struct lc__crew *crew)
{
	const size_t most = SLOTS_PER_THREAD * (size_t)crew->threads;
	const size_t least = (size_t)crew->threads + 1;
	const uint64_t fit = SLOT_BUDGET / (crew->slot_bytes + 1);

	return fit >= most ? most : fit <= least ? least : (size_t)fit;
}

static lc_status
start(struct lc__crew *crew)
{
	return_if_error(lc__ring_init(&crew->ring, count_slots(crew),
	    FILE_BUDGET));
	crew->making.ring = &crew->ring;
	crew->slots = calloc(crew->ring.slots, sizeof(*crew->slots));
	crew->makers = calloc(crew->threads, sizeof(*crew->makers));
	crew->ids = calloc(crew->threads, sizeof(*crew->ids));
	if (crew->slots == NULL || crew->makers == NULL || crew->ids == NULL)
		return lc__no_memory("build");
	/* With fewer threads than asked for the work is done all the same. */
	while (crew->started < crew->threads)
		if (start_one(crew) != LC_OK)
			return crew->started > 0 ? LC_OK :
			    lc_last_error()->status;
	return LC_OK;
}

static void
stop(struct lc__crew *crew)
{
	if (crew->ring.finished != NULL)
		lc__ring_stop(&crew->ring);
	for (unsigned i = 0; i < crew->started; i++) {
		pthread_join(crew->ids[i], NULL);
		lc__maker_free(&crew->makers[i]);
	}
	for (size_t i = 0; crew->slots != NULL && i < crew->ring.slots; i++)
		lc__made_free(&crew->slots[i]);
	free(crew->slots);
	free(crew->makers);
	free(crew->ids);
	lc__ring_free(&crew->ring);
}

static void
feed(struct lc__crew *crew, uint64_t frames)
{
	uint64_t job;

	while (lc__ring_room(&crew->ring, &job) && job < frames) {
		crew->slots[job % crew->ring.slots].number = job;
		lc__ring_feed(&crew->ring);
	}
}

static lc_status
take(struct lc__crew *crew, uint64_t job)
{
	struct lc__made *made = &crew->slots[job % crew->ring.slots];
	const lc_status status = made->error.status != LC_OK ?
	    lc__error_raise(&made->error) : crew->take(crew->ctx, made);

	lc__made_clear(made);
	lc__ring_take(&crew->ring);
	return status;
}

static lc_status
walk(struct lc__crew *crew)
{
	const uint64_t frames = lc__dataset_frames(crew->making.dataset);
	uint64_t job, taken = 0;

	while (taken < frames) {
		feed(crew, frames);
		if (!lc__ring_wait(&crew->ring, IDLE_MS, &job)) {
			return_if_error(crew->idle(crew->ctx));
			continue;
		}
		return_if_error(take(crew, job));
		taken++;
	}
	return LC_OK;
}

lc_status
lc__crew_walk(struct lc__crew *crew)
{
	lc_status status = start(crew);
	lc_error error;

	if (status == LC_OK)
		status = walk(crew);
	/* What the threads are stopped by is not what stopped them. */
	error = *lc_last_error();
	stop(crew);
	return status == LC_OK ? LC_OK : lc__error_raise(&error);
}
