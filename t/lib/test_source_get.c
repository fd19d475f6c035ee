/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of sources by their ordinals. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_stream.h"
#include "made_warehouse.h"
#include "need.h"
#include "run.h"

static struct made_stream made;

/* Chunks of 3, 1, 4 and 2 records, of 1 to 10 tokens. */
static void
fill(bool input)
{
	static const uint64_t lengths[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };

	made_stream_new(&made, 1, false, true);
	if (input)
		made_stream_input(&made);
	made_stream_chunk(&made, lengths, 3);
	made_stream_chunk(&made, lengths + 3, 1);
	made_stream_chunk(&made, lengths + 4, 4);
	made_stream_chunk(&made, lengths + 8, 2);
}

/* Is a view the record @p i of those that live? */
static void
expect_view(lc_view *view, uint64_t i)
{
	const uint64_t k = made.keys[i];
	const lc_value *value;
	lc_tensor tensor;

	assert_ok(view->status);
	ck_assert_int_eq(view->kind, LC_MAP);
	assert_ok(lc_view_value(view, "tokens", &value));
	assert_ok(lc_value_as_tensor(value, &tensor));
	ck_assert_uint_eq(tensor.shape[0], made.lengths[i]);
	for (uint64_t j = 0; j < made.lengths[i]; j++)
		ck_assert_uint_eq(((const uint32_t *)tensor.data)[j],
		    made_token(1, k, j));
	assert_ok(lc_view_value(view, "label", &value));
	assert_ok(lc_value_as_tensor(value, &tensor));
	ck_assert_int_eq(*(const int64_t *)tensor.data, 1000 + (int64_t)k);
}

static void
expect_id(lc_source *source, uint64_t ordinal, const char *want)
{
	char id[64];
	size_t size;

	assert_ok(lc_source_id(source, ordinal, id, sizeof(id), &size));
	ck_assert_uint_eq(size, strlen(want));
	ck_assert_mem_eq(id, want, size);
}

static void
expect_record(lc_source *source, uint64_t i)
{
	lc_view view;
	char id[64];

	assert_ok(lc_source_get(source, i, &view));
	expect_view(&view, i);
	lc_view_release(&view);
	snprintf(id, sizeof(id), "1-%llu", (unsigned long long)made.keys[i]);
	expect_id(source, i, id);
}

/* Forwards and backwards. */
static void
expect_all(lc_source *source)
{
	for (uint64_t i = 0; i < made.records; i++)
		expect_record(source, i);
	for (uint64_t i = made.records; i-- > 0;)
		expect_record(source, i);
}

/* ---- modules ---------------------------------------------------------------------- */

/* Of plain puts and of an input; it grows, and the numbers stay. */
START_TEST(a_module)
{
	static const uint64_t more[] = { 3, 3 };

	fill(_i == 1);
	made_stream_open(&made);
	ck_assert_uint_eq(made.records, 10);
	expect_all(made.source);
	made_stream_chunk(&made, more, 2);
	made_stream_open(&made);
	ck_assert_uint_eq(made.records, 12);
	expect_all(made.source);
	made_stream_close(&made);
}
END_TEST

/* Those that were deleted before do not count. */
START_TEST(records_that_live)
{
	fill(false);
	made_stream_delete(&made, 8);
	made_stream_delete(&made, 4);
	made_stream_delete(&made, 3);
	made_stream_delete(&made, 0);
	made_stream_open(&made);
	ck_assert_uint_eq(made.records, 6);
	expect_all(made.source);
	made_stream_close(&made);
}
END_TEST

