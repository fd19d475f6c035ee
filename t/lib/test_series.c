/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "fake_build.h"
#include "format/manifest.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static void
fix_time(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

static const char *
built(const struct fake_variant *v)
{
	const char *dir = run_scratch();
	lc_export_result result;

	ck_assert_msg(fake_build(dir, v, &result) == LC_OK, "%s",
	    lc_last_error()->text);
	return dir;
}

static void
read_manifest(const char *dir, struct lc__manifest *out)
{
	struct lc__buf text = outdir_get_file(dir, "manifest.json");

	ck_assert_int_eq(lc__manifest_parse(text.data, text.size, "m", out), LC_OK);
	lc__buf_free(&text);
}

static void
make_sub(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(mkdir(path, 0777), 0);
	free(path);
}

static void
remove_sub(const char *dir, const char *name)
{
	char *path = outdir_join(dir, name);

	ck_assert_int_eq(rmdir(path), 0);
	free(path);
}

/* ---- what is written ------------------------------------------------------- */

/* The SHA-256 are those that sha256sum(1) has of the files, the samples' hashes those
 * that xxhash's own library has of the bytes that twh1(5) tells; a section's XXH3 is the
 * last eight bytes of the file. */
static const char two_series[] =
"{\n"
"  \"manifest_sha256\": "
"\"7807eeec3043542ce4d64615a4948e47578a9d5a0e352192356cb0c9570b8a48\",\n"
"  \"dataset_root\": \"fake\",\n"
"  \"transform\": null,\n"
"  \"version\": \"VERSION\",\n"
"  \"version_recipe\": \"RECIPE\",\n"
"  \"code_version\": \"test\",\n"
"  \"default_dtype\": \"U8\",\n"
"  \"default_shard_version\": 2,\n"
"  \"created_at_ms\": 1700000000000,\n"
"  \"thresholds\": {},\n"
"  \"summary\": {\n"
"    \"a\": 1\n"
"  },\n"
"  \"shards\": [\n"
"    {\n"
"      \"id\": \"a/shard-000000\",\n"
"      \"relative_path\": \"a/shard-000000.twh1\",\n"
"      \"shard_version\": 2,\n"
"      \"samples\": 2,\n"
"      \"width\": 3000,\n"
"      \"height\": 1,\n"
"      \"channels\": 1,\n"
"      \"max_boxes\": 2,\n"
"      \"dtype\": \"U8\",\n"
"      \"endianness\": \"Little\",\n"
"      \"checksum_sha256\": "
"\"77347baf92fdaa133ff360914c5993f50efefaae1aceb9228b84e345553347b3\",\n"
"      \"bytes\": 10416,\n"
"      \"boxes_dtype\": \"F32\",\n"
"      \"section_xxh3\": \"553790d005938a5c\",\n"
"      \"samples_hash\": \"253983718b7bbbacb22126fdf6220d06\"\n"
"    },\n"
"    {\n"
"      \"id\": \"10x300/shard-000000\",\n"
"      \"relative_path\": \"10x300/shard-000000.twh1\",\n"
"      \"shard_version\": 2,\n"
"      \"samples\": 2,\n"
"      \"width\": 300,\n"
"      \"height\": 10,\n"
"      \"channels\": 1,\n"
"      \"max_boxes\": 2,\n"
"      \"dtype\": \"U8\",\n"
"      \"endianness\": \"Little\",\n"
"      \"checksum_sha256\": "
"\"0e930ed0628f1ebc1f9293f345b14593c3896d7b55520a07e6d296c18e32b862\",\n"
"      \"bytes\": 10416,\n"
"      \"boxes_dtype\": \"F32\",\n"
"      \"section_xxh3\": \"4a50644c6bc0daa3\",\n"
"      \"samples_hash\": \"80c7ade7a6a5db2ab95608b3c8d5bad3\"\n"
"    }\n"
"  ],\n"
"  \"warehouse\": {\n"
"    \"layout\": \"capture\"\n"
"  },\n"
"  \"manifest_version\": 1\n"
"}\n";

static const struct lc__manifest warehouse = {
	.dataset_root = (char *)"fake", .transform = (char *)"null",
	.version = (char *)"VERSION", .version_recipe = (char *)"RECIPE",
	.code_version = (char *)"test", .thresholds = (char *)"{}",
	.summary = (char *)"{\"a\":1}",
	.warehouse = (char *)"{\"layout\":\"capture\"}",
};

START_TEST(manifest_of_two_series)
{
	const struct fake_variant v = { .series = 2, .samples = 2, .hashed = true,
		.about = &warehouse };
	const char *dir = built(&v);
	struct lc__buf text = outdir_get_file(dir, "manifest.json");

	lc__buf_append(&text, "", 1);
	ck_assert_str_eq((const char *)text.data, two_series);
	lc__buf_free(&text);
}
END_TEST

/* U8 is code 5, F32 code 0, of which one more stands in the upper half. */
START_TEST(bytes_of_a_shard)
{
	static const unsigned char header[32] = "TWH1" "\2\0\0\0" "\5\0\1\0"
	    "\0\0\0\0" "\54\1\0\0" "\12\0\0\0" "\1\0\0\0" "\2\0\0";
	const struct fake_variant v = { .series = 2, .samples = 2 };
	const float boxes[16] = { 0, 1.f / 4096, 2.f / 4096, 3.f / 4096, 0, 0, 0, 0,
		1.f / 4096, 2.f / 4096, 3.f / 4096, 4.f / 4096 };
	const float masks[4] = { 1, 0, 1, 0 };
	struct lc__buf file = outdir_get_file(built(&v),
	    "10x300/shard-000000.twh1");

	ck_assert_mem_eq(file.data, header, sizeof(header));
	ck_assert_uint_eq(lc__get64(file.data + 32), 2);
	ck_assert_uint_eq(lc__get64(file.data + 40), 4096);
	ck_assert_uint_eq(lc__get64(file.data + 48), 10112); /* 4096 + 6000, to 64 */
	ck_assert_uint_eq(lc__get64(file.data + 56), 10176);
	ck_assert_mem_eq(file.data + 10112, boxes, sizeof(boxes));
	ck_assert_mem_eq(file.data + 10176, masks, sizeof(masks));
	lc__buf_free(&file);
}
END_TEST

START_TEST(same_bytes_for_any_threads)
{
	static const unsigned threads[] = { 1, 2, 4 };
	const struct fake_variant one = { .series = 3, .hashed = _i };
	const char *reference = built(&one);
	lc_export_result result;

	for (int t = 0; t < COUNT(threads); t++) {
		const char *dir = run_scratch();
		struct fake_variant v = one;
		v.threads = threads[t];
		ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
		ck_assert_uint_eq(result.samples, 300);
		ck_assert_uint_ge(result.shards, 12);
		ck_assert_int_eq(outdir_count_files(dir, ""), 4);
		outdir_assert_same_dirs(reference, dir);
		ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	}
}
END_TEST

START_TEST(samples_in_order)
{
	const struct fake_variant v = { .series = 3 };
	const char *dir = built(&v);
	struct lc__manifest m;
	uint64_t i = 0;

	read_manifest(dir, &m);
	for (size_t s = 0; s < m.n; s++) {
		char *path = outdir_join(dir, m.shards[s].relative_path);
		lc_shard *shard;
		ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
		for (uint64_t k = 0; k < m.shards[s].samples; k++, i++) {
			const void *image;
			lc_sample sample;
			ck_assert_int_eq(lc_shard_sample(shard, k, &sample), LC_OK);
			ck_assert_int_eq(lc_shard_verify_sample(shard, k), LC_OK);
			ck_assert_int_eq(fake_image(NULL, i % 100, NULL, &image),
			    LC_OK);
			ck_assert_mem_eq(sample.image.data, image, FAKE_IMAGE);
			ck_assert_int_eq(sample.boxes.dtype, LC_F32);
			ck_assert_uint_eq(sample.boxes.nbytes, 32);
			ck_assert_float_eq(((const float *)sample.boxes.data)[0],
			    (float)(i % 100) / 4096);
		}
		lc_shard_close(shard);
		free(path);
	}
	ck_assert_uint_eq(i, 300);
	lc__manifest_free(&m);
}
END_TEST

/* ---- interruptions --------------------------------------------------------- */

static int
count_shards(const char *dir)
{
	int shards = 0;

	for (int i = 0; i < FAKE_SERIES; i++) {
		char *path = outdir_join(dir, fake_paths[i]);
		ck_assert_int_eq(outdir_count_unfinished(path), 0);
		shards += outdir_count_files(path, ".twh1");
		free(path);
	}
	return shards;
}

/* Stop before every step there is; each time a second run must finish it. */
START_TEST(cancelled_at_every_step)
{
	const bool no_sha256 = _i;
	const struct fake_variant again = { .series = 3, .no_sha256 = no_sha256,
		.hashed = true, .samples = 40 };
	const char *whole = built(&again);
	lc_export_result result;
	lc_status status;
	int first_step = 0;

	do {
		const char *dir = run_scratch();
		int steps = first_step++, shards;
		struct fake_variant stop = again;
		stop.progress = (lc_progress){ .step = fake_stop_at, .ctx = &steps };
		stop.threads = 1 + (unsigned)first_step % 2;
		status = fake_build(dir, &stop, &result);
		if (status == LC_OK)
			break;
		ck_assert_int_eq(status, LC_CANCELLED);
		ck_assert(!outdir_exists(dir, "manifest.json"));
		shards = count_shards(dir);
		ck_assert_int_eq(fake_build(dir, &again, &result), LC_OK);
		ck_assert_uint_eq(result.reused, shards);
		outdir_assert_same_dirs(whole, dir);
	} while (true);
	ck_assert_int_gt(first_step, 6);
}
END_TEST

static const char *
interrupted(bool no_sha256)
{
	const char *dir = run_scratch();
	int steps = 12;
	const struct fake_variant v = { .series = 3, .no_sha256 = no_sha256,
		.progress = { .step = fake_stop_at, .ctx = &steps } };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_CANCELLED);
	ck_assert(outdir_exists(dir, ".export-state.json"));
	ck_assert(outdir_exists(dir, "a/shard-000003.twh1"));
	return dir;
}

