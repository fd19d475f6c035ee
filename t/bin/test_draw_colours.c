/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours that differ as they should, and round numbers. */
#include "run.h"

#include <math.h>
#include <string.h>

#include "draw/colours.h"
#include "draw/ticks.h"

/* ---- colours -------------------------------------------------------------------- */

static double
linear(uint32_t channel)
{
	const double value = channel / 255.0;

	return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* OKLab of a colour: the way back, by the inverse matrices of its definition. */
static struct lc__oklab
oklab_of(uint32_t colour)
{
	const double r = linear(colour >> 16), g = linear(colour >> 8 & 255),
	    b = linear(colour & 255);
	const double l = cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
	const double m = cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
	const double s = cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
	const struct lc__oklab out = {
		0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
		1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
		0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s
	};

	return out;
}

static double
distance(uint32_t x, uint32_t y)
{
	const struct lc__oklab a = oklab_of(x), b = oklab_of(y);

	return hypot(hypot(a.l - b.l, a.a - b.a), a.b - b.b);
}

START_TEST(colours_of_oklab)
{
	static const struct { struct lc__oklab lab; uint32_t colour; } rows[] = {
		{ { 0, 0, 0 }, 0x000000 }, { { 1, 0, 0 }, 0xffffff },
		{ { 0.62796, 0.22486, 0.12585 }, 0xff0000 },
		{ { 0.86644, -0.23389, 0.17950 }, 0x00ff00 },
		{ { 0.45201, -0.03246, -0.31153 }, 0x0000ff },
		{ { 2, 0, 0 }, 0xffffff }, { { -1, 0, 0 }, 0x000000 }
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(lc__colour_of(rows[i].lab), rows[i].colour);
}
END_TEST

START_TEST(heat_colours_are_even)
{
	const uint32_t *heat = lc__colours(LC__COLOURS_HEAT);

	for (int i = 1; i < LC__COLOUR_STEPS; i++)
		ck_assert_double_gt(oklab_of(heat[i]).l, oklab_of(heat[i - 1]).l);
	/* Sixteen steps: rounding to 8 bits does not matter there. */
	for (int i = 16; i < LC__COLOUR_STEPS; i++) {
		const struct lc__oklab a = oklab_of(heat[i]);
		ck_assert_double_eq_tol(distance(heat[i], heat[i - 16]), 0.0549, 0.004);
		ck_assert_double_eq_tol(hypot(a.a, a.b), 0.14, 0.004);
	}
	for (int i = 0; i < LC__COLOUR_STEPS; i++)
		ck_assert_double_gt(distance(heat[i], LC__COLOUR_NOT_FINITE), 0.2);
}
END_TEST

/* From white to dark, evenly, so that it reads in grey, too. */
START_TEST(density_colours_get_darker)
{
	const uint32_t *density = lc__colours(LC__COLOURS_DENSITY);

	ck_assert_uint_eq(density[0], 0xffffff);
	for (int i = 1; i < LC__COLOUR_STEPS; i++)
		ck_assert_double_lt(oklab_of(density[i]).l, oklab_of(density[i - 1]).l);
	ck_assert_double_lt(oklab_of(density[LC__COLOUR_STEPS - 1]).l, 0.26);
}
END_TEST

/* White in the middle, and equally dark on both sides. */
START_TEST(diverging_colours)
{
	const uint32_t *c = lc__colours(LC__COLOURS_DIVERGING);

	ck_assert_double_gt(oklab_of(c[127]).l, 0.97);
	for (int i = 1; i < 128; i++) {
		ck_assert_double_gt(oklab_of(c[i]).l, oklab_of(c[i - 1]).l - 0.002);
		ck_assert_double_lt(fabs(oklab_of(c[i]).l - oklab_of(c[255 - i]).l), 0.04);
		ck_assert_double_gt(distance(c[i], LC__COLOUR_NOT_FINITE), 0.15);
		ck_assert_double_gt(distance(c[255 - i], LC__COLOUR_NOT_FINITE), 0.15);
		ck_assert_uint_ge(c[i] & 255, c[i] >> 16);
		ck_assert_uint_ge(c[255 - i] >> 16, c[255 - i] & 255);
	}
	ck_assert_uint_eq(lc__colour_at(LC__COLOURS_DIVERGING, -3), c[0]);
	ck_assert_uint_eq(lc__colour_at(LC__COLOURS_DIVERGING, 7), c[255]);
	ck_assert_uint_eq(lc__colour_at(LC__COLOURS_HEAT, 1), lc__colours(LC__COLOURS_HEAT)[255]);
}
END_TEST

START_TEST(class_colours_differ)
{
	for (int64_t i = -1; i < 12; i++)
		for (int64_t k = -1; k < i; k++)
			ck_assert_double_gt(distance(lc__colour_class(i),
			    lc__colour_class(k)), 0.07);
	ck_assert_uint_eq(lc__colour_class(-1), 0xffffff);
	ck_assert_uint_eq(lc__colour_class(90), lc__colour_class(90));
	(void)lc__colour_class(INT64_MIN);
	(void)lc__colour_class(INT64_MAX);
}
END_TEST

/* ---- round numbers -------------------------------------------------------------- */

static const struct {
	double low, high, least;
	uint32_t most, count;
	double first, step;
} tick_rows[] = {
	{ 0, 10, 0, 6, 6, 0, 2 }, { 0, 10, 0, 11, 11, 0, 1 },
	{ 0, 0.7, 0, 8, 8, 0, 0.1 }, { 0, 1, 0, 6, 6, 0, 0.2 }, { -1.3, 1.3, 0, 6, 5, -1, 0.5 },
	{ 0, 3, 1, 20, 4, 0, 1 }, { 0, 1, 1, 7, 2, 0, 1 },
	{ 1e-9, 5e-9, 0, 5, 5, 1e-9, 1e-9 }, { -0.5, 8.5, 1, 5, 5, 0, 2 },
	{ 1e6, 9e6, 0, 5, 4, 2e6, 2e6 }, { 3.1, 3.9, 0, 2, 1, 3.5, 0.5 },
	{ 5, 5, 0, 5, 0, 0, 0 }, { 6, 5, 0, 5, 0, 0, 0 }, { 0, 1, 0, 0, 0, 0, 0 },
	{ -INFINITY, 1, 0, 5, 0, 0, 0 }, { 1e300, 1.5e300, 0, 3, 3, 1e300, 2e299 }
};

START_TEST(ticks)
{
	const struct lc__ticks got = lc__ticks_of(tick_rows[_i].low,
	    tick_rows[_i].high, tick_rows[_i].most, tick_rows[_i].least);

	ck_assert_uint_eq(got.count, tick_rows[_i].count);
	if (got.count > 0) {
		const double step = tick_rows[_i].step;
		ck_assert_double_eq_tol(got.step, step, step * 1e-12);
		ck_assert_double_eq_tol(lc__ticks_value(&got, 0), tick_rows[_i].first,
		    step * 1e-9);
	}
}
END_TEST

START_TEST(tick_texts)
{
	static const struct { double value; const char *text; } rows[] = {
		{ 0, "0" }, { 0.1 * 3, "0.3" }, { -2.5, "-2.5" }, { 9999, "9999" },
		{ 10000, "10,000" }, { 1234567, "1,234,567" }, { -20000, "-20,000" },
		{ 123456789, "123,456,789" }, { 2.5e12, "2.5e+12" }, { 1e-7, "1e-07" }
	};
	char text[LC__TICKS_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_str_eq(lc__ticks_text(rows[i].value, text, sizeof(text)),
		    rows[i].text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("draw_colours");
	TCase *tc = tcase_create("colours");

	tcase_add_test(tc, colours_of_oklab);
	tcase_add_test(tc, heat_colours_are_even);
	tcase_add_test(tc, density_colours_get_darker);
	tcase_add_test(tc, diverging_colours);
	tcase_add_test(tc, class_colours_differ);
	tcase_add_loop_test(tc, ticks, 0, sizeof(tick_rows) / sizeof(tick_rows[0]));
	tcase_add_test(tc, tick_texts);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
