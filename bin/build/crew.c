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

static lc_status
work(struct lc__team *team, unsigned thread, uint64_t job)
{
	const struct lc__crew *crew = team->ctx;
	struct lc__made *made = &crew->slots[job % team->window];

	made->number = job;
	return crew->work(&crew->makers[thread], made);
}

static size_t
count_slots(const struct lc__crew *crew)
{
	const size_t most = SLOTS_PER_THREAD * (size_t)crew->threads;
	const size_t least = (size_t)crew->threads + 1;
	const uint64_t fit = SLOT_BUDGET / (crew->slot_bytes + 1);

	return fit >= most ? most : fit <= least ? least : (size_t)fit;
}

/* With fewer makers than asked for the work is done all the same. */
static lc_status
make_makers(struct lc__crew *crew)
{
	while (crew->n_makers < crew->threads) {
		struct lc__maker *maker = &crew->makers[crew->n_makers];
		const lc_status status = lc__maker_init(maker, &crew->making);

		if (status != LC_OK) {
			lc__maker_free(maker);
			return crew->n_makers > 0 ? LC_OK : status;
		}
		crew->n_makers++;
	}
	return LC_OK;
}

static lc_status
start(struct lc__crew *crew)
{
	const size_t window = count_slots(crew);

	crew->making.team = &crew->team;
	crew->slots = calloc(window, sizeof(*crew->slots));
	crew->makers = calloc(crew->threads, sizeof(*crew->makers));
	if (crew->slots == NULL || crew->makers == NULL)
		return lc__no_memory("build");
	return_if_error(make_makers(crew));
	crew->team = (struct lc__team){ .work = work, .ctx = crew,
		.jobs = lc__dataset_frames(crew->making.dataset), .threads = crew->n_makers,
		.window = window, .budget = FILE_BUDGET };
	return lc__team_start(&crew->team) == LC_OK ? LC_OK : lc__error_prefix("build");
}

static void
stop(struct lc__crew *crew)
{
	lc__team_end(&crew->team);
	for (unsigned i = 0; i < crew->n_makers; i++)
		lc__maker_free(&crew->makers[i]);
	for (size_t i = 0; crew->slots != NULL && i < crew->team.window; i++)
		lc__made_free(&crew->slots[i]);
	free(crew->slots);
	free(crew->makers);
}

static lc_status
take_next(struct lc__crew *crew)
{
	struct lc__made *made;
	lc_status status;
	uint64_t job;

	while (!lc__team_wait(&crew->team, IDLE_MS))
		return_if_error(crew->idle(crew->ctx));
	status = lc__team_next(&crew->team, &job);
	made = &crew->slots[job % crew->team.window];
	if (status == LC_OK)
		status = crew->take(crew->ctx, made);
	lc__made_clear(made);
	return status;
}

lc_status
lc__crew_walk(struct lc__crew *crew)
{
	lc_status status = start(crew);

	for (uint64_t i = 0; i < crew->team.jobs && status == LC_OK; i++)
		status = take_next(crew);
	stop(crew);
	return status;
}
