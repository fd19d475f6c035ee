/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys that threads compute for one another: who claims, who waits, what comes. */
#include "run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "need.h"
#include "sample.h"
#include "store/inflight.h"

/* All keys have few hashes, so that only the bytes tell them apart. */
static void
want_keys(struct lc__want *wants, const char *const *keys, size_t n)
{
	memset(wants, 0, n * sizeof(*wants));
	for (size_t i = 0; i < n; i++) {
		wants[i].at = i;
		wants[i].id = lc_id_of(keys[i]);
		wants[i].hash = strlen(keys[i]) % 2;
	}
}

/* One call of one key, as far as its claim. */
struct one {
	struct lc__inflight_call call;
	struct lc__want want;
};

static void
claim(struct lc__inflight *inflight, struct one *one, const char *key)
{
	memset(one, 0, sizeof(*one));
	want_keys(&one->want, &key, 1);
	need_ok(lc__inflight_claim(inflight, &one->call, &one->want, 1));
}

/* Publish a block that holds one byte; 0 publishes none. */
static void
publish(struct lc__inflight *inflight, struct one *one, unsigned char byte)
{
	if (byte != 0) {
		struct lc__block *block = lc__block_new(1);

		need(block != NULL);
		block->data[0] = byte;
		lc__inflight_set(&one->want, (struct lc__inflight_outcome){ block, &one->want });
		lc__block_drop(block);
	}
	lc__inflight_publish(inflight, &one->want, 1);
}

/* The byte that comes of a want, 0 without a block. */
static unsigned char
await(struct lc__inflight *inflight, struct one *one)
{
	struct lc__inflight_outcome outcome;

	need_ok(lc__inflight_wait(inflight, &one->call, &one->want, UINT64_MAX,
	    &outcome));
	return outcome.block != NULL ? outcome.block->data[0] : 0;
}

static void
leave(struct lc__inflight *inflight, struct one *one)
{
	lc__inflight_leave(inflight, &one->want, 1);
}

START_TEST(the_first_claims_and_its_repeats_share)
{
	static const char *const keys[] = { "a", "b", "a", "ccc", "b", "a" };
	static const size_t first[] = { 0, 1, 0, 3, 1, 0 };
	static const char *const others[] = { "b", "d", "b", "d" };
	struct lc__inflight *inflight = lc__inflight_new();
	struct lc__inflight_call call = { 0 }, other = { 0 };
	struct lc__want wants[6], theirs[4];

	want_keys(wants, keys, 6);
	assert_ok(lc__inflight_claim(inflight, &call, wants, 6));
	for (int i = 0; i < 6; i++) {
		ck_assert(wants[i].mine);
		ck_assert_uint_eq(wants[i].first, first[i]);
	}
	ck_assert_ptr_eq(wants[0].claim, wants[2].claim);
	ck_assert_ptr_eq(wants[0].claim, wants[5].claim);
	ck_assert_ptr_eq(wants[1].claim, wants[4].claim);
	ck_assert_ptr_ne(wants[0].claim, wants[3].claim);

	/* b is the other's; d is new. */
	want_keys(theirs, others, 4);
	assert_ok(lc__inflight_claim(inflight, &other, theirs, 4));
	ck_assert(!theirs[0].mine && theirs[0].first == 0);
	ck_assert(theirs[1].mine && theirs[1].first == 1);
	ck_assert(!theirs[2].mine && theirs[2].first == 0);
	ck_assert(theirs[3].mine && theirs[3].first == 1);
	ck_assert_ptr_eq(theirs[2].claim, wants[1].claim);

	lc__inflight_publish(inflight, wants, 6);
	lc__inflight_publish(inflight, theirs, 4);
	lc__inflight_leave(inflight, wants, 6);
	lc__inflight_leave(inflight, theirs, 4);
	lc__inflight_free(inflight);
}
END_TEST

