/* SPDX-License-Identifier: BSD-2-Clause */
/* Many records by one call: gathered rows, questions, deletes, and which item failed. */
#include "run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "need.h"
#include "sample.h"

#define N 1000
#define WIDTH 33

static char names[N][16];
static lc_id ids[N];

/* Element @p j of row @p i. */
static float
element(size_t i, size_t j)
{
	return (float)(i * WIDTH + j + 1);
}

/* N rows, and their ids. */
static float *
make_rows(void)
{
	float *rows = malloc(sizeof(float) * N * WIDTH);

	ck_assert_ptr_nonnull(rows);
	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof(names[i]), "row-%zu", i);
		ids[i] = lc_id_of(names[i]);
		for (size_t j = 0; j < WIDTH; j++)
			rows[i * WIDTH + j] = element(i, j);
	}
	return rows;
}

static const lc_tensor row = { .dtype = LC_F32, .ndim = 1, .shape = { WIDTH } };

/* A module with every third row pending, every third committed, and every third absent. */
static lc_cache *
open_thirds(const float *rows)
{
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);

	for (size_t third = 1; third < 3; third++) {
		for (size_t i = third; i < N; i += 3)
			assert_ok(lc_put_gathered(cache, 1, &ids[i], &row,
			    rows + i * WIDTH, NULL));
		if (third == 1)
			assert_ok(lc_flush(cache));
	}
	return cache;
}

START_TEST(rows_are_gathered_by_any_number_of_threads)
{
	static const unsigned threads[] = { 0, 1, 2, 3, 16, 1000 };
	float *rows = make_rows(), *got = malloc(sizeof(float) * N * WIDTH);
	lc_cache *cache = open_thirds(rows);
	lc_status statuses[N];
	size_t n_missing;

	ck_assert_ptr_nonnull(got);
	for (size_t t = 0; t < sizeof(threads) / sizeof(threads[0]); t++) {
		memset(got, 0xff, sizeof(float) * N * WIDTH);
		assert_ok(lc_gather(cache, N, ids, NULL, &row, got,
		    sizeof(float) * N * WIDTH, threads[t], statuses, &n_missing));
		ck_assert_uint_eq(n_missing, (N + 2) / 3);
		for (size_t i = 0; i < N; i++) {
			ck_assert_int_eq(statuses[i], i % 3 == 0 ? LC_NOT_FOUND : LC_OK);
			for (size_t j = 0; j < WIDTH; j++)
				ck_assert(got[i * WIDTH + j] ==
				    (i % 3 == 0 ? 0 : element(i, j)));
		}
	}
	assert_ok(lc_close(cache));
	free(rows);
	free(got);
}
END_TEST

START_TEST(contains_tells_what_is_missing)
{
	float *rows = make_rows();
	lc_cache *cache = open_thirds(rows);
	size_t missing[N], n_missing;

	assert_ok(lc_contains_batch(cache, N, ids, missing, &n_missing));
	ck_assert_uint_eq(n_missing, (N + 2) / 3);
	for (size_t i = 0; i < n_missing; i++)
		ck_assert_uint_eq(missing[i], 3 * i);
	assert_ok(lc_contains_batch(cache, 0, NULL, NULL, &n_missing));
	ck_assert_uint_eq(n_missing, 0);
	ids[7].size = 0;
	assert_status(lc_contains_batch(cache, N, ids, NULL, NULL), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "item 7: "));
	ck_assert_uint_eq(lc_last_error()->item, 7);
	assert_status(lc_contains(cache, "", 0), LC_INVALID);
	ck_assert_uint_eq(lc_last_error()->item, SIZE_MAX);
	assert_ok(lc_close(cache));
	free(rows);
}
END_TEST

