/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards that are packed by many, and taken over by one. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/newfile.h"
#include "fake_build.h"
#include "need.h"
#include "outdir_files.h"
#include "shard/packed.h"

static const char *single; /* a build of its own, to compare with */
static lc_export_result whole;
static const struct fake_variant series = { .hashed = true, .series = 2,
	.samples = 150, .threads = 2 };

static lc_export_result
build(const char *dir, const struct fake_variant *v)
{
	lc_export_result result;

	ck_assert_msg(fake_build(dir, v, &result) == LC_OK, "%s", lc_last_error()->text);
	return result;
}

static void
make_single(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
	single = run_scratch();
	whole = build(single, &series);
	ck_assert_uint_ge(whole.shards, 12);
}

static lc_export_result
pack(const char *packed, uint32_t task, uint32_t tasks)
{
	struct fake_variant v = series;

	v.packed = packed;
	v.task = task;
	v.tasks = tasks;
	return build("/nonexistent", &v);
}

/* What is packed makes the version, with so many shards written. */
static void
assert_made(const char *packed, uint64_t written)
{
	const char *dir = run_scratch();
	struct fake_variant v = series;
	lc_export_result result;

	v.packed = packed;
	result = build(dir, &v);
	ck_assert_uint_eq(result.shards, whole.shards);
	ck_assert_uint_eq(result.shards - result.reused, written);
	ck_assert_uint_eq(result.bytes, whole.bytes);
	outdir_assert_same_dirs(single, dir);
}

/* The name of packed shard i, in the order of names. */
static char *
name_of(const char *dir, size_t i)
{
	struct lc__packed packed;
	char *name;

	ck_assert_int_eq(lc__packed_open(dir, &packed), LC_OK);
	ck_assert_uint_lt(i, packed.shards.n);
	name = strdup(packed.shards.entries[i].name);
	lc__packed_close(&packed);
	return name;
}

/* ---- tasks ------------------------------------------------------------------------ */

static const uint32_t tasks_rows[] = { 1, 2, 3, 7, 1000 };

/* The last task first, and each a second time. */
START_TEST(tasks_make_the_whole)
{
	const uint32_t tasks = tasks_rows[_i];
	char *dir = outdir_join(run_scratch(), "a/b");
	lc_export_result sum = { .shards = 0 };

	for (uint32_t task = tasks; task-- > 0;) {
		const lc_export_result one = pack(dir, task, tasks);
		const lc_export_result again = pack(dir, task, tasks);

		ck_assert_uint_eq(one.reused, 0);
		ck_assert_uint_eq(again.reused, one.shards);
		ck_assert_uint_eq(again.shards, one.shards);
		ck_assert_uint_le(one.shards, whole.shards / tasks + 1);
		sum.shards += one.shards;
		sum.samples += one.samples;
		sum.bytes += one.bytes;
	}
	ck_assert_uint_eq(sum.shards, whole.shards);
	ck_assert_uint_eq(sum.samples, whole.samples);
	ck_assert_uint_eq(sum.bytes, whole.bytes);
	ck_assert_int_eq(outdir_count_files(dir, ".twh1"), (int)whole.shards);
	ck_assert_int_eq(outdir_count_files(dir, ""), (int)whole.shards);
	assert_made(dir, 0);
	free(dir);
}
END_TEST

/* Shards of the same bytes, as of the first and the third series, are one file. */
START_TEST(equal_shards_are_one_file)
{
	const char *dir = run_scratch(), *packed = run_scratch(), *out = run_scratch();
	struct fake_variant v = series;
	lc_export_result result;

	v.series = FAKE_SERIES;
	result = build(dir, &v);
	v.packed = packed;
	for (v.task = 0, v.tasks = 4; v.task < v.tasks; v.task++)
		build("/nonexistent", &v);
	ck_assert_int_eq(outdir_count_files(packed, ""), (int)whole.shards);
	ck_assert_uint_gt(result.shards, whole.shards);
	v.tasks = 0;
	ck_assert_uint_eq(build(out, &v).reused, result.shards);
	outdir_assert_same_dirs(dir, out);
}
END_TEST

/* One that is stopped at any step leaves whole shards, and another number of tasks does
 * the rest. */
START_TEST(stopped_at_every_step)
{
	lc_export_result result;
	int first_step = 0;
	lc_status status;

	do {
		const char *dir = run_scratch();
		int steps = first_step++;
		struct fake_variant stop = series;

		stop.packed = dir;
		stop.threads = 1;
		stop.task = 1;
		stop.tasks = 4;
		stop.progress = (lc_progress){ .step = fake_stop_at, .ctx = &steps };
		status = fake_build("/nonexistent", &stop, &result);
		ck_assert_int_eq(outdir_count_unfinished(dir), 0);
		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		pack(dir, 0, 3);
		pack(dir, 2, 3);
		pack(dir, 1, 3);
		assert_made(dir, 0);
	} while (true);
	ck_assert_int_gt(first_step, 3);
}
END_TEST

