/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/team.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

/* Of a slot: whether its job is done, and its result. */
struct lc__team_result {
	bool done;
	lc_status status;
	lc_error error; /* unless LC_OK */
};

struct lc__team_thread {
	struct lc__team *team;
	pthread_t id;
	unsigned number;
};

/* ---- threads ---------------------------------------------------------------------- */

static struct lc__team_result *
result_of(struct lc__team *team, uint64_t job)
{
	return &team->results[job % team->window];
}

static void
stop_locked(struct lc__team *team)
{
	team->stop = true;
	pthread_cond_broadcast(&team->room);
	pthread_cond_broadcast(&team->memory);
}

/* Wait for a job; false if no job is left. */
static bool
begin_job(struct lc__team *team, uint64_t *job)
{
	bool any;

	pthread_mutex_lock(&team->lock);
	while (!team->stop && team->begun < team->jobs && team->results != NULL &&
	    team->begun - team->taken + team->taking >= team->window)
		pthread_cond_wait(&team->room, &team->lock);
	any = !team->stop && team->begun < team->jobs;
	if (any)
		*job = team->begun++;
	pthread_mutex_unlock(&team->lock);
	return any;
}

static void
finish_job(struct lc__team *team, uint64_t job, lc_status status)
{
	pthread_mutex_lock(&team->lock);
	if (team->results != NULL) {
		struct lc__team_result *result = result_of(team, job);

		result->done = true;
		result->status = status;
		if (status != LC_OK)
			result->error = *lc_last_error();
		if (job == team->taken)
			pthread_cond_signal(&team->result);
		pthread_cond_broadcast(&team->memory);
	} else if (status != LC_OK) {
		if (team->error.status == LC_OK)
			team->error = *lc_last_error();
		stop_locked(team);
	}
	pthread_mutex_unlock(&team->lock);
}

static void
do_jobs(struct lc__team *team, unsigned thread)
{
	uint64_t job;

	while (begin_job(team, &job))
		finish_job(team, job, team->work(team, thread, job));
}

static void *
run_thread(void *arg)
{
	const struct lc__team_thread *thread = arg;

	do_jobs(thread->team, thread->number);
	return NULL;
}

/* Start n threads, numbered from @p first, or as many as possible: *sys is 0, or the
 * errno of the one that failed to start. */
static lc_status
start_threads(struct lc__team *team, unsigned n, unsigned first, int *sys)
{
	team->started = calloc((size_t)n + 1, sizeof(*team->started));
	if (team->started == NULL)
		return lc__no_memory(NULL);
	pthread_mutex_init(&team->lock, NULL);
	lc__cond_init(&team->room);
	lc__cond_init(&team->result);
	lc__cond_init(&team->memory);
	*sys = 0;
	while (team->n_started < n) {
		struct lc__team_thread *thread = &team->started[team->n_started];

		*thread = (struct lc__team_thread){
			.team = team,
			.number = first + team->n_started,
		};
		*sys = pthread_create(&thread->id, NULL, run_thread, thread);
		if (*sys != 0)
			break;
		team->n_started++;
	}
	return LC_OK;
}

/* How many threads have work. */
static unsigned
useful_threads(const struct lc__team *team)
{
	const unsigned wanted = team->threads > 0 ? team->threads : 1;

	return wanted < team->jobs ? wanted : (unsigned)team->jobs;
}

/* ---- in any order ----------------------------------------------------------------- */

lc_status
lc__team_run(struct lc__team *team)
{
	const unsigned threads = useful_threads(team);
	int sys;
	lc_status status = start_threads(team, threads > 1 ? threads - 1 : 0, 1, &sys);

	if (status == LC_OK) {
		do_jobs(team, 0);
		/* Only when all threads have ended is the set of failures complete. */
		for (unsigned i = 0; i < team->n_started; i++)
			pthread_join(team->started[i].id, NULL);
		team->n_started = 0;
		if (team->error.status != LC_OK)
			status = lc__error_raise(&team->error);
	}
	lc__team_end(team);
	return status;
}

unsigned
lc__team_processors(unsigned most)
{
	const long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online < 1 ? 1 : online > (long)most ? most : (unsigned)online;
}

/* Items that justify a thread. */
#define SHARE_LEAST 64

uint64_t
lc__team_shares(size_t n, unsigned threads)
{
	uint64_t jobs = threads > LC__SHARES_MOST ? LC__SHARES_MOST : threads;

	if (jobs > n / SHARE_LEAST)
		jobs = n / SHARE_LEAST;
	return jobs == 0 ? 1 : jobs;
}

