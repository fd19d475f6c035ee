/* SPDX-License-Identifier: BSD-2-Clause */
/* Computing what is missing in many threads: who computes, and who waits. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "computing.h"
#include "need.h"
#include "run.h"
#include "sample.h"

/* ---- steps that threads wait for ------------------------------------------------- */

/* A number that rises, and threads that wait until it has. */
struct stage {
	pthread_mutex_t lock;
	pthread_cond_t risen;
	unsigned value;
};

#define STAGE { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static void
stage_raise(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	stage->value++;
	pthread_cond_broadcast(&stage->risen);
	pthread_mutex_unlock(&stage->lock);
}

static void
stage_await(struct stage *stage, unsigned value)
{
	pthread_mutex_lock(&stage->lock);
	while (stage->value < value)
		pthread_cond_wait(&stage->risen, &stage->lock);
	pthread_mutex_unlock(&stage->lock);
}

/* Threads that ask for key 0 while the first one computes it, each with a key of its
 * own: when its function is called for that, it has claimed what it can. */
struct crowd {
	lc_cache *cache;
	struct stage claimed; /* threads whose function was called */
	struct stage first;   /* the first one's was */
	unsigned threads;     /* besides the first one */
	bool fails;           /* the first one */
	atomic_uint of_zero;  /* results of key 0 that were asked for */
};

struct member {
	struct crowd *crowd;
	unsigned number;
	unsigned calls;
};

static lc_status
compute_in_crowd(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct member *member = ctx;
	struct crowd *crowd = member->crowd;

	member->calls++;
	if (member->number == 0) {
		stage_raise(&crowd->first);
		stage_await(&crowd->claimed, crowd->threads);
	} else if (member->calls == 1) {
		need(n == 1 && missing[0] == 1);
		stage_raise(&crowd->claimed);
	} else {
		need(member->calls == 2 && n == 1 && missing[0] == 0);
	}
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);

		if (key == 0)
			atomic_fetch_add(&crowd->of_zero, 1);
		if (crowd->fails && member->number == 0 && key == 0)
			lc_result_fail(results, j, "not by the first one");
		else
			set_sample(results, j, &keys[missing[j]]);
	}
	return LC_OK;
}

static void *
ask_in_crowd(void *arg)
{
	struct member *member = arg;
	struct crowd *crowd = member->crowd;
	const unsigned keys[] = { 0, member->number, 0 };
	const bool failed = crowd->fails && member->number == 0;
	lc_id ids[3];
	lc_view views[3];

	list_keys(ids, keys, 3);
	if (member->number > 0)
		stage_await(&crowd->first, 1);
	need_status(lc_get_or_compute(crowd->cache, ids, 3, compute_in_crowd,
	    member, views), failed ? LC_FAILED : LC_OK);
	for (int i = 0; i < 3; i++)
		need(failed ? views[i].status == LC_FAILED :
		    is_sample(&views[i], keys[i]));
	lc_views_release(views, 3);
	return NULL;
}

#define CROWD 5

/* With an LRU or without, on a rank that writes or not; the first one fails or not. */
START_TEST(what_another_computes_is_awaited)
{
	struct crowd crowd = {
		.claimed = STAGE, .first = STAGE, .threads = CROWD - 1,
		.fails = _i & 1
	};
	struct member members[CROWD];
	pthread_t threads[CROWD];
	lc_options options = sample_options();
	unsigned again = 0;

	options.lru_bytes = _i & 2 ? 1 << 20 : 0;
	options.writer_rank = _i & 4 ? 1 : LC_RANK_ANY;
	options.rank = 0;
	crowd.cache = sample_open(run_scratch(), "m", &options);
	for (unsigned i = 0; i < CROWD; i++) {
		members[i] = (struct member){ .crowd = &crowd, .number = i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_in_crowd,
		    &members[i]), 0);
	}
	for (unsigned i = 0; i < CROWD; i++) {
		pthread_join(threads[i], NULL);
		again += members[i].calls - 1;
	}
	/* If the first one fails another one computes it, for all others if they can
	 * see it or come to wait in time. */
	if (!crowd.fails) {
		ck_assert_uint_eq(crowd.of_zero, 1);
		ck_assert_uint_eq(counters_of(crowd.cache).awaited, CROWD - 1);
	} else if (options.writer_rank == LC_RANK_ANY || options.lru_bytes > 0) {
		ck_assert_uint_eq(crowd.of_zero, 2);
	}
	ck_assert_uint_eq(again, crowd.of_zero - 1);
	assert_ok(lc_close(crowd.cache));
}
END_TEST

/* ---- a key that another computes between its miss and its claim ------------------- */

struct late {
	lc_cache *cache;
	struct stage asked, computed;
};

/* Told of the damage that the batch found, before any claim. */
static void
let_other_compute(void *ctx, const char *line)
{
	struct late *late = ctx;

	(void)line;
	stage_raise(&late->asked);
	stage_await(&late->computed, 1);
}