/* A shard that the older version has is not packed. */
START_TEST(older_shards_are_not_packed)
{
	const char *dir = run_scratch(), *older = run_scratch();
	struct fake_variant v = series;

	build(older, &series);
	outdir_flip(older, "a/shard-000001.twh1", 0);
	v.reuse = older;
	v.packed = dir;
	v.tasks = 1;
	ck_assert_uint_eq(build("/nonexistent", &v).reused, whole.shards - 1);
	ck_assert_int_eq(outdir_count_files(dir, ""), 1);
	assert_made(dir, whole.shards - 1);
}
END_TEST

/* Nothing is lost of what a packer could not read. */
START_TEST(samples_that_cannot_be_read)
{
	const uint64_t damaged = 50;
	const char *dir = run_scratch();
	struct fake_variant v = series;
	lc_export_result result;

	v.packed = dir;
	v.tasks = 1;
	v.threads = 1;
	v.damaged = &damaged;
	ck_assert_int_eq(fake_build("/nonexistent", &v, &result), LC_CORRUPT);
	ck_assert_int_gt(outdir_count_files(dir, ".twh1"), 0);
	ck_assert_int_eq(outdir_count_unfinished(dir), 0);
	assert_made(dir, whole.shards - (uint64_t)outdir_count_files(dir, ".twh1"));
}
END_TEST

/* ---- what is packed and wrong -------------------------------------------------------- */

/* Some are missing, cut, changed at any byte or another's: what is taken is checked. */
START_TEST(damaged_at_random)
{
	uint64_t state = run_seed() + (uint64_t)_i;
	const char *dir = run_scratch(), *out = run_scratch();
	struct fake_variant v = series;
	uint64_t wrong = 0;

	pack(dir, 0, 1);
	for (size_t i = whole.shards; i-- > 0;) {
		char *name = name_of(dir, i), *path = outdir_join(dir, name);
		struct stat st;

		need(stat(path, &st) == 0);
		switch (run_random(&state) % 4) {
		case 0:
			outdir_flip(dir, name,
			    (off_t)(run_random(&state) % (uint64_t)st.st_size));
			wrong++;
			break;
		case 1:
			need(truncate(path,
			    (off_t)(run_random(&state) % (uint64_t)st.st_size)) == 0);
			wrong++;
			break;
		case 2:
			need(unlink(path) == 0);
			wrong++;
			break;
		default: break;
		}
		free(path);
		free(name);
	}
	v.packed = dir;
	v.reread = true;
	ck_assert_uint_eq(whole.shards - build(out, &v).reused, wrong);
	outdir_assert_same_dirs(single, out);
}
END_TEST

/* Two shards of the same samples: nobody knows which one is right. */
START_TEST(twins_are_refused)
{
	const char *dir = run_scratch();
	char *name, *path, *twin;
	struct fake_variant v = series;
	lc_export_result result;

	pack(dir, 0, 1);
	name = name_of(dir, 3);
	path = outdir_join(dir, name);
	twin = strdup(path);
	twin[strlen(twin) - 6] = twin[strlen(twin) - 6] == '0' ? '1' : '0';
	need(link(path, twin) == 0);
	v.packed = dir;
	for (v.tasks = 0; v.tasks < 3; v.tasks++) {
		ck_assert_int_eq(fake_build(run_scratch(), &v, &result), LC_CORRUPT);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text, name));
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    strrchr(twin, '/') + 1));
	}
	need(unlink(twin) == 0);
	assert_made(dir, 0);
	free(twin);
	free(path);
	free(name);
}
END_TEST

/* Names that are not ours are left alone, and so is a file that is being written. */
START_TEST(others_stay)
{
	static const char *const others[] = { "notes", "0.twh1", "shard-000000.twh1",
		"0123456789abcdef0123456789abcdef.twh1",
		"0123456789abcdef0123456789abcdef-0.twh1",
		"0123456789abcdef0123456789abcdef.twh1.tmp.a1b2c3d",
		"0123456789ABCDEF0123456789abcdef.twh1.tmp.a1b2c3" };
	const size_t n = sizeof(others) / sizeof(others[0]);
	const char *dir = run_scratch();
	char *begun = outdir_join(dir, "0123456789abcdef0123456789abcdef.twh1");
	struct lc__newfile file;
	uint64_t bytes;

	for (size_t i = 0; i < n; i++)
		outdir_put_file(dir, others[i], "x");
	outdir_put_file(dir, "0123456789abcdef0123456789abcdef.twh1.tmp.a1b2c3", "x");
	ck_assert_int_eq(lc__newfile_open(begun, 0666, &file), LC_OK);
	pack(dir, 0, 1);
	ck_assert_int_eq(lc__packed_bytes(dir, &bytes), LC_OK);
	ck_assert_uint_eq(bytes, whole.bytes);
	assert_made(dir, 0);
	ck_assert_int_eq(lc__packed_remove(dir), LC_OK);
	ck_assert_int_eq(outdir_count_files(dir, ""), (int)n + 1);
	for (size_t i = 0; i < n; i++)
		ck_assert(outdir_exists(dir, others[i]));
	lc__newfile_discard(&file);
	ck_assert_int_eq(lc__packed_bytes(dir, &bytes), LC_OK);
	ck_assert_uint_eq(bytes, 0);
	free(begun);
}
END_TEST

