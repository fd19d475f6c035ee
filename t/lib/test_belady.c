/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies that are fetched ahead and evicted by what comes, against a slow model of Belady's
 * rule; ranks that share a directory. */
#include "run.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "need.h"
#include "odd_store.h"
#include "order/shuffle.h"
#include "remote/ahead.h"

#define KIB ((uint64_t)1 << 10)

static struct odd_store store;
static char dir[4000];

static void
make_store(size_t n, uint64_t size, uint64_t most)
{
	char path[4000];

	snprintf(path, sizeof(path), "%s/store", run_scratch());
	snprintf(dir, sizeof(dir), "%s/copies", run_scratch());
	odd_store_make(&store, path, n, size, most, run_seed());
}

/* ---- a future -------------------------------------------------------------------------- */

/* In each epoch objects first to first + n - 1 are needed once each, one a position, in
 * another order. */
struct epochs {
	uint64_t first, n, seed;
	_Atomic uint64_t asked; /* of find() */
};

static uint64_t
object_at(const struct epochs *e, uint64_t position)
{
	const uint64_t words[] = { e->seed, position / e->n };
	struct lc__permutation order;

	lc__permutation_init(&order, e->n, lc__key(words, 2));
	return e->first + lc__permute(&order, position % e->n);
}

static bool
next(void *ctx, uint64_t now, uint64_t k, uint64_t *object, uint64_t *position)
{
	*position = now + k;
	*object = object_at(ctx, now + k);
	return true;
}

static uint64_t
when(void *ctx, uint64_t object, uint64_t now)
{
	while (object_at(ctx, now) != object)
		now++;
	return now;
}

static lc_status
find(void *ctx, uint64_t object, struct lc__wanted *out, struct lc__copies **copies)
{
	struct epochs *e = ctx;

	(void)copies;

	atomic_fetch_add(&e->asked, 1);
	*out = odd_wanted(&store, (size_t)object);
	return LC_OK;
}

static struct lc__future
future_of(struct epochs *e)
{
	return (struct lc__future){ next, when, find, e };
}

/* ---- the model ------------------------------------------------------------------------- */

/* Fetches over so many positions, of objects of one size, with room for so many. */
static uint64_t
belady(const struct epochs *e, uint64_t positions, uint64_t room, bool lru)
{
	uint64_t *used = calloc(e->n, sizeof(*used)); /* position + 1; 0: not there */
	uint64_t fetched = 0, has = 0;

	for (uint64_t t = 0; t < positions; t++) {
		const uint64_t object = object_at(e, t) - e->first;
		uint64_t victim = e->n, farthest = 0;

		if (used[object] == 0) {
			fetched++;
			for (uint64_t i = 0; i < e->n && has == room; i++) {
				const uint64_t far = used[i] == 0 ? 0
				    : lru ? positions + 1 - used[i]
					  : when((void *)(uintptr_t)e, e->first + i, t);

				if (far > farthest) {
					farthest = far;
					victim = i;
				}
			}
			if (has == room)
				used[victim] = 0;
			else
				has++;
		}
		used[object] = t + 1;
	}
	free(used);
	return fetched;
}

/* ---- one reader ------------------------------------------------------------------------- */

/* Read so many positions; each is settled first if @p settle. */
static void
read_all(struct lc__ahead *a, struct lc__copies *copies, const struct epochs *e,
    uint64_t from, uint64_t positions, bool settle)
{
	struct lc__copy copy;

	for (uint64_t t = from; t < from + positions; t++) {
		const uint64_t object = object_at(e, t);

		lc__ahead_move(a, t);
		if (settle)
			need(lc__ahead_settle(a, 60000));
		need_ok(lc__ahead_take(a, object, &copy));
		need(odd_same(&store, (size_t)object, copy.path));
		lc__copies_give(copies, &copy);
	}
}

