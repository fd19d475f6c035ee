/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_build.h"
#include "outdir_files.h"
#include "value/tensor.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static void
fix_time(void)
{
	setenv("SOURCE_DATE_EPOCH", "1700000000", 1);
}

static lc_cache *
open_module(const char *root)
{
	lc_cache *cache = NULL;

	ck_assert_int_eq(lc_open(root, "m", NULL, &cache), LC_OK);
	return cache;
}

static void
put_one(lc_cache *cache, const char *id, lc_dtype dtype, uint32_t ndim,
    const uint64_t *shape, const void *data)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, data), LC_OK);
	ck_assert_int_eq(lc_put(cache, id, strlen(id), &tensor), LC_OK);
}

/* "id<i>" -> 16 x 16 elements of noise, i from n - 1 down to 0. */
static void
put_noise(lc_cache *cache, lc_dtype dtype, int n)
{
	const uint64_t shape[2] = { 16, 16 };
	unsigned char data[16 * 16 * 16];
	char id[32];

	for (int i = n - 1; i >= 0; i--) {
		uint64_t seed = (uint64_t)i;
		for (size_t k = 0; k < sizeof(data); k++)
			data[k] = (unsigned char)run_random(&seed);
		snprintf(id, sizeof(id), "id%03d", i);
		put_one(cache, id, dtype, 2, shape, data);
	}
}

/* Every sample of every shard is the record of its cache_id. */
static uint64_t
compare_with_module(const char *dir, lc_cache *cache, uint64_t shards)
{
	uint64_t samples = 0;

	for (uint64_t n = 0; n < shards; n++) {
		char name[40], *path;
		lc_shard *shard;
		snprintf(name, sizeof(name), "shard-%06d.twh1", (int)n);
		path = outdir_join(dir, name);
		ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
		for (uint64_t i = 0; i < lc_shard_info_of(shard)->samples; i++) {
			lc_sample sample;
			lc_view view;
			ck_assert_int_eq(lc_shard_sample(shard, i, &sample), LC_OK);
			ck_assert_int_eq(lc_get(cache, sample.id.data,
			    sample.id.size, &view), LC_OK);
			ck_assert(lc__tensor_same_type(&view.tensor, &sample.image));
			ck_assert(view.tensor.nbytes == 0 || memcmp(sample.image.data,
			    view.tensor.data, view.tensor.nbytes) == 0);
			lc_view_release(&view);
			samples++;
		}
		lc_shard_close(shard);
		free(path);
	}
	return samples;
}

START_TEST(module_of_any_dtype)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	lc_export_options options;
	lc_export_result result;

	put_noise(cache, (lc_dtype)_i, 50);
	lc_export_options_init(&options);
	options.shard_bytes = 16384;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_eq(result.samples, 50);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 50);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

static const struct {
	uint32_t ndim;
	uint64_t shape[6];
	uint32_t chw[3];
} shape_rows[] = {
	{ 0, { 0 }, { 1, 1, 1 } },
	{ 1, { 12 }, { 1, 1, 12 } },
	{ 3, { 3, 0, 4 }, { 3, 0, 4 } },
	{ 6, { 1, 2, 3, 1, 2, 2 }, { 6, 2, 2 } },
};

START_TEST(module_of_any_shape)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const float data[32] = { 1, 2, 3 };
	lc_export_result result;
	char *path = outdir_join(dir, "shard-000000.twh1");
	lc_shard *shard;

	put_one(cache, "a", LC_F32, shape_rows[_i].ndim, shape_rows[_i].shape, data);
	put_one(cache, "b", LC_F32, shape_rows[_i].ndim, shape_rows[_i].shape,
	    data + 1);
	ck_assert_int_eq(lc_export(cache, dir, NULL, &result), LC_OK);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 2);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->channels, shape_rows[_i].chw[0]);
	ck_assert_uint_eq(lc_shard_info_of(shard)->height, shape_rows[_i].chw[1]);
	ck_assert_uint_eq(lc_shard_info_of(shard)->width, shape_rows[_i].chw[2]);
	lc_shard_close(shard);
	free(path);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* The first sample's cache_id. */
