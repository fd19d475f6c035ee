/* SPDX-License-Identifier: BSD-2-Clause */
/* Structured values through the engine: stored, read whole and in parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "random_value.h"
#include "run.h"
#include "sample.h"
#include "store/cache.h"
#include "store/settings.h"

#define OK(call) ck_assert_msg((call) == LC_OK, "%s", lc_last_error()->text)

static const float features[4] = { 1.5f, -2.25f, 0.0f, 1e30f };
static const uint16_t halves[6] = { 0x3c00, 0xc000, 0x7bff, 1, 0x8000, 0x7e01 };

static lc_tensor
feature_tensor(void)
{
	const uint64_t shape[1] = { 4 };
	lc_tensor tensor;

	OK(lc_tensor_init(&tensor, LC_F32, 1, shape, features));
	return tensor;
}

static lc_tensor
half_tensor(void)
{
	const uint64_t shape[2] = { 2, 3 };
	lc_tensor tensor;

	OK(lc_tensor_init(&tensor, LC_F16, 2, shape, halves));
	return tensor;
}

/* {features: f32[4], logits: f16[2,3], meta: {label: "cat", count: 42}} */
static lc_value *
sample_value(void)
{
	const lc_tensor f = feature_tensor(), h = half_tensor();
	lc_value *value = lc_value_map();
	lc_value *meta;

	lc_value_set(value, "features", lc_value_tensor(&f));
	lc_value_set(value, "logits", lc_value_tensor(&h));
	meta = lc_value_set(value, "meta", lc_value_map());
	lc_value_set(meta, "label", lc_value_str("cat"));
	lc_value_set(meta, "count", lc_value_integer(42));
	OK(lc_value_check(value));
	return value;
}

static lc_cache *
open_module(const char *root, const char *module)
{
	const lc_options options = sample_options();

	return sample_open(root, module, &options);
}

static void
expect_value(lc_cache *cache, const char *id, const lc_value *want)
{
	const lc_value *got;
	lc_view view;

	OK(lc_get(cache, id, strlen(id), &view));
	OK(lc_view_value(&view, NULL, &got));
	ck_assert(lc_value_equal(got, want));
	ck_assert_int_eq(view.kind, lc_value_kind(want));
	lc_view_release(&view);
}

/* ---- one value ------------------------------------------------------------ */

START_TEST(is_read_as_it_was_put)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m");
	lc_value *value = sample_value();

	OK(lc_put_value(cache, "a", 1, value));
	expect_value(cache, "a", value); /* pending */
	OK(lc_flush(cache));
	expect_value(cache, "a", value);
	OK(lc_close(cache));
	cache = open_module(root, "m");
	expect_value(cache, "a", value);
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

START_TEST(parts_are_read_by_path)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_value *value = sample_value();
	const lc_value *part;
	const char *text;
	lc_tensor tensor;
	lc_view view;
	int64_t count;
	size_t size;

	OK(lc_put_value(cache, "a", 1, value));
	OK(lc_flush(cache));
	lc_value_free(value);
	OK(lc_get(cache, "a", 1, &view));
	ck_assert_int_eq(view.kind, LC_MAP);
	ck_assert_ptr_null(view.tensor.data);
	OK(lc_view_value(&view, "logits", &part));
	OK(lc_value_as_tensor(part, &tensor));
	ck_assert_int_eq(tensor.dtype, LC_F16);
	ck_assert_uint_eq(tensor.ndim, 2);
	ck_assert_uint_eq(tensor.shape[0], 2);
	ck_assert_uint_eq(tensor.shape[1], 3);
	ck_assert_mem_eq(tensor.data, halves, sizeof(halves));
	ck_assert_uint_eq((uintptr_t)tensor.data % 64, 0);
	OK(lc_view_value(&view, "meta.label", &part));
	OK(lc_value_as_str(part, &text, &size));
	ck_assert_str_eq(text, "cat");
	OK(lc_view_value(&view, "meta", &part));
	OK(lc_value_as_integer(lc_value_find(part, "count"), &count));
	ck_assert_int_eq(count, 42);
	ck_assert_int_eq(lc_view_value(&view, "nothing", &part), LC_NOT_FOUND);
	ck_assert_int_eq(lc_view_value(&view, "meta.label.x", &part),
	    LC_NOT_FOUND);
	lc_view_release(&view);
	OK(lc_close(cache));
}
END_TEST

