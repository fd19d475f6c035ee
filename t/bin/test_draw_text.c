/* SPDX-License-Identifier: BSD-2-Clause */
/* The font, its lines, colours and round numbers. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "draw/ticks.h"
#include "image/canvas.h"
#include "image/font.h"
#include "image/scale.h"

#define PAPER 0xffffffu
#define INK 0x000000u

static struct lc__canvas
canvas_of(uint32_t width, uint32_t height)
{
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(width, height, PAPER, &canvas), LC_OK);
	return canvas;
}

static bool
is_ink(const struct lc__canvas *canvas, uint32_t x, uint32_t y)
{
	return canvas->pixels[((size_t)y * canvas->width + x) * 3] == 0;
}

/* ---- glyphs --------------------------------------------------------------------- */

/* The pixels of one character as bits, and that nothing is drawn around it. */
static uint64_t
glyph_bits(const char *text)
{
	const struct lc__pen pen = { INK, 1 };
	struct lc__canvas canvas = canvas_of(20, 20);
	uint64_t bits = 0;

	lc__text_draw(&canvas, 4, 4, pen, lc_id_of(text));
	for (uint32_t y = 0; y < 20; y++)
		for (uint32_t x = 0; x < 20; x++) {
			if (!is_ink(&canvas, x, y))
				continue;
			ck_assert(x >= 4 && x < 4 + LC__GLYPH_WIDTH);
			ck_assert(y >= 4 && y < 4 + LC__GLYPH_HEIGHT);
			bits |= UINT64_C(1) << ((y - 4) * LC__GLYPH_WIDTH + x - 4);
		}
	lc__canvas_free(&canvas);
	return bits;
}

START_TEST(glyphs_are_distinct)
{
	uint64_t seen[96];

	for (char c = ' '; c <= '~'; c++)
		seen[c - ' '] = glyph_bits((char[]) { c, '\0' });
	seen[95] = glyph_bits("\x7f");
	for (int i = 0; i < 96; i++) {
		if (i > 0)
			ck_assert_uint_ne(seen[i], 0);
		for (int k = 0; k < i; k++)
			ck_assert_msg(seen[i] != seen[k], "%c and %c", i + ' ', k + ' ');
	}
	ck_assert_uint_eq(seen[0], 0);
}
END_TEST

START_TEST(a_glyph_as_it_is_drawn)
{
	static const char *const rows[LC__GLYPH_HEIGHT] = {
		"#####", "#....", "####.", "....#", "....#", "#...#", ".###.",
		".....", "....."
	};
	const uint64_t bits = glyph_bits("5");

	for (int y = 0; y < LC__GLYPH_HEIGHT; y++)
		for (int x = 0; x < LC__GLYPH_WIDTH; x++)
			ck_assert_int_eq(bits >> (y * LC__GLYPH_WIDTH + x) & 1,
			    rows[y][x] == '#');
}
END_TEST

/* Characters that have no glyph, and bytes that are no character, are one box each. */
START_TEST(other_characters)
{
	static const struct { const char *text; size_t length; } rows[] = {
		{ "", 0 }, { "abc", 3 }, { "\xc3\xa9", 1 }, { "\xe2\x82\xac", 1 },
		{ "\xf0\x9f\x98\x80", 1 }, { "\n", 1 }, { "\xff\xfe", 2 },
		{ "\xc3", 1 }, { "a\xe2\x82z", 4 }
	};
	const uint64_t box = glyph_bits("\x7f");

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(lc__text_length(lc_id_of(rows[i].text)),
		    rows[i].length);
	ck_assert_uint_eq(glyph_bits("\xc3\xa9"), box);
	ck_assert_uint_eq(glyph_bits("\xf0\x9f\x98\x80"), box);
	ck_assert_uint_eq(glyph_bits("\xff"), box);
	ck_assert_uint_eq(glyph_bits("\t"), box);
}
END_TEST

START_TEST(scaled_text)
{
	const struct lc__pen one = { INK, 1 }, three = { INK, 3 };
	struct lc__canvas small = canvas_of(40, 12), large = canvas_of(120, 36);

	lc__text_draw(&small, 1, 2, one, lc_id_of("Ag~9"));
	lc__text_draw(&large, 3, 6, three, lc_id_of("Ag~9"));
	for (uint32_t y = 0; y < 36; y++)
		for (uint32_t x = 0; x < 120; x++)
			ck_assert_int_eq(is_ink(&large, x, y),
			    is_ink(&small, x / 3, y / 3));
	ck_assert_uint_eq(lc__text_width(4, 1), 23);
	ck_assert_uint_eq(lc__text_width(4, 3), 69);
	ck_assert_uint_eq(lc__text_width(0, 3), 0);
	lc__canvas_free(&small);
	lc__canvas_free(&large);
}
END_TEST

