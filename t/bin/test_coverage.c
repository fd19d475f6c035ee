/* SPDX-License-Identifier: BSD-2-Clause */
/* Two sets compared: sums, distances, and bars where the numbers say. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "drawn.h"
#include "report/coverage.h"

START_TEST(rows_are_sorted_and_folded)
{
	struct lc__overlap_row rows[30];
	struct lc__count_row counts[30];
	char names[30][8], room[40], other[40];

	for (size_t i = 0; i < 30; i++) {
		snprintf(names[i], sizeof(names[i]), "g%02zu", i);
		rows[i] = (struct lc__overlap_row){ lc_id_of(names[i]), { i, 1, 2 * i } };
		counts[i] = (struct lc__count_row){ lc_id_of(names[i]), 5, i / 2 };
	}
	ck_assert_uint_eq(lc__overlap_rows(rows, 30, room), LC__COVERAGE_ROWS);
	ck_assert_uint_eq(rows[0].keys.first, 29);
	ck_assert_uint_eq(rows[22].keys.first, 7);
	/* 0 to 6 */
	ck_assert_uint_eq(rows[23].keys.first, 21);
	ck_assert_uint_eq(rows[23].keys.both, 7);
	ck_assert_uint_eq(rows[23].keys.second, 42);
	ck_assert_str_eq((const char *)rows[23].name.data, "7 others");
	ck_assert_uint_eq(lc__count_rows(counts, 30, other), LC__COVERAGE_ROWS);
	ck_assert_str_eq((const char *)counts[0].name.data, "g28");
	ck_assert_str_eq((const char *)counts[1].name.data, "g29");
	ck_assert_uint_eq(counts[23].first, 35);
	ck_assert_uint_eq(counts[23].second, 0 + 0 + 1 + 1 + 2 + 2 + 3);
	ck_assert_uint_eq(lc__overlap_rows(rows, 3, room), 3);
	ck_assert_uint_eq(lc__count_rows(counts, 0, other), 0);
}
END_TEST

START_TEST(distances)
{
	struct lc__histogram a, b, none;

	lc__histogram_init(&a, "x", "x", 0, 4, 4);
	b = none = a;
	for (int i = 0; i < 4; i++)
		lc__histogram_add(&a, 0.5);
	ck_assert_double_eq(lc__histogram_distance(&a, &a), 0);
	ck_assert_double_eq(lc__histogram_distance(&a, &none), 1);
	ck_assert_double_eq(lc__histogram_distance(&none, &none), 0);
	lc__histogram_add(&b, 0.5);
	lc__histogram_add(&b, 2.5);
	ck_assert_double_eq(lc__histogram_distance(&a, &b), 0.5);
	/* Values outside are a category, too. */
	lc__histogram_add(&b, 9);
	lc__histogram_add(&b, -9);
	ck_assert_double_eq(lc__histogram_distance(&b, &a), 0.75);
}
END_TEST

START_TEST(parts_are_proportional)
{
	const struct lc__overlap keys = { 10, 20, 70 }, thin = { 1, 0, 1000000 };
	struct lc__rect parts[3];
	const double room = 432 - 2 * LC__MARGIN;

	lc__coverage_bar(&keys, 432, parts);
	ck_assert_double_eq(parts[0].x, LC__MARGIN);
	ck_assert_double_eq(parts[0].width, 0.1 * room);
	ck_assert_double_eq(parts[1].width, 0.2 * room);
	ck_assert_double_eq(parts[2].x + parts[2].width, 432 - LC__MARGIN);
	lc__coverage_bar(&thin, 432, parts);
	ck_assert_double_eq(parts[0].width, 1);
	ck_assert_double_eq(parts[1].width, 0);
	ck_assert_double_eq(parts[2].width, room - 1);
}
END_TEST

/* Read back from the pixels, narrow and wide. */
START_TEST(it_is_drawn)
{
	const struct lc__overlap_row groups[] = {
		{ { "a", 1 }, { 5, 5, 0 } },
		{ { "b", 1 }, { 5, 15, 70 } },
	};
	const struct lc__count_row counts[] = { { { "cat", 3 }, 4, 1 }, { { "dog", 3 }, 0, 2 } };
	struct lc__histogram a, b;

	lc__histogram_init(&a, "x", "x", 0, 4, 4);
	b = a;
	lc__histogram_add(&a, 1.5);
	lc__histogram_add(&b, 2.5);
	for (int width = 360; width <= 960; width += 600) {
		const struct lc__coverage coverage = {
			.names = { "old", "new" },
			.what = "records",
			.keys = { 10, 20, 70 },
			.groups = groups,
			.n_groups = 2,
			.groups_title = "groups",
			.counts = counts,
			.n_counts = 2,
			.counts_title = "counts",
			.pairs = { { &a, &b, LC__UNIT_NUMBER, NULL } },
			.n_pairs = 1,
		};
		static const uint32_t colours[3] = { LC__COVERAGE_FIRST, LC__COVERAGE_BOTH,
			LC__COVERAGE_SECOND };
		struct lc__picture *picture;
		struct lc__rect parts[3];
		struct lc__pixels got;
		ck_assert_int_eq(lc__picture_new(LC__PICTURE_PNG, &picture), LC_OK);
		ck_assert_int_eq(lc__coverage_draw(picture, &coverage, width), LC_OK);
		ck_assert_double_eq(lc__picture_width(picture), width);
		got = drawn_pixels(picture);
		lc__coverage_bar(&coverage.keys, width, parts);
		for (int i = 0; i < 3; i++)
			for (double x = parts[i].x; x < parts[i].x + parts[i].width; x++)
				ck_assert_uint_eq(pixel(&got, x, parts[i].y + 5), colours[i]);
		lc__pixels_free(&got);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("coverage");
	TCase *tc = tcase_create("coverage");

	drawn_need();
	tcase_add_test(tc, rows_are_sorted_and_folded);
	tcase_add_test(tc, distances);
	tcase_add_test(tc, parts_are_proportional);
	tcase_add_test(tc, it_is_drawn);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