/* A list without tensors is one leaf of the schema: its parts are found too. */
START_TEST(parts_of_plain_lists_are_read_by_path)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_value *value = lc_value_map();
	lc_value *list = lc_value_set(value, "boxes", lc_value_list());
	const lc_value *part;
	lc_view view;
	double x;

	for (int i = 0; i < 3; i++) {
		lc_value *box = lc_value_append(list, lc_value_map());
		lc_value_set(box, "x", lc_value_float(i + 0.5));
	}
	OK(lc_put_value(cache, "a", 1, value));
	lc_value_free(value);
	OK(lc_flush(cache));
	OK(lc_get(cache, "a", 1, &view));
	OK(lc_view_value(&view, "boxes.2.x", &part));
	OK(lc_value_as_float(part, &x));
	ck_assert(x == 2.5);
	ck_assert_int_eq(lc_view_value(&view, "boxes.3", &part), LC_NOT_FOUND);
	lc_view_release(&view);
	OK(lc_close(cache));
}
END_TEST

START_TEST(a_tensor_is_the_same_record_either_way)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	const lc_tensor tensor = feature_tensor();
	lc_value *value = lc_value_tensor(&tensor);
	const lc_value *got;
	lc_tensor copy;
	lc_view view;

	OK(lc_put_value(cache, "a", 1, value));
	OK(lc_put(cache, "b", 1, &tensor));
	OK(lc_flush(cache));
	OK(lc_get_copy(cache, "a", 1, &copy));
	ck_assert(sample_same(&copy, &tensor));
	lc_tensor_free(&copy);
	OK(lc_get(cache, "b", 1, &view));
	OK(lc_view_value(&view, NULL, &got));
	ck_assert(lc_value_equal(got, value));
	ck_assert_int_eq(lc_view_value(&view, "x", &got), LC_NOT_FOUND);
	lc_view_release(&view);
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

START_TEST(a_copy_of_what_is_no_tensor_says_so)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_value *value = sample_value();
	lc_tensor tensor;

	OK(lc_put_value(cache, "a", 1, value));
	ck_assert_int_eq(lc_get_copy(cache, "a", 1, &tensor), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "map"));
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

START_TEST(a_broken_value_is_refused)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_value *value = lc_value_map();
	uint64_t count;

	lc_value_set(value, "a", lc_value_integer(1));
	lc_value_set(value, "a", lc_value_integer(2));
	ck_assert_int_eq(lc_put_value(cache, "k", 1, value), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "put: "));
	ck_assert_int_eq(lc_put_value(cache, "k", 1, NULL), LC_NO_MEMORY);
	lc_value_free(value);
	OK(lc_count(cache, &count));
	ck_assert_uint_eq(count, 0);
	OK(lc_close(cache));
}
END_TEST

START_TEST(walks_show_values)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	const lc_tensor tensor = feature_tensor();
	lc_value *value = sample_value();
	const lc_value *got;
	lc_iter *iter;
	lc_item item;

	OK(lc_put_value(cache, "a", 1, value));
	OK(lc_put(cache, "b", 1, &tensor));
	for (unsigned flags = LC_BY_KEY; flags <= LC_BY_COMMIT; flags++) {
		OK(lc_iter_open(cache, flags, NULL, 0, &iter));
		OK(lc_iter_next(iter, &item));
		ck_assert_int_eq(item.kind, LC_MAP);
		OK(lc_iter_value(iter, NULL, &got));
		ck_assert(lc_value_equal(got, value));
		OK(lc_iter_value(iter, "features", &got));
		ck_assert_int_eq(lc_value_kind(got), LC_TENSOR);
		OK(lc_iter_next(iter, &item));
		ck_assert_int_eq(item.kind, LC_TENSOR);
		ck_assert(sample_same(&item.tensor, &tensor));
		ck_assert_int_eq(lc_iter_next(iter, &item), LC_END);
		lc_iter_close(iter);
	}
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

