/* SPDX-License-Identifier: BSD-2-Clause */
/* Bar charts: every bar where its numbers say. */
#include "run.h"

#include "drawn.h"
#include "report/chart.h"

#define PAPER 0xffffffu
#define BAR 0x5b8db8u
#define BAR_EDGE 0x3f6f98u

static const struct lc__area page = { 10, 20, 400, 300 };

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

START_TEST(tops_are_round)
{
	static const struct { uint64_t most, top; } rows[] = {
		{ 0, 1 }, { 1, 1 }, { 2, 2 }, { 5, 5 }, { 6, 6 }, { 7, 8 }, { 11, 12 },
		{ 13, 14 }, { 99, 100 }, { 100, 100 }, { 101, 120 }, { 1220, 1400 },
		{ 2999, 3000 }, { 3001, 3500 }, { 123456, 140000 }
	};
	struct lc__histogram histogram = histogram_of((uint64_t[2]) { 0, 0 }, 2);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		histogram.counts[1] = rows[i].most;
		ck_assert_uint_eq(lc__chart_top(&histogram), rows[i].top);
	}
}
END_TEST

START_TEST(bars_have_their_heights)
{
	const uint64_t counts[5] = { 3, 0, 10, 5, 1 };
	const struct lc__histogram histogram = histogram_of(counts, 5);
	const struct lc__chart chart = { .histogram = &histogram };
	const struct lc__area plot = lc__chart_plot(page);

	ck_assert_uint_eq(lc__chart_top(&histogram), 10);
	ck_assert_int_ge(plot.x, page.x);
	ck_assert_int_le(plot.x + plot.width, page.x + page.width);
	for (uint32_t i = 0; i < 5; i++) {
		const struct lc__area bar = lc__chart_bar(&chart, page, i);
		const double high = (double)plot.height * (double)counts[i] / 10;
		ck_assert_int_eq(bar.height, (int64_t)(high + 0.5));
		ck_assert_int_eq(bar.y + bar.height, plot.y + plot.height);
		ck_assert_int_eq(bar.x, plot.x + (plot.width * i * 2 + 5) / 10);
		ck_assert_int_eq(bar.x + bar.width,
		    plot.x + (plot.width * (i + 1) * 2 + 5) / 10);
	}
}
END_TEST

START_TEST(a_few_values_are_seen)
{
	struct lc__histogram histogram = histogram_of((uint64_t[2]) { 0, 1 }, 2);
	const struct lc__chart chart = { .histogram = &histogram };

	histogram.counts[0] = 1000000;
	ck_assert_int_eq(lc__chart_bar(&chart, page, 1).height, 1);
	histogram.counts[1] = 0;
	ck_assert_int_eq(lc__chart_bar(&chart, page, 1).height, 0);
}
END_TEST

static bool
is_bar(uint32_t colour)
{
	return colour == BAR || colour == BAR_EDGE;
}

/* Read back from the pixels: the heights in the middle of each bar. */
START_TEST(bars_are_drawn)
{
	const uint64_t counts[7] = { 4, 12, 9, 0, 1, 2, 7 };
	const struct lc__histogram histogram = histogram_of(counts, 7);
	const struct lc__chart chart = { .histogram = &histogram, .names = true };
	const struct lc__area plot = lc__chart_plot(page);
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(420, 340, PAPER, &canvas), LC_OK);
	lc__chart_draw(&chart, &canvas, page);
	for (uint32_t i = 0; i < 7; i++) {
		const struct lc__area bar = lc__chart_bar(&chart, page, i);
		int64_t high = 0;
		for (int64_t y = plot.y; y < plot.y + plot.height; y++)
			high += is_bar(pixel(&canvas, bar.x + bar.width / 2, y));
		ck_assert_int_eq(high, bar.height);
	}
	for (int64_t y = 0; y < 340; y++)
		for (int64_t x = 0; x < 420; x++)
			if (x < page.x || y < page.y || x >= page.x + page.width ||
			    y >= page.y + page.height)
				ck_assert_uint_eq(pixel(&canvas, x, y), PAPER);
	lc__canvas_free(&canvas);
}
END_TEST

/* The dashed lines stand at the mean and the median. */
START_TEST(marks_are_drawn)
{
	const uint64_t counts[10] = { 8, 0, 0, 0, 0, 0, 0, 0, 0, 2 };
	const struct lc__histogram histogram = histogram_of(counts, 10);
	const struct lc__chart chart = { .histogram = &histogram };
	const struct lc__area plot = lc__chart_plot(page);
	const double mean = (8 * 0.5 + 2 * 9.5) / 10, median = 5.0 / 8;
	const int64_t at_mean = plot.x + (int64_t)(mean / 10 * (double)plot.width + 0.5);
	const int64_t at_median = plot.x +
	    (int64_t)(median / 10 * (double)plot.width + 0.5);
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(420, 340, PAPER, &canvas), LC_OK);
	lc__chart_draw(&chart, &canvas, page);
	ck_assert_uint_eq(pixel(&canvas, at_mean, plot.y), 0xd9480fu);
	ck_assert_uint_eq(pixel(&canvas, at_mean + 2, plot.y + 1), PAPER);
	ck_assert_uint_eq(pixel(&canvas, at_median, plot.y), 0x1e6b34u);
	lc__canvas_free(&canvas);
}
END_TEST

START_TEST(nothing_to_draw)
{
	const struct lc__histogram histogram = histogram_of((uint64_t[1]) { 0 }, 1);
	const struct lc__chart chart = { &histogram, .log2 = true };
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(420, 340, PAPER, &canvas), LC_OK);
	lc__chart_draw(&chart, &canvas, page);
	lc__canvas_free(&canvas);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("draw_chart");
	TCase *tc = tcase_create("chart");

	tcase_add_test(tc, tops_are_round);
	tcase_add_test(tc, bars_have_their_heights);
	tcase_add_test(tc, a_few_values_are_seen);
	tcase_add_test(tc, bars_are_drawn);
	tcase_add_test(tc, marks_are_drawn);
	tcase_add_test(tc, nothing_to_draw);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
