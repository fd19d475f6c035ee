/* SPDX-License-Identifier: BSD-2-Clause */
/* A handle goes on working on both sides of fork(). */
#include "run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

static void
put(lc_cache *cache, const char *id, uint64_t version)
{
	need_ok(sample_put(cache, id, strlen(id), version, SAMPLE_SMALL));
}

static void
expect(lc_cache *cache, const char *id, uint64_t version)
{
	lc_view view;

	need_ok(lc_get(cache, id, strlen(id), &view));
	need(sample_is(&view.tensor, id, strlen(id), version, SAMPLE_SMALL));
	lc_view_release(&view);
}

static void
expect_missing(lc_cache *cache, const char *id)
{
	need_status(lc_contains(cache, id, strlen(id)), LC_NOT_FOUND);
}

static lc_stats
stats_of(lc_cache *cache)
{
	lc_stats stats = { .struct_size = sizeof(stats) };

	need_ok(lc_stat(cache, &stats));
	return stats;
}

/* A module with "stored" committed and "pending" not. */
static lc_cache *
make(const char *root)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	put(cache, "stored", 1);
	need_ok(lc_flush(cache));
	put(cache, "pending", 1);
	return cache;
}

static void
use_in_child(void *cache)
{
	expect(cache, "stored", 1);
	expect_missing(cache, "pending");
	need(stats_of(cache).pending_records == 0);
	put(cache, "child", 1);
	expect(cache, "child", 1);
	need_ok(lc_flush(cache));
	put(cache, "child at close", 1);
	need_ok(lc_close(cache));
}

START_TEST(child_uses_and_closes)
{
	lc_cache *cache = make(run_scratch());
	lc_verify_result result;
	lc_view view;
	uint64_t count;

	assert_ok(lc_get(cache, "stored", 6, &view));
	ck_assert_int_eq(child_run(use_in_child, cache), 0);
	ck_assert(sample_is(&view.tensor, "stored", 6, 1, SAMPLE_SMALL));
	lc_view_release(&view);
	/* The parent reads what the child wrote, and still has what it had. */
	expect(cache, "child", 1);
	expect(cache, "child at close", 1);
	expect(cache, "pending", 1);
	ck_assert_uint_eq(stats_of(cache).pending_records, 1);
	assert_ok(lc_flush(cache));
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, 4);
	/* Nothing was written twice. */
	ck_assert_uint_eq(stats_of(cache).dead_records, 0);
	assert_ok(lc_verify(cache, NULL, &result));
	ck_assert_uint_eq(result.records, 4);
	assert_ok(lc_close(cache));
}
END_TEST

static void
do_nothing(void *cache)
{
	(void)cache;
}

static void
only_close(void *cache)
{
	need_ok(lc_close(cache));
}

static void
only_discard(void *cache)
{
	lc_discard(cache);
}

static void
only_exit(void *cache)
{
	(void)cache;
	exit(0);
}

static void
use_and_exit(void *cache)
{
	put(cache, "child", 1);
	exit(0);
}

/* In another child: what is committed? */
static void
expect_not_committed(void *root)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);

	expect_missing(cache, "pending");
	need_ok(lc_close(cache));
}

/* However a child ends, the parent's pending record is committed once, by it. */
static void (*const endings[])(void *) = { do_nothing, only_close, only_discard,
	only_exit, use_and_exit };

START_TEST(child_ends)
{
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = make(root);

	ck_assert_int_eq(child_run(endings[_i], cache), 0);
	ck_assert_int_eq(child_run(expect_not_committed, (void *)(uintptr_t)root), 0);
	expect(cache, "pending", 1);
	put(cache, "more", 1);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect(cache, "stored", 1);
	expect(cache, "pending", 1);
	expect(cache, "more", 1);
	ck_assert_uint_eq(stats_of(cache).dead_records, 0);
	assert_ok(lc_close(cache));
}
END_TEST

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#endif

#ifndef UNDER_ASAN

/* ---- generations ----------------------------------------------------------- */

struct generation {
	lc_cache *cache;
	int depth;
};

