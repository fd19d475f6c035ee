/* SPDX-License-Identifier: BSD-2-Clause */
/* kill -9 at any moment: what was acknowledged is there, the rest whole or absent. */
#include "run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define KEYS 120
#define OPS 24       /* writes a batch */
#define POINTS 220   /* kills, together */
#define ROUNDS 11    /* modules that they are spread over */

static const struct sample_range sizes = { 0, 6000 };

/* The writes of batch number b follow from the seed: both processes know them. */
struct op {
	unsigned key;
	uint64_t version; /* 0: a delete */
};

static void
batch_ops(struct op ops[OPS], uint64_t seed, uint64_t batch)
{
	uint64_t random = seed ^ (batch * 0x9E3779B97F4A7C15u);

	for (unsigned i = 0; i < OPS; i++) {
		ops[i].key = (unsigned)(run_random(&random) % KEYS);
		ops[i].version = run_random(&random) % 5 == 0 ? 0 :
		    1 + batch * OPS + i;
	}
}

struct state {
	uint64_t versions[KEYS]; /* 0: not stored */
};

static void
apply(struct state *state, const struct op *ops, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		state->versions[ops[i].key] = ops[i].version;
}

struct writer {
	const char *root;
	lc_options options;
	uint64_t seed, first; /* the first batch to write */
	int acks[2];
};

static void
do_op(lc_cache *cache, const struct op *op)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, op->key);
	lc_status status;

	if (op->version != 0) {
		need_ok(sample_put(cache, id, size, op->version, sizes));
		return;
	}
	status = lc_delete(cache, id, size);
	need(status == LC_OK || status == LC_NOT_FOUND);
}

/* Write until killed: one byte a flush that has returned. */
static void
write_for_ever(void *ctx)
{
	struct writer *w = ctx;
	lc_cache *cache = sample_open(w->root, "m", &w->options);
	struct op ops[OPS];

	for (uint64_t batch = w->first;; batch++) {
		batch_ops(ops, w->seed, batch);
		for (unsigned i = 0; i < OPS; i++)
			do_op(cache, &ops[i]);
		need_ok(lc_flush(cache));
		need(write(w->acks[1], "x", 1) == 1);
	}
}

