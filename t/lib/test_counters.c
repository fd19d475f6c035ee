/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters are neither lost nor counted twice while commits run into one another. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "run.h"
#include "sample.h"
#include "store/cache.h"

static lc_cache *
open_module(const char *root)
{
	const lc_options options = sample_options();

	return sample_open(root, "m", &options);
}

static void
miss(lc_cache *cache, unsigned times)
{
	lc_view view;

	for (unsigned i = 0; i < times; i++)
		assert_status(lc_get(cache, "none", 4, &view), LC_NOT_FOUND);
}

static uint64_t
misses(lc_cache *cache)
{
	lc_counters counters = { .struct_size = sizeof(counters) };

	assert_ok(lc_counters_get(cache, &counters));
	return counters.misses;
}

START_TEST(what_one_commit_takes_no_other_takes)
{
	lc_cache *cache = open_module(run_scratch());
	struct lc__counters first, second;

	miss(cache, 3);
	lc__counters_take(cache->env, &first);
	ck_assert_uint_eq(first.misses, 3);
	lc__counters_take(cache->env, &second);
	ck_assert_uint_eq(second.misses, 0);
	ck_assert_uint_eq(misses(cache), 3);
	lc__counters_settle(cache->env, &second, true);
	lc__counters_settle(cache->env, &first, false);
	ck_assert_uint_eq(misses(cache), 3);
	miss(cache, 1);
	assert_ok(sample_put(cache, "a", 1, 1, SAMPLE_SMALL));
	assert_ok(lc_flush(cache));
	ck_assert_uint_eq(misses(cache), 4);
	lc__counters_take(cache->env, &first);
	ck_assert_uint_eq(first.misses, 0);
	lc__counters_settle(cache->env, &first, false);
	assert_ok(lc_close(cache));
}
END_TEST

/* Another process that writes: it tells when it has begun, and ends when killed. */
struct writer {
	const char *root;
	int told[2];
};

static void
write_until_killed(void *ctx)
{
	const struct writer *writer = ctx;
	lc_cache *cache = open_module(writer->root);
	struct lc__txn *txn;

	need_ok(lc__txn_begin_write(cache->env, LC_DURABLE_FULL, &txn));
	need(write(writer->told[1], "", 1) == 1);
	for (;;)
		pause();
}

static void *
close_module(void *cache)
{
	need_ok(lc_close(cache));
	return NULL;
}

START_TEST(a_close_that_waits_hides_nothing)
{
	struct writer writer = { .root = run_scratch() };
	lc_cache *cache, *other;
	pthread_t thread;
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(writer.told), 0);
	pid = child_start(write_until_killed, &writer);
	ck_assert_int_eq(read(writer.told[0], &byte, 1), 1);
	cache = open_module(writer.root);
	other = open_module(writer.root);
	miss(cache, 5);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_module, other), 0);
	for (unsigned i = 0; i < 100000; i++)
		ck_assert_uint_eq(misses(cache), 5);
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(child_wait(pid), 128 + SIGKILL);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(misses(cache), 5);
	assert_ok(lc_close(cache));
	cache = open_module(writer.root);
	ck_assert_uint_eq(misses(cache), 5);
	assert_ok(lc_close(cache));
	close(writer.told[0]);
	close(writer.told[1]);
}
END_TEST

/* Two commits may both have stored the same reads. */
START_TEST(reads_are_forgotten_once)
{
	lc_cache *cache = open_module(run_scratch());
	struct lc__module *module = lc__module_of(cache->env);
	const uint64_t chunks[3] = { 1, 2, 3 };

	lc__env_lock(cache->env);
	lc__reads_note_locked(&module->reads, chunks, 3);
	lc__reads_forget_locked(&module->reads, 2);
	lc__reads_forget_locked(&module->reads, 2);
	ck_assert_uint_eq(module->reads.count, 0);
	lc__reads_note_locked(&module->reads, chunks, 1);
	ck_assert_uint_eq(module->reads.count, 1);
	ck_assert_uint_eq(module->reads.chunks[0], 1);
	lc__env_unlock(cache->env);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("counters");
	TCase *all = tcase_create("counters");

	tcase_set_timeout(all, 60);
	tcase_add_test(all, what_one_commit_takes_no_other_takes);
	tcase_add_test(all, a_close_that_waits_hides_nothing);
	tcase_add_test(all, reads_are_forgotten_once);
	suite_add_tcase(suite, all);
	return run_suite(suite);
}
