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

/* @p packs: 0 builds all, 1 packs shards, 2 builds of shards that are packed. */
static void
try_one(const char *root, const char *reference, const char *warehouse, long n,
    int fault, int packs, long *hits)
{
	struct lc__ingest_result result;
	struct ingesting in;
	const char *call;
	lc_status status;

	ingesting_init(&in, root, warehouse);
	in.ingest.samples_from = &reference;
	in.ingest.n_samples_from = packs > 0;
	in.ingest.packs = packs > 0;
	if (packs == 2)
		ingesting_run(&in, LC_OK, NULL);
	in.ingest.packs = packs == 1;
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
	/* A file whose state cannot be read is read anew, which packing does not do. */
	ck_assert_msg(status == LC_OK ||
		(*hits > 0 && (status == faults[fault].want ||
		    (packs == 1 && faults[fault].io && status == LC_FAILED))),
	    "%ld (%s): %s (%s)", n, call != NULL ? call : "allocation",
	    lc_status_name(status), lc_last_error()->text);
	if (status == LC_OK && packs != 1)
		ingesting_assert_same(reference, warehouse);
	lc__ingest_result_free(&result);
	ingesting_init(&in, root, warehouse);
	in.ingest.samples_from = &reference;
	in.ingest.n_samples_from = packs > 0;
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(reference, warehouse);
}

START_TEST(calls_fail)
{
	const int kinds = (int)(sizeof(faults) / sizeof(faults[0]));
	const char *root = run_scratch(), *reference;
	uint64_t seed = run_seed();
	long n = 1, hits = 1, builds = 0;

	dataset_make(root, 3);
	reference = ingesting_reference(root);
	/* First each of the early ones, then fewer and fewer. */
	for (; hits > 0; builds++) {
		try_one(root, reference, run_scratch(), n, _i % kinds, _i / kinds, &hits);
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
	tcase_add_loop_test(tc, calls_fail, 0, 3 * sizeof(faults) / sizeof(faults[0]));
	suite_add_tcase(s, tc);
	return run_suite(s);
}