START_TEST(damage_between_runs_is_found)
{
	const char *dir = interrupted(_i);
	const struct fake_variant v = { .series = 3, .no_sha256 = _i };
	const int shards = count_shards(dir);
	lc_export_result result;

	outdir_flip(dir, "a/shard-000001.twh1", 5000);
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, shards - 1);
	outdir_assert_same_dirs(built(&v), dir);
}
END_TEST

/* With another checksum asked for, what is there is of no use. */
START_TEST(another_checksum_starts_afresh)
{
	const char *dir = interrupted(_i);
	const struct fake_variant v = { .series = 3, .no_sha256 = !_i };
	lc_export_result result;

	ck_assert_int_eq(fake_build(dir, &v, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	outdir_assert_same_dirs(built(&v), dir);
}
END_TEST

/* What an unfinished build or a finished one had in subdirectories goes; what
 * someone else put there stays. */
START_TEST(stale_series_go)
{
	const struct fake_variant three = { .series = 3 }, flat = { .samples = 30 };
	const char *dir = _i ? interrupted(false) : built(&three);
	lc_export_result result;

	outdir_put_file(dir, "10x300/shard-000004.twh1.tmp.Xy3aB9", "of a killed run");
	outdir_put_file(dir, "c/notes.txt", "not ours");
	ck_assert_int_eq(fake_build(dir, &flat, &result), LC_OK);
	ck_assert_int_eq(outdir_count_files(dir, ""), 4);
	ck_assert(outdir_exists(dir, "c/notes.txt"));
	outdir_remove_file(dir, "c/notes.txt");
	remove_sub(dir, "c");
	outdir_assert_same_dirs(built(&flat), dir);
}
END_TEST

/* ---- strangers ------------------------------------------------------------- */

static const struct {
	const char *name, *error;
} stranger_rows[] = {
	{ "a/val.twh1", "holds a/val.twh1, which no export here has written" },
	{ "c/manifest.json", "holds c/manifest.json, which no export here" },
};

START_TEST(strangers_are_kept)
{
	const char *dir = run_scratch();
	const struct fake_variant v = { .series = 3 };
	lc_export_result result;

	for (int i = 0; i < FAKE_SERIES; i++)
		make_sub(dir, fake_paths[i]);
	outdir_put_file(dir, stranger_rows[_i].name, "x");
	ck_assert_int_eq(fake_build(dir, &v, &result), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    stranger_rows[_i].error));
	ck_assert(outdir_exists(dir, stranger_rows[_i].name));
	ck_assert_int_eq(outdir_count_files(dir, ""), 3);
}
END_TEST

/* A file or a link where a directory is needed: the old export stays. */
START_TEST(no_directory)
{
	const struct fake_variant flat = { .samples = 30 }, three = { .series = 3 };
	const char *dir = built(&flat);
	char *path = outdir_join(dir, "c");
	lc_export_result result;

	if (_i)
		ck_assert_int_eq(symlink("/", path), 0);
	else
		outdir_put_file(dir, "c", "x");
	ck_assert_int_eq(fake_build(dir, &three, &result), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "/c: is not a directory"));
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	free(path);
}
END_TEST

