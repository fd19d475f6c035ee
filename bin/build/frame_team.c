/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/frame_team.h"

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

static lc_status
work(struct lc__team *team, unsigned thread, uint64_t job)
{
	const struct lc__frame_team *pool = team->ctx;
	struct lc__frame_job *frame = &pool->slots[job % team->window];

	frame->number = job;
	return pool->work(&pool->workers[thread], frame);
}

static size_t
count_slots(const struct lc__frame_team *pool)
{
	const size_t most = SLOTS_PER_THREAD * (size_t)pool->threads;
	const size_t least = (size_t)pool->threads + 1;
	const uint64_t fit = SLOT_BUDGET / (pool->slot_bytes + 1);

	return fit >= most ? most : fit <= least ? least : (size_t)fit;
}

/* Fewer workers than threads will do. */
static lc_status
make_workers(struct lc__frame_team *pool)
{
	while (pool->n_workers < pool->threads) {
		struct lc__frame_worker *worker = &pool->workers[pool->n_workers];
		const lc_status status = lc__frame_worker_init(worker, &pool->how);

		if (status != LC_OK) {
			lc__frame_worker_free(worker);
			return pool->n_workers > 0 ? LC_OK : status;
		}
		pool->n_workers++;
	}
	return LC_OK;
}

static lc_status
start(struct lc__frame_team *pool)
{
	const size_t window = count_slots(pool);

	pool->how.team = &pool->team;
	pool->slots = calloc(window, sizeof(*pool->slots));
	pool->workers = calloc(pool->threads, sizeof(*pool->workers));
	if (pool->slots == NULL || pool->workers == NULL)
		return lc__no_memory("build");
	return_if_error(make_workers(pool));
	pool->team = (struct lc__team){
		.work = work,
		.ctx = pool,
		.jobs = lc__dataset_frames(pool->how.dataset),
		.threads = pool->n_workers,
		.window = window,
		.budget = FILE_BUDGET,
	};
	return lc__team_start(&pool->team) == LC_OK ? LC_OK : lc__error_prefix("build");
}

static void
stop(struct lc__frame_team *pool)
{
	lc__team_end(&pool->team);
	for (unsigned i = 0; i < pool->n_workers; i++)
		lc__frame_worker_free(&pool->workers[i]);
	for (size_t i = 0; pool->slots != NULL && i < pool->team.window; i++)
		lc__frame_job_free(&pool->slots[i]);
	free(pool->slots);
	free(pool->workers);
}

static lc_status
take_next(struct lc__frame_team *pool)
{
	struct lc__frame_job *frame;
	lc_status status;
	uint64_t job;

	while (!lc__team_wait(&pool->team, IDLE_MS))
		return_if_error(pool->idle(pool->ctx));
	status = lc__team_next(&pool->team, &job);
	frame = &pool->slots[job % pool->team.window];
	if (status == LC_OK)
		status = pool->take(pool->ctx, frame);
	lc__frame_job_clear(frame);
	return status;
}

lc_status
lc__frame_team_walk(struct lc__frame_team *pool)
{
	lc_status status = start(pool);

	for (uint64_t i = 0; i < pool->team.jobs && status == LC_OK; i++)
		status = take_next(pool);
	stop(pool);
	return status;
}
