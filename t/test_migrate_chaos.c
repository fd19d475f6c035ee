/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations of a migration fail, one after the other: it says so, or does without; the
 * next run ends what was begun, and nothing is different. */
#include "run.h"

#include <stdio.h>

#include "fail_malloc.h"
#include "migration.h"
#include "need.h"
#include "sample.h"

/* How many migrations are tried; more under T_LONG. */
#define MIGRATIONS 120u

static void
try_one(uint64_t seed, long n, bool and_on, long *hits)
{
	struct lc__stage2_done done;
	struct migration m;
	lc_status status;

	migration_make(&m, run_scratch(), 30, seed, 3);
	m.how.step_lines = 12;
	fail_malloc(n, and_on);
	status = migration_run(&m, &done);
	*hits = fail_malloc_hits();
	fail_malloc(0, false);
	ck_assert_msg(status == LC_OK || status == LC_NO_MEMORY, "allocation %ld: %s (%s)",
	    n, lc_status_name(status), lc_last_error()->text);
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

START_TEST(allocations_fail)
{
	uint64_t seed = run_seed();
	long n = 1, hits = 1, tries = 0;

	for (; hits > 0; tries++) {
		try_one(seed, n, _i == 1, &hits);
		n += 1 + (long)(run_random(&seed) %
		    (1 + (uint64_t)n / sample_times(MIGRATIONS / 8)));
	}
	ck_assert_int_gt(tries, 20);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("migrate_chaos");
	TCase *tcase = tcase_create("allocations");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, allocations_fail, 0, 2);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
