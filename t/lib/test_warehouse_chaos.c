/* SPDX-License-Identifier: BSD-2-Clause */
/* Each allocation of reading and writing what stands in a warehouse fails once: the
 * call says so, gives nothing out, and loses nothing. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fileio.h"
#include "fail_malloc.h"
#include "format/summary.h"
#include "need.h"
#include "warehouse/about.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdea"
#define V1 "v20260101-00000000000a"
#define V2 "v20260102-000000000009"

static char *root, *version; /* made before anything fails */

static lc_status
pass_summary(void)
{
	struct lc__summary s;
	struct lc__buf out = { 0 };
	lc_status status = lc__summary_parse("{\"runs\":[{\"run_id\":\"a\"},"
	    "{\"run_id\":\"b\"}],\"reasons\":{\"x\":0,\"y\":0}}", "m", &s);

	if (status != LC_OK)
		return status;
	status = lc__summary_format(&s, &out);
	lc__buf_free(&out);
	lc__summary_free(&s);
	return status;
}

static lc_status
pass_thresholds(void)
{
	const struct lc__thresholds limits = { .empty = { true, true, 1, 0.1 } };
	const struct lc__counts counts = { .total = 4, .empty = 2 };
	struct lc__buf out = { 0 };
	lc_status status = lc__thresholds_format(&limits, &out);

	lc__buf_free(&out);
	if (status != LC_OK)
		return status;
	status = lc__thresholds_check(&limits, &counts);
	return status == LC_INVALID ? LC_OK : status;
}

static lc_status
pass_about(void)
{
	struct lc__warehouse_about about;
	struct lc__buf out = { 0 };
	lc_status status = lc__warehouse_about_parse("{\"layout\":\"voc\","
	    "\"fingerprint\":\"" A64 "\",\"sources_root\":\"/\",\"sources_sha256\":\""
	    A64 "\",\"rejected_sha256\":\"" A64 "\",\"series\":[{\"path\":\"\","
	    "\"width\":1,\"height\":1,\"samples\":1}]}", "m", &about);

	if (status != LC_OK)
		return status;
	status = lc__warehouse_about_format(&about, &out);
	lc__buf_free(&out);
	lc__warehouse_about_free(&about);
	return status;
}

static lc_status
pass_find(void)
{
	char *found = NULL;
	const lc_status status = lc__version_find(root, &found);

	if (status == LC_OK)
		need(strcmp(found, version) == 0);
	else
		need(found == NULL);
	free(found);
	return status;
}

static lc_status
pass_list(void)
{
	struct lc__dir_list list = { 0 };
	const lc_status status = lc__version_list(root, &list);

	need(status == LC_OK ? list.n == 2 : list.entries == NULL);
	lc__dir_list_free(&list);
	return status;
}

static lc_status
pass_switch(void)
{
	return lc__version_switch(root, V1);
}

static lc_status
add_files(struct lc__sources *list)
{
	struct lc__source_file f = { .path = "none.jpg", .size = 1 };
	lc_status status = lc__sources_add(list, &f);

	f = (struct lc__source_file){ .path = "", .directory = true };
	if (status == LC_OK)
		status = lc__sources_add(list, &f);
	lc__sources_sort(list);
	return status;
}

static lc_status
pass_sources(void)
{
	struct lc__sources list = { 0 }, read = { 0 };
	struct lc__buf out = { 0 };
	char fingerprint[65];
	lc_status status = add_files(&list);

	if (status == LC_OK)
		status = lc__sources_format(&list, &out);
	if (status == LC_OK)
		status = lc__sources_parse(&out, "s", &read);
	if (status == LC_OK)
		status = lc__sources_fingerprint(&read, fingerprint);
	lc__sources_free(&read);
	lc__buf_free(&out);
	lc__sources_free(&list);
	return status;
}

/* A file that is gone, and a directory of other names. */
static lc_status
pass_compare(void)
{
	struct lc__sources list = { 0 };
	lc_status status = add_files(&list);

	if (status == LC_OK)
		status = lc__sources_compare(&list, root, LC__LOOK_STAT, NULL);
	lc__sources_free(&list);
	return status == LC_INVALID ? LC_OK : status;
}

static lc_status
pass_hash_file(void)
{
	uint64_t hash[2], size;
	char path[4096];

	snprintf(path, sizeof(path), "%s/manifest.json", version);
	return lc__sources_hash_file(path, hash, &size);
}

static lc_status (*const passes[])(void) = { pass_summary, pass_thresholds, pass_about,
	pass_find, pass_list, pass_switch, pass_sources, pass_compare, pass_hash_file };

static void
make_version(const char *name)
{
	char *dir = lc__path_join(root, name);
	char *manifest = lc__path_join(dir, "manifest.json");

	assert_ok(lc__make_dirs(dir));
	assert_ok(lc__write_file_atomic(manifest, "{}", 2));
	free(manifest);
	free(dir);
}

START_TEST(every_allocation)
{
	long n = 0, hits;
	lc_status status;

	root = strdup(run_scratch());
	version = lc__path_join(root, V1);
	make_version(V1);
	make_version(V2);
	assert_ok(lc__version_switch(root, V1));
	do {
		fail_malloc(++n, false);
		status = passes[_i]();
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_msg(status == (hits == 0 ? LC_OK : LC_NO_MEMORY),
		    "allocation %ld: %s (%s)", n, lc_status_name(status),
		    lc_last_error()->text);
	} while (hits > 0);
	ck_assert_int_gt(n, 1);
	free(version);
	free(root);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warehouse_chaos");
	TCase *tc = tcase_create("chaos");

	tcase_add_loop_test(tc, every_allocation, 0, COUNT(passes));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
