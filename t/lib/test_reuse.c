/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fake_build.h"
#include "format/manifest.h"
#include "outdir_files.h"

#define SAMPLES ((uint64_t)2000)

static void
fix_time(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

static lc_export_result
build(const char *dir, const struct fake_variant *v)
{
	lc_export_result result;

	ck_assert_msg(fake_build(dir, v, &result) == LC_OK, "%s",
	    lc_last_error()->text);
	return result;
}

static ino_t
inode(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	free(path);
	return st.st_ino;
}

/* ---- where shards end ------------------------------------------------------ */

/* Numbers of samples with one more at a place. */
static void
number_all(uint64_t *numbers, uint64_t at, uint64_t extra)
{
	for (uint64_t i = 0; i <= SAMPLES; i++)
		numbers[i] = i < at ? i : i == at ? extra : i - 1;
}

static struct lc__manifest
manifest_of(const char *dir)
{
	struct lc__buf text = outdir_get_file(dir, "manifest.json");
	struct lc__manifest m;

	ck_assert_int_eq(lc__manifest_parse(text.data, text.size, "m", &m), LC_OK);
	lc__buf_free(&text);
	return m;
}

START_TEST(sizes_of_shards)
{
	const struct fake_variant v = { .hashed = true, .samples = SAMPLES };
	const char *dir = run_scratch();
	const lc_export_result result = build(dir, &v);
	struct lc__manifest m = manifest_of(dir);
	uint64_t mean;

	for (size_t i = 0; i < m.n; i++) {
		ck_assert_uint_le(m.shards[i].bytes, FAKE_SHARD_BYTES * 3 / 2);
		if (i + 1 < m.n)
			ck_assert_uint_ge(m.shards[i].bytes, FAKE_SHARD_BYTES / 2);
	}
	mean = result.bytes / result.shards;
	ck_assert_uint_gt(mean, FAKE_SHARD_BYTES * 4 / 5);
	ck_assert_uint_lt(mean, FAKE_SHARD_BYTES * 6 / 5);
	lc__manifest_free(&m);
}
END_TEST

/* One sample more in the middle, at the front and at the end. */
START_TEST(one_sample_more)
{
	static const uint64_t places[] = { SAMPLES / 2, 0, SAMPLES };
	const struct fake_variant old = { .hashed = true, .samples = SAMPLES };
	const char *older = run_scratch(), *dir = run_scratch();
	static uint64_t numbers[SAMPLES + 1];
	struct fake_variant v = { .hashed = true, .samples = SAMPLES + 1,
		.numbers = numbers, .reuse = older };
	lc_export_result result;

	number_all(numbers, places[_i], 999999);
	build(older, &old);
	result = build(dir, &v);
	ck_assert_uint_gt(result.shards, 80);
	ck_assert_uint_le(result.shards - result.reused, 3);
	ck_assert_uint_lt(result.reused, result.shards);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	v.reuse = NULL;
	older = run_scratch();
	build(older, &v);
	outdir_assert_same_dirs(older, dir);
}
END_TEST

static uint64_t
shards_not_in(const struct lc__manifest *a, const struct lc__manifest *b)
{
	uint64_t missing = a->n;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (strcmp(a->shards[i].samples_hash,
			    b->shards[k].samples_hash) == 0)
				missing--;
	return missing;
}

/* Anywhere: few shards on average, whatever the samples' hashes are. */
START_TEST(samples_more_anywhere)
{
	const struct fake_variant old = { .hashed = true, .samples = SAMPLES,
		.no_sha256 = true };
	const char *dir = run_scratch();
	static uint64_t numbers[SAMPLES + 1];
	const struct fake_variant v = { .hashed = true, .samples = SAMPLES + 1,
		.numbers = numbers, .no_sha256 = true };
	uint64_t seed = run_seed(), new = 0;
	struct lc__manifest before, after;

	build(dir, &old);
	before = manifest_of(dir);
	for (int round = 0; round < 20; round++) {
		const uint64_t at = run_random(&seed) % (SAMPLES + 1);
		number_all(numbers, at, run_random(&seed));
		build(dir, &v);
		after = manifest_of(dir);
		new += shards_not_in(&after, &before);
		lc__manifest_free(&after);
	}
	ck_assert_uint_ge(new, 20);
	ck_assert_uint_le(new, 60);
	lc__manifest_free(&before);
}
END_TEST

/* ---- taking shards --------------------------------------------------------- */

static const struct fake_variant series = { .series = 2, .hashed = true };

START_TEST(links)
{
	const char *older = run_scratch(), *dir = run_scratch();
	struct fake_variant v = series;
	lc_export_result first, result;

	v.no_sha256 = _i;
	first = build(older, &v);
	v.reuse = older;
	v.threads = 2;
	result = build(dir, &v);
	ck_assert_uint_eq(result.reused, first.shards);
	ck_assert_uint_eq(result.bytes, first.bytes);
	ck_assert_uint_eq(inode(older, "a/shard-000000.twh1"),
	    inode(dir, "a/shard-000000.twh1"));
	ck_assert_uint_eq(inode(older, "10x300/shard-000002.twh1"),
	    inode(dir, "10x300/shard-000002.twh1"));
	outdir_assert_same_dirs(older, dir);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
}
END_TEST

START_TEST(copies)
{
	const char *older = run_scratch(), *dir = run_scratch();
	struct fake_variant v = series;
	lc_export_result first, result;

	if (!outdir_mount(dir, "size=4m"))
		return;
	first = build(older, &v);
	v.reuse = older;
	result = build(dir, &v);
	ck_assert_uint_eq(result.reused, first.shards);
	outdir_assert_same_dirs(older, dir);
	/* Copied, damage anywhere shows. */
	outdir_flip(older, "a/shard-000000.twh1", 5000);
	v.state = "again";
	result = build(dir, &v);
	ck_assert_uint_eq(result.reused, first.shards - 1);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	ck_assert_int_eq(umount(dir), 0);
}
END_TEST

static const struct {
	off_t at;    /* a bit is flipped there; -1: the file goes, -2: it is cut */
	bool taken;  /* all the same */
} damage_rows[] = {
	{ 16, false },           /* header */
	{ 36, false },
	{ -1, false },
	{ -2, false },
	{ -100, false },         /* the checksum section's own end */
	{ 5000, true },          /* readers find it */
};

START_TEST(damaged_shards_are_written)
{
	const char *older = run_scratch(), *dir = run_scratch();
	const char *name = "a/shard-000001.twh1";
	char *path = outdir_join(older, name);
	struct fake_variant v = series;
	const lc_export_result first = build(older, &v);
	const off_t at = damage_rows[_i].at;
	lc_export_result result;
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	if (at == -1)
		outdir_remove_file(older, name);
	else if (at == -2)
		ck_assert_int_eq(truncate(path, st.st_size - 1), 0);
	else
		outdir_flip(older, name, at >= 0 ? at : st.st_size - 1);
	v.reuse = older;
	result = build(dir, &v);
	ck_assert_uint_eq(result.reused,
	    first.shards - !damage_rows[_i].taken);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL),
	    damage_rows[_i].taken ? LC_CORRUPT : LC_OK);
	free(path);
}
END_TEST