static void
assert_first_id(const char *dir, const char *expected)
{
	char *path = outdir_join(dir, "shard-000000.twh1");
	lc_shard *shard;
	lc_sample sample;

	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_int_eq(lc_shard_sample(shard, 0, &sample), LC_OK);
	ck_assert_uint_eq(sample.id.size, strlen(expected));
	ck_assert_mem_eq(sample.id.data, expected, sample.id.size);
	lc_shard_close(shard);
	free(path);
}

START_TEST(orders)
{
	lc_cache *cache = open_module(run_scratch());
	const char *commit = run_scratch(), *key = run_scratch();
	lc_export_options options;

	put_noise(cache, LC_F16, 20);
	lc_export_options_init(&options);
	ck_assert_int_eq(lc_export(cache, commit, &options, NULL), LC_OK);
	assert_first_id(commit, "id019");
	options.order = LC_BY_KEY;
	ck_assert_int_eq(lc_export(cache, key, &options, NULL), LC_OK);
	assert_first_id(key, "id000");
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Another module, with another uuid and other commits, but the same records. */
START_TEST(same_records_same_bytes)
{
	lc_cache *a = open_module(run_scratch()), *b = open_module(run_scratch());
	const char *from_a = run_scratch(), *from_b = run_scratch();
	lc_export_options options;

	put_noise(a, LC_F32, 64);
	put_noise(b, LC_F32, 10);
	ck_assert_int_eq(lc_flush(b), LC_OK);
	put_noise(b, LC_F32, 64);
	lc_export_options_init(&options);
	options.order = LC_BY_KEY;
	options.shard_bytes = 20000;
	options.threads = 1;
	ck_assert_int_eq(lc_export(a, from_a, &options, NULL), LC_OK);
	options.threads = 4;
	ck_assert_int_eq(lc_export(b, from_b, &options, NULL), LC_OK);
	outdir_assert_same_dirs(from_a, from_b);
	ck_assert_int_eq(lc_close(a), LC_OK);
	ck_assert_int_eq(lc_close(b), LC_OK);
}
END_TEST

START_TEST(version_1_is_plain)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	char *path = outdir_join(dir, "shard-000000.twh1");
	lc_export_options options;
	lc_shard *shard;

	put_noise(cache, LC_F32, 3);
	lc_export_options_init(&options);
	options.metadata = _i;
	options.shard_version = (uint32_t)_i; /* chosen, and asked for */
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL), LC_OK);
	ck_assert_int_eq(lc_shard_open(path, &shard), LC_OK);
	ck_assert_uint_eq(lc_shard_info_of(shard)->version, 1);
	ck_assert_uint_eq(lc_shard_info_of(shard)->meta_offset, 0);
	ck_assert_uint_eq(lc_shard_info_of(shard)->checksum_offset, 0);
	ck_assert_uint_eq(lc_shard_info_of(shard)->file_size, 4096 + 3 * 1024);
	lc_shard_close(shard);
	ck_assert_int_eq(lc_close(cache), LC_OK);
	free(path);
}
END_TEST

START_TEST(interrupted_module_export_resumes)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const uint64_t shape[2] = { 16, 16 };
	const float other[256] = { 5 };
	lc_export_options options;
	lc_export_result result;
	int steps;

	put_noise(cache, LC_F32, 64);
	lc_export_options_init(&options);
	options.shard_bytes = 20000;
	options.threads = 1;
	options.progress = (lc_progress){ .step = fake_stop_at, .ctx = &steps };
	steps = 5;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_CANCELLED);
	steps = -1;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_gt(result.reused, 0);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	/* After a commit nothing of an interrupted export is good any more. */
	steps = 5;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_CANCELLED);
	put_one(cache, "id063", LC_F32, 2, shape, other);
	steps = -1;
	ck_assert_int_eq(lc_export(cache, dir, &options, &result), LC_OK);
	ck_assert_uint_eq(result.reused, 0);
	ck_assert_uint_eq(compare_with_module(dir, cache, result.shards), 64);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Replace a text by one of its length. */
