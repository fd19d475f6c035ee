/* SPDX-License-Identifier: BSD-2-Clause */
/* Bar charts: every bar where its numbers say. */
#include "run.h"

#include <math.h>
#include <string.h>

#include "drawn.h"
#include "report/chart.h"

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
	tcase_add_test(tc, nothing_to_draw);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