/* ---- structures ----------------------------------------------------------- */

struct seen {
	uint32_t n;
	char structures[8][200];
	lc_schema_stats stats[8];
};

static int
see(void *ctx, const lc_schema_stats *stats)
{
	struct seen *seen = ctx;

	ck_assert_uint_lt(seen->n, 8);
	snprintf(seen->structures[seen->n], 200, "%s", stats->structure);
	seen->stats[seen->n++] = *stats;
	return 0;
}

START_TEST(each_structure_is_one_schema)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	const lc_tensor tensor = feature_tensor();
	struct seen seen = { 0 };

	for (int i = 0; i < 20; i++) {
		lc_value *value = sample_value();
		char id[13];

		snprintf(id, sizeof(id), "v%d", i);
		OK(lc_put_value(cache, id, strlen(id), value));
		snprintf(id, sizeof(id), "t%d", i);
		OK(lc_put(cache, id, strlen(id), &tensor));
		lc_value_free(value);
		if (i % 7 == 0)
			OK(lc_flush(cache));
	}
	OK(lc_schemas(cache, see, &seen));
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_str_eq(seen.structures[0], "{features: f32[*], "
	    "logits: f16[*,*], meta: {label: plain, count: plain}}");
	ck_assert_uint_eq(seen.stats[0].records, 20);
	ck_assert_uint_eq(seen.stats[0].raw_bytes,
	    20 * (sizeof(features) + sizeof(halves)));
	ck_assert_uint_eq(seen.stats[0].tensors[LC_CODEC_NONE], 40);
	ck_assert_uint_eq(seen.stats[1].records, 20);
	ck_assert_uint_eq(seen.stats[1].stored_bytes, 20 * sizeof(features));
	OK(lc_close(cache));
}
END_TEST

static void
make_strict(lc_cache *cache)
{
	lc_settings settings = { .struct_size = sizeof(settings) };

	OK(lc_settings_get(cache, &settings));
	ck_assert_int_eq(settings.policy, LC_EVOLVE);
	settings.policy = LC_STRICT;
	OK(lc_settings_set(cache, &settings));
}

START_TEST(a_strict_module_holds_one_structure)
{
	const char *root = run_scratch();
	lc_cache *cache = open_module(root, "m"), *other;
	const lc_tensor f = feature_tensor(), h = half_tensor();
	lc_value *value = sample_value(), *swapped = lc_value_map(), *meta;
	uint64_t count;

	make_strict(cache);
	OK(lc_put_value(cache, "a", 1, value));
	/* Not committed, and yet another handle must not have another first. */
	other = open_module(root, "m");
	ck_assert_int_eq(lc_put(other, "b", 1, &f), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "features: f32[*]"));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "not f32[*]"));
	/* The order of names does not count. */
	meta = lc_value_set(swapped, "meta", lc_value_map());
	lc_value_set(meta, "count", lc_value_nil());
	lc_value_set(meta, "label", lc_value_nil());
	lc_value_set(swapped, "logits", lc_value_tensor(&h));
	lc_value_set(swapped, "features", lc_value_tensor(&f));
	OK(lc_put_value(other, "c", 1, swapped));
	/* A field less, another dtype: refused. */
	lc_value_set(meta, "more", lc_value_nil());
	ck_assert_int_eq(lc_put_value(other, "d", 1, swapped), LC_SCHEMA);
	lc_value_free(value);
	lc_value_free(swapped);
	OK(lc_close(other));
	OK(lc_count(cache, &count));
	ck_assert_uint_eq(count, 2);
	OK(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	OK(lc_close(cache));
}
END_TEST