static void *
compute_meanwhile(void *arg)
{
	static const unsigned keys[] = { 9 };
	struct late *late = arg;
	struct job job = { .calls = 0 };

	stage_await(&late->asked, 1);
	expect_samples(late->cache, keys, 1, &job);
	need(job.calls == 1);
	stage_raise(&late->computed);
	return NULL;
}

START_TEST(what_was_computed_meanwhile_is_found)
{
	static const unsigned keys[] = { 9, 2, 9, 3 };
	static const size_t missing[] = { 1 };
	struct late late = { .asked = STAGE, .computed = STAGE };
	lc_options options = sample_options();
	const char *root = make_damaged(&options);
	struct job job = { .calls = 0 };
	pthread_t thread;

	options.log = let_other_compute;
	options.log_ctx = &late;
	late.cache = sample_open(root, "m", &options);
	ck_assert_int_eq(pthread_create(&thread, NULL, compute_meanwhile, &late), 0);
	expect_samples(late.cache, keys, 4, &job);
	expect_asked(&job, missing, 1);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(counters_of(late.cache).computed, 2);
	assert_ok(lc_close(late.cache));
}
END_TEST

/* ---- functions that use the handle ------------------------------------------------ */

static lc_status
compute_by_others(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	static const unsigned inner[] = { 10, 11 };
	const lc_id both[] = { key_of(12), keys[missing[0]] };
	struct job *job = ctx;
	struct job own = { .calls = 0 };
	lc_view views[2];

	note(job, missing, n);
	/* Other keys are computed as ever, and puts and flushes work. */
	expect_samples(job->cache, inner, 2, &own);
	need(own.calls == 1);
	need_ok(sample_put(job->cache, "aside", 5, 1, SAMPLE_SMALL));
	need_ok(lc_flush(job->cache));
	/* The key that is being computed is refused; the other one is not. */
	own.calls = 0;
	need_status(lc_get_or_compute(job->cache, both, 2, compute_samples, &own,
	    views), LC_INVALID);
	need(strstr(lc_last_error()->text, both[1].data) != NULL);
	need(own.calls == 1 && own.n == 1 && own.missing[0] == 0);
	need(is_sample(&views[0], 12) && views[1].status == LC_INVALID);
	lc_views_release(views, 2);
	for (size_t j = 0; j < n; j++)
		set_sample(results, j, &keys[missing[j]]);
	return LC_OK;
}

START_TEST(a_function_may_use_the_handle)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .cache = cache };
	const lc_id ids[] = { key_of(1), key_of(2) };
	lc_view views[2];

	assert_ok(lc_get_or_compute(cache, ids, 2, compute_by_others, &job, views));
	ck_assert(is_sample(&views[0], 1) && is_sample(&views[1], 2));
	lc_views_release(views, 2);
	ck_assert_uint_eq(counters_of(cache).computed, 5);
	ck_assert_uint_eq(counters_of(cache).awaited, 0);
	assert_ok(lc_close(cache));
}
END_TEST

/* Two functions that each ask for what the other one computes. */
struct pair {
	lc_cache *cache;
	pthread_barrier_t both;
	atomic_uint refused;
};

struct half {
	struct pair *pair;
	unsigned key;
};

static lc_status
compute_half(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct half *half = ctx;
	const lc_id other = key_of(1 - half->key);
	struct job job = { .calls = 0 };
	lc_status status;
	lc_view view;

	need(n == 1);
	pthread_barrier_wait(&half->pair->both);
	status = lc_get_or_compute(half->pair->cache, &other, 1, compute_samples,
	    &job, &view);
	need(job.calls == 0);
	if (status == LC_OK)
		need(is_sample(&view, 1 - half->key));
	else
		need(status == LC_INVALID);
	atomic_fetch_add(&half->pair->refused, status != LC_OK);
	lc_view_release(&view);
	set_sample(results, 0, &keys[missing[0]]);
	return LC_OK;
}

static void *
ask_half(void *arg)
{
	struct half *half = arg;
	const lc_id own = key_of(half->key);
	lc_view view;

	need_ok(lc_get_or_compute(half->pair->cache, &own, 1, compute_half, half,
	    &view));
	need(is_sample(&view, half->key));
	lc_view_release(&view);
	return NULL;
}

START_TEST(functions_that_wait_for_each_other_do_not_hang)
{
	const lc_options options = sample_options();
	struct pair pair = { .cache = sample_open(run_scratch(), "m", &options) };
	struct half halves[] = { { &pair, 0 }, { &pair, 1 } };
	pthread_t threads[2];

	pthread_barrier_init(&pair.both, NULL, 2);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_half,
		    &halves[i]), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_uint_eq(pair.refused, 1);
	pthread_barrier_destroy(&pair.both);
	assert_ok(lc_close(pair.cache));
}
END_TEST

/* ---- a fork while a key is computed ------------------------------------------------ */

static void
ask_in_child(void *ctx)
{
	static const unsigned keys[] = { 0, 5 };
	struct job job = { .calls = 0 };

	expect_samples(ctx, keys, 2, &job);
	need(job.calls == 1 && job.n == 2);
	/* The parent's handle is the parent's to close. */
	_exit(0);
}

