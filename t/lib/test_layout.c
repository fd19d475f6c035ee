/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of layouts: sums, searches against counting, cuts, prefixes. */
#include "run.h"

#include <stdlib.h>

#include "lmdbcache.h"
#include "need.h"
#include "stream/layout.h"

/* A layout with rows of these sizes; ids rise by two. */
static struct lc__layout *
make(const struct lc__chunk_row *rows, uint64_t n)
{
	struct lc__row_array *array = lc__row_array_new();
	lc_source_info info = { .struct_size = sizeof(info), .chunks = n,
		.generation = 2 * n };
	struct lc__layout *layout;

	for (uint64_t i = 0; i < n; i++) {
		struct lc__chunk_row row = rows[i];

		row.id = 2 * i;
		row.prefix_hash = 1000 + i;
		assert_ok(lc__row_array_add(array, &row));
		info.records += row.records;
		info.length += row.units;
		info.prefix_hash = row.prefix_hash;
	}
	assert_ok(lc__layout_new(&info, &array->rows, 7, &layout));
	lc__rows_drop(&array->rows);
	ck_assert_uint_eq(lc__layout_commit(layout), 7);
	return layout;
}

/* Everything of it that can be asked for, counted. */
static void
expect_counted(struct lc__layout *layout, const struct lc__chunk_row *rows,
    uint64_t n)
{
	uint64_t record = 0, unit = 0, position;
	struct lc__chunk_row row;

	for (uint64_t p = 0; p < n; p++) {
		assert_ok(lc__layout_row(layout, p, &row));
		ck_assert_uint_eq(row.id, 2 * p);
		ck_assert_uint_eq(row.first_record, record);
		ck_assert_uint_eq(row.first_unit, unit);
		for (uint64_t i = 0; i < rows[p].records; i++, record++) {
			assert_ok(lc__layout_find_record(layout, record, &position,
			    &row));
			ck_assert_uint_eq(position, p);
			ck_assert_uint_eq(row.id, 2 * p);
		}
		for (uint64_t i = 0; i < rows[p].units; i++, unit++) {
			assert_ok(lc__layout_find_unit(layout, unit, &position,
			    &row));
			ck_assert_uint_eq(position, p);
			ck_assert_uint_eq(row.first_unit + i, unit);
		}
	}
}

/* Alike but for the last, odd ones, and some without units. */
static void
fill(struct lc__chunk_row *rows, uint64_t n, int way, uint64_t *random)
{
	for (uint64_t i = 0; i < n; i++) {
		rows[i] = (struct lc__chunk_row){ .records = 8, .units = 24 };
		if (way > 0)
			rows[i].records = 1 + run_random(random) % 20;
		if (way > 0)
			rows[i].units = run_random(random) % 60;
		if (way > 1 && run_random(random) % 2 == 0)
			rows[i].units = 0;
	}
	rows[n - 1].records = 3;
}

START_TEST(searches_find_what_counting_finds)
{
	uint64_t random = run_seed() + (uint64_t)_i;

	for (uint64_t n = 1; n < 150; n += 1 + n / 3) {
		struct lc__chunk_row *rows = calloc(n, sizeof(*rows));
		struct lc__layout *layout;

		fill(rows, n, _i, &random);
		layout = make(rows, n);
		expect_counted(layout, rows, n);
		lc__layout_drop(layout);
		free(rows);
	}
}
END_TEST

START_TEST(cuts_share_rows)
{
	struct lc__chunk_row rows[20];
	uint64_t random = run_seed();
	struct lc__layout *layout, *cut;

	fill(rows, 20, 1, &random);
	layout = make(rows, 20);
	for (uint64_t n = 0; n <= 20; n++) {
		const lc_source_info *info;
		uint64_t records = 0, units = 0;

		assert_ok(lc__layout_cut(layout, n, 5, &cut));
		info = lc__layout_info(cut);
		expect_counted(cut, rows, n);
		for (uint64_t i = 0; i < n; i++) {
			records += rows[i].records;
			units += rows[i].units;
		}
		ck_assert_uint_eq(info->chunks, n);
		ck_assert_uint_eq(info->generation, 5);
		ck_assert_uint_eq(info->records, records);
		ck_assert_uint_eq(info->length, units);
		ck_assert_uint_eq(info->prefix_hash, n > 0 ? 999 + n : 0);
		assert_ok(lc__layout_check_prefix(layout, cut, "it"));
		if (n < 20)
			assert_status(lc__layout_check_prefix(cut, layout, "it"),
			    LC_CHANGED);
		lc__layout_drop(cut);
	}
	/* What was cut lives on without the whole. */
	assert_ok(lc__layout_cut(layout, 10, 5, &cut));
	lc__layout_drop(layout);
	expect_counted(cut, rows, 10);
	lc__layout_drop(cut);
	lc__layout_drop(NULL);
}
END_TEST

START_TEST(sums_do_not_overflow)
{
	struct lc__row_array *array = lc__row_array_new();
	struct lc__chunk_row row = { .records = 1, .units = UINT64_MAX };

	assert_ok(lc__row_array_add(array, &row));
	row.units = 1;
	assert_status(lc__row_array_add(array, &row), LC_CORRUPT);
	row.units = 0;
	row.records = UINT64_MAX;
	assert_status(lc__row_array_add(array, &row), LC_CORRUPT);
	ck_assert_uint_eq(array->n, 1);
	lc__rows_drop(&array->rows);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("layout");
	TCase *t = tcase_create("rows");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, searches_find_what_counting_finds, 0, 3);
	tcase_add_test(t, cuts_share_rows);
	tcase_add_test(t, sums_do_not_overflow);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