START_TEST(beyond_the_last)
{
	static const uint64_t ordinals[] = { 10, 11, UINT64_MAX };
	char text[1000], id[8] = "";
	size_t size = 77;
	lc_view view;

	fill(false);
	made_stream_open(&made);
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text),
		    "%s/m: no record %llu; it has 10 records, from 0", made.root,
		    (unsigned long long)ordinals[i]);
		memset(&view, 0xee, sizeof(view));
		assert_status(lc_source_get(made.source, ordinals[i], &view), LC_INVALID);
		ck_assert_str_eq(lc_last_error()->text, text);
		ck_assert_int_eq(view.status, LC_INVALID);
		lc_view_release(&view);
		assert_status(lc_source_id(made.source, ordinals[i], id, sizeof(id),
		    &size), LC_INVALID);
		ck_assert_str_eq(lc_last_error()->text, text);
		ck_assert_uint_eq(size, 77);
	}
	made_stream_close(&made);
}
END_TEST

START_TEST(no_records)
{
	lc_view view;

	made_stream_new(&made, 1, false, true);
	made_stream_open(&made);
	assert_status(lc_source_get(made.source, 0, &view), LC_INVALID);
	made_stream_close(&made);
}
END_TEST

START_TEST(room_for_an_id)
{
	char id[4] = { 'x', 'x', 'x', 'x' }, text[1000];
	size_t size = 77;

	fill(false);
	made_stream_open(&made);
	assert_status(lc_source_id(made.source, 9, id, 2, &size), LC_INVALID);
	snprintf(text, sizeof(text),
	    "%s/m: the cache_id of record 9 has 3 bytes, and there is room for 2",
	    made.root);
	ck_assert_str_eq(lc_last_error()->text, text);
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(id, "xxxx", 4);
	assert_ok(lc_source_id(made.source, 9, id, 3, &size));
	ck_assert_mem_eq(id, "1-9x", 4);
	made_stream_close(&made);
}
END_TEST

/* Views need the handle only, and stay whatever is written. */
START_TEST(views_outlive_the_source)
{
	lc_view views[10];

	fill(false);
	made_stream_open(&made);
	for (uint64_t i = 0; i < 10; i++)
		assert_ok(lc_source_get(made.source, i, &views[i]));
	lc_source_close(made.source);
	made.source = NULL;
	assert_ok(lc_delete(made.cache, "1-3", 3));
	assert_ok(lc_flush(made.cache));
	assert_ok(lc_compact(made.cache, NULL, NULL));
	for (uint64_t i = 0; i < 10; i++)
		expect_view(&views[i], i);
	lc_views_release(views, 10);
	made_stream_close(&made);
}
END_TEST

/* Of a chunk that lost a record the ordinals mean nothing; others go on. */
START_TEST(records_that_changed)
{
	lc_view view;
	size_t size;
	char id[8];

	fill(false);
	made_stream_open(&made);
	expect_record(made.source, 5);
	assert_ok(lc_delete(made.cache, "1-5", 3));
	assert_ok(lc_flush(made.cache));
	for (uint64_t i = 4; i < 8; i++) {
		assert_status(lc_source_get(made.source, i, &view), LC_CHANGED);
		ck_assert_int_eq(view.status, LC_CHANGED);
		assert_status(lc_source_id(made.source, i, id, sizeof(id), &size),
		    LC_CHANGED);
	}
	expect_record(made.source, 3);
	expect_record(made.source, 8);
	made_stream_close(&made);
}
END_TEST

/* Change a byte of record k's tokens in the module's file. */
static void
damage(uint64_t k)
{
	uint32_t tokens[10];
	char path[600], *bytes, *at;
	size_t size;
	FILE *file;

	for (uint64_t j = 0; j < 10; j++)
		tokens[j] = made_token(1, k, j);
	snprintf(path, sizeof(path), "%s/m/data.mdb", made.root);
	file = fopen(path, "r+b");
	ck_assert_ptr_nonnull(file);
	fseek(file, 0, SEEK_END);
	size = (size_t)ftell(file);
	bytes = malloc(size);
	rewind(file);
	ck_assert_uint_eq(fread(bytes, 1, size, file), size);
	for (at = bytes; memcmp(at, tokens, 24) != 0; at++)
		ck_assert_uint_lt((size_t)(at - bytes), size - 24);
	fseek(file, (long)(at - bytes), SEEK_SET);
	fputc(*at ^ 1, file);
	ck_assert_int_eq(fclose(file), 0);
	free(bytes);
}

