/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds that are stopped, killed or out of space: another one goes on from there. */
#include "run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset.h"
#include "ingesting.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define FRAMES 15u /* a run; there are two */
#define KILLED 99
#define FLUSH_EVERY 3

static const char *root, *reference;

static void
setup(void)
{
	root = run_scratch();
	dataset_make(root, FRAMES);
	reference = ingesting_reference(root);
}

static void
finish(const char *warehouse, struct lc__ingest_result *out)
{
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, out);
	ingesting_assert_same(reference, warehouse);
	/* .lock, current, samples and the version: nothing is left over. */
	ck_assert_int_eq(outdir_count_files(warehouse, ""), 4);
}

/* ---- stopped by its watch -------------------------------------------------------- */

START_TEST(cancelled_at_every_step)
{
	struct lc__ingest_result result;
	uint64_t done;
	bool exported = false;

	for (int step = 0;; step++) {
		const char *warehouse = run_scratch();
		struct ingesting in;
		lc_status status;

		ingesting_init(&in, root, warehouse);
		in.steps = step;
		status = lc__ingest_run(&in.ingest, &result);
		done = result.state.frames_done;
		exported = exported || result.state.bytes_exported > 0;
		lc__ingest_result_free(&result);
		if (status == LC_OK)
			break;
		assert_status(status, LC_CANCELLED);
		ck_assert(!outdir_exists(warehouse, "current"));
		finish(warehouse, &result);
		ck_assert_uint_eq(result.state.reused, done);
		lc__ingest_result_free(&result);
	}
	ck_assert(exported);
	ck_assert_uint_eq(done, 2 * FRAMES);
}
END_TEST

/* ---- killed ---------------------------------------------------------------------- */

static int
die(void)
{
	_exit(KILLED);
}

struct killed {
	const char *warehouse;
	int step;
	bool clear;
};

static void
be_killed(void *ctx)
{
	const struct killed *killed = ctx;
	struct ingesting in;

	ingesting_init(&in, root, killed->warehouse);
	in.ingest.flush_every = FLUSH_EVERY;
	in.ingest.clear = killed->clear;
	in.steps = killed->step;
	in.stop = die;
	ingesting_run(&in, LC_OK, NULL);
}

/* Puts wait while two commits' worth is pending: the rest is on the disk. */
static uint64_t
least_reused(int step)
{
	const int stored = step - 2 * FLUSH_EVERY - 2;

	return stored < 0 ? 0 : stored > 2 * (int)FRAMES ? 2 * FRAMES :
	    (uint64_t)stored;
}

START_TEST(killed_anywhere)
{
	struct killed killed = { .step = 0 };
	struct lc__ingest_result result;
	int status;

	do {
		killed.warehouse = run_scratch();
		status = child_run(be_killed, &killed);
		if (status == 0)
			break;
		ck_assert_int_eq(status, KILLED);
		ck_assert(!outdir_exists(killed.warehouse, "current"));
		finish(killed.warehouse, &result);
		ck_assert_uint_ge(result.state.reused, least_reused(killed.step));
		lc__ingest_result_free(&result);
		killed.step++;
	} while (true);
	ck_assert_int_gt(killed.step, 2 * (int)FRAMES + 4);
}
END_TEST

/* The old version stays until the new one is whole, and the same command without
 * the option ends what was begun. */
START_TEST(killed_while_it_rebuilds)
{
	struct killed killed = { .clear = true };
	struct lc__ingest_result result;

	for (int step = 3;; step += 3) {
		killed.warehouse = ingesting_reference(root);
		killed.step = step;
		outdir_flip(ingesting_path(killed.warehouse, ""),
		    "shard-000001.twh1", 9000);
		const int status = child_run(be_killed, &killed);
		if (status == 0)
			break;
		ck_assert_int_eq(status, KILLED);
		ck_assert(outdir_exists(killed.warehouse, "current"));
		ck_assert(outdir_exists(ingesting_path(killed.warehouse, ""),
		    "manifest.json"));
		finish(killed.warehouse, &result);
		ck_assert(!result.up_to_date);
		lc__ingest_result_free(&result);
	}
}
END_TEST

/* Killed again and again, each time a little further. */
START_TEST(killed_many_times)
{
	struct killed killed = { .warehouse = run_scratch() };
	struct lc__ingest_result result;
	int status;

	for (int round = 0; round < 20; round++) {
		killed.step = 2 * round;
		status = child_run(be_killed, &killed);
		ck_assert(status == KILLED || status == 0);
	}
	finish(killed.warehouse, &result);
	lc__ingest_result_free(&result);
}
END_TEST

/* ---- killed between the last steps -------------------------------------------------- */

/* What a build leaves that dies when its version is whole but has no name yet. */
static void
before_its_name(const char *warehouse)
{
	char *final = outdir_join(warehouse, ingesting_current(warehouse));
	char *hidden;

	need(asprintf(&hidden, "%s/.building-%s", warehouse,
	    final + strlen(final) - 12) > 0);
	need(rename(final, hidden) == 0);
	outdir_remove_file(warehouse, "current");
	free(hidden);
	free(final);
}

