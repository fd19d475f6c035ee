/* SPDX-License-Identifier: BSD-2-Clause */
/* Teams of threads, in any order and in order. */
#include "run.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/team.h"
#include "need.h"

#define JOBS 2000u
#define WINDOW 7u
#define THREADS 4u
#define BUDGET 100u

/* ---- starting threads ------------------------------------------------------------- */

/* How many threads can be started. The linker leads the library's calls here. */
static atomic_int startable;

int __real_pthread_create(pthread_t *id, const pthread_attr_t *attributes,
    void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes,
    void *(*fn)(void *), void *arg);
int
__wrap_pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*fn)(void *),
    void *arg)
{
	return atomic_fetch_sub(&startable, 1) > 0 ?
	    __real_pthread_create(id, attributes, fn, arg) : EAGAIN;
}

static const struct size {
	unsigned threads;
	int startable;
	unsigned jobs;
} sizes[] = {
	{ 1, 0, JOBS }, { 2, 9, JOBS }, { 4, 9, JOBS }, { 4, 2, JOBS }, { 8, 0, JOBS },
	{ 4, 9, 0 }, { 4, 9, 1 }, { 4, 9, 3 }, { 0, 9, 5 }
};

/* ---- in any order ------------------------------------------------------------------- */

static atomic_uint times[JOBS];
static atomic_bool in_use[THREADS * 2];

static lc_status
count_job(struct lc__team *team, unsigned thread, uint64_t job)
{
	need(!atomic_exchange(&in_use[thread], true));
	need(strcmp(team->ctx, "mine") == 0);
	atomic_fetch_add(&times[job], 1);
	atomic_store(&in_use[thread], false);
	return LC_OK;
}

START_TEST(each_job_once)
{
	static char ctx[] = "mine";
	struct lc__team team = { .work = count_job, .ctx = ctx, .jobs = sizes[_i].jobs,
		.threads = sizes[_i].threads };

	atomic_store(&startable, sizes[_i].startable);
	assert_ok(lc__team_run(&team));
	for (unsigned i = 0; i < JOBS; i++)
		ck_assert_uint_eq(times[i], i < sizes[_i].jobs);
}
END_TEST

#define BAD 100u

static lc_status
fail_once(struct lc__team *team, unsigned thread, uint64_t job)
{
	(void)thread;
	atomic_fetch_add(&times[job], 1);
	/* Another job runs when it fails. */
	while (job == BAD && atomic_load(&times[BAD + 1]) == 0)
		;
	if (job == BAD)
		return lc__error(LC_CORRUPT, 5, "job %u", BAD);
	/* Those that run go on until they are told, and then no job is begun any more. */
	while (job > BAD && lc__team_step(team, 1) == LC_OK)
		;
	return job > BAD ? lc__error(LC_IO, 0, "too late") : LC_OK;
}

START_TEST(shares_are_equal_and_all)
{
	static const unsigned threads[] = { 0, 1, 3, 64, 1000 };

	ck_assert_uint_eq(lc__team_shares(0, 8), 1);
	ck_assert_uint_eq(lc__team_shares(127, 8), 1);
	ck_assert_uint_eq(lc__team_shares(128, 8), 2);
	ck_assert_uint_eq(lc__team_shares(1 << 20, 1000), LC__SHARES_MOST);
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++)
		for (size_t n = 0; n < 1000; n++) {
			const uint64_t jobs = lc__team_shares(n, threads[i]);
			size_t next = 0;

			for (uint64_t job = 0; job < jobs; job++) {
				size_t first, count;

				lc__team_share(n, jobs, job, &first, &count);
				ck_assert_uint_eq(first, next);
				ck_assert(count == n / jobs || count == n / jobs + 1);
				next += count;
			}
			ck_assert_uint_eq(next, n);
		}
}
END_TEST

START_TEST(the_first_failure_wins)
{
	struct lc__team team = { .work = fail_once, .jobs = JOBS, .threads = THREADS };
	unsigned begun = 0;

	atomic_store(&startable, 9);
	assert_status(lc__team_run(&team), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "job 100: Input/output error");
	for (unsigned i = 0; i < JOBS; i++)
		begun += times[i];
	ck_assert_uint_ge(begun, BAD + 1);
	ck_assert_uint_le(begun, BAD + THREADS);
}
END_TEST

struct counts {
	uint64_t calls, done, total;
	uint64_t stop_at; /* calls */
};

static int
note_step(void *ctx, uint64_t done, uint64_t total)
{
	struct counts *counts = ctx;

	need(done > counts->done);
	counts->done = done;
	counts->total = total;
	return ++counts->calls == counts->stop_at;
}

static lc_status
step_twice(struct lc__team *team, unsigned thread, uint64_t job)
{
	(void)thread;
	return_if_error(lc__team_step(team, 2));
	if (job == 3)
		lc__team_again(team, 7);
	return lc__team_step(team, 1 + (job == 3) * 7);
}

START_TEST(progress_is_counted)
{
	struct counts counts = { .stop_at = _i == 0 ? 0 : 33 };
	const lc_progress progress = { .step = note_step, .ctx = &counts };
	struct lc__team team = { .work = step_twice, .jobs = 500, .threads = THREADS,
		.total = 1500, .progress = &progress };

	atomic_store(&startable, 9);
	if (_i == 0) {
		assert_ok(lc__team_run(&team));
		ck_assert_uint_eq(counts.calls, 1000);
		ck_assert_uint_eq(counts.done, 1507);
		ck_assert_uint_eq(counts.total, 1507);
	} else {
		assert_status(lc__team_run(&team), LC_CANCELLED);
		ck_assert_str_eq(lc_last_error()->text, "cancelled");
		ck_assert_uint_eq(counts.calls, 33);
	}
}
END_TEST