START_TEST(what_is_over_can_be_claimed_again)
{
	struct lc__inflight *inflight = lc__inflight_new();
	uint64_t number = lc__inflight_number(inflight);
	struct one first, second;

	claim(inflight, &first, "key");
	ck_assert_uint_eq(lc__inflight_number(inflight), number);
	publish(inflight, &first, 7);
	ck_assert_uint_ne(lc__inflight_number(inflight), number);
	claim(inflight, &second, "key");
	ck_assert(second.want.mine);
	/* The first is still to be read. */
	ck_assert_uint_eq(await(inflight, &first), 7);
	leave(inflight, &first);
	publish(inflight, &second, 0);
	ck_assert_uint_eq(await(inflight, &second), 0);
	leave(inflight, &second);
	lc__inflight_free(inflight);
}
END_TEST

#define MANY 3000

START_TEST(many_keys_at_once)
{
	struct lc__inflight *inflight = lc__inflight_new();
	struct lc__inflight_call call = { 0 }, other = { 0 };
	struct lc__want *wants = calloc(2 * MANY, sizeof(*wants));
	static char keys[MANY][16];

	for (size_t i = 0; i < 2 * MANY; i++) {
		sprintf(keys[i % MANY], "%zu", i % MANY);
		wants[i].id = lc_id_of(keys[i % MANY]);
		wants[i].hash = i % MANY * 0x9E3779B97F4A7C15u;
	}
	/* A few first, so that the table grows with claims in it. */
	assert_ok(lc__inflight_claim(inflight, &call, wants, 10));
	assert_ok(lc__inflight_claim(inflight, &other, wants + 10,
	    2 * MANY - 10));
	for (size_t i = 10; i < 2 * MANY; i++) {
		const bool theirs = i >= MANY && i < MANY + 10;

		ck_assert_int_eq(wants[i].mine, !theirs);
		ck_assert_uint_eq(wants[i].first,
		    (i >= MANY + 10 ? i - MANY : i) - 10);
		if (i >= MANY)
			ck_assert_ptr_eq(wants[i].claim, wants[i - MANY].claim);
	}
	lc__inflight_publish(inflight, wants + 10, 2 * MANY - 10);
	lc__inflight_publish(inflight, wants, 10);
	lc__inflight_leave(inflight, wants, 2 * MANY);
	free(wants);
	lc__inflight_free(inflight);
}
END_TEST

/* ---- between threads -------------------------------------------------------- */

/* Some threads and the steps at which all of them meet. */
struct meeting {
	struct lc__inflight *inflight;
	pthread_barrier_t barrier;
	atomic_uint refused; /* waits that were */
	atomic_uint given;   /* that got a block */
	atomic_uint number;  /* given to each thread */
	unsigned threads;
};

static void
meet(struct meeting *meeting)
{
	pthread_barrier_wait(&meeting->barrier);
}

static void
run_meeting(struct meeting *meeting, unsigned n, void *(*fn)(void *))
{
	pthread_t threads[16];

	meeting->inflight = lc__inflight_new();
	meeting->threads = n;
	pthread_barrier_init(&meeting->barrier, NULL, n);
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fn, meeting), 0);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&meeting->barrier);
	lc__inflight_free(meeting->inflight);
}

/* One computes, after all others have found its claim. */
static void *
one_for_all(void *arg)
{
	struct meeting *meeting = arg;
	struct one one;
	unsigned mine;

	if (atomic_fetch_add(&meeting->number, 1) == 0) {
		claim(meeting->inflight, &one, "key");
		need(one.want.mine);
		meet(meeting);
		meet(meeting);
		publish(meeting->inflight, &one, 42);
		mine = await(meeting->inflight, &one);
	} else {
		meet(meeting);
		claim(meeting->inflight, &one, "key");
		need(!one.want.mine);
		meet(meeting);
		mine = await(meeting->inflight, &one);
	}
	need(mine == 42);
	leave(meeting->inflight, &one);
	return NULL;
}

START_TEST(all_get_what_one_publishes)
{
	struct meeting meeting = { .number = 0 };

	run_meeting(&meeting, 8, one_for_all);
}
END_TEST

/* Each claims its own key and then wants its neighbour's, publishing first: there
 * is no order in which that could hang. */