/* Let the child acknowledge some flushes, kill it a little later, count them all. */
static uint64_t
run_and_kill(struct writer *w, uint64_t *random)
{
	uint64_t wait_for = run_random(random) % 4, acks = 0;
	pid_t pid;
	char byte;
	int status;

	ck_assert_int_eq(pipe(w->acks), 0);
	pid = child_start(write_for_ever, w);
	close(w->acks[1]);
	while (acks < wait_for && read(w->acks[0], &byte, 1) == 1)
		acks++;
	usleep((useconds_t)(run_random(random) % 3000));
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	while (read(w->acks[0], &byte, 1) == 1)
		acks++;
	close(w->acks[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
	    "the writer ended by itself");
	return acks;
}

static bool
stored_is(lc_cache *cache, unsigned key, uint64_t version)
{
	char id[SAMPLE_ID_ROOM];
	const size_t size = sample_id(id, key);
	lc_view view;
	lc_status status = lc_get(cache, id, size, &view);
	bool same;

	if (version == 0 || status != LC_OK) {
		ck_assert_msg(status == LC_OK || status == LC_NOT_FOUND, "%s",
		    lc_last_error()->text);
		if (status == LC_OK)
			lc_view_release(&view);
		return version == 0 && status == LC_NOT_FOUND;
	}
	same = sample_is(&view.tensor, id, size, version, sizes);
	lc_view_release(&view);
	return same;
}

static bool
module_is(lc_cache *cache, const struct state *state)
{
	uint64_t count, live = 0;

	for (unsigned i = 0; i < KEYS; i++)
		if (!stored_is(cache, i, state->versions[i]))
			return false;
	for (unsigned i = 0; i < KEYS; i++)
		live += state->versions[i] != 0;
	ck_assert_int_eq(lc_count(cache, &count), LC_OK);
	ck_assert_uint_eq(count, live);
	return true;
}

/* The module holds all acknowledged batches and the first n writes of the next, where
 * n is all or nothing unless commits happen in between. True if the next is whole. */
static bool
check_module(struct writer *w, struct state *state, uint64_t next)
{
	const bool between = w->options.flush_every < OPS ||
	    w->options.chunk_bytes < OPS * sizes.max;
	lc_cache *cache = sample_open(w->root, "m", &w->options);
	lc_verify_result result;
	struct op ops[OPS];
	struct state with;
	unsigned n;

	assert_ok(lc_verify(cache, NULL, &result));
	batch_ops(ops, w->seed, next);
	for (n = 0; n <= OPS; n += between ? 1 : OPS) {
		with = *state;
		apply(&with, ops, n);
		if (module_is(cache, &with))
			break;
	}
	ck_assert_msg(n <= OPS, "after batch %llu: neither it nor the next",
	    (unsigned long long)next);
	*state = with;
	assert_ok(lc_close(cache));
	return n == OPS;
}

/* Commits of a batch each; of 5 writes; of one write; by time too. */
static const uint64_t flush_every[] = { 100000, 5, 1, 100000 };

START_TEST(killed_while_writing)
{
	struct writer w = { .root = run_scratch(), .options = sample_options() };
	uint64_t random = run_seed() + (uint64_t)_i;
	const unsigned points = sample_times(POINTS / ROUNDS);
	struct state state = { { 0 } };
	struct op ops[OPS];

	w.seed = run_random(&random);
	w.options.flush_every = flush_every[_i % 4];
	if (_i % 3 == 2)
		w.options.chunk_bytes = 65536;
	for (unsigned i = 0; i < points; i++) {
		for (uint64_t acks = run_and_kill(&w, &random); acks > 0; acks--) {
			batch_ops(ops, w.seed, w.first++);
			apply(&state, ops, OPS);
		}
		w.first += check_module(&w, &state, w.first);
	}
	ck_assert_uint_gt(w.first, 0);
}
END_TEST

/* ---- making a module ------------------------------------------------------- */

static void
make_modules(void *ctx)
{
	struct writer *w = ctx;
	char name[20];

	for (int i = 0;; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		lc_discard(sample_open(w->root, name, NULL));
		need(write(w->acks[1], "x", 1) == 1);
	}
}

/* A module whose making was cut off opens as a new one. */
START_TEST(killed_while_making_modules)
{
	uint64_t random = run_seed() + 77;

	for (unsigned i = sample_times(60); i > 0; i--) {
		struct writer w = { .root = run_scratch() };
		char name[20], byte;
		int made = 0;
		pid_t pid;

		ck_assert_int_eq(pipe(w.acks), 0);
		pid = child_start(make_modules, &w);
		close(w.acks[1]);
		usleep((useconds_t)(run_random(&random) % 12000));
		ck_assert_int_eq(kill(pid, SIGKILL), 0);
		while (read(w.acks[0], &byte, 1) == 1)
			made++;
		close(w.acks[0]);
		ck_assert_int_eq(child_wait(pid), 128 + SIGKILL);
		for (int m = made; m >= 0; m--) {
			lc_verify_result result;
			lc_cache *cache;

			snprintf(name, sizeof(name), "m%d", m);
			cache = sample_open(w.root, name, NULL);
			assert_ok(sample_put(cache, "k", 1, 1, SAMPLE_SMALL));
			assert_ok(lc_flush(cache));
			assert_ok(lc_verify(cache, NULL, &result));
			assert_ok(lc_close(cache));
		}
	}
}
END_TEST

/* ---- two writers, one killed ------------------------------------------------- */

/* The other process goes on writing while its neighbour dies with the lock held. */
START_TEST(killed_beside_another_writer)
{
	struct writer w = { .root = run_scratch(), .options = sample_options() };
	lc_cache *cache = sample_open(w.root, "m", &w.options);
	uint64_t random = run_seed() + 99, version = 0;
	const unsigned points = sample_times(30);

	w.seed = run_random(&random);
	for (unsigned i = 0; i < points; i++) {
		w.first += run_and_kill(&w, &random);
		assert_ok(sample_put(cache, "survivor", 8, ++version, SAMPLE_SMALL));
		assert_ok(lc_flush(cache));
	}
	assert_ok(lc_close(cache));
	cache = sample_open(w.root, "m", &w.options);
	lc_tensor got;
	assert_ok(lc_get_copy(cache, "survivor", 8, &got));
	ck_assert(sample_is(&got, "survivor", 8, version, SAMPLE_SMALL));
	lc_tensor_free(&got);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("crash");
	TCase *tc = tcase_create("crash");

	run_seed();
	tcase_set_timeout(tc, 3600);
	tcase_add_loop_test(tc, killed_while_writing, 0, ROUNDS);
	tcase_add_test(tc, killed_while_making_modules);
	tcase_add_test(tc, killed_beside_another_writer);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