START_TEST(the_directory_goes_with_its_shards)
{
	char *dir = outdir_join(run_scratch(), "packed");
	struct lc__packed packed;
	uint64_t bytes = 1;

	ck_assert_int_eq(lc__packed_remove(dir), LC_OK);
	ck_assert_int_eq(lc__packed_bytes(dir, &bytes), LC_OK);
	ck_assert_uint_eq(bytes, 0);
	ck_assert_int_eq(lc__packed_open(dir, &packed), LC_OK);
	ck_assert_ptr_null(lc__packed_find(&packed, "0123456789abcdef0123456789abcdef",
	    NULL));
	lc__packed_close(&packed);
	pack(dir, 1, 2);
	ck_assert_int_eq(lc__packed_remove(dir), LC_OK);
	ck_assert_int_eq(access(dir, F_OK), -1);
	free(dir);
}
END_TEST

static const struct {
	bool hashed, no_sha256;
} plain_rows[] = { { false, false }, { true, true } };

/* Without a name that says what is in it there is no packed shard. */
START_TEST(hashes_are_needed)
{
	struct fake_variant v = series;
	lc_export_result result;

	v.hashed = plain_rows[_i].hashed;
	v.no_sha256 = plain_rows[_i].no_sha256;
	v.packed = run_scratch();
	for (v.tasks = 0; v.tasks < 2; v.tasks++)
		ck_assert_int_eq(fake_build(run_scratch(), &v, &result), LC_INVALID);
	ck_assert_int_eq(outdir_count_files(v.packed, ""), 0);
}
END_TEST

/* ---- disks --------------------------------------------------------------------------- */

/* Shards on another file system are copied, and their bytes compared. */
START_TEST(copies_are_checked)
{
	const char *disk = run_scratch();
	char *name;

	if (!outdir_mount(disk, "size=4m"))
		return;
	pack(disk, 0, 1);
	assert_made(disk, 0);
	name = name_of(disk, 5);
	outdir_flip(disk, name, 3000);
	assert_made(disk, 1);
	free(name);
	ck_assert_int_eq(umount(disk), 0);
}
END_TEST

/* The disk has no room for the shards twice, but links need none. */
START_TEST(links_need_no_room)
{
	const char *disk = run_scratch();
	char *packed = outdir_join(disk, "packed"), *dir = outdir_join(disk, "dir");
	struct fake_variant v = { .hashed = true, .packed = packed, .tasks = 1 };

	if (outdir_mount(disk, "size=600k")) {
		build("/nonexistent", &v);
		v.tasks = 0;
		ck_assert_uint_eq(build(dir, &v).reused, 5);
		ck_assert_int_eq(umount(disk), 0);
	}
	free(packed);
	free(dir);
}
END_TEST

/* A disk that is full holds whole shards only, and the rest goes elsewhere. */
START_TEST(full_disks)
{
	const char *disk = run_scratch();
	struct fake_variant v = series;
	lc_export_result result;
	int there;

	if (!outdir_mount(disk, "size=300k"))
		return;
	v.packed = disk;
	v.tasks = 1;
	ck_assert_int_eq(fake_build("/nonexistent", &v, &result), LC_NO_SPACE);
	there = outdir_count_files(disk, ".twh1");
	ck_assert_int_gt(there, 0);
	ck_assert_int_eq(outdir_count_files(disk, ""), there);
	assert_made(disk, whole.shards - (uint64_t)there);
	ck_assert_int_eq(umount(disk), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("packed");
	TCase *tc = tcase_create("packed");

	tcase_set_timeout(tc, 600);
	tcase_add_unchecked_fixture(tc, make_single, NULL);
	tcase_add_loop_test(tc, tasks_make_the_whole, 0, 5);
	tcase_add_test(tc, equal_shards_are_one_file);
	tcase_add_test(tc, stopped_at_every_step);
	tcase_add_test(tc, older_shards_are_not_packed);
	tcase_add_test(tc, samples_that_cannot_be_read);
	tcase_add_loop_test(tc, damaged_at_random, 0, 8);
	tcase_add_test(tc, twins_are_refused);
	tcase_add_test(tc, others_stay);
	tcase_add_test(tc, the_directory_goes_with_its_shards);
	tcase_add_loop_test(tc, hashes_are_needed, 0, 2);
	tcase_add_test(tc, copies_are_checked);
	tcase_add_test(tc, links_need_no_room);
	tcase_add_test(tc, full_disks);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
