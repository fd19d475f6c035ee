/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fills that are killed, at every step of their commits and at any moment, with producers
 * that are processes: what is there afterwards is right, nothing is stored twice, little
 * is made twice, and the order is that of a run that nobody disturbed.
 */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dying.h"
#include "fill/fill.h"
#include "fill_set.h"
#include "filling.h"
#include "need.h"
#include "sample.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))
#define IDS 600
#define FLUSH_EVERY 32
#define BATCH 5
#define CHUNK 12
#define CHILDREN 2
#define AHEAD 1

/* ---- filling --------------------------------------------------------------- */

struct job {
	const char *root;
	const struct fill_set *set;
	char command[4300];
	unsigned die_at;
	bool die_halfway;
	int told[2];           /* a byte a batch that is back: its items */
	uint64_t next;         /* id */
	char text[16];
};

static struct lc__producers
producers_of(const struct job *job)
{
	return (struct lc__producers){
		.command = job->command, .children = CHILDREN, .ahead = AHEAD,
		.retries = 1, .give_up = 3, .frame_max = 1 << 20
	};
}

static void
tell_back(void *ctx, const struct lc__batch *batch)
{
	const struct job *job = ctx;
	const unsigned char n = (unsigned char)batch->count;

	for (size_t i = 0; i < batch->count; i++)
		need(batch->items[i].outcome == LC__ITEM_DONE);
	need(write(job->told[1], &n, 1) == 1);
}

static lc_status
next_id(void *ctx, struct lc__item *out)
{
	struct job *job = ctx;

	if (job->next == IDS)
		return LC_NOT_FOUND;
	out->id = (lc_id){ job->text, (size_t)snprintf(job->text, sizeof(job->text),
	    "id%u", (unsigned)job->next++) };
	return LC_OK;
}

static void
fill_list(void *ctx)
{
	struct job *job = ctx;
	const struct lc__producers producers = producers_of(job);
	lc_options options = sample_options();
	struct lc__filled filled;
	lc_cache *cache;

	options.flush_every = FLUSH_EVERY;
	cache = sample_open(job->root, "m", &options);
	{
		const struct lc__fill how = {
			.cache = cache, .producers = &producers, .next = next_id,
			.back = tell_back, .ctx = job, .batch = BATCH,
			.batch_bytes = 1 << 20
		};

		dying_begin(job->die_at, job->die_halfway, DYING_STORE);
		need_ok(lc__fill_run(&how, &filled));
	}
	need(filled.there + filled.stored == IDS && filled.wrong == 0);
	need_ok(lc_close(cache));
}

static void
fill_shards(void *ctx)
{
	struct job *job = ctx;
	const struct lc__producers producers = producers_of(job);
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(job->root, "m", &options);
	const struct lc__inputs_fill how = {
		.cache = cache, .producers = &producers, .shards = job->set->shards,
		.n = job->set->n, .batch = BATCH, .batch_bytes = 1 << 20,
		.chunk = CHUNK, .back = tell_back, .ctx = job
	};
	struct lc__inputs_filled filled;

	dying_begin(job->die_at, job->die_halfway, DYING_STORE);
	need_ok(lc__inputs_run(&how, &filled));
	need(filled.stopped + filled.failed + filled.bad == 0);
	need_ok(lc_close(cache));
}

/* ---- checking -------------------------------------------------------------- */

/* Before the working directory is another one: the producer's path begins there. */
static void
start_job(struct job *job)
{
	const char *builddir = getenv("builddir");
	char *path = realpath(builddir != NULL ? builddir : ".", NULL);

	memset(job, 0, sizeof(*job));
	ck_assert_ptr_nonnull(path);
	snprintf(job->command, sizeof(job->command), "exec '%s/t/bad_producer' good",
	    path);
	free(path);
	job->root = run_scratch();
}

/* Items of batches that came back. */
static uint64_t
read_told(int fd)
{
	unsigned char byte;
	uint64_t n = 0;

	while (read(fd, &byte, 1) == 1)
		n += byte;
	return n;
}

/* Run in a child to its end; *back gets the items that came back. */
static int
run_child(void (*fn)(void *ctx), struct job *job, uint64_t *back)
{
	int status;

	ck_assert_int_eq(pipe(job->told), 0);
	status = child_run(fn, job);
	close(job->told[1]);
	*back += read_told(job->told[0]);
	close(job->told[0]);
	return status;
}

/* Each record that is there is right, and the module is sound. How many there are. */
static uint64_t
check_list(const char *root)
{
	lc_cache *cache = sample_open(root, "m", NULL);
	lc_verify_result result;
	uint64_t count, found = 0;

	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_count(cache, &count));
	for (unsigned i = 0; i < IDS; i++) {
		char id[16];
		const size_t size = (size_t)snprintf(id, sizeof(id), "id%u", i);
		lc_view view;
		const lc_status status = lc_get(cache, id, size, &view);

		if (status == LC_NOT_FOUND)
			continue;
		ck_assert_int_eq(status, LC_OK);
		ck_assert_uint_eq(view.tensor.nbytes, size);
		ck_assert_int_eq(memcmp(view.tensor.data, id, size), 0);
		lc_view_release(&view);
		found++;
	}
	ck_assert_uint_eq(count, found);
	/* Nothing was put twice: no record is dead. */
	ck_assert_uint_eq(result.records, found);
	assert_ok(lc_close(cache));
	return count;
}