/* ---- cutting and lines ---------------------------------------------------------- */

static bool
same_pixels(const struct lc__canvas *a, const struct lc__canvas *b)
{
	return memcmp(a->pixels, b->pixels, (size_t)a->width * a->height * 3) == 0;
}

START_TEST(cut_text)
{
	static const struct { const char *text; size_t most; const char *want; }
	    rows[] = {
		{ "0123456789", 10, "0123456789" }, { "0123456789", 9, "...456789" },
		{ "0123456789", 4, "...9" }, { "0123456789", 3, "..." },
		{ "0123456789", 2, ".." }, { "0123456789", 0, "" },
		{ "0123456789abcdefghij", 18, "01234...abcdefghij" },
		{ "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4, "...\x7f" },
	};
	const struct lc__pen pen = { INK, 1 };
	struct lc__canvas got = canvas_of(200, 12), want = canvas_of(200, 12);

	lc__text_draw_cut(&got, 1, 1, pen, lc_id_of(rows[_i].text), rows[_i].most);
	lc__text_draw(&want, 1, 1, pen, lc_id_of(rows[_i].want));
	ck_assert(same_pixels(&got, &want));
	lc__canvas_free(&got);
	lc__canvas_free(&want);
}
END_TEST

static const struct {
	const char *text;
	size_t most, lines, all;
	const char *want[4];
} line_rows[] = {
	{ "one two three", 20, 1, 1, { "one two three" } },
	{ "one two three", 8, 2, 2, { "one two ", "three" } },
	{ "one two three", 8, 1, 2, { "one t..." } },
	{ "a/b/longer word", 6, 3, 3, { "a/b/", "longer", " word" } },
	{ "abcdefghij", 4, 3, 3, { "abcd", "efgh", "ij" } },
	{ "abcdefghij", 4, 2, 3, { "abcd", "e..." } },
	{ "", 4, 1, 0, { "" } },
};

START_TEST(text_in_lines)
{
	const struct lc__pen pen = { INK, 2 };
	const size_t most = line_rows[_i].most, lines = line_rows[_i].lines;
	struct lc__canvas got = canvas_of(300, 120), want = canvas_of(300, 120);

	ck_assert_uint_eq(lc__text_lines(lc_id_of(line_rows[_i].text), most),
	    line_rows[_i].all);
	lc__text_draw_lines(&got, 3, 4, pen, lc_id_of(line_rows[_i].text), most, lines);
	for (size_t i = 0; i < lines; i++)
		lc__text_draw(&want, 3, 4 + 24 * (int64_t)i, pen,
		    lc_id_of(line_rows[_i].want[i]));
	ck_assert(same_pixels(&got, &want));
	lc__canvas_free(&got);
	lc__canvas_free(&want);
}
END_TEST

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
	uint32_t heat[LC__HEAT_COLOURS];

	lc__colour_heat(heat);
	for (int i = 1; i < LC__HEAT_COLOURS; i++)
		ck_assert_double_gt(oklab_of(heat[i]).l, oklab_of(heat[i - 1]).l);
	/* Sixteen steps: rounding to 8 bits does not matter there. */
	for (int i = 16; i < LC__HEAT_COLOURS; i++) {
		const struct lc__oklab a = oklab_of(heat[i]);
		ck_assert_double_eq_tol(distance(heat[i], heat[i - 16]), 0.0549, 0.004);
		ck_assert_double_eq_tol(hypot(a.a, a.b), 0.14, 0.004);
	}
	for (int i = 0; i < LC__HEAT_COLOURS; i++)
		ck_assert_double_gt(distance(heat[i], LC__COLOUR_NOT_FINITE), 0.2);
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
	Suite *suite = suite_create("draw_text");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, glyphs_are_distinct);
	tcase_add_test(tc, a_glyph_as_it_is_drawn);
	tcase_add_test(tc, other_characters);
	tcase_add_test(tc, scaled_text);
	tcase_add_loop_test(tc, cut_text, 0, 8);
	tcase_add_loop_test(tc, text_in_lines, 0,
	    sizeof(line_rows) / sizeof(line_rows[0]));
	tcase_add_test(tc, colours_of_oklab);
	tcase_add_test(tc, heat_colours_are_even);
	tcase_add_test(tc, class_colours_differ);
	tcase_add_loop_test(tc, ticks, 0, sizeof(tick_rows) / sizeof(tick_rows[0]));
	tcase_add_test(tc, tick_texts);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