START_TEST(delete_forgets_many)
{
	float *rows = make_rows();
	lc_cache *cache = open_thirds(rows);
	lc_status statuses[N];
	uint64_t count;

	assert_ok(lc_delete_batch(cache, N - 1, ids, statuses));
	for (size_t i = 0; i < N - 1; i++)
		ck_assert_int_eq(statuses[i], i % 3 == 0 ? LC_NOT_FOUND : LC_OK);
	assert_ok(lc_count(cache, &count));
	ck_assert_uint_eq(count, (N - 1) % 3 == 0 ? 0 : 1);
	ids[2].size = 0;
	assert_status(lc_delete_batch(cache, N, ids, NULL), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "item 2: "));
	ck_assert_uint_eq(lc_last_error()->item, 2);
	assert_ok(lc_close(cache));
	free(rows);
}
END_TEST

START_TEST(rows_of_another_kind_are_named)
{
	float *rows = make_rows();
	lc_cache *cache = open_thirds(rows);
	const float scalar = 7;
	const lc_tensor other = { .dtype = LC_F32, .data = &scalar, .nbytes = 4 };
	lc_value *value = lc_value_map();
	float got[4 * WIDTH];
	lc_status statuses[4];
	size_t n_missing;
	lc_tensor found;

	assert_ok(lc_put(cache, ids[2].data, ids[2].size, &other));
	memset(got, 0xff, sizeof(got));
	assert_status(lc_gather(cache, 4, ids, NULL, &row, got, sizeof(got), 1, statuses,
	    &n_missing), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text,
	    "item 2: gather: 'row-2': f32[], not f32[33]");
	ck_assert_uint_eq(lc_last_error()->item, 2);
	ck_assert_uint_eq(n_missing, 2);
	ck_assert_int_eq(statuses[1], LC_OK);
	ck_assert_int_eq(statuses[2], LC_SCHEMA);
	for (size_t j = 0; j < WIDTH; j++) {
		ck_assert(got[WIDTH + j] == element(1, j));
		ck_assert(got[2 * WIDTH + j] == 0);
	}

	/* A part of a value, which a record that is a tensor has not. */
	lc_value_set(value, "x", lc_value_tensor(&other));
	lc_value_set(value, "y", lc_value_integer(3));
	assert_ok(lc_put_value(cache, ids[2].data, ids[2].size, value));
	lc_value_free(value);
	assert_ok(lc_gather_row(cache, 1, &ids[2], "x", &found));
	ck_assert_uint_eq(found.ndim, 0);
	ck_assert_int_eq(found.dtype, LC_F32);
	assert_ok(lc_gather(cache, 1, &ids[2], "x", &found, got, 4, 1, statuses, NULL));
	ck_assert(got[0] == 7);
	assert_status(lc_gather(cache, 1, &ids[2], "y", &found, got, 4, 1, statuses, NULL),
	    LC_SCHEMA);
	assert_status(lc_gather(cache, 1, &ids[2], "z", &found, got, 4, 1, statuses, NULL),
	    LC_SCHEMA);
	assert_status(lc_gather(cache, 1, &ids[1], "x", &found, got, 4, 1, statuses, NULL),
	    LC_SCHEMA);
	assert_status(lc_gather_row(cache, 4, ids, "x", &found), LC_SCHEMA);
	assert_status(lc_gather_row(cache, 1, ids, NULL, &found), LC_NOT_FOUND);
	assert_ok(lc_close(cache));
	free(rows);
}
END_TEST

/* Record i: { a: f32[2] = [i, -i], b: { c: u8[3] = i } }; the third has no b. */
static void
put_columns(lc_cache *cache, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const float a[2] = { (float)i, -(float)i };
		const uint8_t c[3] = { (uint8_t)i, (uint8_t)i, (uint8_t)i };
		const lc_tensor at = { .dtype = LC_F32, .ndim = 1, .shape = { 2 },
			.data = a, .nbytes = sizeof(a) };
		const lc_tensor ct = { .dtype = LC_U8, .ndim = 1, .shape = { 3 },
			.data = c, .nbytes = sizeof(c) };
		lc_value *value = lc_value_map();
		lc_value *b = i == 2 ? NULL : lc_value_set(value, "b", lc_value_map());

		if (i != 2)
			lc_value_set(b, "c", lc_value_tensor(&ct));
		lc_value_set(value, "a", lc_value_tensor(&at));
		assert_ok(lc_put_value(cache, ids[i].data, ids[i].size, value));
		lc_value_free(value);
	}
}