static void
edit_manifest(const char *dir, const char *from, const char *to)
{
	struct lc__buf text = outdir_get_file(dir, "manifest.json");
	char *at;

	lc__buf_append(&text, "", 1);
	while ((at = strstr((char *)text.data, from)) != NULL)
		memcpy(at, to, strlen(to));
	outdir_put_manifest(dir, (const char *)text.data);
	lc__buf_free(&text);
}

/* Without SHA-256 damage is found by what the manifest has instead, without that by
 * the shard's blocks, and without those it is not taken for good. */
static const struct {
	int metadata;
	uint32_t shard_version;
	const char *damaged, *bare; /* what verify says of them */
} unhashed_rows[] = {
	{ 1, 0, "XXH3 differs from the manifest", NULL },
	{ 0, 1, "XXH3 differs from the manifest",
	    "neither the manifest nor the shard has checksums of it" },
	{ 0, 2, "XXH3 differs from the manifest",
	    "neither the manifest nor the shard has checksums of it" },
};

START_TEST(without_sha256)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	lc_export_options options;

	put_noise(cache, LC_F16, 9);
	lc_export_options_init(&options);
	options.no_sha256 = 1;
	options.metadata = unhashed_rows[_i].metadata;
	options.shard_version = unhashed_rows[_i].shard_version;
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL), LC_OK);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	outdir_flip(dir, "shard-000000.twh1", 4100);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
	    unhashed_rows[_i].damaged));
	edit_manifest(dir, "checksum_xxh3", "checksum_none");
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_CORRUPT);
	outdir_flip(dir, "shard-000000.twh1", 4100);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL),
	    unhashed_rows[_i].bare ? LC_CORRUPT : LC_OK);
	if (unhashed_rows[_i].bare != NULL)
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    unhashed_rows[_i].bare));
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

static const struct {
	uint64_t shard_bytes;
	uint32_t shard_version;
	unsigned order;
	const char *dataset_root;
	lc_status status;
	const char *text;
} option_rows[] = {
	{ 4095, 0, LC_BY_COMMIT, NULL, LC_INVALID,
	    "export: shard_bytes 4095 is not within 4 KiB to 1 TiB" },
	{ 4096, 3, LC_BY_COMMIT, NULL, LC_INVALID, "export: no shard_version 3" },
	{ 4096, 0, LC_ITER_LISTED, NULL, LC_INVALID, "export: unknown order 2" },
	{ 4096, 1, LC_BY_COMMIT, NULL, LC_UNSUPPORTED,
	    "shard_version 1 holds f32 and f16, not u8" },
	{ 4096, 0, LC_BY_COMMIT, "\xff", LC_INVALID, "'\\xff' is not UTF-8" },
};

START_TEST(bad_options)
{
	lc_cache *cache = open_module(run_scratch());
	char *dir = outdir_join(run_scratch(), "new");
	lc_export_options options;

	put_noise(cache, LC_U8, 3);
	lc_export_options_init(&options);
	options.shard_bytes = option_rows[_i].shard_bytes;
	options.shard_version = option_rows[_i].shard_version;
	options.order = option_rows[_i].order;
	options.dataset_root = option_rows[_i].dataset_root;
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL),
	    option_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, option_rows[_i].text);
	ck_assert_int_eq(access(dir, F_OK), -1);
	free(dir);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

START_TEST(what_cannot_be_exported)
{
	lc_cache *cache = open_module(run_scratch());
	const char *dir = run_scratch();
	const uint64_t shape[1] = { 4 };
	const float data[4] = { 0 };

	ck_assert_int_eq(lc_export(cache, "", NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "export: no directory is named");
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "export: module m has no records");
	put_one(cache, "a", LC_F32, 1, shape, data);
	put_one(cache, "b", LC_F16, 1, shape, data);
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "export: 'a' is f32[4] but 'b' is f16[4]");
	ck_assert_int_eq(outdir_count_files(dir, ""), 0);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Find a record's bytes in the module's file and damage them. */