static void *
crossing(void *arg)
{
	struct meeting *meeting = arg;
	const unsigned me = atomic_fetch_add(&meeting->number, 1);
	char own[16], next[16];
	const char *keys[2] = { own, next };
	struct lc__inflight_call call = { 0 };
	struct lc__want wants[2];
	struct lc__inflight_outcome outcome;
	struct lc__block *block = lc__block_new(1);

	sprintf(own, "%u", me);
	sprintf(next, "%u", (me + 1) % meeting->threads);
	want_keys(wants, keys, 2);
	need_ok(lc__inflight_claim(meeting->inflight, &call, wants, 1));
	meet(meeting);
	need_ok(lc__inflight_claim(meeting->inflight, &call, wants + 1, 1));
	need(wants[0].mine && !wants[1].mine);
	meet(meeting);
	block->data[0] = (unsigned char)me;
	lc__inflight_set(&wants[0], (struct lc__inflight_outcome){ block, NULL });
	lc__block_drop(block);
	lc__inflight_publish(meeting->inflight, wants, 2);
	need_ok(lc__inflight_wait(meeting->inflight, &call, &wants[1], UINT64_MAX,
	    &outcome));
	need(outcome.block->data[0] == (me + 1) % meeting->threads);
	lc__inflight_leave(meeting->inflight, wants, 2);
	return NULL;
}

START_TEST(crossing_claims_do_not_hang)
{
	struct meeting meeting = { .number = 0 };

	run_meeting(&meeting, 8, crossing);
}
END_TEST

/* Each wants its neighbour's key while it computes its own: one must be refused,
 * and then all others get on. */
static void *
circle(void *arg)
{
	struct meeting *meeting = arg;
	const unsigned me = atomic_fetch_add(&meeting->number, 1);
	char own[16], next[16];
	struct one outer, inner;
	struct lc__inflight_outcome outcome;
	lc_status status;

	sprintf(own, "%u", me);
	sprintf(next, "%u", (me + 1) % meeting->threads);
	claim(meeting->inflight, &outer, own);
	meet(meeting);
	claim(meeting->inflight, &inner, next);
	meet(meeting);
	lc__inflight_publish(meeting->inflight, &inner.want, 1);
	status = lc__inflight_wait(meeting->inflight, &inner.call, &inner.want, UINT64_MAX,
	    &outcome);
	if (status == LC_OK) {
		need(outcome.block->data[0] ==
		    1 + (me + 1) % meeting->threads);
		atomic_fetch_add(&meeting->given, 1);
	} else {
		need(status == LC_INVALID);
		need(strstr(lc_last_error()->text, next) != NULL);
		atomic_fetch_add(&meeting->refused, 1);
	}
	leave(meeting->inflight, &inner);
	publish(meeting->inflight, &outer, (unsigned char)(1 + me));
	leave(meeting->inflight, &outer);
	return NULL;
}

static const unsigned circles[] = { 1, 2, 3, 8 };

START_TEST(a_circle_is_refused_once)
{
	struct meeting meeting = { .number = 0 };

	run_meeting(&meeting, circles[_i], circle);
	ck_assert_uint_eq(meeting.refused, 1);
	ck_assert_uint_eq(meeting.given, circles[_i] - 1);
}
END_TEST

/* ---- a fork while keys are computed ------------------------------------------ */

static void *
hold_other(void *arg)
{
	struct meeting *meeting = arg;
	struct one one;

	claim(meeting->inflight, &one, "theirs");
	meet(meeting);
	meet(meeting);
	publish(meeting->inflight, &one, 5);
	leave(meeting->inflight, &one);
	return NULL;
}

/* In the child nobody else computes: its wait ends, its own claim stands. */
static void
go_on_in_child(struct meeting *meeting, struct one *own, struct one *theirs)
{
	struct one again;

	lc__inflight_after_fork_child(meeting->inflight);
	claim(meeting->inflight, &again, "own");
	need(!again.want.mine);
	publish(meeting->inflight, own, 9);
	need(await(meeting->inflight, &again) == 9);
	leave(meeting->inflight, &again);
	need(await(meeting->inflight, theirs) == 0);
	leave(meeting->inflight, theirs);
	claim(meeting->inflight, theirs, "theirs");
	need(theirs->want.mine);
	publish(meeting->inflight, theirs, 0);
	leave(meeting->inflight, theirs);
	leave(meeting->inflight, own);
	lc__inflight_free(meeting->inflight);
	_exit(0);
}