START_TEST(columns_are_gathered_in_one_pass)
{
	static const unsigned threads[] = { 1, 3 };
	const lc_options options = sample_options();
	lc_cache *cache = sample_open(run_scratch(), "m", &options);
	float a[N][2];
	uint8_t c[N][3];
	lc_column columns[2] = {
		{ .field = "a", .rows = a, .room = sizeof(a) },
		{ .field = "b.c", .rows = c, .room = sizeof(c) },
	};
	lc_status statuses[N];
	size_t n_missing;

	free(make_rows());
	put_columns(cache, N / 2);
	for (size_t k = 0; k < 2; k++)
		assert_ok(lc_gather_row(cache, N, ids, columns[k].field, &columns[k].row));
	for (size_t t = 0; t < 4; t++) {
		memset(a, 0xff, sizeof(a));
		memset(c, 0xff, sizeof(c));
		assert_status(lc_gather_columns(cache, N, ids, columns, 2, threads[t % 2],
		    statuses, &n_missing), LC_SCHEMA);
		ck_assert_uint_eq(lc_last_error()->item, 2);
		ck_assert_uint_eq(n_missing, N - N / 2);
		for (size_t i = 0; i < N; i++) {
			const bool there = i < N / 2 && i != 2;

			ck_assert_int_eq(statuses[i], there ? LC_OK
			    : i == 2 ? LC_SCHEMA : LC_NOT_FOUND);
			ck_assert(a[i][0] == (there ? (float)i : 0));
			ck_assert(a[i][1] == (there ? -(float)i : 0));
			ck_assert_uint_eq(c[i][0], there ? i & 0xff : 0);
			ck_assert_uint_eq(c[i][2], there ? i & 0xff : 0);
		}
		if (t == 1)
			assert_ok(lc_flush(cache));
	}
	columns[1].room--;
	assert_status(lc_gather_columns(cache, N, ids, columns, 2, 1, NULL, NULL),
	    LC_INVALID);
	assert_ok(lc_gather_columns(cache, N, ids, NULL, 0, 1, statuses, &n_missing));
	ck_assert_uint_eq(n_missing, N - N / 2);
	assert_ok(lc_close(cache));
}
END_TEST

/* Lets a number of questions pass. */
static int
stop_after(void *ctx)
{
	size_t *left = ctx;

	return *left == 0 || (*left)-- == 0;
}

START_TEST(a_call_that_reads_many_can_be_stopped)
{
	float *rows = make_rows(), *got = malloc(sizeof(float) * N * WIDTH);
	lc_options options = sample_options();
	lc_view views[N];
	lc_status statuses[N], status;
	size_t left = SIZE_MAX, n_missing;
	lc_cache *cache;
	lc_tensor found;

	options.stop = stop_after;
	options.stop_ctx = &left;
	cache = sample_open(run_scratch(), "m", &options);
	assert_ok(lc_put_gathered(cache, N, ids, &row, rows, NULL));
	for (size_t turn = 0; turn < 2; turn++) {
		/* Pending records are asked about every 256, committed ones every few. */
		for (size_t after = 0; after < 3; after++) {
			size_t n_read = 0;

			left = after;
			memset(got, 0xff, sizeof(float) * N * WIDTH);
			assert_status(lc_gather(cache, N, ids, NULL, &row, got,
			    sizeof(float) * N * WIDTH, 1, statuses, &n_missing), LC_CANCELLED);
			ck_assert_str_eq(lc_last_error()->text, "gather: cancelled");
			while (n_read < N && statuses[n_read] == LC_OK)
				n_read++;
			ck_assert_uint_lt(n_read, N);
			for (size_t i = 0; i < N; i++) {
				ck_assert_int_eq(statuses[i], i < n_read ? LC_OK : LC_CANCELLED);
				ck_assert(got[i * WIDTH] == (i < n_read ? element(i, 0) : 0));
			}
			left = after;
			assert_status(lc_contains_batch(cache, N, ids, NULL, NULL),
			    LC_CANCELLED);
			left = after;
			assert_status(lc_get_batch(cache, N, ids, views, NULL, NULL),
			    LC_CANCELLED);
			ck_assert_int_eq(views[N - 1].status, LC_CANCELLED);
			lc_views_release(views, N);
		}
		left = 0;
		/* The calling thread asks, unless the other one has left it nothing to do. */
		status = lc_gather(cache, N, ids, NULL, &row, got,
		    sizeof(float) * N * WIDTH, 2, statuses, NULL);
		for (size_t i = 0; i < N; i++)
			ck_assert(statuses[i] == LC_OK ||
			    (statuses[i] == LC_CANCELLED && status == LC_CANCELLED));
		left = SIZE_MAX;
		assert_ok(lc_gather(cache, N, ids, NULL, &row, got,
		    sizeof(float) * N * WIDTH, 4, statuses, NULL));
		assert_ok(lc_flush(cache));
	}
	for (size_t i = 0; i < N; i++)
		names[i][0] = '-';
	left = 3;
	assert_status(lc_gather_row(cache, N, ids, NULL, &found), LC_CANCELLED);
	assert_ok(lc_close(cache));
	free(rows);
	free(got);
}
END_TEST

