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

#include "base/fileio.h"
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
#define CHUNK 60
#define CHILDREN 2
#define AHEAD 1
/* Items that producers have been given and that are not stored yet: what a kill costs. */
#define IN_FLIGHT (CHILDREN * (1 + AHEAD) * BATCH)

/* ---- filling --------------------------------------------------------------- */

struct job {
	const char *root;
	const struct fill_set *set;
	char log[4200];        /* what producers were asked for, an id a line */
	char command[8700];
	unsigned die_at;
	bool die_halfway;
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

/* With this clock each batch comes back after more than ten times what a commit takes. */
static uint64_t
slow_clock(void)
{
	static uint64_t now, calls;

	return now += calls++ % 2 == 0 ? 1000 : 1;
}

static lc_status
next_id(void *ctx, struct lc__item *out)
{
	struct job *job = ctx;

	if (job->next == IDS)
		return LC_END;
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
			.ctx = job, .batch = BATCH, .batch_bytes = 1 << 20,
			.clock_ns = slow_clock
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
		.chunk = CHUNK
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
	snprintf(job->log, sizeof(job->log), "%s/log", run_scratch());
	snprintf(job->command, sizeof(job->command), "exec '%s/t/support/bad_producer' logs '%s'",
	    path, job->log);
	free(path);
	job->root = run_scratch();
}

static int
compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* How often producers were asked for something, and for how many different items. */
static void
read_log(const struct job *job, uint64_t *asked, uint64_t *items)
{
	struct lc__buf text = { 0 };
	char *lines[20000], *rest, *line;
	size_t n = 0;

	*asked = *items = 0;
	if (access(job->log, F_OK) != 0)
		return;
	assert_ok(lc__read_file(job->log, 1 << 20, &text));
	ck_assert_ptr_nonnull(lc__buf_append(&text, "", 1));
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0') {
		ck_assert_uint_lt(n, 20000);
		lines[n++] = line;
	}
	if (n > 0)
		qsort(lines, n, sizeof(*lines), compare_texts);
	for (size_t i = 0; i < n; i++)
		*items += i == 0 || strcmp(lines[i], lines[i - 1]) != 0;
	*asked = n;
	lc__buf_free(&text);
}

/* So many kills cost no more than what was on its way then. */
static void
check_cost(const struct job *job, unsigned kills)
{
	uint64_t asked, items;

	read_log(job, &asked, &items);
	ck_assert_uint_le(asked, items + (uint64_t)kills * IN_FLIGHT);
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
	uint64_t stored, asked, items;
	unsigned kills = 0;
	struct job job;
	int status;

	start_job(&job);
	for (;;) {
		job.die_at = kills % 17 + 1;
		job.die_halfway = _i == 1;
		status = child_run(fill_list, &job);
		stored = check_list(job.root);
		if (status == 0)
			break;
		ck_assert_int_eq(status, 128 + SIGKILL);
		ck_assert_uint_lt(++kills, 1000);
		check_cost(&job, kills);
		/* Whatever is not stored was on its way. */
		read_log(&job, &asked, &items);
		ck_assert_uint_le(items, stored + IN_FLIGHT);
	}
	ck_assert_uint_gt(kills, 17);
	ck_assert_uint_eq(stored, IDS);
	read_log(&job, &asked, &items);
	ck_assert_uint_eq(items, IDS);
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
	uint64_t asked, items;

	job.root = run_scratch();
	ck_assert_int_eq(child_run(fill_shards, &job), 0);
	read_log(&job, &asked, &items);
	ck_assert_uint_eq(asked, LINES);
	ck_assert_uint_eq(items, LINES);
	ck_assert_int_eq(unlink(job.log), 0);
	return filling_state_of(job.root);
}

static void
check_end(const struct job *job, const lc_fill *want)
{
	const lc_fill got = filling_state_of(job->root);
	lc_cache *cache = sample_open(job->root, "m", NULL);

	fill_set_check(cache, job->set);
	assert_ok(lc_close(cache));
	for (unsigned i = 0; i < ROWS(sizes); i++) {
		char path[4300];

		snprintf(path, sizeof(path), "%s/m/fill.%u.part", job->root, i);
		ck_assert_int_ne(access(path, F_OK), 0);
	}
	ck_assert_int_eq(got.final, 1);
	ck_assert_uint_eq(got.records, LINES);
	ck_assert_uint_eq(got.published, want->published);
	ck_assert_uint_eq(got.committed, want->committed);
	ck_assert_uint_eq(got.prefix_hash, want->prefix_hash);
}

