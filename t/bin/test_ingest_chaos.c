/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations and system calls of a build fail, one after the other: it says so and loses
 * nothing, or does without; another build then ends what was begun, and nothing is
 * different. */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataset.h"
#include "fail_io.h"
#include "fail_malloc.h"
#include "ingesting.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"

/* How many builds are tried; more under T_LONG. */
#define BUILDS 150u

/* What fails, and what the build then says. */
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
try_one(const char *root, const char *reference, const char *warehouse, long n,
    int fault, long *hits)
{
	struct lc__ingest_result result;
	struct ingesting in;
	const char *call;
	lc_status status;

	ingesting_init(&in, root, warehouse);
	in.ingest.threads = 1 + (unsigned)n % 2;
	if (faults[fault].io)
		fail_io(n, faults[fault].error, faults[fault].and_on);
	else
		fail_malloc(n, faults[fault].and_on);
	status = lc__ingest_run(&in.ingest, &result);
	*hits = fail_malloc_hits() + fail_io_hits();
	call = fail_io_name();
	fail_malloc(0, false);
	fail_io(0, 0, false);
	ck_assert_msg(status == LC_OK || (*hits > 0 && status == faults[fault].want),
	    "%ld (%s): %s (%s)", n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	if (status == LC_OK)
		ingesting_assert_same(reference, warehouse);
	lc__ingest_result_free(&result);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(reference, warehouse);
}

START_TEST(calls_fail)
{
	const char *root = run_scratch(), *reference;
	uint64_t seed = run_seed();
	long n = 1, hits = 1, builds = 0;

	dataset_make(root, 3);
	reference = ingesting_reference(root);
	/* First each of the early ones, then fewer and fewer. */
	for (; hits > 0; builds++) {
		try_one(root, reference, run_scratch(), n, _i, &hits);
		n += 1 + (long)(run_random(&seed) %
		    (1 + (uint64_t)n / sample_times(BUILDS / 8)));
	}
	ck_assert_int_gt(builds, 20);
}
END_TEST

int
main(void)
{
	Suite *s = suite_create("ingest_chaos");
	TCase *tc = tcase_create("ingest_chaos");

	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, calls_fail, 0, sizeof(faults) / sizeof(faults[0]));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