void
lc__team_share(size_t n, uint64_t jobs, uint64_t job, size_t *first, size_t *count)
{
	const size_t each = n / jobs, more = n % jobs; /* the first ones have one more */

	*first = each * job + (job < more ? job : more);
	*count = each + (job < more);
}

/* ---- in order ----------------------------------------------------------------------- */

lc_status
lc__team_start(struct lc__team *team)
{
	const unsigned threads = useful_threads(team);
	int sys;

	if (team->window == 0)
		team->window = 1;
	team->results = calloc(team->window, sizeof(*team->results));
	if (team->results == NULL)
		return lc__no_memory(NULL);
	return_if_error(start_threads(team, threads, 0, &sys));
	if (team->n_started == 0 && threads > 0)
		return lc__error(LC_NO_MEMORY, sys, "no thread can be started");
	return LC_OK;
}

/* The caller no longer uses the result that it took last. */
static void
give_back_locked(struct lc__team *team)
{
	if (!team->taking)
		return;
	team->taking = false;
	pthread_cond_signal(&team->room);
}

lc_status
lc__team_next(struct lc__team *team, uint64_t *job)
{
	struct lc__team_result *result;
	lc_status status;

	pthread_mutex_lock(&team->lock);
	give_back_locked(team);
	result = result_of(team, team->taken);
	while (!result->done)
		pthread_cond_wait(&team->result, &team->lock);
	status = result->status == LC_OK ? LC_OK : lc__error_raise(&result->error);
	result->done = false;
	*job = team->taken++;
	team->taking = true;
	pthread_mutex_unlock(&team->lock);
	return status;
}

bool
lc__team_wait(struct lc__team *team, unsigned ms)
{
	const uint64_t deadline = lc__clock_deadline(ms);
	bool done;

	pthread_mutex_lock(&team->lock);
	give_back_locked(team);
	while (!(done = result_of(team, team->taken)->done))
		if (!lc__cond_wait(&team->result, &team->lock, deadline))
			break;
	pthread_mutex_unlock(&team->lock);
	return done;
}

void
lc__team_end(struct lc__team *team)
{
	if (team->started != NULL) {
		pthread_mutex_lock(&team->lock);
		stop_locked(team);
		pthread_mutex_unlock(&team->lock);
		for (unsigned i = 0; i < team->n_started; i++)
			pthread_join(team->started[i].id, NULL);
		pthread_cond_destroy(&team->room);
		pthread_cond_destroy(&team->result);
		pthread_cond_destroy(&team->memory);
		pthread_mutex_destroy(&team->lock);
	}
	free(team->started);
	free(team->results);
	team->started = NULL;
	team->results = NULL;
	team->n_started = 0;
}

/* ---- for work() ------------------------------------------------------------------- */

lc_status
lc__team_step(struct lc__team *team, uint64_t bytes)
{
	const lc_progress *progress = team->progress;
	lc_status status = LC_OK;

	pthread_mutex_lock(&team->lock);
	team->done += bytes;
	if (team->stop ||
	    (progress != NULL && progress->step != NULL &&
		progress->step(progress->ctx, team->done, team->total) != 0)) {
		status = lc__error(LC_CANCELLED, 0, "cancelled");
		/* Keep the first failure; no other thread may replace it. */
		if (team->error.status == LC_OK)
			team->error = *lc_last_error();
		stop_locked(team);
	}
	pthread_mutex_unlock(&team->lock);
	return status;
}

void
lc__team_again(struct lc__team *team, uint64_t bytes)
{
	pthread_mutex_lock(&team->lock);
	team->total += bytes;
	pthread_mutex_unlock(&team->lock);
}

/* Are all jobs before this one done? */
static bool
is_oldest_locked(struct lc__team *team, uint64_t job)
{
	for (uint64_t older = team->taken; older < job; older++)
		if (!result_of(team, older)->done)
			return false;
	return true;
}

bool
lc__team_hold(struct lc__team *team, uint64_t job, uint64_t bytes)
{
	bool granted;

	pthread_mutex_lock(&team->lock);
	while (!team->stop && team->held + bytes > team->budget &&
	    !is_oldest_locked(team, job))
		pthread_cond_wait(&team->memory, &team->lock);
	granted = !team->stop;
	if (granted)
		team->held += bytes;
	pthread_mutex_unlock(&team->lock);
	return granted;
}

void
lc__team_release(struct lc__team *team, uint64_t bytes)
{
	pthread_mutex_lock(&team->lock);
	team->held -= bytes;
	pthread_cond_broadcast(&team->memory);
	pthread_mutex_unlock(&team->lock);
}