START_TEST(a_block_that_is_too_small_is_refused)
{
	float *rows = make_rows(), got[2 * WIDTH] = { 42 };
	lc_cache *cache = open_thirds(rows);
	lc_tensor odd = row;

	assert_status(lc_gather(cache, 2, ids, NULL, &row, got, sizeof(got) - 1, 1, NULL,
	    NULL), LC_INVALID);
	assert_status(lc_gather(cache, SIZE_MAX, ids, NULL, &row, got, sizeof(got), 1, NULL,
	    NULL), LC_INVALID);
	odd.ndim = LC_MAX_NDIM + 1;
	assert_status(lc_gather(cache, 2, ids, NULL, &odd, got, sizeof(got), 1, NULL, NULL),
	    LC_INVALID);
	ck_assert(got[0] == 42);
	assert_ok(lc_close(cache));
	free(rows);
}
END_TEST

START_TEST(values_are_put_together)
{
	lc_cache *cache = sample_open(run_scratch(), "m", NULL);
	lc_value *a = lc_value_integer(1), *b = lc_value_map();
	const lc_value *values[3] = { a, NULL, b };
	const lc_id three[3] = { { "a", 1 }, { "n", 1 }, { "b", 1 } };
	lc_status statuses[3];
	const lc_value *got;
	lc_view view;

	lc_value_set(b, "x", lc_value_integer(2));
	assert_status(lc_put_values(cache, 3, three, values, statuses), LC_NO_MEMORY);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "item 1: "));
	ck_assert_int_eq(statuses[0], LC_OK);
	ck_assert_int_eq(statuses[1], LC_NO_MEMORY);
	ck_assert_int_eq(statuses[2], LC_OK);
	assert_ok(lc_get(cache, "b", 1, &view));
	assert_ok(lc_view_value(&view, NULL, &got));
	ck_assert(lc_value_equal(got, b));
	lc_view_release(&view);
	lc_value_free(a);
	lc_value_free(b);
	assert_ok(lc_close(cache));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("batch");
	TCase *tc = tcase_create("batch");

	tcase_add_test(tc, rows_are_gathered_by_any_number_of_threads);
	tcase_add_test(tc, contains_tells_what_is_missing);
	tcase_add_test(tc, delete_forgets_many);
	tcase_add_test(tc, rows_of_another_kind_are_named);
	tcase_add_test(tc, columns_are_gathered_in_one_pass);
	tcase_add_test(tc, a_call_that_reads_many_can_be_stopped);
	tcase_add_test(tc, a_block_that_is_too_small_is_refused);
	tcase_add_test(tc, values_are_put_together);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
