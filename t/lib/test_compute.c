/* SPDX-License-Identifier: BSD-2-Clause */
/* Computing what is missing: who is asked for what, once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "computing.h"
#include "need.h"
#include "run.h"
#include "sample.h"

/* ---- one thread ------------------------------------------------------------- */

START_TEST(asks_for_what_is_missing_in_order)
{
	static const unsigned some[] = { 3, 1 }, mixed[] = { 7, 3, 2, 7, 1, 9, 3 };
	static const size_t all[] = { 0, 1 }, of_mixed[] = { 0, 2, 5 };
	const char *root = run_scratch();
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	struct job job = { .calls = 0 };

	expect_samples(cache, some, 2, &job);
	expect_asked(&job, all, 2);
	expect_samples(cache, some, 2, &job);
	ck_assert_uint_eq(job.calls, 0);
	expect_samples(cache, mixed, 7, &job);
	expect_asked(&job, of_mixed, 3);
	expect_samples(cache, mixed, 0, &job);
	ck_assert_uint_eq(job.calls, 0);
	ck_assert_uint_eq(counters_of(cache).computed, 5);
	ck_assert_uint_eq(counters_of(cache).compute_failures, 0);
	ck_assert_uint_eq(counters_of(cache).awaited, 0);
	assert_ok(lc_close(cache));

	cache = sample_open(root, "m", &options);
	expect_samples(cache, mixed, 7, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(repeats_are_computed_once_and_share)
{
	static const unsigned keys[] = { 4, 4, 5, 4, 5 };
	static const size_t missing[] = { 0, 2 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .calls = 0 };
	lc_id ids[5];
	lc_view views[5];

	list_keys(ids, keys, 5);
	assert_ok(lc_get_or_compute(cache, ids, 5, compute_samples, &job, views));
	expect_asked(&job, missing, 2);
	ck_assert_ptr_eq(views[0].tensor.data, views[1].tensor.data);
	ck_assert_ptr_eq(views[0].tensor.data, views[3].tensor.data);
	ck_assert_ptr_eq(views[2].tensor.data, views[4].tensor.data);
	/* Each holds it for itself. */
	for (int i = 0; i < 5; i++) {
		ck_assert(is_sample(&views[i], keys[i]));
		lc_view_release(&views[i]);
	}
	ck_assert_uint_eq(counters_of(cache).computed, 2);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(many_at_once)
{
	enum { n = 20000 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_id *ids = calloc(n, sizeof(*ids));
	lc_view *views = calloc(n, sizeof(*views));
	struct job job = { .calls = 0 };

	for (unsigned i = 0; i < n; i++)
		ids[i] = key_of(i % (KEYS / 2) * 2);
	assert_ok(lc_get_or_compute(cache, ids, n, compute_samples, &job, views));
	ck_assert_uint_eq(job.calls, 1);
	ck_assert_uint_eq(job.n, KEYS / 2);
	for (unsigned i = 0; i < n; i++)
		ck_assert(is_sample(&views[i], i % (KEYS / 2) * 2));
	lc_views_release(views, n);
	free(views);
	free(ids);
	assert_ok(lc_close(cache));
}
END_TEST

/* Key 0 is set, 1 failed, 2 forgotten, 3 a bad tensor, 4 set twice, 5 set. */
static lc_status
compute_badly(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	struct job *job = ctx;
	lc_tensor bad = { .dtype = (lc_dtype)99 };

	note(job, missing, n);
	for (size_t j = 0; j < n; j++) {
		switch (key_number(&keys[missing[j]])) {
		case 1:
			lc_result_fail(results, j, "the camera was off");
			lc_result_fail(results, j, "a later reason");
			break;
		case 2:
			break;
		case 3:
			need_status(lc_result_tensor(results, j, &bad), LC_INVALID);
			break;
		case 4:
			set_sample(results, j, &keys[missing[j]]);
			need_status(lc_result_value(results, j, NULL), LC_INVALID);
			break;
		default:
			set_sample(results, j, &keys[missing[j]]);
		}
	}
	need_status(lc_result_tensor(results, n, &bad), LC_INVALID);
	lc_result_fail(results, n, "no such result");
	lc_result_fail(results, SIZE_MAX, NULL);
	return job->result;
}

static void
expect_stored(lc_cache *cache, const bool *stored, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_status(lc_contains(cache, key_of(i).data, key_of(i).size),
		    stored[i] ? LC_OK : LC_NOT_FOUND);
}

static const lc_status returned[] = { LC_OK, LC_IO, LC_FAILED };

START_TEST(what_fails_is_not_stored_and_told)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 4, 5, 1 };
	static const bool good[] = { true, false, false, false, false, true };
	static const size_t rest[] = { 1, 2, 3, 4 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .result = returned[_i] };
	lc_id ids[7];
	lc_view views[7];
	const char *text = lc_last_error()->text;

	list_keys(ids, keys, 7);
	assert_status(lc_get_or_compute(cache, ids, 7, compute_badly, &job, views),
	    LC_FAILED);
	ck_assert_msg(strstr(text, "'key-1'") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "5 of 7") != NULL, "%s", text);
	ck_assert_msg(strstr(text, "the camera was off") != NULL, "%s", text);
	for (int i = 0; i < 7; i++) {
		if (good[keys[i]])
			ck_assert(is_sample(&views[i], keys[i]));
		else
			ck_assert_int_eq(views[i].status, LC_FAILED);
	}
	lc_views_release(views, 7);
	expect_stored(cache, good, 6);
	ck_assert_uint_eq(counters_of(cache).computed, 2);
	ck_assert_uint_eq(counters_of(cache).compute_failures, 4);

	/* The next call asks for those that failed. */
	job.result = LC_OK;
	expect_samples(cache, keys, 7, &job);
	expect_asked(&job, rest, 4);
	assert_ok(lc_close(cache));
}
END_TEST

/* What is said of each kind of failure, when it is the only one. */
static const struct {
	unsigned key;
	lc_status result;
	const char *text;
} reasons[] = {
	{ 1, LC_OK, "the camera was off" },
	{ 2, LC_OK, "the function set no result" },
	{ 2, LC_NO_SPACE, "the function returned 'no space'" },
	{ 3, LC_OK, "dtype" },
	{ 4, LC_OK, "set twice" }
};

START_TEST(the_reason_is_told)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	struct job job = { .result = reasons[_i].result };
	const lc_id id = key_of(reasons[_i].key);
	const char *text = lc_last_error()->text;
	lc_view view;

	assert_status(lc_get_or_compute(cache, &id, 1, compute_badly, &job, &view),
	    LC_FAILED);
	ck_assert_msg(strstr(text, reasons[_i].text) != NULL, "%s", text);
	ck_assert_msg(strstr(text, id.data) != NULL, "%s", text);
	ck_assert_msg(strstr(text, "1 of 1") != NULL, "%s", text);
	assert_ok(lc_close(cache));
}
END_TEST

