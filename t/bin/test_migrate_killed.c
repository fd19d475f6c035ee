/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Migrations that are killed before every write, sync, rename and link, or halfway
 * through a write, and run again: the lines, the tensors, the ids and the counts are
 * those of a run that nobody disturbed, nothing is stored twice, and at no moment is the
 * file another one than the old or the new one, whole.
 */
#include "run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dying.h"
#include "migration.h"
#include "need.h"
#include "sample.h"

/* ---- running ----------------------------------------------------------------------- */

struct job {
	struct migration *m;
	unsigned die_at;
	bool halfway;
	bool check;       /* and see whether all is as it should be */
};

static void
run(void *ctx)
{
	const struct job *job = ctx;
	struct lc__stage2_done done;

	dying_begin(job->die_at, job->halfway, DYING_FILES);
	need_ok(migration_run(job->m, &done));
	dying_end();
	/* Killed behind the end, it was a second run. */
	if (job->check && done.counts.skipped == done.total)
		migration_check_again(job->m, &done);
	else if (job->check)
		migration_check(job->m, &done);
	_exit(0);
}

static char *old_text, *new_text;
static size_t old_size, new_size;

/* The file is the old or the new one, and then the old one is kept. */
static void
check_whole(const struct migration *m)
{
	size_t size;
	char *text = migration_read(m->file, &size);
	const bool old = size == old_size && memcmp(text, old_text, size) == 0;

	if (!old) {
		ck_assert_uint_eq(size, new_size);
		ck_assert_mem_eq(text, new_text, size);
		free(text);
		text = migration_read(m->backup, &size);
		ck_assert_uint_eq(size, old_size);
		ck_assert_mem_eq(text, old_text, size);
	}
	free(text);
}

/* No record occurs twice, or had to be made again. */
static void
check_once(const struct migration *m, uint64_t records)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	lc_cache *cache = sample_open(m->dir, "dinov3", NULL);

	ck_assert_int_eq(lc_stat(cache, &stats), LC_OK);
	ck_assert_uint_eq(stats.dead_records, 0);
	ck_assert_uint_eq(stats.records, records);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}

#define LINES 48

static void
make(struct migration *m, uint64_t seed)
{
	migration_make(m, run_scratch(), LINES, seed, 3);
	m->cut = true;
	m->how.step_lines = 20;
	migration_write(m);
}

static uint64_t
undisturbed(uint64_t seed)
{
	lc_stats stats = { .struct_size = sizeof(stats) };
	struct lc__stage2_done done;
	struct migration m;
	lc_cache *cache;

	make(&m, seed);
	ck_assert_int_eq(migration_run(&m, &done), LC_OK);
	migration_check(&m, &done);
	old_text = migration_read(m.backup, &old_size);
	new_text = migration_read(m.file, &new_size);
	cache = sample_open(m.dir, "dinov3", NULL);
	ck_assert_int_eq(lc_stat(cache, &stats), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	return stats.records;
}

START_TEST(killed_once)
{
	const uint64_t seed = run_seed(), records = undisturbed(seed);
	unsigned kills = 0;
	int status;

	do {
		struct migration m;
		struct job job = { .m = &m, .die_at = ++kills, .halfway = _i == 1 };
		make(&m, seed);
		status = child_run(run, &job);
		ck_assert(status == 0 || status == 128 + SIGKILL);
		check_whole(&m);
		job = (struct job){ .m = &m, .check = true };
		if (status != 0)
			ck_assert_msg(child_run(run, &job) == 0, "killed at step %u", kills);
		check_whole(&m);
		check_once(&m, records);
		ck_assert_uint_lt(kills, 1000);
	} while (status != 0);
	ck_assert_uint_gt(kills, 40);
}
END_TEST

/* Each run of one migration gets some steps further than the last one. */
START_TEST(killed_again_and_again)
{
	uint64_t random = run_seed();
	const uint64_t records = undisturbed(random);
	unsigned kills = 0;
	struct migration m;
	int status;

	make(&m, random);
	do {
		struct job job = {
			.m = &m, .die_at = 1 + (unsigned)(run_random(&random) % 30) +
			kills / 16, .halfway = run_random(&random) % 2, .check = true
		};
		status = child_run(run, &job);
		ck_assert(status == 0 || status == 128 + SIGKILL);
		check_whole(&m);
		ck_assert_uint_lt(++kills, 2000);
	} while (status != 0);
	ck_assert_uint_gt(kills, 3);
	check_once(&m, records);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("migrate_killed");
	TCase *tcase = tcase_create("migrate_killed");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, killed_once, 0, 2);
	tcase_add_loop_test(tcase, killed_again_and_again, 0, 5);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