/* ---- in order ----------------------------------------------------------------------- */

static uint64_t slots[WINDOW];
static atomic_bool slot_used[WINDOW];
static atomic_uint_fast64_t held;

/* Each job holds memory that fits the budget only if not all do at once. */
static lc_status
square(struct lc__team *team, unsigned thread, uint64_t job)
{
	uint64_t state = job + 1;
	const uint64_t bytes = run_random(&state) % 60 + (job % 50 == 0) * 500;

	need(!atomic_exchange(&in_use[thread], true));
	need(!atomic_exchange(&slot_used[job % WINDOW], true));
	if (lc__team_hold(team, job, bytes)) {
		/* More than fits is granted only to the oldest. */
		need(atomic_fetch_add(&held, bytes) + bytes <= BUDGET + 560);
		slots[job % WINDOW] = job * job;
		atomic_fetch_sub(&held, bytes);
		lc__team_release(team, bytes);
	}
	atomic_store(&in_use[thread], false);
	return job % 10 == 9 ? lc__error(LC_INVALID, 0, "job %u", (unsigned)job) : LC_OK;
}

START_TEST(results_come_in_order)
{
	struct lc__team team = { .work = square, .jobs = sizes[_i].jobs,
		.threads = sizes[_i].threads, .window = WINDOW, .budget = BUDGET };
	char want[40];

	atomic_store(&startable, sizes[_i].startable);
	if (sizes[_i].startable == 0) {
		assert_status(lc__team_start(&team), LC_NO_MEMORY);
		ck_assert_str_eq(lc_last_error()->text, "no thread can be started: "
		    "Resource temporarily unavailable");
		lc__team_end(&team);
		return;
	}
	assert_ok(lc__team_start(&team));
	for (uint64_t i = 0; i < sizes[_i].jobs; i++) {
		uint64_t job;
		lc_status status;

		while (i % 2 == 0 && !lc__team_wait(&team, 1000))
			;
		status = lc__team_next(&team, &job);
		ck_assert_uint_eq(job, i);
		ck_assert_uint_eq(slots[job % WINDOW], job * job);
		/* Not before it is asked for the next one it is used again. */
		ck_assert(atomic_exchange(&slot_used[job % WINDOW], false));
		assert_status(status, i % 10 == 9 ? LC_INVALID : LC_OK);
		if (status != LC_OK) {
			snprintf(want, sizeof(want), "job %u", (unsigned)i);
			ck_assert_str_eq(lc_last_error()->text, want);
		}
	}
	lc__team_end(&team);
	lc__team_end(&team);
	ck_assert_uint_eq(team.held, 0);
	ck_assert_uint_eq(team.begun, sizes[_i].jobs);
}
END_TEST

/* The window is full: nobody begins another job, and the end waits for nobody. */
START_TEST(it_stops_before_its_end)
{
	struct lc__team team = { .work = square, .jobs = JOBS, .threads = THREADS,
		.window = WINDOW, .budget = BUDGET };
	uint64_t job;

	atomic_store(&startable, 9);
	assert_ok(lc__team_start(&team));
	for (uint64_t i = 0; i < (uint64_t)_i; i++) {
		const lc_status status = lc__team_next(&team, &job);

		ck_assert(status == LC_OK || status == LC_INVALID);
		atomic_store(&slot_used[job % WINDOW], false);
	}
	lc__team_end(&team);
	ck_assert_uint_ge(team.begun, (uint64_t)_i);
	ck_assert_uint_le(team.begun, (uint64_t)_i + WINDOW);
}
END_TEST

static atomic_bool much_held, go;

static lc_status
wait_for_go(struct lc__team *team, unsigned thread, uint64_t job)
{
	(void)thread;
	if (job == 0) {
		need(lc__team_hold(team, job, 2 * BUDGET));
		atomic_store(&much_held, true);
		while (!atomic_load(&go))
			;
	} else {
		while (!atomic_load(&much_held))
			;
		need(!lc__team_hold(team, job, BUDGET));
	}
	return LC_OK;
}

static void *
end_team(void *team)
{
	lc__team_end(team);
	return NULL;
}

static bool
is_stopped(struct lc__team *team)
{
	bool stopped;

	pthread_mutex_lock(&team->lock);
	stopped = team->stop;
	pthread_mutex_unlock(&team->lock);
	return stopped;
}

/* Job 1 waits for memory that job 0 holds, and job 0 is the oldest until it is done. */
START_TEST(it_stops_a_job_that_waits_for_memory)
{
	struct lc__team team = { .work = wait_for_go, .jobs = 2, .threads = 2,
		.window = WINDOW, .budget = BUDGET };
	pthread_t id;

	atomic_store(&startable, 9);
	assert_ok(lc__team_start(&team));
	ck_assert(!lc__team_wait(&team, 1));
	need(pthread_create(&id, NULL, end_team, &team) == 0);
	while (!is_stopped(&team))
		;
	atomic_store(&go, true);
	pthread_join(id, NULL);
}
END_TEST

int
main(void)
{
	enum { n = sizeof(sizes) / sizeof(sizes[0]) };
	Suite *suite = suite_create("team");
	TCase *tc = tcase_create("team");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, each_job_once, 0, n);
	tcase_add_test(tc, shares_are_equal_and_all);
	tcase_add_test(tc, the_first_failure_wins);
	tcase_add_loop_test(tc, progress_is_counted, 0, 2);
	tcase_add_loop_test(tc, results_come_in_order, 0, n);
	tcase_add_loop_test(tc, it_stops_before_its_end, 0, 20);
	tcase_add_test(tc, it_stops_a_job_that_waits_for_memory);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