/* Of two threads, the one that took the older snapshot may be the later to tell. */
START_TEST(old_settings_do_not_come_back)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_settings evolving = { .struct_size = sizeof(evolving) };
	const lc_tensor f = feature_tensor(), h = half_tensor();
	struct lc__snapshot *old;
	uint64_t txn;

	OK(lc__snapshot_take(cache->env, &old));
	txn = lc__txn_id(old->txn);
	OK(lc__settings_load(cache->env, old->txn, &evolving));
	lc__snapshot_give(old, 0);
	make_strict(cache);
	lc__env_lock(cache->env);
	lc__settings_learn_locked(&lc__module_of(cache->env)->settings, txn, &evolving);
	lc__env_unlock(cache->env);
	OK(lc_put(cache, "a", 1, &f));
	ck_assert_int_eq(lc_put(cache, "b", 1, &h), LC_SCHEMA);
	OK(lc_close(cache));
}
END_TEST

/* A child may find another file in the place of its parent's. */
static void
look_in_child(void *ctx)
{
	lc_cache *cache = ctx;
	lc_settings settings = { .struct_size = sizeof(settings) };

	need_ok(lc_settings_get(cache, &settings));
	need(atomic_load(&lc__module_of(cache->env)->settings.policy) ==
	    LC_STRICT);
}

START_TEST(a_child_follows_the_settings_that_it_finds)
{
	lc_cache *cache = open_module(run_scratch(), "m");
	lc_settings evolving = { .struct_size = sizeof(evolving) };

	OK(lc_settings_get(cache, &evolving));
	make_strict(cache);
	lc__env_lock(cache->env);
	lc__settings_learn_locked(&lc__module_of(cache->env)->settings, UINT64_MAX,
	    &evolving);
	lc__env_unlock(cache->env);
	ck_assert_int_eq(child_run(look_in_child, cache), 0);
	OK(lc_close(cache));
}
END_TEST

/* ---- codecs --------------------------------------------------------------- */