static const char *const bad_paths[] = {
	"a/b", "/a", "a/", ".", "..", ".a", "x.twh1", "manifest.json", "b"
};

START_TEST(bad_series)
{
	const lc_shard_info form = { .version = 2 };
	const struct lc__shard_source source = { .ctx = NULL };
	const struct lc__shard_series series[2] = { { "b", &form, &source, 1 },
		{ bad_paths[_i], &form, &source, 1 } };
	const struct lc__build build = { .dir = run_scratch(), .series = series,
		.n_series = 2 };
	lc_export_result result;

	ck_assert_int_eq(lc__build_run(&build, &result), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, bad_paths[_i]));
}
END_TEST

/* ---- verifying ------------------------------------------------------------- */

static const struct {
	bool no_sha256;
	const char *name; /* of the file to be damaged */
	off_t flip;       /* a bit in it, or -1: remove it, or -2: make it */
	int damages;
	const char *text;
} verify_rows[] = {
	{ false, "a/x.twh1", -2, 1,
	    "a/x.twh1: a shard that the manifest does not name" },
	{ false, "10x300/shard-000009.twh1", -2, 1,
	    "10x300/shard-000009.twh1: a shard that the manifest does not name" },
	{ false, "a/shard-000009.twh1.tmp.Xy3aB9", -2, 0, NULL },
	{ false, "a/notes", -2, 0, NULL },
	{ false, "c/shard-000001.twh1", -1, 1, "c/shard-000001.twh1: open: No such" },
	{ false, "c/shard-000001.twh1", 5000, 1,
	    "c/shard-000001.twh1: SHA-256 differs from the manifest" },
	{ true, "c/shard-000001.twh1", 5000, 1,
	    "c/shard-000001.twh1: XXH3 differs from the manifest" },
	{ true, "c/shard-000001.twh1", 10, 1, "c/shard-000001.twh1: " },
	{ true, "a/notes", -2, 0, NULL },
};

