/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writers of inputs that are killed, at every step of their commits and at any moment:
 * nothing is lost, nothing is there twice, and the order is that of a run that nobody
 * disturbed.
 */
#include "run.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dying.h"
#include "filling.h"
#include "need.h"
#include "sample.h"

#define INPUTS 4

/* ---- writing --------------------------------------------------------------- */

struct job {
	const char *root;
	unsigned first, n;      /* inputs to write */
	uint64_t chunks[INPUTS]; /* of each input */
	unsigned die_at;
	bool die_halfway;
	int acks[2];            /* a byte a commit: the input */
};

static void
acknowledge(const struct job *job, unsigned input)
{
	const char byte = (char)input;

	need(write(job->acks[1], &byte, 1) == 1);
}

static lc_writer *
resume(lc_cache *cache, unsigned input)
{
	const lc_input_info *info;
	char want[32] = "";
	lc_writer *writer;

	need_ok(filling_open(cache, input, &writer));
	info = lc_writer_info(writer);
	if (info->chunks > 0)
		snprintf(want, sizeof(want), "%" PRIu64, info->chunks);
	need(info->cursor.size == strlen(want));
	need(memcmp(info->cursor.data, want, info->cursor.size) == 0);
	return writer;
}

/* The next chunk; the last one with the end. */
static void
write_next(const struct job *job, lc_writer *writer)
{
	const lc_input_info *info = lc_writer_info(writer);

	if (info->finished)
		return;
	need_ok(filling_commit(writer, info->chunks + 1 ==
	    job->chunks[info->index]));
	acknowledge(job, info->index);
}

/* All inputs of a job in one thread, a chunk of each in turn. */
static void
write_in_turn(void *ctx)
{
	const struct job *job = ctx;
	lc_cache *cache;
	lc_writer *writers[INPUTS];
	bool left = true;

	dying_begin(job->die_at, job->die_halfway, DYING_STORE);
	cache = sample_open(job->root, "m", NULL);
	need_ok(filling_declare(cache, INPUTS));
	for (unsigned i = 0; i < job->n; i++)
		writers[i] = resume(cache, job->first + i);
	while (left) {
		left = false;
		for (unsigned i = 0; i < job->n; i++) {
			write_next(job, writers[i]);
			left |= !lc_writer_info(writers[i])->finished;
		}
	}
	for (unsigned i = 0; i < job->n; i++)
		lc_writer_close(writers[i]);
	need_ok(lc_close(cache));
}

/* ---- checking -------------------------------------------------------------- */

struct found {
	uint64_t chunks[INPUTS];
	uint64_t records;
	unsigned n;
};

static int
note(void *ctx, const lc_input_info *info)
{
	struct found *found = ctx;

	ck_assert_int_eq(info->held, 0);
	found->chunks[found->n++] = info->chunks;
	found->records += info->records;
	return 0;
}

/* Chunks that were acknowledged are there, and at most one more of each process. */
static void
check_module(const char *root, uint64_t acked[INPUTS], unsigned processes)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	struct found found = { .n = 0 };
	lc_verify_result result;
	uint64_t count, more = 0;

	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_inputs(cache, note, &found));
	if (found.n == 0)
		memset(&found, 0, sizeof(found));
	for (unsigned i = 0; i < INPUTS; i++) {
		ck_assert_uint_ge(found.chunks[i], acked[i]);
		more += found.chunks[i] - acked[i];
		acked[i] = found.chunks[i];
		for (uint64_t k = 0; k < found.chunks[i]; k++)
			filling_check_chunk(cache, i, k);
	}
	ck_assert_uint_le(more, processes);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, found.records);
	assert_ok(lc_close(cache));
}

/* What a run that nobody disturbs comes to. */
static lc_fill
undisturbed(const struct job *like)
{
	struct job job = *like;
	char bytes[256];

	job.root = run_scratch();
	job.first = 0;
	job.n = INPUTS;
	job.die_at = 0;
	ck_assert_int_eq(pipe(job.acks), 0);
	ck_assert_int_eq(child_run(write_in_turn, &job), 0);
	close(job.acks[1]);
	while (read(job.acks[0], bytes, sizeof(bytes)) > 0)
		;
	close(job.acks[0]);
	return filling_state_of(job.root);
}