START_TEST(a_child_computes_for_itself)
{
	const lc_options options = sample_options();
	struct crowd crowd = {
		.cache = sample_open(run_scratch(), "m", &options),
		.claimed = STAGE, .first = STAGE, .threads = 1
	};
	struct member member = { .crowd = &crowd };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_crowd, &member), 0);
	stage_await(&crowd.first, 1);
	ck_assert_int_eq(child_run(ask_in_child, crowd.cache), 0);
	stage_raise(&crowd.claimed);
	pthread_join(thread, NULL);
	assert_ok(lc_close(crowd.cache));
}
END_TEST

/* ---- random ------------------------------------------------------------------------ */

#define THREADS 8

/* Threads that ask for random keys; what each key's function did is counted. */
struct random {
	lc_cache *cache;
	unsigned fail_share;       /* of 16: how often a result fails */
	atomic_uint number;        /* given to each thread */
	atomic_uint done[KEYS];    /* results that were set */
	atomic_uint failed[KEYS];
	atomic_int at[KEYS];       /* threads that compute it now */
};

struct asker {
	struct random *random;
	uint64_t seed;
	bool failed[KEYS]; /* in the call under way, by this thread */
	unsigned calls;    /* of the function in it */
};

static lc_status
compute_random(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct asker *asker = ctx;
	struct random *random = asker->random;

	asker->calls++;
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);

		need(j == 0 || missing[j] > missing[j - 1]);
		need(!asker->failed[key]);
		need(atomic_fetch_add(&random->at[key], 1) == 0);
		if (run_random(&asker->seed) % 16 < random->fail_share) {
			asker->failed[key] = true;
			atomic_fetch_add(&random->failed[key], 1);
			lc_result_fail(results, j, "by chance");
		} else {
			atomic_fetch_add(&random->done[key], 1);
			set_sample(results, j, &keys[missing[j]]);
		}
		atomic_fetch_sub(&random->at[key], 1);
	}
	return run_random(&asker->seed) % 4 == 0 ? LC_IO : LC_OK;
}

static void
ask_random(struct asker *asker)
{
	const size_t n = 1 + run_random(&asker->seed) % 12;
	unsigned keys[12];
	lc_id ids[12];
	lc_view views[12];
	lc_status status, want = LC_OK;

	for (size_t i = 0; i < n; i++)
		keys[i] = (unsigned)(run_random(&asker->seed) % KEYS);
	list_keys(ids, keys, n);
	memset(asker->failed, 0, sizeof(asker->failed));
	asker->calls = 0;
	status = lc_get_or_compute(asker->random->cache, ids, n, compute_random,
	    asker, views);
	for (size_t i = 0; i < n; i++) {
		/* Only what this thread's own function failed is failed. */
		if (asker->failed[keys[i]]) {
			want = LC_FAILED;
			need(views[i].status == LC_FAILED);
		} else {
			need(is_sample(&views[i], keys[i]));
		}
	}
	need(status == want);
	if (asker->random->fail_share == 0)
		need(asker->calls <= 1);
	lc_views_release(views, n);
}

static void *
random_thread(void *arg)
{
	struct random *random = arg;
	struct asker asker = {
		.random = random,
		.seed = run_seed() + atomic_fetch_add(&random->number, 1) * 977
	};

	for (int i = 0; i < 40; i++)
		ask_random(&asker);
	return NULL;
}

static void
run_random_threads(unsigned fail_share)
{
	const lc_options options = sample_options();
	struct random random = {
		.cache = sample_open(run_scratch(), "m", &options),
		.fail_share = fail_share
	};
	uint64_t done = 0, failed = 0;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, random_thread,
		    &random), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < KEYS; i++) {
		/* 320 calls for 6.5 keys on average: each was asked for. */
		ck_assert_uint_eq(random.done[i], 1);
		done += random.done[i];
		failed += random.failed[i];
	}
	ck_assert_uint_eq(counters_of(random.cache).computed, done);
	ck_assert_uint_eq(counters_of(random.cache).compute_failures, failed);
	ck_assert_int_eq(failed > 0, fail_share > 0);
	assert_ok(lc_close(random.cache));
}

static const unsigned fail_shares[] = { 0, 6 };

START_TEST(every_key_is_computed_once)
{
	for (unsigned i = sample_times(40); i > 0; i--)
		run_random_threads(fail_shares[_i]);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("compute_threads");
	TCase *tc = tcase_create("compute_threads");

	run_seed();
	make_names();
	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, what_another_computes_is_awaited, 0, 8);
	tcase_add_test(tc, what_was_computed_meanwhile_is_found);
	tcase_add_test(tc, a_function_may_use_the_handle);
	tcase_add_test(tc, functions_that_wait_for_each_other_do_not_hang);
	tcase_add_test(tc, a_child_computes_for_itself);
	tcase_add_loop_test(tc, every_key_is_computed_once, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