/* The error names the key; the records around it are whole. */
START_TEST(a_damaged_record)
{
	const lc_value *value;
	lc_view view;
	lc_status status;

	fill(false);
	made_stream_open(&made);
	damage(6);
	status = lc_source_get(made.source, 6, &view);
	if (status == LC_OK) {
		status = lc_view_value(&view, "tokens", &value);
		lc_view_release(&view);
	}
	ck_assert_int_eq(status, LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "'1-6'"));
	expect_record(made.source, 5);
	expect_record(made.source, 7);
	made_stream_close(&made);
}
END_TEST

static void *
read_all(void *arg)
{
	for (int round = 0; round < 20; round++)
		expect_all(arg);
	return NULL;
}

START_TEST(by_several_threads)
{
	pthread_t threads[3];

	fill(false);
	made_stream_open(&made);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_all,
				     made.source), 0);
	/* The source gets other layouts meanwhile. */
	for (uint32_t i = 0; i < 20; i++) {
		char id[16];
		const int size = snprintf(id, sizeof(id), "more%u", i);
		lc_tensor tensor;

		assert_ok(lc_tensor_init(&tensor, LC_U32, 0, NULL, &i));
		assert_ok(lc_put(made.cache, id, (size_t)size, &tensor));
		assert_ok(lc_flush(made.cache));
		assert_ok(lc_source_refresh(made.source));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	made_stream_close(&made);
}
END_TEST

/* ---- parts and joins --------------------------------------------------------------- */

/* Each record is in one of two parts, in the order of the module. */
START_TEST(parts_of_a_split)
{
	static const char *const names[] = { "train", "val" };
	uint64_t next[2] = { 0, 0 };
	lc_source_options o;
	lc_source *parts[2];
	lc_view view;

	fill(false);
	made_stream_open(&made);
	for (int p = 0; p < 2; p++) {
		lc_source_options_init(&o);
		o.split = "train=0.5,val=0.5";
		o.part = names[p];
		assert_ok(lc_source_open_module(made.cache, &o, &parts[p]));
	}
	for (uint64_t i = 0; i < 10; i++) {
		char id[16];
		const int n = snprintf(id, sizeof(id), "1-%u", (unsigned)i);
		size_t p;

		assert_ok(lc_split_part("train=0.5,val=0.5", 0, id, (size_t)n, &p));
		assert_ok(lc_source_get(parts[p], next[p], &view));
		expect_view(&view, i);
		lc_view_release(&view);
		expect_id(parts[p], next[p]++, id);
	}
	for (int p = 0; p < 2; p++) {
		ck_assert_uint_gt(next[p], 0);
		assert_status(lc_source_get(parts[p], next[p], &view), LC_INVALID);
		lc_source_close(parts[p]);
	}
	made_stream_close(&made);
}
END_TEST

START_TEST(a_join)
{
	lc_join modules[2];
	lc_source *join;
	lc_view view;

	fill(false);
	modules[0] = (lc_join){ "a", made.cache };
	modules[1] = (lc_join){ "b", made.cache };
	assert_ok(lc_source_open_join(modules, 2, LC_MISSING_REFUSE, NULL, &join));
	for (uint64_t i = 0; i < 10; i++) {
		char id[16];

		snprintf(id, sizeof(id), "1-%u", (unsigned)i);
		expect_id(join, i, id);
		assert_status(lc_source_get(join, i, &view), LC_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
		    ": a record of a join is several records: view each in its module "
		    "by its cache_id"));
		ck_assert_int_eq(view.status, LC_UNSUPPORTED);
	}
	lc_source_close(join);
	made_stream_close(&made);
}
END_TEST

/* ---- shards ------------------------------------------------------------------------ */

static void
expect_part(lc_view *view, const char *name, const void *bytes)
{
	const lc_value *value;
	lc_tensor tensor;

	assert_ok(lc_view_value(view, name, &value));
	assert_ok(lc_value_as_tensor(value, &tensor));
	ck_assert_mem_eq(tensor.data, bytes, tensor.nbytes);
}