static void
count_damage(void *ctx, const char *line)
{
	(void)line;
	++*(int *)ctx;
}

START_TEST(verify_finds)
{
	const struct fake_variant v = { .series = 3,
		.no_sha256 = verify_rows[_i].no_sha256 };
	const char *dir = built(&v), *name = verify_rows[_i].name;
	int damages = 0;
	const lc_progress progress = { .damage = count_damage, .ctx = &damages };

	if (verify_rows[_i].flip == -2)
		outdir_put_file(dir, name, "x");
	else if (verify_rows[_i].flip == -1)
		outdir_remove_file(dir, name);
	else
		outdir_flip(dir, name, verify_rows[_i].flip);
	ck_assert_int_eq(lc_manifest_verify(dir, &progress),
	    verify_rows[_i].damages ? LC_CORRUPT : LC_OK);
	ck_assert_int_eq(damages, verify_rows[_i].damages);
	if (verify_rows[_i].text != NULL)
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    verify_rows[_i].text));
}
END_TEST

START_TEST(without_sha256)
{
	const struct fake_variant v = { .no_sha256 = true };
	const char *dir = built(&v);
	struct lc__manifest m;

	read_manifest(dir, &m);
	for (size_t i = 0; i < m.n; i++) {
		ck_assert_str_eq(m.shards[i].sha256, "");
		ck_assert_uint_eq(strlen(m.shards[i].xxh3), 32);
		ck_assert_str_eq(m.shards[i].samples_hash, "");
	}
	ck_assert_ptr_nonnull(strstr(m.version_recipe, "\"content_xxh3\":\""));
	lc__manifest_free(&m);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("series");
	TCase *tc = tcase_create("series");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, fix_time, NULL);
	tcase_add_test(tc, manifest_of_two_series);
	tcase_add_test(tc, bytes_of_a_shard);
	tcase_add_loop_test(tc, same_bytes_for_any_threads, 0, 2);
	tcase_add_test(tc, samples_in_order);
	tcase_add_loop_test(tc, cancelled_at_every_step, 0, 2);
	tcase_add_loop_test(tc, damage_between_runs_is_found, 0, 2);
	tcase_add_loop_test(tc, another_checksum_starts_afresh, 0, 2);
	tcase_add_loop_test(tc, stale_series_go, 0, 2);
	tcase_add_loop_test(tc, strangers_are_kept, 0, COUNT(stranger_rows));
	tcase_add_loop_test(tc, no_directory, 0, 2);
	tcase_add_loop_test(tc, bad_series, 0, COUNT(bad_paths));
	tcase_add_loop_test(tc, verify_finds, 0, COUNT(verify_rows));
	tcase_add_test(tc, without_sha256);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
