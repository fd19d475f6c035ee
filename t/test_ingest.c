/* SPDX-License-Identifier: BSD-2-Clause */
/* Datasets to warehouses: the same bytes always, and what a second build takes over. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "dataset.h"
#include "ingesting.h"
#include "need.h"
#include "outdir_files.h"

#define FRAMES 20u /* a run; every fifth has no boxes */

static const char *
make_dataset(void)
{
	const char *root = run_scratch();

	dataset_make(root, FRAMES);
	return root;
}

/* ---- the same bytes ------------------------------------------------------------- */

START_TEST(builds_a_version)
{
	const char *root = make_dataset(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.frames, 2 * FRAMES);
	ck_assert_uint_eq(result.state.frames_done, 2 * FRAMES);
	ck_assert_uint_eq(result.state.samples, 2 * FRAMES * 4 / 5);
	ck_assert_uint_eq(result.state.reused, 0);
	ck_assert_uint_eq(result.state.rejected[LC__REJECT_NO_LABELS],
	    2 * FRAMES / 5);
	ck_assert_uint_eq(in.rejected, 2 * FRAMES / 5);
	ck_assert_uint_gt(result.shards, 3);
	ck_assert_uint_eq(result.shards_reused, 0);
	ck_assert_uint_eq(result.summary.n_runs, 2);
	ck_assert_uint_gt(result.summary.overflow_samples, 0);
	ck_assert_int_eq(in.recipe.layout, LC__LAYOUT_CAPTURE);
	ck_assert_int_eq(strncmp(ingesting_current(warehouse), "v20231114-", 10), 0);
	ingesting_assert_good(warehouse);
	lc__ingest_result_free(&result);
}
END_TEST

START_TEST(same_bytes_for_any_threads)
{
	static const unsigned threads[] = { 1, 2, 4 };
	const char *root = make_dataset(), *one = ingesting_reference(root);
	const char *warehouse = run_scratch();
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.ingest.threads = threads[_i];
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(one, warehouse);
}
END_TEST

/* ---- a second run ---------------------------------------------------------------- */

START_TEST(second_run_is_up_to_date)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
	ck_assert_uint_eq(result.state.bytes_read, 0);
	ck_assert_uint_eq(result.state.bytes_stored, 0);
	ck_assert_uint_eq(result.state.bytes_exported, 0);
	ck_assert_uint_gt(result.shards, 3);
	lc__ingest_result_free(&result);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest");
	TCase *same = tcase_create("the same bytes");
	TCase *again = tcase_create("a second run");

	tcase_add_test(same, builds_a_version);
	tcase_add_loop_test(same, same_bytes_for_any_threads, 0, 3);
	suite_add_tcase(s, same);
	tcase_add_test(again, second_run_is_up_to_date);
	suite_add_tcase(s, again);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