/* Across shards and sizes of image. */
START_TEST(shards)
{
	static const struct made_variant plain;
	const struct made warehouse = made_warehouse(&plain);
	const lc_value *value;
	lc_source *source;
	lc_view view;
	char id[64];
	size_t size;

	assert_ok(lc_source_open_shards(warehouse.warehouse, NULL, &source));
	for (uint64_t i = MADE_SAMPLES; i-- > 0;) {
		assert_ok(lc_source_get(source, i, &view));
		ck_assert_int_eq(view.kind, LC_MAP);
		assert_ok(lc_view_value(&view, NULL, &value));
		ck_assert_uint_eq(lc_value_count(value), 3);
		expect_part(&view, "image", made_image(i));
		expect_part(&view, "boxes", made_boxes(i));
		expect_part(&view, "mask", made_mask(i));
		assert_status(lc_view_value(&view, "none", &value), LC_NOT_FOUND);
		ck_assert_str_eq(lc_last_error()->text, "the sample has no part none");
		lc_view_release(&view);
		assert_ok(lc_source_id(source, i, id, sizeof(id), &size));
		ck_assert_uint_gt(size, 0);
	}
	assert_status(lc_source_get(source, MADE_SAMPLES, &view), LC_INVALID);
	lc_source_close(source);
}
END_TEST

/* A module of tensors, exported: samples without boxes are tensors. With metadata they have
 * cache_ids, else empty ones. */
START_TEST(shards_without_boxes)
{
	const char *dir = run_scratch();
	const uint64_t shape[] = { 6 };
	lc_export_options o;
	lc_source *source;
	lc_tensor tensor;
	lc_cache *cache;
	char id[16];
	lc_view view;
	size_t size;

	assert_ok(lc_open(run_scratch(), "m", NULL, &cache));
	for (uint32_t i = 0; i < 30; i++) {
		const uint32_t row[6] = { i, i + 1, i + 2, i + 3, i + 4, i + 5 };

		assert_ok(lc_tensor_init(&tensor, LC_U32, 1, shape, row));
		snprintf(id, sizeof(id), "row%02u", i);
		assert_ok(lc_put(cache, id, 5, &tensor));
	}
	lc_export_options_init(&o);
	o.metadata = _i;
	assert_ok(lc_export(cache, dir, &o, NULL));
	assert_ok(lc_close(cache));
	assert_ok(lc_source_open_shards(dir, NULL, &source));
	for (uint32_t i = 0; i < 30; i++) {
		const uint32_t row[6] = { i, i + 1, i + 2, i + 3, i + 4, i + 5 };
		char want[16];

		assert_ok(lc_source_get(source, i, &view));
		ck_assert_int_eq(view.kind, LC_TENSOR);
		ck_assert_uint_eq(view.tensor.nbytes, sizeof(row));
		ck_assert_mem_eq(view.tensor.data, row, sizeof(row));
		lc_view_release(&view);
		assert_ok(lc_source_id(source, i, id, sizeof(id), &size));
		snprintf(want, sizeof(want), "row%02u", i);
		ck_assert_uint_eq(size, _i ? 5 : 0);
		ck_assert_mem_eq(id, want, size);
	}
	lc_source_close(source);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("source_get");
	TCase *tc = tcase_create("source_get");

	tcase_add_loop_test(tc, a_module, 0, 2);
	tcase_add_test(tc, records_that_live);
	tcase_add_test(tc, beyond_the_last);
	tcase_add_test(tc, no_records);
	tcase_add_test(tc, room_for_an_id);
	tcase_add_test(tc, views_outlive_the_source);
	tcase_add_test(tc, records_that_changed);
	tcase_add_test(tc, a_damaged_record);
	tcase_add_test(tc, by_several_threads);
	tcase_add_test(tc, parts_of_a_split);
	tcase_add_test(tc, a_join);
	tcase_add_test(tc, shards);
	tcase_add_loop_test(tc, shards_without_boxes, 0, 2);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