START_TEST(damaged_record)
{
	const char *root = run_scratch(), *dir = run_scratch();
	lc_cache *cache = open_module(root);
	char *module = outdir_join(root, "m");
	const uint64_t shape[1] = { 32 };
	const unsigned char *at;
	struct lc__buf bytes;

	put_one(cache, "good", LC_U8, 1, shape, "0123456789abcdef0123456789abcdef");
	put_one(cache, "bad", LC_U8, 1, shape, "0123456789ABCDEF0123456789ABCDEF");
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	bytes = outdir_get_file(module, "data.mdb");
	at = memmem(bytes.data, bytes.size, "0123456789ABCDEF", 16);
	ck_assert_ptr_nonnull(at);
	outdir_flip(module, "data.mdb", at - bytes.data);
	ck_assert_int_eq(lc_export(cache, dir, NULL, NULL), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "key 'bad': checksum mismatch");
	ck_assert(!outdir_exists(dir, "manifest.json"));
	ck_assert_int_eq(outdir_count_unfinished(dir), 0);
	lc__buf_free(&bytes);
	free(module);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

/* Shards whose SHA-256 another thread computes: it is that of the file, and a failure in the
 * middle of one is the error. */
START_TEST(large_shards)
{
	const char *root = run_scratch(), *dir = run_scratch(), *again = run_scratch();
	const uint64_t shape[1] = { 1500000 };
	unsigned char *data = malloc(shape[0]);
	lc_cache *cache = open_module(root);
	char *module = outdir_join(root, "m"), id[16];
	lc_export_options options;
	uint64_t seed = run_seed();
	const unsigned char *at;
	struct lc__buf bytes;

	ck_assert_ptr_nonnull(data);
	for (int i = 0; i < 10; i++) {
		for (size_t k = 0; k < shape[0]; k++)
			data[k] = (unsigned char)run_random(&seed);
		snprintf(id, sizeof(id), "id%d", i);
		put_one(cache, id, LC_U8, 1, shape, data);
	}
	ck_assert_int_eq(lc_flush(cache), LC_OK);
	lc_export_options_init(&options);
	options.shard_bytes = (uint64_t)8 << 20;
	options.threads = 1 + (unsigned)_i;
	ck_assert_int_eq(lc_export(cache, dir, &options, NULL), LC_OK);
	ck_assert_int_eq(lc_manifest_verify(dir, NULL), LC_OK);
	compare_with_module(dir, cache, 2);

	bytes = outdir_get_file(module, "data.mdb");
	at = memmem(bytes.data, bytes.size, data, 64);
	ck_assert_ptr_nonnull(at);
	outdir_flip(module, "data.mdb", at - bytes.data + 700000);
	ck_assert_int_eq(lc_export(cache, again, &options, NULL), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "key 'id9': checksum mismatch");
	ck_assert_int_eq(outdir_count_unfinished(again), 0);
	lc__buf_free(&bytes);
	free(module);
	free(data);
	ck_assert_int_eq(lc_close(cache), LC_OK);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("export");
	TCase *tc = tcase_create("export");

	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, fix_time, NULL);
	tcase_add_loop_test(tc, module_of_any_dtype, 0, LC_DTYPE_COUNT);
	tcase_add_loop_test(tc, module_of_any_shape, 0, COUNT(shape_rows));
	tcase_add_test(tc, orders);
	tcase_add_test(tc, same_records_same_bytes);
	tcase_add_loop_test(tc, version_1_is_plain, 0, 2);
	tcase_add_test(tc, interrupted_module_export_resumes);
	tcase_add_loop_test(tc, without_sha256, 0, COUNT(unhashed_rows));
	tcase_add_loop_test(tc, bad_options, 0, COUNT(option_rows));
	tcase_add_test(tc, what_cannot_be_exported);
	tcase_add_test(tc, damaged_record);
	tcase_add_loop_test(tc, large_shards, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
