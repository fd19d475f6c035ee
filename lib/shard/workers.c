/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/workers.h"

#include <stdbool.h>

#include "base/error.h"

#define MAX_THREADS 64

static bool
take_job(struct lc__workers *w, uint64_t *job)
{
	bool any;

	pthread_mutex_lock(&w->lock);
	any = w->error.status == LC_OK && w->next < w->jobs;
	if (any)
		*job = w->next++;
	pthread_mutex_unlock(&w->lock);
	return any;
}

static void
keep_error(struct lc__workers *w)
{
	pthread_mutex_lock(&w->lock);
	if (w->error.status == LC_OK)
		w->error = *lc_last_error();
	pthread_mutex_unlock(&w->lock);
}

static void *
work(void *ctx)
{
	struct lc__workers *w = ctx;
	uint64_t job;

	while (take_job(w, &job))
		if (w->job(w, job) != LC_OK)
			keep_error(w);
	return NULL;
}

lc_status
lc__workers_run(struct lc__workers *w, unsigned threads)
{
	pthread_t ids[MAX_THREADS];
	unsigned started = 0;

	if (threads > MAX_THREADS)
		threads = MAX_THREADS;
	if (threads > w->jobs)
		threads = (unsigned)w->jobs;
	pthread_mutex_init(&w->lock, NULL);
	/* With fewer threads than asked for the work is done all the same. */
	while (started + 1 < threads &&
	    pthread_create(&ids[started], NULL, work, w) == 0)
		started++;
	work(w);
	while (started > 0)
		pthread_join(ids[--started], NULL);
	pthread_mutex_destroy(&w->lock);
	return w->error.status == LC_OK ? LC_OK : lc__error_raise(&w->error);
}

lc_status
lc__workers_step(struct lc__workers *w, uint64_t bytes)
{
	const lc_progress *progress = w->progress;
	lc_status status = LC_OK;

	pthread_mutex_lock(&w->lock);
	w->done += bytes;
	if (w->error.status != LC_OK || (progress != NULL &&
	    progress->step != NULL &&
	    progress->step(progress->ctx, w->done, w->total) != 0))
		status = lc__error(LC_CANCELLED, 0, "cancelled");
	if (w->error.status == LC_OK && status != LC_OK)
		w->error = *lc_last_error();
	pthread_mutex_unlock(&w->lock);
	return status;
}

void
lc__workers_again(struct lc__workers *w, uint64_t bytes)
{
	pthread_mutex_lock(&w->lock);
	w->total += bytes;
	pthread_mutex_unlock(&w->lock);
}