static void
assert_same(const lc_fill *a, const lc_fill *b)
{
	ck_assert_int_eq(a->final, 1);
	ck_assert_int_eq(b->final, 1);
	ck_assert_uint_eq(a->published, b->published);
	ck_assert_uint_eq(a->committed, b->committed);
	ck_assert_uint_eq(a->records, b->records);
	ck_assert_uint_eq(a->prefix_hash, b->prefix_hash);
}

static void
read_acks(int fd, uint64_t acked[INPUTS])
{
	char byte;

	while (read(fd, &byte, 1) == 1)
		acked[(unsigned char)byte]++;
}

/* Each process dies one step later than the one before. */
START_TEST(killed_at_every_step)
{
	struct job job = {
		.root = run_scratch(), .n = INPUTS, .chunks = { 9, 4, 14, 6 },
		.die_halfway = _i == 1
	};
	const lc_fill want = undisturbed(&job);
	uint64_t acked[INPUTS] = { 0 };
	unsigned kills = 0;
	lc_fill got;
	int status;

	do {
		job.die_at = kills % 24 + 1;
		ck_assert_int_eq(pipe(job.acks), 0);
		status = child_run(write_in_turn, &job);
		close(job.acks[1]);
		read_acks(job.acks[0], acked);
		close(job.acks[0]);
		ck_assert(status == 0 || status == 128 + SIGKILL);
		check_module(job.root, acked, 1);
		ck_assert_uint_lt(++kills, 1000);
	} while (status != 0);
	ck_assert_uint_gt(kills, 24);
	got = filling_state_of(job.root);
	assert_same(&got, &want);
}
END_TEST

/* ---- at any moment --------------------------------------------------------- */

struct thread {
	const struct job *job;
	lc_cache *cache;
	unsigned input;
	pthread_t id;
};

static void *
write_one(void *ctx)
{
	struct thread *t = ctx;
	lc_writer *writer = resume(t->cache, t->input);

	while (!lc_writer_info(writer)->finished)
		write_next(t->job, writer);
	lc_writer_close(writer);
	return NULL;
}

/* All inputs of a job, a thread for each. */
static void
write_in_threads(void *ctx)
{
	const struct job *job = ctx;
	lc_cache *cache = sample_open(job->root, "m", NULL);
	struct thread threads[INPUTS];

	need_ok(filling_declare(cache, INPUTS));
	for (unsigned i = 0; i < job->n; i++) {
		threads[i] = (struct thread){
			.job = job, .cache = cache, .input = job->first + i
		};
		need(pthread_create(&threads[i].id, NULL, write_one,
		    &threads[i]) == 0);
	}
	for (unsigned i = 0; i < job->n; i++)
		pthread_join(threads[i].id, NULL);
	need_ok(lc_close(cache));
}

/* Two processes; both are killed a little later. */
START_TEST(killed_at_any_moment)
{
	uint64_t random = run_seed();
	struct job job = {
		.root = run_scratch(), .n = INPUTS / 2,
		.chunks = { 90, 40, 140, 60 }
	};
	const lc_fill want = undisturbed(&job);
	uint64_t acked[INPUTS] = { 0 };
	unsigned kills = 0;
	int done;
	lc_fill got;

	do {
		pid_t pids[2];

		ck_assert_int_eq(pipe(job.acks), 0);
		for (unsigned i = 0; i < 2; i++) {
			job.first = i * job.n;
			pids[i] = child_start(write_in_threads, &job);
		}
		close(job.acks[1]);
		usleep((useconds_t)(run_random(&random) % 25000));
		done = 0;
		for (unsigned i = 0; i < 2; i++)
			if (kills < 60)
				kill(pids[i], SIGKILL);
		for (unsigned i = 0; i < 2; i++) {
			const int status = child_wait(pids[i]);

			ck_assert(status == 0 || status == 128 + SIGKILL);
			done += status == 0;
		}
		read_acks(job.acks[0], acked);
		close(job.acks[0]);
		check_module(job.root, acked, INPUTS);
		kills++;
	} while (done < 2);
	got = filling_state_of(job.root);
	assert_same(&got, &want);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("inputs_killed");
	TCase *tcase = tcase_create("inputs_killed");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, killed_at_every_step, 0, 2);
	tcase_add_test(tcase, killed_at_any_moment);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
