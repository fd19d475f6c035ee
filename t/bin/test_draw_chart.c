/* SPDX-License-Identifier: BSD-2-Clause */
/* Bar charts: every bar where its numbers say. */
#include "run.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "report/chart.h"
#include "report/class_bars.h"

static const struct lc__rect page = { 10, 20, 400, 300 };

static struct lc__histogram
histogram_of(const uint64_t *counts, uint32_t bins)
{
	struct lc__histogram out;

	lc__histogram_init(&out, "x", "title", 0, bins, bins);
	for (uint32_t i = 0; i < bins; i++)
		for (uint64_t k = 0; k < counts[i]; k++)
			lc__histogram_add(&out, i + 0.5);
	return out;
}

START_TEST(bars_have_their_heights)
{
	const uint64_t counts[5] = { 3, 0, 10, 5, 1 };
	const struct lc__histogram histogram = histogram_of(counts, 5);
	const struct lc__chart chart = { .histogram = &histogram };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	const struct lc__axes axes = lc__chart_axes(&chart, picture, page);
	const struct lc__rect plot = axes.plot;

	ck_assert_double_eq(axes.y.high, 10);
	ck_assert_double_ge(plot.x, page.x);
	ck_assert_double_le(plot.x + plot.width, page.x + page.width);
	for (uint32_t i = 0; i < 5; i++) {
		const struct lc__rect bar = lc__chart_bar(&chart, &axes, i);
		ck_assert_double_eq_tol(bar.height, plot.height * (double)counts[i] / 10, 0.5);
		ck_assert_double_eq(bar.y + bar.height, plot.y + plot.height);
		ck_assert_double_eq(bar.x, plot.x + round(plot.width * i / 5));
		ck_assert_double_eq(bar.x + bar.width, plot.x + round(plot.width * (i + 1) / 5));
	}
	lc__picture_free(picture);
}
END_TEST

START_TEST(a_few_values_are_seen)
{
	struct lc__histogram histogram = histogram_of((uint64_t[2]) { 0, 1 }, 2);
	const struct lc__chart chart = { .histogram = &histogram };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	struct lc__axes axes;

	histogram.counts[0] = 1000000;
	axes = lc__chart_axes(&chart, picture, page);
	ck_assert_double_eq(lc__chart_bar(&chart, &axes, 1).height, 1);
	ck_assert_double_eq(lc__chart_bar(&chart, &axes, 1).y + 1,
	    axes.plot.y + axes.plot.height);
	histogram.counts[1] = 0;
	ck_assert_double_eq(lc__chart_bar(&chart, &axes, 1).height, 0);
	lc__picture_free(picture);
}
END_TEST

/* Read back from the pixels: the heights near the left edge of each bar. */
START_TEST(bars_are_drawn)
{
	const uint64_t counts[7] = { 4, 12, 9, 0, 1, 2, 7 };
	const struct lc__histogram histogram = histogram_of(counts, 7);
	const struct lc__chart chart = { .histogram = &histogram };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	const struct lc__axes axes = lc__chart_axes(&chart, picture, page);
	struct lc__pixels got;

	lc__chart_draw(&chart, picture, page);
	got = drawn_pixels(picture);
	for (uint32_t i = 0; i < 7; i++) {
		const struct lc__rect bar = lc__chart_bar(&chart, &axes, i);
		double high = 0;
		for (double y = axes.plot.y; y < axes.plot.y + axes.plot.height; y++)
			high += pixel(&got, bar.x + 3, y) == LC__BAR;
		ck_assert_double_eq(high, bar.height);
		/* A gap to the next one. */
		ck_assert_uint_ne(pixel(&got, bar.x + bar.width - 1,
		    axes.plot.y + axes.plot.height - 1), LC__BAR);
	}
	for (int y = 0; y < 340; y++)
		for (int x = 0; x < 420; x++)
			if (x < page.x || y < page.y || x >= page.x + page.width ||
			    y >= page.y + page.height)
				ck_assert_uint_eq(pixel(&got, x, y), LC__PAPER);
	lc__pixels_free(&got);
}
END_TEST

/* Dashed lines are at the mean and the median. */
START_TEST(marks_are_drawn)
{
	const uint64_t counts[10] = { 8, 0, 0, 0, 0, 0, 0, 0, 0, 2 };
	const struct lc__histogram histogram = histogram_of(counts, 10);
	const struct lc__chart chart = { .histogram = &histogram };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	const struct lc__axes axes = lc__chart_axes(&chart, picture, page);
	const double mean = (8 * 0.5 + 2 * 9.5) / 10, median = 5.0 / 8;
	const double bottom = axes.plot.y + axes.plot.height - 4;
	struct lc__pixels got;

	lc__chart_draw(&chart, picture, page);
	got = drawn_pixels(picture);
	for (int side = -1; side <= 0; side++) {
		ck_assert_uint_eq(pixel(&got, round(lc__axes_x(&axes, mean)) + side, bottom),
		    LC__CHART_MEAN);
		ck_assert_uint_eq(pixel(&got, round(lc__axes_x(&axes, median)) + side, bottom),
		    LC__CHART_MEDIAN);
	}
	ck_assert_uint_ne(pixel(&got, round(lc__axes_x(&axes, mean)) + 1, bottom),
	    LC__CHART_MEAN);
	lc__pixels_free(&got);
}
END_TEST