START_TEST(shards_killed_at_every_step)
{
	unsigned kills = 0;
	struct fill_set set;
	struct job job;
	lc_fill want;

	start_job(&job);
	fill_set_make(&set, ROWS(sizes), sizes);
	job.set = &set;
	want = undisturbed(&job);
	for (;;) {
		int status;

		job.die_at = kills % 29 + 1;
		job.die_halfway = _i == 1;
		status = child_run(fill_shards, &job);
		check_shards(&job);
		if (status == 0)
			break;
		ck_assert_int_eq(status, 128 + SIGKILL);
		ck_assert_uint_lt(++kills, 1000);
		check_cost(&job, kills);
	}
	ck_assert_uint_gt(kills, 10);
	check_cost(&job, kills);
	check_end(&job, &want);
}
END_TEST

/* Two processes fill at once, and both are killed a little later. */
START_TEST(shards_killed_at_any_moment)
{
	uint64_t random = run_seed();
	unsigned rounds = 0, kills = 0, done;
	struct fill_set set;
	struct job job;
	lc_fill want;

	start_job(&job);
	fill_set_make(&set, ROWS(sizes), sizes);
	job.set = &set;
	want = undisturbed(&job);
	do {
		pid_t pids[2];

		for (unsigned i = 0; i < 2; i++)
			pids[i] = child_start(fill_shards, &job);
		usleep((useconds_t)(run_random(&random) % 40000));
		done = 0;
		for (unsigned i = 0; i < 2; i++)
			if (rounds < 25)
				kill(pids[i], SIGKILL);
		for (unsigned i = 0; i < 2; i++) {
			const int status = child_wait(pids[i]);

			ck_assert(status == 0 || status == 128 + SIGKILL);
			done += status == 0;
			kills += status != 0;
		}
		check_shards(&job);
		check_cost(&job, kills);
		rounds++;
	} while (done < 2);
	/* Either may have left to the other what that held until its end. */
	while (!filling_state_of(job.root).final)
		ck_assert_int_eq(child_run(fill_shards, &job), 0);
	check_cost(&job, kills);
	check_end(&job, &want);
}
END_TEST

/* What a kill leaves of an input, damaged in some way; false if it leaves nothing. */
static bool
damage(const struct job *job, unsigned input, uint64_t *random)
{
	char path[4300], other[4300];
	struct lc__buf bytes = { 0 };

	snprintf(path, sizeof(path), "%s/m/fill.%u.part", job->root, input);
	if (access(path, F_OK) != 0)
		return false;
	assert_ok(lc__read_file(path, 1 << 30, &bytes));
	switch (run_random(random) % 4) {
	case 0:
		fill_set_write(path, bytes.data, run_random(random) % (bytes.size + 1));
		break;
	case 1:
		if (bytes.size > 0)
			bytes.data[run_random(random) % bytes.size] ^= 1;
		fill_set_write(path, bytes.data, bytes.size);
		break;
	case 2:
		for (size_t i = 0; i < bytes.size; i++)
			bytes.data[i] = (unsigned char)run_random(random);
		fill_set_write(path, bytes.data, bytes.size);
		break;
	default: /* of another input */
		snprintf(other, sizeof(other), "%s/m/fill.%u.part", job->root,
		    (input + 3) % ROWS(sizes));
		ck_assert_int_eq(rename(path, other), 0);
	}
	lc__buf_free(&bytes);
	return true;
}

START_TEST(what_is_kept_is_damaged)
{
	uint64_t random = run_seed();
	unsigned damaged = 0;
	struct fill_set set;
	struct job job;
	lc_fill want;

	start_job(&job);
	fill_set_make(&set, ROWS(sizes), sizes);
	job.set = &set;
	want = undisturbed(&job);
	for (unsigned round = 0; round < 25; round++) {
		job.root = run_scratch();
		job.die_at = 20 + (unsigned)(run_random(&random) % 60);
		ck_assert_int_eq(child_run(fill_shards, &job), 128 + SIGKILL);
		for (unsigned input = 0; input < ROWS(sizes); input++)
			damaged += damage(&job, input, &random);
		job.die_at = 0;
		ck_assert_int_eq(child_run(fill_shards, &job), 0);
		check_end(&job, &want);
	}
	ck_assert_uint_gt(damaged, 25);
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
	tcase_add_test(tcase, what_is_kept_is_damaged);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
