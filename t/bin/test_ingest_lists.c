/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands beside the shards of a version: its lists, and what kills leave. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset.h"
#include "ingesting.h"
#include "need.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define FRAMES 10u /* a run */

static const char *
make_dataset(void)
{
	const char *root = run_scratch();

	dataset_make(root, FRAMES);
	return root;
}

static void
assert_opens(const char *warehouse, lc_status want)
{
	lc_warehouse *reader = NULL;

	assert_status(lc_warehouse_open(warehouse, NULL, &reader), want);
	lc_warehouse_close(reader);
}

/* Of a name that makes no frame the fingerprint knows nothing; the list does. */
START_TEST(a_name_that_changes_no_frame)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	const char *old = strdupa(ingesting_current(warehouse));
	struct lc__ingest_result result;
	struct ingesting in;
	char *path;

	path = outdir_join(root, "notes/day.log");
	dataset_file(path, "fair");
	free(path);
	assert_opens(warehouse, LC_STALE);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
	ck_assert_uint_eq(result.shards_reused, result.shards);
	lc__ingest_result_free(&result);
	ck_assert_str_eq(ingesting_current(warehouse), old);
	assert_opens(warehouse, LC_OK);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	lc__ingest_result_free(&result);
}
END_TEST

/* A digit of the first "total". */
static off_t
place_in_summary(const char *warehouse)
{
	struct lc__buf text = outdir_get_file(ingesting_path(warehouse, ""),
	    "manifest.json");
	const char *start = (const char *)text.data;
	const char *total = memmem(start, text.size, "\"total\": ", 9);

	need(total != NULL);
	lc__buf_free(&text);
	return total - start + 9;
}

/* Lists that are damaged are written again. A manifest that was changed says nothing of its
 * shards, which are written again with it. */
START_TEST(damaged_lists_are_built)
{
	static const char *const names[] = { "sources.txt", "rejected.jsonl",
		"manifest.json" };
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;

	outdir_flip(ingesting_path(warehouse, ""), names[_i],
	    _i == 2 ? place_in_summary(warehouse) : 40);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.shards_reused, _i == 2 ? 0 : result.shards);
	lc__ingest_result_free(&result);
	ingesting_assert_same(ingesting_reference(root), warehouse);
}
END_TEST

/* A version that somebody gave another name is none. */
START_TEST(a_version_of_another_name)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	const char *other = "v20200101-aaaaaaaaaaaa";
	char *old = outdir_join(warehouse, ingesting_current(warehouse));
	char *renamed = outdir_join(warehouse, other);
	char *link = outdir_join(warehouse, "current");
	struct lc__ingest_result result;
	struct ingesting in;

	need(rename(old, renamed) == 0);
	need(unlink(link) == 0 && symlink(other, link) == 0);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.shards_reused, result.shards);
	lc__ingest_result_free(&result);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	free(old);
	free(renamed);
	free(link);
}
END_TEST

/* --clear forgets the module also where it cannot be opened. */
START_TEST(a_module_that_is_damaged)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	char *data = outdir_join(warehouse, "samples/data.mdb");
	struct ingesting in;

	need(truncate(data, 6000) == 0);
	free(data);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_CORRUPT, NULL);
	in.ingest.clear = true;
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	ck_assert(!outdir_exists(warehouse, ".rebuild"));
}
END_TEST

/* A kill leaves files that were half written, and the export's state. */
START_TEST(leftovers_in_a_version_go)
{
	static const char *const names[] = { "sources.txt.tmp.abcdef",
		"manifest.json.tmp.abcdef", ".export-state.json" };
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	const char *name = strdupa(ingesting_current(warehouse));
	struct ingesting in;
	char hidden[4096], version[4200];

	snprintf(version, sizeof(version), "%s/%s", warehouse, name);
	snprintf(hidden, sizeof(hidden), "%s/.building-%s", warehouse,
	    name + strlen("v20231114-"));
	need(rename(version, hidden) == 0);
	for (int i = 0; i < COUNT(names); i++) {
		snprintf(version, sizeof(version), "%s/%s", hidden, names[i]);
		dataset_file(version, "half");
	}
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(ingesting_reference(root), warehouse);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest lists");
	TCase *tc = tcase_create("beside the shards");

	tcase_add_test(tc, a_name_that_changes_no_frame);
	tcase_add_loop_test(tc, damaged_lists_are_built, 0, 3);
	tcase_add_test(tc, a_version_of_another_name);
	tcase_add_test(tc, a_module_that_is_damaged);
	tcase_add_test(tc, leftovers_in_a_version_go);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