START_TEST(texts)
{
	const uint64_t counts[4] = { 8, 0, 0, 2 };
	struct lc__histogram histogram = histogram_of(counts, 4);
	const struct lc__chart chart = { .histogram = &histogram, .unit = LC__UNIT_COUNT };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 420, 340);
	struct lc__buf bytes;

	lc__histogram_add(&histogram, 1e6);
	lc__chart_draw(&chart, picture, page);
	bytes = drawn_bytes(picture);
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">title</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">n = 11</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">1 outside</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">median 1</text>"));
	lc__buf_free(&bytes);
}
END_TEST

static const char *
name_of(const void *ctx, int64_t class_id)
{
	return class_id == 5 ? ctx : NULL;
}

/* The most boxes first, of equally many the smaller id; the last bar is all others. */
START_TEST(bars_of_classes)
{
	const struct lc__class_names names = { name_of, "five" };
	struct lc__class_bars bars;
	struct lc__classes classes = { 0 };

	ck_assert_int_eq(lc__class_bars_of(&classes, &names, &bars), LC_OK);
	ck_assert_uint_eq(bars.n, 0);
	lc__classes_begin(&classes, 9);
	for (int i = 0; i < 9; i++)
		ck_assert_int_eq(lc__classes_add(&classes,
		    i < 4 ? 5 : i < 6 ? 9 : i < 8 ? 2 : -1), LC_OK);
	ck_assert_int_eq(lc__class_bars_of(&classes, &names, &bars), LC_OK);
	ck_assert_uint_eq(bars.n, 4);
	ck_assert_double_eq(bars.most, 4);
	ck_assert_str_eq(bars.bars[0].name.data, "five");
	ck_assert_double_eq(bars.bars[0].value, 4);
	ck_assert_str_eq(bars.bars[1].name.data, "class 2");
	ck_assert_str_eq(bars.bars[2].name.data, "class 9");
	ck_assert_str_eq(bars.bars[3].name.data, "without a class");
	for (int i = 100; i < 146; i++)
		ck_assert_int_eq(lc__classes_add(&classes, i), LC_OK);
	ck_assert_int_eq(lc__class_bars_of(&classes, &names, &bars), LC_OK);
	ck_assert_uint_eq(bars.n, 50);
	ck_assert_str_eq(bars.bars[49].name.data, "class 145");
	ck_assert_int_eq(lc__classes_add(&classes, 146), LC_OK);
	ck_assert_int_eq(lc__classes_add(&classes, 147), LC_OK);
	ck_assert_int_eq(lc__class_bars_of(&classes, &names, &bars), LC_OK);
	ck_assert_uint_eq(bars.n, 50);
	ck_assert_str_eq(bars.bars[49].name.data, "3 others");
	ck_assert_double_eq(bars.bars[49].value, 3);
	for (int i = 0; i < LC__CLASSES_MOST; i++)
		ck_assert_int_eq(lc__classes_add(&classes, 1000 + i), LC_OK);
	ck_assert_int_eq(lc__class_bars_of(&classes, &names, &bars), LC_OK);
	ck_assert_str_eq(bars.bars[49].name.data, "more than 4047 others");
	ck_assert_double_eq(bars.bars[49].value, (double)classes.boxes - 4 - 2 - 2 - 46);
	lc__classes_free(&classes);
}
END_TEST

START_TEST(bins_with_values)
{
	const uint64_t counts[40] = { [20] = 3, [21] = 1 };
	struct lc__histogram histogram = histogram_of(counts, 40);
	const struct lc__chart chart = { .histogram = &histogram, .used = true };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	struct lc__axes axes = lc__chart_axes(&chart, picture, page);

	ck_assert_double_eq(axes.x.high - axes.x.low, 10);
	ck_assert_double_le(axes.x.low, 18);
	ck_assert_double_ge(axes.x.high, 24);
	/* 0 to 1 is a range of its own. */
	histogram.high = 1;
	axes = lc__chart_axes(&chart, picture, page);
	ck_assert_double_eq(axes.x.low, 0);
	ck_assert_double_eq(axes.x.high, 1);
	lc__picture_free(picture);
}
END_TEST

START_TEST(nothing_to_draw)
{
	const struct lc__histogram histogram = histogram_of((uint64_t[1]) { 0 }, 1);
	const struct lc__chart chart = { .histogram = &histogram, .unit = LC__UNIT_LOG2 };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 340);
	struct lc__pixels got;

	lc__chart_draw(&chart, picture, page);
	got = drawn_pixels(picture);
	lc__pixels_free(&got);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("draw_chart");
	TCase *tc = tcase_create("chart");

	drawn_need();
	tcase_add_test(tc, bars_have_their_heights);
	tcase_add_test(tc, a_few_values_are_seen);
	tcase_add_test(tc, bars_are_drawn);
	tcase_add_test(tc, marks_are_drawn);
	tcase_add_test(tc, texts);
	tcase_add_test(tc, bars_of_classes);
	tcase_add_test(tc, bins_with_values);
	tcase_add_test(tc, nothing_to_draw);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