START_TEST(equals_belady)
{
	uint64_t seed = run_seed();

	make_store(24, 4 * KIB, 4 * KIB);
	for (uint64_t room = 1; room <= 24; room += 1 + run_random(&seed) % 6) {
		struct epochs e = { .n = 24, .seed = run_random(&seed) };
		const struct lc__future future = future_of(&e);
		const uint64_t want = belady(&e, 24 * 6, room, false);
		char path[4200];
		struct lc__copies *copies;
		struct lc__ahead *a;

		snprintf(path, sizeof(path), "%s%llu", dir, (unsigned long long)room);
		assert_ok(lc__copies_open(path, room * 4 * KIB, false, &store.objects,
		    &copies));
		assert_ok(lc__ahead_open(copies, &future, 0, 0, 0, &a));
		read_all(a, copies, &e, 0, 24 * 6, false);
		printf("# room for %llu of 24: %llu fetched, LRU %llu\n",
		    (unsigned long long)room, (unsigned long long)want,
		    (unsigned long long)belady(&e, 24 * 6, room, true));
		ck_assert_uint_eq(atomic_load(&lc__copies_stats(copies)->fetched), want);
		ck_assert_uint_eq(atomic_load(&lc__copies_stats(copies)->bytes),
		    want * 4 * KIB);
		ck_assert_uint_eq(atomic_load(&lc__ahead_stats(a)->stalls), want);
		lc__ahead_close(a);
		lc__copies_close(copies);
	}
	odd_store_free(&store);
}
END_TEST

START_TEST(ahead_costs_little)
{
	uint64_t seed = run_seed(), all = 0, best = 0;

	make_store(60, 4 * KIB, 4 * KIB);
	for (uint64_t room = 15; room <= 55; room += 10) {
		struct epochs e = { .n = 60, .seed = run_random(&seed) };
		const struct lc__future future = future_of(&e);
		const uint64_t want = belady(&e, 60 * 6, room, false);
		struct lc__copies_stats *stats;
		struct lc__copies *copies;
		char path[4200];
		struct lc__ahead *a;

		snprintf(path, sizeof(path), "%s%llu", dir, (unsigned long long)room);
		assert_ok(lc__copies_open(path, room * 4 * KIB, false, &store.objects,
		    &copies));
		assert_ok(lc__ahead_open(copies, &future, 0, 3, 2, &a));
		read_all(a, copies, &e, 0, 60 * 6, true);
		/* Nothing is waited for, and nothing is fetched much more often. */
		stats = lc__copies_stats(copies);
		printf("# room for %llu of 60: %llu fetched, Belady %llu, LRU %llu; "
		       "stalls %llu\n",
		    (unsigned long long)room, (unsigned long long)stats->fetched,
		    (unsigned long long)want,
		    (unsigned long long)belady(&e, 60 * 6, room, true),
		    (unsigned long long)lc__ahead_stats(a)->stalls);
		ck_assert_uint_eq(lc__ahead_stats(a)->stalls, 0);
		all += stats->fetched;
		best += want;
		lc__ahead_close(a);
		lc__copies_close(copies);
	}
	ck_assert_msg(100 * all <= 103 * best, "%llu fetched, %llu at best",
	    (unsigned long long)all, (unsigned long long)best);
	odd_store_free(&store);
}
END_TEST

/* What is there from a run before is known from the beginning. */
START_TEST(warm)
{
	struct epochs e = { .n = 24, .seed = run_seed() };
	const struct lc__future future = future_of(&e);
	const uint64_t want = belady(&e, 24 * 6, 15, false);
	uint64_t fetched = 0;
	struct lc__copies *copies;
	struct lc__ahead *a;

	make_store(24, 4 * KIB, 4 * KIB);
	for (uint64_t run = 0; run < 2; run++) {
		assert_ok(lc__copies_open(dir, 60 * KIB, false, &store.objects, &copies));
		assert_ok(lc__ahead_open(copies, &future, run * 72, 0, 0, &a));
		read_all(a, copies, &e, run * 72, 72, false);
		fetched += lc__copies_stats(copies)->fetched;
		lc__ahead_close(a);
		lc__copies_close(copies);
	}
	ck_assert_uint_eq(fetched, want);
	odd_store_free(&store);
}
END_TEST