static void
descend(void *ctx)
{
	struct generation *g = ctx;
	char mine[40];

	expect(g->cache, "stored", 1);
	if (g->depth > 0) {
		snprintf(mine, sizeof(mine), "pending of %d", g->depth + 1);
		expect_missing(g->cache, mine);
	}
	snprintf(mine, sizeof(mine), "pending of %d", g->depth);
	put(g->cache, mine, 1);
	if (g->depth > 0) {
		struct generation next = { g->cache, g->depth - 1 };
		need(child_run(descend, &next) == 0);
	}
	expect(g->cache, mine, 1);
	need_ok(lc_flush(g->cache));
}

START_TEST(nested_forks)
{
	struct generation first = { make(run_scratch()), 4 };
	uint64_t count;

	ck_assert_int_eq(child_run(descend, &first), 0);
	assert_ok(lc_count(first.cache, &count));
	ck_assert_uint_eq(count, 5 + 2);
	ck_assert_uint_eq(stats_of(first.cache).dead_records, 0);
	assert_ok(lc_close(first.cache));
}
END_TEST

/* ---- while other threads work ------------------------------------------------ */

struct busy {
	lc_cache *cache;
	atomic_bool stop;
	int number; /* of the child */
};

static void *
keep_flushing(void *ctx)
{
	struct busy *busy = ctx;
	char id[40];

	for (uint64_t i = 0; !atomic_load(&busy->stop); i++) {
		snprintf(id, sizeof(id), "busy %d", (int)(i % 50));
		put(busy->cache, id, i);
		expect(busy->cache, "stored", 1);
		if (i % 5 == 0)
			need_ok(lc_flush(busy->cache));
	}
	return NULL;
}

static void
use_while_busy(void *ctx)
{
	struct busy *busy = ctx;
	char id[40];

	/* A child that waits for a lock nobody will give back ends here. */
	alarm(120);
	expect(busy->cache, "stored", 1);
	snprintf(id, sizeof(id), "child %d", busy->number);
	put(busy->cache, id, 1);
	expect(busy->cache, id, 1);
	need_ok(lc_flush(busy->cache));
	need_ok(lc_close(busy->cache));
}

START_TEST(fork_while_a_thread_flushes)
{
	lc_options options = sample_options();
	const int times = (int)sample_times(100);
	struct busy busy = { .stop = false };
	lc_verify_result result;
	pthread_t threads[2];
	char id[40];

	options.flush_interval_ms = 1;
	options.flush_every = 20;
	busy.cache = sample_open(run_scratch(), "m", &options);
	put(busy.cache, "stored", 1);
	assert_ok(lc_flush(busy.cache));
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, keep_flushing,
		    &busy), 0);
	for (busy.number = 0; busy.number < times; busy.number++)
		ck_assert_int_eq(child_run(use_while_busy, &busy), 0);
	atomic_store(&busy.stop, true);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < times; i++) {
		snprintf(id, sizeof(id), "child %d", i);
		expect(busy.cache, id, 1);
	}
	assert_ok(lc_verify(busy.cache, NULL, &result));
	assert_ok(lc_close(busy.cache));
}
END_TEST

#endif /* UNDER_ASAN */

/* Two handles of one module share the environment; both cross the fork. */
static void
use_both(void *ctx)
{
	lc_cache **both = ctx;

	expect(both[0], "stored", 1);
	put(both[0], "from 0", 1);
	expect(both[1], "from 0", 1);
	need_ok(lc_flush(both[1]));
	need_ok(lc_close(both[0]));
	put(both[1], "from 1", 1);
	need_ok(lc_close(both[1]));
}

START_TEST(two_handles_cross)
{
	const char *root = run_scratch();
	lc_cache *both[2] = { make(root), sample_open(root, "m", NULL) };

	ck_assert_int_eq(child_run(use_both, both), 0);
	expect(both[0], "from 0", 1);
	expect(both[1], "from 1", 1);
	expect(both[0], "pending", 1);
	assert_ok(lc_close(both[0]));
	expect(both[1], "pending", 1);
	assert_ok(lc_close(both[1]));
}
END_TEST