static uint64_t
check_shards(const struct job *job)
{
	lc_cache *cache = sample_open(job->root, "m", NULL);
	lc_verify_result result;
	uint64_t count;

	assert_ok(lc_verify(cache, NULL, &result));
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(result.records, count);
	fill_set_check_order(cache, job->set, CHUNK);
	assert_ok(lc_close(cache));
	return count;
}

/* ---- a list of ids ----------------------------------------------------------- */

/* Each process dies one step later than the one before. */
START_TEST(list_killed_at_every_step)
{
	/* What a kill may cost: what waits for its commit, that commit, and a batch. */
	const uint64_t most = 3 * FLUSH_EVERY + BATCH;
	uint64_t stored = 0, back = 0;
	unsigned kills = 0;
	struct job job;
	int status;

	start_job(&job);
	do {
		const uint64_t before = back;

		job.die_at = kills % 17 + 1;
		job.die_halfway = _i == 1;
		status = run_child(fill_list, &job, &back);
		ck_assert(status == 0 || status == 128 + SIGKILL);
		ck_assert_uint_ge(check_list(job.root) + most, stored + back - before);
		stored = check_list(job.root);
		ck_assert_uint_lt(++kills, 1000);
	} while (status != 0);
	ck_assert_uint_gt(kills, 17);
	ck_assert_uint_eq(stored, IDS);
}
END_TEST

/* ---- input shards -------------------------------------------------------------- */

static const unsigned sizes[] = { 150, 12, 0, 77, 1, 24, 250 };
#define LINES 514

/* What a run that nobody disturbs comes to. */
static lc_fill
undisturbed(const struct job *like)
{
	struct job job = *like;
	uint64_t back = 0;

	job.root = run_scratch();
	ck_assert_int_eq(run_child(fill_shards, &job, &back), 0);
	ck_assert_uint_eq(back, LINES);
	return filling_state_of(job.root);
}

static void
check_end(const struct job *job, const lc_fill *want)
{
	const lc_fill got = filling_state_of(job->root);
	lc_cache *cache = sample_open(job->root, "m", NULL);

	fill_set_check(cache, job->set);
	assert_ok(lc_close(cache));
	ck_assert_int_eq(got.final, 1);
	ck_assert_uint_eq(got.records, LINES);
	ck_assert_uint_eq(got.published, want->published);
	ck_assert_uint_eq(got.committed, want->committed);
	ck_assert_uint_eq(got.prefix_hash, want->prefix_hash);
}

/* Chunks that batches on their way belong to, and those behind the oldest of them. */
#define MOST_LOST (CHILDREN * (1 + AHEAD) * 2 * CHUNK + 10 * BATCH)

START_TEST(shards_killed_at_every_step)
{
	uint64_t stored = 0, back = 0;
	unsigned kills = 0;
	struct fill_set set;
	struct job job;
	lc_fill want;
	int status;

	start_job(&job);
	fill_set_make(&set, ROWS(sizes), sizes);
	job.set = &set;
	want = undisturbed(&job);
	do {
		const uint64_t before = back;

		job.die_at = kills % 29 + 1;
		job.die_halfway = _i == 1;
		status = run_child(fill_shards, &job, &back);
		ck_assert(status == 0 || status == 128 + SIGKILL);
		ck_assert_uint_ge(check_shards(&job) + MOST_LOST,
		    stored + back - before);
		stored = check_shards(&job);
		ck_assert_uint_lt(++kills, 1000);
	} while (status != 0);
	ck_assert_uint_gt(kills, 10);
	check_end(&job, &want);
}
END_TEST

/* Two processes fill at once, and both are killed a little later. */
START_TEST(shards_killed_at_any_moment)
{
	uint64_t random = run_seed();
	unsigned kills = 0, done;
	struct fill_set set;
	struct job job;
	lc_fill want;

	start_job(&job);
	fill_set_make(&set, ROWS(sizes), sizes);
	job.set = &set;
	want = undisturbed(&job);
	do {
		pid_t pids[2];

		ck_assert_int_eq(pipe(job.told), 0);
		for (unsigned i = 0; i < 2; i++)
			pids[i] = child_start(fill_shards, &job);
		close(job.told[1]);
		usleep((useconds_t)(run_random(&random) % 40000));
		done = 0;
		for (unsigned i = 0; i < 2; i++)
			if (kills < 25)
				kill(pids[i], SIGKILL);
		for (unsigned i = 0; i < 2; i++) {
			const int status = child_wait(pids[i]);

			ck_assert(status == 0 || status == 128 + SIGKILL);
			done += status == 0;
		}
		read_told(job.told[0]);
		close(job.told[0]);
		check_shards(&job);
		kills++;
	} while (done < 2);
	/* Either may have left to the other what that held until its end. */
	while (!filling_state_of(job.root).final) {
		uint64_t back = 0;
		ck_assert_int_eq(run_child(fill_shards, &job, &back), 0);
	}
	check_end(&job, &want);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fill_killed");
	TCase *tcase = tcase_create("fill_killed");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, list_killed_at_every_step, 0, 2);
	tcase_add_loop_test(tcase, shards_killed_at_every_step, 0, 2);
	tcase_add_test(tcase, shards_killed_at_any_moment);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