/* A fetch ahead that fails is not an error of the reader, whose own may be. */
START_TEST(store_fails)
{
	struct epochs e = { .n = 8, .seed = run_seed() };
	const struct lc__future future = future_of(&e);
	struct lc__copies *copies;
	struct lc__copy copy;
	struct lc__ahead *a;

	make_store(8, 4 * KIB, 4 * KIB);
	assert_ok(lc__copies_open(dir, 32 * KIB, false, &store.objects, &copies));
	atomic_store(&store.shared->fail_at, 2);
	assert_ok(lc__ahead_open(copies, &future, 0, 4, 1, &a));
	ck_assert(lc__ahead_settle(a, 60000));
	read_all(a, copies, &e, 0, 8, true);
	ck_assert_uint_eq(lc__ahead_stats(a)->failed, 1);
	lc__ahead_close(a);
	assert_ok(lc__copies_drop(copies, store.all[object_at(&e, 8)].name, NULL));
	assert_ok(lc__ahead_open(copies, &future, 8, 0, 0, &a));
	atomic_store(&store.shared->fail_at, (int64_t)store.shared->calls + 1);
	assert_status(lc__ahead_take(a, object_at(&e, 8), &copy), LC_IO);
	read_all(a, copies, &e, 8, 8, false);
	lc__ahead_close(a);
	lc__copies_close(copies);
	odd_store_free(&store);
}
END_TEST

/* ---- ranks ------------------------------------------------------------------------------ */

#define RANKS 3
#define EACH 16u

static _Atomic bool stop;

static void *
check_limit(void *ctx)
{
	while (!atomic_load(&stop))
		need(odd_disk(dir) <= *(uint64_t *)ctx);
	return NULL;
}

struct rank {
	struct epochs e;
	uint64_t limit;
};

static void
read_as_rank(void *ctx)
{
	struct rank *r = ctx;
	const struct lc__future future = future_of(&r->e);
	struct lc__copies *copies;
	struct lc__ahead *a;

	need_ok(lc__copies_open(dir, r->limit, false, &store.objects, &copies));
	need_ok(lc__ahead_open(copies, &future, 0, 3, 2, &a));
	read_all(a, copies, &r->e, 0, r->e.n * 5, false);
	lc__ahead_close(a);
	lc__copies_close(copies);
}

/* Each has objects of its own, and two with the next one; the first is killed, and bytes are
 * damaged on the way. */
START_TEST(ranks)
{
	uint64_t seed = run_seed(), limit = 30 * 8 * KIB;
	struct rank rank[RANKS];
	pthread_t checker;
	pid_t child[RANKS];

	make_store(RANKS * EACH, 4 * KIB, 8 * KIB);
	atomic_store(&store.shared->flip_at, (int64_t)(1 + run_random(&seed) % 60));
	atomic_store(&store.shared->slow_ns, 100000);
	for (int i = 0; i < RANKS; i++)
		rank[i] = (struct rank){
			{ .first = (uint64_t)i * EACH,
				.n = i == RANKS - 1 ? EACH : EACH + 2,
				.seed = run_random(&seed) },
			limit,
		};
	for (int i = 0; i < RANKS; i++)
		child[i] = child_start(read_as_rank, &rank[i]);
	pthread_create(&checker, NULL, check_limit, &limit);
	while (atomic_load(&store.shared->calls) < 40)
		usleep(1000);
	kill(child[0], SIGKILL);
	for (int i = 0; i < RANKS; i++) {
		const int status = child_wait(child[i]);

		ck_assert(status == 0 || (i == 0 && status == 128 + SIGKILL));
	}
	atomic_store(&stop, true);
	pthread_join(checker, NULL);
	/* The directory is as good as before. */
	ck_assert_int_eq(child_run(read_as_rank, &rank[0]), 0);
	odd_store_free(&store);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("belady");
	TCase *one = tcase_create("one");

	tcase_set_timeout(one, 120);
	tcase_add_test(one, equals_belady);
	tcase_add_test(one, ahead_costs_little);
	tcase_add_test(one, warm);
	tcase_add_test(one, store_fails);
	tcase_add_test(one, ranks);
	suite_add_tcase(s, one);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