/* A child may open the module anew while the inherited handle is there too. */
static void
open_anew(void *ctx)
{
	struct {
		const char *root;
		lc_cache *cache;
	} *given = ctx;
	const lc_options options = sample_options();
	lc_cache *mine = sample_open(given->root, "m", &options);

	expect(mine, "stored", 1);
	put(mine, "mine", 1);
	need_ok(lc_flush(mine));
	expect(given->cache, "mine", 1);
	need_ok(lc_close(mine));
	expect(given->cache, "mine", 1);
	need_ok(lc_close(given->cache));
}

START_TEST(child_opens_anew)
{
	const char *root = run_scratch();
	struct {
		const char *root;
		lc_cache *cache;
	} given = { root, make(root) };

	ck_assert_int_eq(child_run(open_anew, &given), 0);
	expect(given.cache, "mine", 1);
	expect(given.cache, "pending", 1);
	assert_ok(lc_close(given.cache));
}
END_TEST

/* ---- what changes between fork and use ------------------------------------- */

static void
go_elsewhere(void *cache)
{
	need(chdir("/") == 0);
	expect(cache, "stored", 1);
	put(cache, "child", 1);
	need_ok(lc_close(cache));
}

static void
open_by_relative_path(void *root)
{
	lc_cache *cache;

	need(chdir(root) == 0);
	cache = make("relative");
	need(child_run(go_elsewhere, cache) == 0);
	expect(cache, "child", 1);
	need_ok(lc_close(cache));
}

/* As daemons do. */
START_TEST(child_in_another_directory)
{
	ck_assert_int_eq(child_run(open_by_relative_path,
	    (void *)(uintptr_t)run_scratch()), 0);
}
END_TEST

static void
use_old_and_new(void *both)
{
	lc_cache *const *handles = both;
	lc_view view;

	need_status(lc_get(handles[0], "stored", 6, &view), LC_IO);
	need(strstr(lc_last_error()->text, "was replaced") != NULL);
	expect(handles[1], "new", 1);
	put(handles[1], "child", 1);
	need_ok(lc_close(handles[1]));
	need_ok(lc_close(handles[0]));
}

/* A handle stays with the file that it opened, and does not take what stands in
 * its place for that: one file must not be opened twice. */
START_TEST(module_replaced)
{
	const char *root = run_scratch();
	lc_cache *both[2] = { make(root), NULL };
	char *old, *moved;

	if (asprintf(&old, "%s/m", root) < 0 ||
	    asprintf(&moved, "%s/moved", root) < 0)
		abort();
	ck_assert_int_eq(rename(old, moved), 0);
	both[1] = sample_open(root, "m", NULL);
	put(both[1], "new", 1);
	assert_ok(lc_flush(both[1]));
	ck_assert_int_eq(child_run(use_old_and_new, both), 0);
	expect(both[0], "stored", 1);
	expect_missing(both[0], "child");
	expect(both[1], "child", 1);
	assert_ok(lc_close(both[0]));
	assert_ok(lc_close(both[1]));
	free(old);
	free(moved);
}
END_TEST

/* Slots of readers that are gone are not in use. */
START_TEST(child_leaves_no_reader)
{
	lc_cache *cache = make(run_scratch());

	expect(cache, "stored", 1);
	ck_assert_uint_eq(stats_of(cache).readers, 1);
	ck_assert_int_eq(child_run(use_in_child, cache), 0);
	ck_assert_uint_eq(stats_of(cache).readers, 1);
	ck_assert_uint_eq(stats_of(cache).max_readers, 1024);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fork");
	TCase *tc = tcase_create("fork");

	tcase_set_timeout(tc, 900);
	tcase_add_test(tc, child_uses_and_closes);
	tcase_add_loop_test(tc, child_ends, 0,
	    sizeof(endings) / sizeof(endings[0]));
	/* AddressSanitizer's own allocator may be locked for ever in such a child, and
	 * for valgrind what the parent's thread had in hand at the fork is lost there. */
#ifndef UNDER_ASAN
	tcase_add_test(tc, nested_forks);
	if (getenv("T_SLOW") == NULL)
		tcase_add_test(tc, fork_while_a_thread_flushes);
#endif
	tcase_add_test(tc, two_handles_cross);
	tcase_add_test(tc, child_opens_anew);
	tcase_add_test(tc, child_in_another_directory);
	tcase_add_test(tc, module_replaced);
	tcase_add_test(tc, child_leaves_no_reader);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
