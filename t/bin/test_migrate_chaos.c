/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations and system calls of a migration fail, one after the other: it says so, or
 * does without; the next run ends what was begun, and nothing is different. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fail_io.h"
#include "fail_malloc.h"
#include "migration.h"
#include "need.h"
#include "sample.h"

/* How many migrations are tried; more under T_LONG. */
#define MIGRATIONS 120u

/* What fails, and what the run then says. */
static const struct {
	bool io, and_on;
	int error;
	lc_status want;
} faults[] = {
	{ false, false, 0, LC_NO_MEMORY },
	{ false, true, 0, LC_NO_MEMORY },
	{ true, false, EIO, LC_IO },
	{ true, true, ENOSPC, LC_NO_SPACE },
};

static void
try_one(uint64_t seed, long n, int fault, long *hits)
{
	struct lc__stage2_done done;
	struct migration m;
	const char *call;
	lc_status status;

	migration_make(&m, run_scratch(), 30, seed, 3);
	m.how.step_lines = 12;
	if (faults[fault].io)
		fail_io(n, faults[fault].error, faults[fault].and_on);
	else
		fail_malloc(n, faults[fault].and_on);
	status = migration_run(&m, &done);
	*hits = fail_malloc_hits() + fail_io_hits();
	call = fail_io_name();
	fail_malloc(0, false);
	fail_io(0, 0, false);
	ck_assert_msg(status == LC_OK || (*hits > 0 && status == faults[fault].want),
	    "%ld (%s): %s (%s)", n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	if (status == LC_OK) {
		migration_check(&m, &done);
		return;
	}
	assert_ok(migration_run(&m, &done));
	if (done.counts.skipped == done.total)
		migration_check_again(&m, &done);
	else
		migration_check(&m, &done);
}

START_TEST(calls_fail)
{
	uint64_t seed = run_seed();
	long n = 1, hits = 1, tries = 0;

	for (; hits > 0; tries++) {
		try_one(seed, n, _i, &hits);
		n += 1 + (long)(run_random(&seed) %
		    (1 + (uint64_t)n / sample_times(MIGRATIONS / 8)));
	}
	ck_assert_int_gt(tries, 20);
}
END_TEST

/* Where a file cannot have a second name, the backup is a copy, with the file's mode. */
START_TEST(no_links)
{
	struct lc__stage2_done done;
	struct stat file, backup;
	struct migration m;
	long hits;

	migration_make(&m, run_scratch(), 30, run_seed(), 3);
	ck_assert_int_eq(chmod(m.file, 0640), 0);
	fail_io_only("link");
	fail_io(1, EPERM, true);
	assert_ok(migration_run(&m, &done));
	hits = fail_io_hits();
	fail_io(0, 0, false);
	fail_io_only(NULL);
	ck_assert_int_eq(hits, 1);
	migration_check(&m, &done);
	ck_assert_int_eq(stat(m.file, &file), 0);
	ck_assert_int_eq(stat(m.backup, &backup), 0);
	ck_assert_uint_ne(file.st_ino, backup.st_ino);
	ck_assert_uint_eq(backup.st_mode & 07777, 0640);
	ck_assert_uint_eq(backup.st_nlink, 1);
}
END_TEST

/* Whether there is a backup cannot be seen: nothing is replaced. */
START_TEST(no_look)
{
	long n = 0, hits, refused = 0;

	do {
		struct lc__stage2_done done;
		struct migration m;
		lc_status status;
		char *old, *new;
		size_t old_size, new_size;

		migration_make(&m, run_scratch(), 30, run_seed(), 3);
		old = migration_read(m.file, &old_size);
		fail_io_only("lstat");
		fail_io(++n, EIO, false);
		status = migration_run(&m, &done);
		hits = fail_io_hits();
		fail_io(0, 0, false);
		fail_io_only(NULL);
		new = migration_read(m.file, &new_size);
		if (status == LC_OK) {
			migration_check(&m, &done);
		} else {
			refused++;
			ck_assert_int_eq(status, LC_IO);
			ck_assert_uint_eq(new_size, old_size);
			ck_assert_mem_eq(new, old, old_size);
		}
		free(old);
		free(new);
	} while (hits > 0);
	/* Of choosing its name and of making it. */
	ck_assert_int_ge(refused, 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("migrate_chaos");
	TCase *tcase = tcase_create("migrate_chaos");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, calls_fail, 0, sizeof(faults) / sizeof(faults[0]));
	tcase_add_test(tcase, no_links);
	tcase_add_test(tcase, no_look);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