/* A bad key is the caller's mistake, and no matter of the others. */
START_TEST(bad_keys_fail_alone)
{
	static char large[LC_MAX_ID + 1];
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	const lc_id ids[] = {
		key_of(1), { "", 0 }, key_of(2), { large, sizeof(large) }
	};
	static const size_t missing[] = { 0, 2 };
	struct job job = { .calls = 0 };
	lc_view views[4];

	assert_status(lc_get_or_compute(cache, ids, 4, compute_samples, &job,
	    views), LC_INVALID);
	expect_asked(&job, missing, 2);
	ck_assert(is_sample(&views[0], 1));
	ck_assert_int_eq(views[1].status, LC_INVALID);
	ck_assert(is_sample(&views[2], 2));
	ck_assert_int_eq(views[3].status, LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "2 of 4"));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "empty"));
	lc_views_release(views, 4);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- values, codecs, policies ------------------------------------------------ */

static lc_value *
make_value(const lc_id *id)
{
	static const float features[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint64_t shape[] = { 8 };
	lc_value *map = lc_value_map();
	lc_tensor tensor;

	need_ok(lc_tensor_init(&tensor, LC_F32, 1, shape, features));
	lc_value_set(map, "features", lc_value_tensor(&tensor));
	lc_value_set(map, "name", lc_value_strn(id->data, id->size));
	return map;
}

/* Key 1 is a broken tree, key 2 NULL. */
static lc_status
compute_values(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	note(ctx, missing, n);
	for (size_t j = 0; j < n; j++) {
		const unsigned key = key_number(&keys[missing[j]]);
		lc_value *value = key == 2 ? NULL : make_value(&keys[missing[j]]);

		if (key == 1)
			lc_value_set(value, "name", lc_value_nil());
		need_status(lc_result_value(results, j, value), key == 1 ?
		    LC_INVALID : key == 2 ? LC_NO_MEMORY : LC_OK);
		lc_value_free(value);
	}
	return LC_OK;
}

static bool
is_value(lc_view *view, unsigned key)
{
	const lc_id id = key_of(key);
	lc_value *want = make_value(&id);
	const lc_value *got = NULL;
	bool same;

	need(view->status == LC_OK && view->kind == LC_MAP);
	need_ok(lc_view_value(view, NULL, &got));
	same = lc_value_equal(got, want);
	lc_value_free(want);
	return same;
}

static const lc_codec codecs[] = {
	LC_CODEC_NONE, LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK
};

START_TEST(values_are_computed)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 0 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	struct job job = { .calls = 0 };
	lc_id ids[5];
	lc_view views[5];

	options.codec = codecs[_i];
	cache = sample_open(root, "m", &options);
	list_keys(ids, keys, 5);
	assert_status(lc_get_or_compute(cache, ids, 5, compute_values, &job,
	    views), LC_FAILED);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "2 of 5"));
	ck_assert_int_eq(views[1].status, LC_FAILED);
	ck_assert_int_eq(views[2].status, LC_NO_MEMORY);
	for (int i = 0; i < 5; i++)
		ck_assert(keys[i] == 1 || keys[i] == 2 ||
		    is_value(&views[i], keys[i]));
	lc_views_release(views, 5);
	assert_ok(lc_close(cache));

	cache = sample_open(root, "m", &options);
	ids[1] = ids[0];
	assert_ok(lc_get_or_compute(cache, ids, 2, compute_values, &job, views));
	ck_assert_uint_eq(job.calls, 1);
	ck_assert(is_value(&views[0], 0) && is_value(&views[1], 0));
	lc_views_release(views, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* What is computed is coded as what is put. */
static lc_status
compute_zeros(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	static const unsigned char zeros[100000];
	const lc_tensor tensor = sample_bytes(zeros, sizeof(zeros));

	(void)ctx;
	(void)keys;
	(void)missing;
	for (size_t j = 0; j < n; j++)
		need_ok(lc_result_tensor(results, j, &tensor));
	return LC_OK;
}

START_TEST(results_are_coded)
{
	lc_options options = sample_options();
	lc_stats stats = { .struct_size = sizeof(stats) };
	const lc_id id = key_of(0);
	lc_cache *cache;
	lc_view view;

	options.codec = LC_CODEC_LZ4;
	cache = sample_open(run_scratch(), "m", &options);
	assert_ok(lc_get_or_compute(cache, &id, 1, compute_zeros, NULL, &view));
	ck_assert_uint_eq(view.tensor.nbytes, 100000);
	ck_assert_uint_eq(((const unsigned char *)view.tensor.data)[99999], 0);
	lc_view_release(&view);
	assert_ok(lc_flush(cache));
	assert_ok(lc_stat(cache, &stats));
	ck_assert_uint_lt(stats.live_bytes, 10000);
	assert_ok(lc_close(cache));
}
END_TEST

static lc_status
compute_both(void *ctx, const lc_id *keys, const size_t *missing, size_t n,
    lc_results *results)
{
	lc_value *value = make_value(&keys[missing[1]]);

	(void)ctx;
	need(n == 2);
	set_sample(results, 0, &keys[missing[0]]);
	need_status(lc_result_value(results, 1, value), LC_SCHEMA);
	lc_value_free(value);
	return LC_OK;
}

START_TEST(a_strict_module_refuses_other_structures)
{
	const lc_options options = sample_options();
	lc_settings settings = { .struct_size = sizeof(settings) };
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	lc_id ids[2] = { key_of(0), key_of(1) };
	lc_view views[2];

	assert_ok(lc_settings_get(cache, &settings));
	settings.policy = LC_STRICT;
	assert_ok(lc_settings_set(cache, &settings));
	assert_status(lc_get_or_compute(cache, ids, 2, compute_both, NULL, views),
	    LC_FAILED);
	ck_assert(is_sample(&views[0], 0));
	ck_assert_int_eq(views[1].status, LC_FAILED);
	ck_assert_msg(strstr(lc_last_error()->text, "features") != NULL, "%s",
	    lc_last_error()->text);
	lc_views_release(views, 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- handles that do not write ------------------------------------------------ */

START_TEST(a_read_only_handle_does_not_compute)
{
	static const unsigned there[] = { 0, 1 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache = sample_open(root, "m", &options);
	lc_id ids[3] = { key_of(0), key_of(2), key_of(1) };
	struct job job = { .calls = 0 };
	lc_view views[3];

	expect_samples(cache, there, 2, &job);
	assert_ok(lc_close(cache));
	options.flags = LC_RDONLY;
	cache = sample_open(root, "m", &options);
	expect_samples(cache, there, 2, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_status(lc_get_or_compute(cache, ids, 3, compute_samples, &job,
	    views), LC_READONLY);
	ck_assert_uint_eq(job.calls, 0);
	ck_assert(is_sample(&views[0], 0));
	ck_assert_int_eq(views[1].status, LC_READONLY);
	ck_assert(is_sample(&views[2], 1));
	lc_views_release(views, 3);
	assert_ok(lc_close(cache));
}
END_TEST

static const uint64_t lru_limits[] = { 0, 1 << 20 };

START_TEST(another_rank_warms_its_lru_only)
{
	static const unsigned keys[] = { 3, 8 };
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_cache *cache;
	struct job job = { .calls = 0 };

	options.rank = 1;
	options.writer_rank = 0;
	options.lru_bytes = lru_limits[_i];
	cache = sample_open(root, "m", &options);
	expect_samples(cache, keys, 2, &job);
	ck_assert_uint_eq(job.calls, 1);
	expect_samples(cache, keys, 2, &job);
	ck_assert_uint_eq(job.calls, options.lru_bytes > 0 ? 0 : 1);
	assert_ok(lc_close(cache));
	options.rank = 0;
	cache = sample_open(root, "m", &options);
	assert_status(lc_contains(cache, key_of(3).data, key_of(3).size),
	    LC_NOT_FOUND);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- damage --------------------------------------------------------------------- */

static void
count_line(void *ctx, const char *line)
{
	if (strstr(line, "'key-2'") != NULL && strstr(line, "checksum") != NULL)
		++*(unsigned *)ctx;
}

START_TEST(damage_is_computed_again)
{
	static const unsigned keys[] = { 0, 1, 2, 3, 9 };
	static const size_t missing[] = { 2, 4 };
	lc_options options = sample_options();
	const char *root = make_damaged(&options);
	struct job job = { .calls = 0 };
	unsigned lines = 0;
	lc_cache *cache;
	lc_view view;

	options.log = count_line;
	options.log_ctx = &lines;
	cache = sample_open(root, "m", &options);
	assert_status(lc_get(cache, key_of(2).data, key_of(2).size, &view), LC_CORRUPT);
	expect_samples(cache, keys, 5, &job);
	expect_asked(&job, missing, 2);
	ck_assert_uint_eq(lines, 1);
	expect_samples(cache, keys, 5, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
	cache = sample_open(root, "m", &options);
	expect_samples(cache, keys, 5, &job);
	ck_assert_uint_eq(job.calls, 0);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("compute");
	TCase *tc = tcase_create("compute");

	run_seed();
	make_names();
	tcase_set_timeout(tc, 600);
	tcase_add_test(tc, asks_for_what_is_missing_in_order);
	tcase_add_test(tc, repeats_are_computed_once_and_share);
	tcase_add_test(tc, many_at_once);
	tcase_add_loop_test(tc, what_fails_is_not_stored_and_told, 0,
	    sizeof(returned) / sizeof(returned[0]));
	tcase_add_loop_test(tc, the_reason_is_told, 0,
	    sizeof(reasons) / sizeof(reasons[0]));
	tcase_add_test(tc, bad_keys_fail_alone);
	tcase_add_loop_test(tc, values_are_computed, 0,
	    sizeof(codecs) / sizeof(codecs[0]));
	tcase_add_test(tc, results_are_coded);
	tcase_add_test(tc, a_strict_module_refuses_other_structures);
	tcase_add_test(tc, a_read_only_handle_does_not_compute);
	tcase_add_loop_test(tc, another_rank_warms_its_lru_only, 0, 2);
	tcase_add_test(tc, damage_is_computed_again);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