START_TEST(coded_values_come_back)
{
	const lc_codec codec = (lc_codec)_i;
	lc_cache *cache = open_module(run_scratch(), "m");
	float image[3 * 64 * 64];
	const uint64_t shape[3] = { 3, 64, 64 };
	lc_tensor tensor;
	lc_value *value = lc_value_map();
	struct seen seen = { 0 };

	for (size_t i = 0; i < 3 * 64 * 64; i++)
		image[i] = (float)(i * i / 64 % 256) / 255.0f;
	OK(lc_tensor_init(&tensor, LC_F32, 3, shape, image));
	lc_value_set(value, "image", lc_value_tensor(&tensor));
	lc_value_set(value, "name", lc_value_str("x"));
	OK(lc_put_coded(cache, "a", 1, value, codec, 0));
	expect_value(cache, "a", value);
	OK(lc_flush(cache));
	for (int i = 0; i < 3; i++)
		expect_value(cache, "a", value);
	OK(lc_schemas(cache, see, &seen));
	ck_assert_uint_eq(seen.stats[0].raw_bytes, sizeof(image));
	ck_assert_uint_eq(seen.stats[0].tensors[codec], 1);
	if (codec != LC_CODEC_NONE)
		ck_assert_uint_lt(seen.stats[0].stored_bytes, sizeof(image));
	OK(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	lc_value_free(value);
	OK(lc_close(cache));
}
END_TEST

START_TEST(the_lru_answers_for_decoded_tensors)
{
	const char *root = run_scratch();
	lc_options options = sample_options();
	lc_counters counters = { .struct_size = sizeof(counters) };
	lc_tensor tensor;
	lc_cache *cache;
	lc_view first, second;
	uint8_t zeros[4096] = { 0 };
	const uint64_t shape[1] = { sizeof(zeros) };

	options.codec = LC_CODEC_LZ4;
	cache = sample_open(root, "m", &options);
	OK(lc_tensor_init(&tensor, LC_U8, 1, shape, zeros));
	OK(lc_put(cache, "a", 1, &tensor));
	OK(lc_flush(cache));
	OK(lc_get(cache, "a", 1, &first));
	OK(lc_get(cache, "a", 1, &second));
	ck_assert_ptr_eq(first.tensor.data, second.tensor.data);
	ck_assert_mem_eq(first.tensor.data, zeros, sizeof(zeros));
	OK(lc_counters_get(cache, &counters));
	ck_assert_uint_eq(counters.lru_hits, 1);
	ck_assert_uint_eq(counters.lru_misses, 1);
	ck_assert_uint_eq(counters.lru_records, 1);
	ck_assert_uint_ge(counters.lru_bytes, sizeof(zeros));
	lc_view_release(&first);
	/* Replaced: never the old bytes. */
	zeros[17] = 1;
	OK(lc_put(cache, "a", 1, &tensor));
	OK(lc_flush(cache));
	lc_view_release(&second);
	OK(lc_get(cache, "a", 1, &first));
	ck_assert_mem_eq(first.tensor.data, zeros, sizeof(zeros));
	lc_view_release(&first);
	OK(lc_close(cache));
	options.lru_bytes = 0;
	cache = sample_open(root, "m", &options);
	OK(lc_get(cache, "a", 1, &first));
	OK(lc_get(cache, "a", 1, &second));
	ck_assert_ptr_ne(first.tensor.data, second.tensor.data);
	lc_view_release(&first);
	lc_view_release(&second);
	OK(lc_close(cache));
}
END_TEST

/* ---- any value ------------------------------------------------------------ */

START_TEST(random_values_come_back)
{
	static const lc_codec codecs[] = { LC_CODEC_NONE, LC_CODEC_LZ4,
		LC_CODEC_AUTO, LC_CODEC_SHUFFLE_LZ4 };
	const unsigned n = sample_times(10000);
	lc_cache *cache = open_module(run_scratch(), "m");
	uint64_t seed = run_seed();
	char id[16];

	/* In rounds, so that the structures of one module stay below its limit. */
	for (unsigned i = 0; i < n; i++) {
		uint64_t state = seed + i;
		lc_value *value = random_value(&state, 5);

		if (i % 2000 == 0 && i > 0) {
			char module[16];

			OK(lc_close(cache));
			snprintf(module, sizeof(module), "m%u", i);
			cache = open_module(run_scratch(), module);
		}
		snprintf(id, sizeof(id), "%u", i);
		OK(lc_put_coded(cache, id, strlen(id), value, codecs[i % 4], 0));
		expect_value(cache, id, value);
		if (i % 500 == 499 || i + 1 == n) {
			OK(lc_flush(cache));
			for (unsigned j = i / 500 * 500; j <= i; j++) {
				lc_value *again;

				state = seed + j;
				again = random_value(&state, 5);
				snprintf(id, sizeof(id), "%u", j);
				expect_value(cache, id, again);
				lc_value_free(again);
			}
		}
		lc_value_free(value);
	}
	OK(lc_verify(cache, NULL, &(lc_verify_result){ 0 }));
	OK(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("values");
	TCase *one = tcase_create("one value");
	TCase *structures = tcase_create("structures");
	TCase *codecs = tcase_create("codecs");
	TCase *any = tcase_create("any value");

	tcase_add_test(one, is_read_as_it_was_put);
	tcase_add_test(one, parts_are_read_by_path);
	tcase_add_test(one, parts_of_plain_lists_are_read_by_path);
	tcase_add_test(one, a_tensor_is_the_same_record_either_way);
	tcase_add_test(one, a_copy_of_what_is_no_tensor_says_so);
	tcase_add_test(one, a_broken_value_is_refused);
	tcase_add_test(one, walks_show_values);
	tcase_add_test(structures, each_structure_is_one_schema);
	tcase_add_test(structures, a_strict_module_holds_one_structure);
	tcase_add_test(structures, old_settings_do_not_come_back);
	tcase_add_test(structures, a_child_follows_the_settings_that_it_finds);
	tcase_add_loop_test(codecs, coded_values_come_back, 0, LC_CODEC_COUNT);
	tcase_add_test(codecs, the_lru_answers_for_decoded_tensors);
	tcase_add_test(any, random_values_come_back);
	tcase_set_timeout(any, 600);
	suite_add_tcase(suite, one);
	suite_add_tcase(suite, structures);
	suite_add_tcase(suite, codecs);
	suite_add_tcase(suite, any);
	return run_suite(suite);
}