/* It has its name, and nothing points to it. */
static void
before_the_switch(const char *warehouse)
{
	outdir_remove_file(warehouse, "current");
}

/* It has taken the place of one of the same name, which still lies aside. */
static void
before_the_old_goes(const char *warehouse)
{
	char *old;

	need(asprintf(&old, "%s/.building-%s", warehouse,
	    ingesting_current(warehouse) + 10) > 0);
	need(mkdir(old, 0700) == 0);
	outdir_put_file(old, "manifest.json", "{}");
	outdir_put_file(old, "shard-000000.twh1", "x");
	free(old);
}

/* Another recipe was being built before. */
static void
another_lies_aside(const char *warehouse)
{
	char *other = outdir_join(warehouse, ".building-0123456789ab");

	before_its_name(warehouse);
	need(mkdir(other, 0700) == 0);
	outdir_put_file(other, "shard-000000.twh1", "x");
	free(other);
}

static const struct {
	void (*leave)(const char *warehouse);
	bool up_to_date; /* nothing is left to be done */
} window_rows[] = {
	{ before_its_name, false },
	{ before_the_switch, false },
	{ before_the_old_goes, true },
	{ another_lies_aside, false },
};

START_TEST(killed_at_the_end)
{
	const char *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;

	window_rows[_i].leave(warehouse);
	finish(warehouse, &result);
	ck_assert_int_eq(result.up_to_date, window_rows[_i].up_to_date);
	ck_assert_uint_eq(result.state.bytes_exported, 0);
	ck_assert_uint_eq(result.shards_reused, result.shards);
	lc__ingest_result_free(&result);
}
END_TEST

/* ---- another one is running -------------------------------------------------------- */

static const char *busy;

static int
start_another(void)
{
	struct ingesting in;
	char mine[40];

	ingesting_init(&in, root, busy);
	ingesting_run(&in, LC_BUSY, NULL);
	snprintf(mine, sizeof(mine), "process %ld", (long)getpid());
	need(strstr(lc_last_error()->text, mine) != NULL);
	return 1;
}

START_TEST(one_build_at_a_time)
{
	struct ingesting in;

	busy = run_scratch();
	ingesting_init(&in, root, busy);
	in.steps = 5;
	in.stop = start_another;
	ingesting_run(&in, LC_CANCELLED, NULL);
	finish(busy, NULL);
}
END_TEST

/* ---- no space ---------------------------------------------------------------------- */

static const rlim_t size_rows[] = { 4096, 20000, 60000, 120000 };

START_TEST(file_size_limit)
{
	const char *warehouse = run_scratch();
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit limit = { size_rows[_i], RLIM_INFINITY };
	struct ingesting in;

	signal(SIGXFSZ, SIG_IGN);
	need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_NO_SPACE, NULL);
	ck_assert(!outdir_exists(warehouse, "current"));
	need(setrlimit(RLIMIT_FSIZE, &all) == 0);
	finish(warehouse, NULL);
}
END_TEST

START_TEST(no_room_to_begin)
{
	const char *warehouse = run_scratch();
	struct ingesting in;

	if (!outdir_mount(warehouse, "size=256k"))
		return;
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_NO_SPACE, NULL);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "30 frames need "));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, " are free"));
	umount(warehouse);
}
END_TEST

static const char *filled;

/* Someone else takes the rest of the disk. */
static int
fill_disk(void)
{
	char *path = outdir_join(filled, "filler");
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	static const char block[4096];

	while (write(fd, block, sizeof(block)) == sizeof(block))
		continue;
	close(fd);
	free(path);
	return 0;
}

START_TEST(disk_fills_on_the_way)
{
	struct ingesting in;

	filled = run_scratch();
	if (!outdir_mount(filled, "size=4m"))
		return;
	ingesting_init(&in, root, filled);
	in.ingest.flush_every = 1;
	in.steps = _i;
	in.stop = fill_disk;
	ingesting_run(&in, LC_NO_SPACE, NULL);
	outdir_remove_file(filled, "filler");
	finish(filled, NULL);
	umount(filled);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest_stopped");
	TCase *tc = tcase_create("stopped");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, cancelled_at_every_step);
	tcase_add_test(tc, killed_anywhere);
	tcase_add_test(tc, killed_while_it_rebuilds);
	tcase_add_test(tc, killed_many_times);
	tcase_add_loop_test(tc, killed_at_the_end, 0, COUNT(window_rows));
	tcase_add_test(tc, one_build_at_a_time);
	tcase_add_loop_test(tc, file_size_limit, 0, COUNT(size_rows));
	tcase_add_test(tc, no_room_to_begin);
	tcase_add_loop_test(tc, disk_fills_on_the_way, 1, 3);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