/* An older build that is of no use is no obstacle. */
static const struct {
	const char *manifest; /* replaced by it, or NULL */
	bool no_sha256;       /* of the older build */
	bool hashed;          /* the same */
} useless_rows[] = {
	{ "", false, true }, { "{}", false, true }, { NULL, true, true },
	{ NULL, false, false },
};

START_TEST(useless_builds)
{
	const char *older = run_scratch(), *dir = run_scratch();
	struct fake_variant old = series, v = series;

	old.no_sha256 = useless_rows[_i].no_sha256;
	old.hashed = useless_rows[_i].hashed;
	build(older, &old);
	if (useless_rows[_i].manifest != NULL)
		outdir_put_file(older, "manifest.json", useless_rows[_i].manifest);
	v.reuse = older;
	ck_assert_uint_eq(build(dir, &v).reused, 0);
	v.reuse = "/nonexistent";
	v.state = "again";
	ck_assert_uint_eq(build(dir, &v).reused, 0);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
}
END_TEST

/* Stopped while it takes shards, it goes on, and a damaged link is replaced by a
 * file of its own. */
START_TEST(cancelled_at_every_step)
{
	const char *older = run_scratch();
	struct fake_variant again = series;
	lc_export_result result;
	lc_status status;
	int first_step = 0;

	build(older, &again);
	again.reuse = older;
	do {
		const char *dir = run_scratch();
		int steps = first_step++;
		struct fake_variant stop = again;
		stop.progress = (lc_progress){ .step = fake_stop_at, .ctx = &steps };
		status = fake_build(dir, &stop, &result);
		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		ck_assert(!outdir_exists(dir, "manifest.json"));
		result = build(dir, &again);
		ck_assert_uint_eq(result.reused, result.shards);
		outdir_assert_same_dirs(older, dir);
	} while (true);
	ck_assert_int_gt(first_step, 6);
}
END_TEST

/* The disk has no room for the shards, but links need none. */
START_TEST(links_need_no_room)
{
	const char *disk = run_scratch();
	char *older = outdir_join(disk, "older"), *dir = outdir_join(disk, "dir");
	struct fake_variant v = { .hashed = true };

	if (!outdir_mount(disk, "size=600k"))
		return;
	build(older, &v);
	v.reuse = older;
	ck_assert_uint_eq(build(dir, &v).reused, 5);
	ck_assert_int_eq(umount(disk), 0);
	free(older);
	free(dir);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("reuse");
	TCase *tc = tcase_create("reuse");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, fix_time, NULL);
	tcase_add_test(tc, sizes_of_shards);
	tcase_add_loop_test(tc, one_sample_more, 0, 3);
	tcase_add_test(tc, samples_more_anywhere);
	tcase_add_loop_test(tc, links, 0, 2);
	tcase_add_test(tc, copies);
	tcase_add_loop_test(tc, damaged_shards_are_written, 0, 6);
	tcase_add_loop_test(tc, useless_builds, 0, 4);
	tcase_add_test(tc, cancelled_at_every_step);
	tcase_add_test(tc, links_need_no_room);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