START_TEST(a_child_gives_up_what_others_compute)
{
	struct meeting meeting = { .inflight = lc__inflight_new() };
	struct one own, theirs;
	pthread_t thread;
	pid_t pid;

	pthread_barrier_init(&meeting.barrier, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, hold_other, &meeting), 0);
	meet(&meeting);
	claim(meeting.inflight, &own, "own");
	claim(meeting.inflight, &theirs, "theirs");
	lc__inflight_before_fork(meeting.inflight);
	pid = fork();
	if (pid == 0)
		go_on_in_child(&meeting, &own, &theirs);
	lc__inflight_after_fork_parent(meeting.inflight);
	ck_assert_int_eq(child_wait(pid), 0);
	publish(meeting.inflight, &own, 1);
	meet(&meeting);
	ck_assert_uint_eq(await(meeting.inflight, &theirs), 5);
	leave(meeting.inflight, &theirs);
	leave(meeting.inflight, &own);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&meeting.barrier);
	lc__inflight_free(meeting.inflight);
}
END_TEST

/* ---- random ------------------------------------------------------------------ */

#define KEYS 12
#define ROUNDS 2000

static atomic_int computing[KEYS]; /* threads that are at a key: never two */

static void
compute_round(struct meeting *meeting, uint64_t *seed)
{
	static const char *const names[KEYS] = { "a", "b", "c", "d", "e", "f",
		"g", "h", "i", "j", "k", "l" };
	struct lc__inflight_call call = { 0 };
	struct lc__want wants[6];
	const char *keys[6];
	const size_t n = 1 + run_random(seed) % 6;

	for (size_t i = 0; i < n; i++)
		keys[i] = names[run_random(seed) % KEYS];
	want_keys(wants, keys, n);
	need_ok(lc__inflight_claim(meeting->inflight, &call, wants, n));
	for (size_t i = 0; i < n; i++) {
		const int k = keys[i][0] - 'a';
		struct lc__block *block;

		if (!wants[i].mine || wants[i].first != i)
			continue;
		need(atomic_fetch_add(&computing[k], 1) == 0);
		atomic_fetch_sub(&computing[k], 1);
		if (run_random(seed) % 4 == 0)
			continue;
		block = lc__block_new(1);
		block->data[0] = (unsigned char)keys[i][0];
		lc__inflight_set(&wants[i], (struct lc__inflight_outcome){ block, keys });
		lc__block_drop(block);
	}
	lc__inflight_publish(meeting->inflight, wants, n);
	for (size_t i = 0; i < n; i++) {
		struct lc__inflight_outcome outcome;

		need_ok(lc__inflight_wait(meeting->inflight, &call, &wants[i], UINT64_MAX,
		    &outcome));
		need(outcome.block == NULL ||
		    outcome.block->data[0] == (unsigned char)keys[i][0]);
	}
	lc__inflight_leave(meeting->inflight, wants, n);
}

static void *
random_thread(void *arg)
{
	struct meeting *meeting = arg;
	uint64_t seed = run_seed() + atomic_fetch_add(&meeting->number, 1);

	for (unsigned i = sample_times(ROUNDS); i > 0; i--)
		compute_round(meeting, &seed);
	return NULL;
}

START_TEST(random_calls_agree)
{
	struct meeting meeting = { .number = 0 };

	run_meeting(&meeting, 8, random_thread);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("inflight");
	TCase *tc = tcase_create("inflight");

	run_seed();
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, the_first_claims_and_its_repeats_share);
	tcase_add_test(tc, what_is_over_can_be_claimed_again);
	tcase_add_test(tc, many_keys_at_once);
	tcase_add_test(tc, all_get_what_one_publishes);
	tcase_add_test(tc, crossing_claims_do_not_hang);
	tcase_add_loop_test(tc, a_circle_is_refused_once, 0,
	    sizeof(circles) / sizeof(circles[0]));
	tcase_add_test(tc, a_child_gives_up_what_others_compute);
	tcase_add_test(tc, random_calls_agree);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
