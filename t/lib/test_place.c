/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "need.h"
#include "outdir_files.h"
#include "warehouse/place.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define V1 "v20260101-00000000000a"
#define V2 "v20260102-000000000009"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B64 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static int stolen; /* so many files are gone when they are to be renamed */

int
rename(const char *from, const char *to)
{
	if (stolen > 0) {
		stolen--;
		need(unlink(from) == 0);
	}
	return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* ---- names ----------------------------------------------------------------- */

/* The hash is sha256sum's of "aa…:bb…". */
static const struct {
	uint64_t ms;
	const char *name;
} name_rows[] = {
	{ 0, "v19700101-6173cf9d3267" },
	{ 1767225599999, "v20251231-6173cf9d3267" },
	{ 1767225600000, "v20260101-6173cf9d3267" },
	{ 1709164800000, "v20240229-6173cf9d3267" },
	{ 253402300799999, "v99991231-6173cf9d3267" },
};

START_TEST(names_of_days)
{
	char name[LC__VERSION_NAME];

	/* The day is UTC's wherever one is. */
	setenv("TZ", "Pacific/Kiritimati", 1);
	assert_ok(lc__version_name(A64, B64, name_rows[_i].ms, name));
	ck_assert_str_eq(name, name_rows[_i].name);
}
END_TEST

START_TEST(no_day)
{
	char name[LC__VERSION_NAME];

	assert_status(lc__version_name(A64, B64, 253402300800000, name), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "version: 253402300800000 ms is not a date");
}
END_TEST

/* ---- a warehouse on disk --------------------------------------------------- */

static void
make_version(const char *warehouse, const char *name)
{
	char *dir = outdir_join(warehouse, name);
	char *manifest = outdir_join(dir, "manifest.json");

	assert_ok(lc__make_dirs(dir));
	assert_ok(lc__write_file_atomic(manifest, "{}", 2));
	free(manifest);
	free(dir);
}

static void
make_link(const char *warehouse, const char *name, const char *target)
{
	char *link = outdir_join(warehouse, name);

	ck_assert_int_eq(symlink(target, link), 0);
	free(link);
}

/* Two versions, no link; freed by the caller. */
static char *
make_warehouse(const char *dir)
{
	char *warehouse = outdir_join(dir, "warehouse");

	make_version(warehouse, V1);
	make_version(warehouse, V2);
	return warehouse;
}

static void
assert_found(const char *dir, const char *below, const char *want_dir,
    const char *want)
{
	char *path = outdir_join(dir, below), *wanted = outdir_join(want_dir, want), *found;

	assert_ok(lc__version_find(path, &found));
	ck_assert_str_eq(found, wanted);
	free(found);
	free(wanted);
	free(path);
}

START_TEST(finding)
{
	const char *dir = run_scratch();
	char *warehouse = make_warehouse(dir);

	assert_ok(lc__version_switch(warehouse, V2));
	assert_found(warehouse, "", warehouse, V2);
	assert_found(warehouse, "//", warehouse, V2);
	assert_found(warehouse, "current", warehouse, V2);
	assert_found(warehouse, "current/", warehouse, V2);
	assert_found(warehouse, V1, warehouse, V1);
	assert_found(warehouse, V1 "/", warehouse, V1);
	ck_assert_int_eq(chdir(warehouse), 0);
	assert_found(".", "", ".", V2);
	assert_found("current", "", ".", V2);
	ck_assert_int_eq(chdir(V1), 0);
	assert_found("..", "current", "..", V2);
	assert_found(dir, "warehouse", warehouse, V2);
	free(warehouse);
}
END_TEST

/* Someone's own link to a warehouse, or to a version. */
START_TEST(through_links)
{
	const char *dir = run_scratch();
	char *warehouse = make_warehouse(dir), *theirs = outdir_join(dir, "theirs");

	assert_ok(lc__version_switch(warehouse, V1));
	make_link(dir, "theirs", "warehouse");
	assert_found(theirs, "", theirs, V1);
	assert_found(theirs, "current", theirs, V1);
	make_link(warehouse, "best", V2);
	assert_found(warehouse, "best", warehouse, "best");
	free(theirs);
	free(warehouse);
}
END_TEST

/* `current` leads there; messages without the path before them. */
static const struct {
	const char *target;
	lc_status status;
	const char *message;
} bad_links[] = {
	{ "v20260103-000000000000", LC_CORRUPT, "leads to "
	    "v20260103-000000000000: No such file or directory" },
	{ "..", LC_CORRUPT, "leads outside, to '..'" },
	{ ".", LC_CORRUPT, "leads outside, to '.'" },
	{ "./" V1, LC_CORRUPT, "leads outside, to './" V1 "'" },
	{ "/tmp", LC_CORRUPT, "leads outside, to '/tmp'" },
	{ V1 "/", LC_CORRUPT, "leads outside, to '" V1 "/'" },
	{ "current", LC_CORRUPT, "leads to current: "
	    "Too many levels of symbolic links" },
	{ "empty", LC_CORRUPT, "leads to empty, which has no manifest.json" },
	{ NULL, LC_CORRUPT, "is not a symbolic link" },
};

START_TEST(bad_link)
{
	char *warehouse = make_warehouse(run_scratch()), *found = NULL, *want;
	char *empty = outdir_join(warehouse, "empty");
	char *current = outdir_join(warehouse, "current");

	ck_assert_int_eq(mkdir(empty, 0777), 0);
	if (bad_links[_i].target != NULL)
		make_link(warehouse, "current", bad_links[_i].target);
	else
		ck_assert_int_eq(mkdir(current, 0777), 0);
	assert_status(lc__version_find(warehouse, &found), bad_links[_i].status);
	ck_assert_int_ge(asprintf(&want, "%s: %s", current, bad_links[_i].message),
	    0);
	ck_assert_str_eq(lc_last_error()->text, want);
	ck_assert_ptr_null(found);
	free(want);
	free(current);
	free(empty);
	free(warehouse);
}
END_TEST

START_TEST(no_warehouse)
{
	const char *dir = run_scratch();
	char *path = outdir_join(dir, "none"), *file = outdir_join(dir, "file"), *found;

	assert_status(lc__version_find(path, &found), LC_NO_FILE);
	ck_assert_int_eq(mkdir(path, 0777), 0);
	assert_status(lc__version_find(path, &found), LC_NOT_MODULE);
	assert_ok(lc__write_file_atomic(file, "x", 1));
	assert_status(lc__version_find(file, &found), LC_NOT_MODULE);
	assert_status(lc__version_find("", &found), LC_NO_FILE);
	free(file);
	free(path);
}
END_TEST

/* ---- listing --------------------------------------------------------------- */

START_TEST(list)
{
	/* In their order, V2 and V1 are there; then what is none. */
	static const char *const others[] = { "v20260102-00000000000",
	    "v2026010-000000000000", "v20260103-0000000000000", "v20260103-00000000000A",
	    "v20260103-00000000000a-2", "V20260103-00000000000a", "samples",
	    ".v20260103-00000000000a", "v2026010x-00000000000a" };
	char *warehouse = make_warehouse(run_scratch()), *file;
	struct lc__dir_list versions = { 0 };

	for (int i = 0; i < COUNT(others); i++)
		make_version(warehouse, others[i]);
	file = outdir_join(warehouse, "v20260103-000000000000");
	assert_ok(lc__write_file_atomic(file, "x", 1));
	assert_ok(lc__version_switch(warehouse, V1));
	assert_ok(lc__version_list(warehouse, &versions));
	ck_assert_uint_eq(versions.n, 2);
	ck_assert_str_eq(versions.entries[0].name, V1);
	ck_assert_str_eq(versions.entries[1].name, V2);
	lc__dir_list_free(&versions);
	assert_status(lc__version_list(file, &versions), LC_NO_FILE);
	free(file);
	file = outdir_join(warehouse, "samples");
	assert_ok(lc__version_list(file, &versions));
	ck_assert_uint_eq(versions.n, 0);
	lc__dir_list_free(&versions);
	free(file);
	free(warehouse);
}
END_TEST

/* ---- switching ------------------------------------------------------------- */

static size_t
count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t n = 0;

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n - 2;
}

static void
assert_link(const char *warehouse, const char *want)
{
	char *link = outdir_join(warehouse, "current"), target[256] = "";

	ck_assert_int_ge(readlink(link, target, sizeof(target) - 1), 0);
	ck_assert_str_eq(target, want);
	free(link);
}

/* What a killed switch left goes; what only looks like it stays. */
START_TEST(switching)
{
	char *warehouse = make_warehouse(run_scratch());
	char *file = outdir_join(warehouse, ".current.12");

	assert_ok(lc__version_switch(warehouse, V1));
	assert_link(warehouse, V1);
	make_link(warehouse, ".current.4711", V2);
	make_link(warehouse, ".current.", V2);
	make_link(warehouse, ".current.old", V2);
	assert_ok(lc__write_file_atomic(file, "x", 1));
	ck_assert_uint_eq(count_entries(warehouse), 2 + 1 + 4);
	assert_ok(lc__version_switch(warehouse, V2));
	assert_link(warehouse, V2);
	ck_assert_uint_eq(count_entries(warehouse), 2 + 1 + 3);
	free(file);
	free(warehouse);
}
END_TEST

/* Another process switches at the same time, and takes the link for a leftover. */
START_TEST(switched_by_two)
{
	char *warehouse = make_warehouse(run_scratch());

	stolen = _i;
	assert_status(lc__version_switch(warehouse, V1),
	    _i < 3 ? LC_OK : LC_NO_FILE);
	ck_assert_int_eq(stolen, 0);
	ck_assert_uint_eq(count_entries(warehouse), _i < 3 ? 3 : 2);
	free(warehouse);
}
END_TEST

static const char *const no_names[] = { "", ".", "..", "a/b", "/tmp", V1 "/" };

START_TEST(no_name)
{
	char *warehouse = make_warehouse(run_scratch());

	assert_status(lc__version_switch(warehouse, no_names[_i]), LC_INVALID);
	ck_assert_uint_eq(count_entries(warehouse), 2);
	free(warehouse);
}
END_TEST

/* A failure leaves what there was, and nothing else. */
START_TEST(not_switched)
{
	char *warehouse = make_warehouse(run_scratch());
	char *current = outdir_join(warehouse, "current");
	char *none = outdir_join(warehouse, "none");

	ck_assert_int_eq(mkdir(current, 0777), 0);
	assert_status(lc__version_switch(warehouse, V1), LC_IO);
	ck_assert_uint_eq(count_entries(warehouse), 3);
	assert_status(lc__version_switch(none, V1), LC_NO_FILE);
	free(none);
	free(current);
	free(warehouse);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("place");
	TCase *tc = tcase_create("place");

	tcase_add_loop_test(tc, names_of_days, 0, COUNT(name_rows));
	tcase_add_test(tc, no_day);
	tcase_add_test(tc, finding);
	tcase_add_test(tc, through_links);
	tcase_add_loop_test(tc, bad_link, 0, COUNT(bad_links));
	tcase_add_test(tc, no_warehouse);
	tcase_add_test(tc, list);
	tcase_add_test(tc, switching);
	tcase_add_loop_test(tc, switched_by_two, 1, 4);
	tcase_add_loop_test(tc, no_name, 0, COUNT(no_names));
	tcase_add_test(tc, not_switched);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
