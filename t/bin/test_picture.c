/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures: pixels that no font touches, the texts of SVG, bytes that repeat. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "draw/axes.h"
#include "draw/picture.h"
#include "drawn.h"

static const struct lc__font font = { .size = LC__SMALL, .colour = LC__INK };

START_TEST(formats_by_suffix)
{
	enum lc__picture_format format;

	ck_assert(lc__picture_format_of("a.png", &format) && format == LC__PICTURE_PNG);
	ck_assert(lc__picture_format_of("d.x/a.SVG", &format) && format == LC__PICTURE_SVG);
	ck_assert(lc__picture_format_of("a.png.pdf", &format) && format == LC__PICTURE_PDF);
	ck_assert(!lc__picture_format_of("a.jpg", &format));
	ck_assert(!lc__picture_format_of(".png", &format));
	ck_assert(!lc__picture_format_of("", &format));
}
END_TEST

START_TEST(sizes)
{
	static const double bad[][2] = { { 0, 10 }, { 10, 0 }, { -1, 5 }, { (double)NAN, 5 },
		{ LC__PICTURE_SIDE + 1, 1 }, { 30000, 30000 }, { (double)INFINITY, 1 } };

	for (int format = 0; format < 3; format++)
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			struct lc__picture *picture;
			ck_assert_int_eq(lc__picture_new((enum lc__picture_format)format,
			    &picture), LC_OK);
			ck_assert_int_eq(lc__picture_begin(picture, bad[i][0], bad[i][1],
			    lc_id_of("")), LC_INVALID);
			lc__picture_free(picture);
		}
	lc__picture_free(NULL);
}
END_TEST

/* Fills, frames and images against a rule for each pixel. */
START_TEST(areas)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 39.2, 20);
	struct lc__pixels cells;
	struct lc__pixels image;

	lc__picture_fill(picture, (struct lc__rect){ 2, 3, 5, 4 }, 0x102030);
	lc__picture_fill(picture, (struct lc__rect){ 2, 3, 0, 4 }, 0xff0000);
	lc__picture_fill(picture, (struct lc__rect){ 2, 3, -5, 4 }, 0xff0000);
	lc__picture_fill(picture, (struct lc__rect){ 38, 18, 1e9, 1e9 }, 0x00ff00);
	lc__picture_frame(picture, (struct lc__rect){ 10, 3, 8, 8 }, 2, 0x405060);
	ck_assert_int_eq(lc__pixels_new(2, 2, 0x0000ff, &cells), LC_OK);
	lc__pixels_set(&cells, 1, 0, 0xff0000);
	lc__picture_image(picture, (struct lc__rect){ 20, 3, 8, 6 }, &cells);
	/* The mean of four. */
	lc__picture_image(picture, (struct lc__rect){ 30, 3, 1, 1 }, &cells);
	lc__pixels_free(&cells);
	image = drawn_pixels(picture);
	ck_assert_uint_eq(image.width, 40);
	ck_assert_uint_eq(image.height, 20);
	for (uint64_t y = 0; y < 20; y++)
		for (uint64_t x = 0; x < 40; x++) {
			uint32_t want = 0xffffff;
			if (x >= 2 && x < 7 && y >= 3 && y < 7)
				want = 0x102030;
			if (x >= 38 && y >= 18)
				want = 0x00ff00;
			if (x >= 10 && x < 18 && y >= 3 && y < 11 &&
			    !(x >= 12 && x < 16 && y >= 5 && y < 9))
				want = 0x405060;
			if (x >= 20 && x < 28 && y >= 3 && y < 9)
				want = x >= 24 && y < 6 ? 0xff0000 : 0x0000ff;
			if (x == 30 && y == 3)
				want = 0x4000bf;
			ck_assert_msg(pixel(&image, x, y) == want, "%d, %d: %06x", (int)x,
			    (int)y, pixel(&image, x, y));
		}
	lc__pixels_free(&image);
}
END_TEST

static void
draw_all(struct lc__picture *picture)
{
	const struct lc__point line[] = { { 5, 5 }, { 50, 30 }, { (double)NAN, 3 }, { 60, 5 },
		{ 90, 30 } };
	const struct lc__stroke stroke = { 1.5, LC__BAR, true };
	const struct lc__font up = { .size = 13, .colour = LC__ALARM, .bold = true,
		.align = LC__CENTRE };
	struct lc__pixels cells;

	ck_assert_int_eq(lc__pixels_new(300, 200, 0x0000ff, &cells), LC_OK);
	lc__picture_image(picture, (struct lc__rect){ 20, 3, 60, 40 }, &cells);
	lc__pixels_free(&cells);
	lc__picture_line(picture, line, 5, &stroke);
	lc__picture_shape(picture, line, 2, LC__ACCENT, 0.4);
	lc__picture_dot(picture, line[0], 3, LC__INK);
	lc__picture_text(picture, 10, 60, &font, lc_id_of("k\xc3\xb6y <&>\""), 0);
	lc__picture_text_up(picture, 90, 70, &up, lc_id_of("upwards"), 0);
}

START_TEST(the_same_bytes_again)
{
	struct lc__buf bytes[2];

	/* Twice in processes of their own: cairo counts surfaces in the ids of SVG. */
	for (int i = 0; i < 2; i++) {
		struct lc__picture *picture;
		int ends[2];
		unsigned char block[4096];
		ssize_t n;

		memset(&bytes[i], 0, sizeof(bytes[i]));
		ck_assert_int_eq(pipe(ends), 0);
		if (fork() == 0) {
			picture = drawn_begin((enum lc__picture_format)_i, 100, 80);
			draw_all(picture);
			bytes[i] = drawn_bytes(picture);
			for (size_t sent = 0; sent < bytes[i].size; sent += (size_t)n)
				if ((n = write(ends[1], bytes[i].data + sent,
					 bytes[i].size - sent)) <= 0)
					_exit(1);
			_exit(0);
		}
		close(ends[1]);
		while ((n = read(ends[0], block, sizeof(block))) > 0)
			ck_assert_ptr_nonnull(lc__buf_append(&bytes[i], block, (size_t)n));
		close(ends[0]);
		wait(NULL);
	}
	ck_assert_uint_eq(bytes[0].size, bytes[1].size);
	ck_assert_mem_eq(bytes[0].data, bytes[1].data, bytes[0].size);
	ck_assert_mem_eq(bytes[0].data, _i == 0 ? "\x89PNG" : _i == 1 ? "<?xm" : "%PDF", 4);
	if (_i == 2)
		ck_assert_ptr_nonnull(memmem(bytes[0].data, bytes[0].size, "(20000101000000Z)",
		    17));
	lc__buf_free(&bytes[0]);
	lc__buf_free(&bytes[1]);
}
END_TEST

START_TEST(texts_of_svg)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 100, 80);
	struct lc__buf bytes;
	const char *text;

	draw_all(picture);
	bytes = drawn_bytes(picture);
	text = (const char *)bytes.data;
	ck_assert_ptr_nonnull(strstr(text, "<title>a &lt;title&gt;</title>"));
	ck_assert_ptr_nonnull(strstr(text, ">k\xc3\xb6y &lt;&amp;&gt;&quot;</text>"));
	ck_assert_ptr_nonnull(strstr(text, " transform=\"rotate(-90 90.0 "));
	ck_assert_ptr_nonnull(strstr(text, ">upwards</text>"));
	ck_assert_str_eq(text + strlen(text) - 12, "</g>\n</svg>\n");
	lc__buf_free(&bytes);
}
END_TEST

/* The last text of an SVG file that a line was drawn in. */
static char *
drawn(const struct lc__font *how, lc_id text, double width, double *took)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 2000, 100);
	struct lc__buf bytes;
	char *from, *out = NULL;

	*took = lc__picture_text(picture, 0, 50, how, text, width);
	bytes = drawn_bytes(picture);
	from = strstr((char *)bytes.data, "<text ");
	if (from != NULL) {
		from = strchr(from, '>') + 1;
		out = strndup(from, (size_t)(strstr(from, "</text>") - from));
	}
	lc__buf_free(&bytes);
	return out;
}

START_TEST(text_is_cut_to_its_width)
{
	static const char key[] = "warehouse/photos/0001/frame-000123.jpeg";
	struct lc__font end = font;
	double took;
	char *got;

	end.keep_end = true;
	got = drawn(&font, lc_id_of(key), 0, &took);
	ck_assert_str_eq(got, key);
	free(got);
	for (double width = took + 1; width > 0; width -= 7.5) {
		got = drawn(&font, lc_id_of(key), width, &took);
		ck_assert_double_le(took, width);
		if (got == NULL) {
			ck_assert_double_lt(width, 12);
			continue;
		}
		if (strcmp(got, key) != 0) {
			const size_t n = strlen(got) - 3;
			ck_assert_str_eq(got + n, "\xe2\x80\xa6");
			ck_assert_mem_eq(got, key, n);
		}
		free(got);
		got = drawn(&end, lc_id_of(key), width, &took);
		ck_assert_double_le(took, width);
		if (got != NULL && strcmp(got, key) != 0) {
			const char *dots = strstr(got, "\xe2\x80\xa6");
			const size_t tail = strlen(dots + 3);
			ck_assert_mem_eq(got, key, (size_t)(dots - got));
			ck_assert_str_eq(dots + 3, key + strlen(key) - tail);
			ck_assert_uint_ge(tail, (size_t)(dots - got));
		}
		free(got);
	}
}
END_TEST

/* Any bytes: each text in a file is UTF-8 that XML allows, and of a bounded length. */
START_TEST(texts_of_any_bytes)
{
	static const struct { const char *text; size_t size; const char *want; } rows[] = {
		{ "a\0b", 3, "a\xef\xbf\xbd" "b" },
		{ "\xff\xfe", 2, "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "a\nb\tc", 5, "a b c" }, { "\x1b[31m", 5, "\xef\xbf\xbd[31m" },
		{ "\xe2\x80\xaex", 4, "\xef\xbf\xbdx" }, { "\xef\xbf\xbe", 3, "\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc3", 1, "\xef\xbf\xbd" }, { "\xc2\x85", 2, "\xef\xbf\xbd" },
		{ "<b>&'", 5, "&lt;b&gt;&amp;'" }, { "", 0, NULL },
	};
	char *long_text = malloc(1 << 20);
	double took;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *got = drawn(&font, (lc_id){ rows[i].text, rows[i].size }, 0, &took);
		if (rows[i].want == NULL)
			ck_assert_ptr_null(got);
		else
			ck_assert_str_eq(got, rows[i].want);
		free(got);
	}
	for (int i = 0; i < 1 << 20; i++)
		long_text[i] = (char)(i * 7 + i / 256);
	memset(long_text, 'a', 600);
	for (int width = 0; width < 300; width += 150) {
		char *got = drawn(&font, (lc_id){ long_text, 1 << 20 }, width, &took);
		ck_assert(lc__utf8_valid(got, strlen(got)));
		ck_assert_uint_le(strlen(got), 6 * 1025);
		for (const char *p = got; *p; p++)
			ck_assert_int_ge((unsigned char)*p, 0x20);
		free(got);
	}
	free(long_text);
}
END_TEST

START_TEST(text_in_lines)
{
	static const char text[] = "a checksum of warehouse/train/shard-000001 is not right";
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 300, 300);
	struct lc__buf bytes;
	char joined[200] = "";
	const size_t all = lc__picture_text_lines(picture, 0, 0, &font, lc_id_of(text), 90, 0);
	size_t n = 0;

	ck_assert_uint_ge(all, 4);
	ck_assert_uint_eq(lc__picture_text_lines(picture, 9, 20, &font, lc_id_of(text), 90,
	    all), all);
	bytes = drawn_bytes(picture);
	for (char *p = (char *)bytes.data; (p = strstr(p, "<text ")) != NULL; n++) {
		char *from = strchr(p, '>') + 1;
		p = strstr(from, "</text>");
		strncat(joined, from, (size_t)(p - from));
	}
	ck_assert_uint_eq(n, all);
	ck_assert_str_eq(joined, text);
	lc__buf_free(&bytes);
	picture = drawn_begin(LC__PICTURE_SVG, 300, 300);
	ck_assert_uint_eq(lc__picture_text_lines(picture, 9, 20, &font, lc_id_of(text), 90, 2),
	    2);
	bytes = drawn_bytes(picture);
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\xe2\x80\xa6</text>"));
	lc__buf_free(&bytes);
}
END_TEST

/* An error of the caller wins over what follows, with its text. */
START_TEST(first_error)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 10, 10);
	struct lc__buf bytes = { 0 };
	struct lc__pixels pixels;

	lc__picture_failed(picture, LC_OK);
	lc__picture_failed(picture, lc__pixels_new(0, 7, 0, &pixels));
	ck_assert_int_eq(lc__pixels_new(1 << 16, 1 << 16, 0, &pixels), LC_INVALID);
	lc__picture_fill(picture, (struct lc__rect){ 0, 0, 1, 1 }, 0);
	ck_assert_int_eq(lc__picture_finish(picture, &bytes), LC_INVALID);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "0 x 7 pixels"));
	ck_assert_uint_eq(bytes.size, 0);
	lc__picture_free(picture);
}
END_TEST

/* ---- numbers -------------------------------------------------------------------- */

START_TEST(numbers_with_units)
{
	static const struct { enum lc__unit unit; double value; const char *text; } rows[] = {
		{ LC__UNIT_COUNT, 0, "0" }, { LC__UNIT_COUNT, 7, "7" },
		{ LC__UNIT_COUNT, 9999, "9999" }, { LC__UNIT_COUNT, 15000, "15k" },
		{ LC__UNIT_COUNT, 2.5e6, "2.5M" }, { LC__UNIT_BYTES, 0, "0" },
		{ LC__UNIT_BYTES, 512, "512 B" }, { LC__UNIT_BYTES, 1024, "1 KiB" },
		{ LC__UNIT_BYTES, 0x1.8p30, "1.5 GiB" }, { LC__UNIT_SECONDS, 0.02, "20 ms" },
		{ LC__UNIT_SECONDS, 90, "1.5 min" }, { LC__UNIT_SECONDS, 59, "59 s" },
		{ LC__UNIT_SECONDS, 7200, "2 h" },
		{ LC__UNIT_SECONDS, 4200, "1:10 h" }, { LC__UNIT_SECONDS, 5400, "1.5 h" }, { LC__UNIT_SECONDS, 1e-6, "1 us" },
		{ LC__UNIT_SHARE, 0.25, "25 %" }, { LC__UNIT_LOG2, -1, "1:2" },
		{ LC__UNIT_LOG2, 2, "4:1" }, { LC__UNIT_POWER, 4, "10,000" },
		{ LC__UNIT_NUMBER, 0.25, "0.25" }, { LC__UNIT_POWER2, -2, "1/4" },
		{ LC__UNIT_POWER2, 10, "1024" },
	};
	char text[LC__TICKS_TEXT];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_str_eq(lc__unit_text(rows[i].unit, rows[i].value, text),
		    rows[i].text);
}
END_TEST

START_TEST(ticks_in_units)
{
	static const struct {
		enum lc__unit unit;
		double low, high;
		uint32_t most, count;
		double first, step;
	} rows[] = {
		{ LC__UNIT_BYTES, 0, 3.3e9, 6, 4, 0, 0x1p30 },
		{ LC__UNIT_BYTES, 0, 0.5, 6, 1, 0, 1 },
		{ LC__UNIT_SECONDS, 0, 5400, 7, 7, 0, 900 },
		{ LC__UNIT_SECONDS, 0, 1, 6, 6, 0, 0.2 },
		{ LC__UNIT_SECONDS, 0, 864000, 6, 6, 0, 172800 },
		{ LC__UNIT_COUNT, 0, 3, 20, 4, 0, 1 },
		{ LC__UNIT_SHARE, 0, 1, 6, 6, 0, 0.2 },
		{ LC__UNIT_LOG2, -4, 4, 9, 9, -4, 1 },
		{ LC__UNIT_BYTES, 5, 5, 6, 0, 0, 0 },
		{ LC__UNIT_BYTES, 0, (double)INFINITY, 6, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct lc__ticks got = lc__ticks_in(rows[i].unit, rows[i].low,
		    rows[i].high, rows[i].most);
		ck_assert_msg(got.count == rows[i].count, "%d: %u", (int)i, got.count);
		if (got.count == 0)
			continue;
		ck_assert_double_eq_tol(got.step, rows[i].step, rows[i].step * 1e-9);
		ck_assert_double_eq_tol(lc__ticks_value(&got, 0), rows[i].first, 1e-9);
	}
	ck_assert_double_eq(lc__axis_top(LC__UNIT_COUNT, 0), 1);
	ck_assert_double_eq(lc__axis_top(LC__UNIT_COUNT, 123456), 150000);
	ck_assert_double_eq(lc__axis_top(LC__UNIT_BYTES, 3.3e9), 0x1p32);
}
END_TEST

/* ---- planes and bars -------------------------------------------------------------- */

START_TEST(a_plane)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 420, 240);
	struct lc__axes axes = { .area = { 10, 10, 400, 220 }, .title = "counts",
		.x = { .title = "age", .low = 0, .high = 10 },
		.y = { .high = 8, .unit = LC__UNIT_COUNT } };
	struct lc__rect bar;
	struct lc__pixels image;

	lc__axes_lay(picture, &axes);
	ck_assert_double_ge(axes.plot.x, 20);
	ck_assert_double_le(axes.plot.x + axes.plot.width, 410);
	ck_assert_double_le(axes.plot.y + axes.plot.height, 220);
	ck_assert_double_eq(axes.plot.x, floor(axes.plot.x));
	ck_assert_double_eq(lc__axes_x(&axes, 0), axes.plot.x);
	ck_assert_double_eq(lc__axes_x(&axes, 99), axes.plot.x + axes.plot.width);
	ck_assert_double_eq(lc__axes_y(&axes, 0), axes.plot.y + axes.plot.height);
	ck_assert_double_eq(lc__axes_y(&axes, 8), axes.plot.y);
	lc__axes_grid(picture, &axes);
	bar = lc__axes_rect(&axes, 2, 3, 0, 6);
	ck_assert_double_eq(bar.height, round(axes.plot.height * 6 / 8));
	lc__picture_fill(picture, bar, LC__BAR);
	lc__axes_draw(picture, &axes);
	image = drawn_pixels(picture);
	ck_assert_uint_eq(pixel(&image, (uint64_t)bar.x, (uint64_t)bar.y), LC__BAR);
	ck_assert_uint_eq(pixel(&image, (uint64_t)(bar.x + bar.width) - 1,
	    (uint64_t)(bar.y + bar.height) - 1), LC__BAR);
	ck_assert_uint_eq(pixel(&image, (uint64_t)bar.x, (uint64_t)(bar.y + bar.height)),
	    LC__DIM_INK);
	ck_assert_uint_eq(pixel(&image, (uint64_t)axes.plot.x + 3,
	    (uint64_t)round(lc__axes_y(&axes, lc__ticks_value(&axes.y.ticks, 1)))), LC__GRID);
	lc__pixels_free(&image);
}
END_TEST

START_TEST(bars_with_names)
{
	const struct lc__named_bar bars[] = {
		{ lc_id_of("person"), 1000, LC__BAR, NULL },
		{ lc_id_of("a name that is far too long for a third of the width"), 500, LC__BAR,
		    "half" },
		{ lc_id_of("none"), 0, LC__BAR, NULL }, { lc_id_of("one"), 0.001, LC__BAR, NULL },
	};
	struct lc__named_bars list = { .area = { 10, 10, 300, 0 }, .bars = bars, .n = 4,
		.unit = LC__UNIT_COUNT };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 320, 100);
	struct lc__rect first = lc__named_bars_bar(picture, &list, 0), bar;
	struct lc__buf bytes;

	list.area.height = lc__named_bars_height(4, false);
	ck_assert_double_eq(list.area.height, 72);
	bar = lc__named_bars_bar(picture, &list, 1);
	ck_assert_double_eq_tol(bar.width, first.width / 2, 1);
	ck_assert_double_eq(bar.x, first.x);
	ck_assert_double_le(bar.x, 10 + 100 + 9);
	ck_assert_double_eq(bar.y, first.y + 18);
	ck_assert_double_eq(lc__named_bars_bar(picture, &list, 2).width, 0);
	ck_assert_double_eq(lc__named_bars_bar(picture, &list, 3).width, 1);
	list.names = 100;
	list.values = 50;
	ck_assert_double_eq(lc__named_bars_bar(picture, &list, 0).x, 110);
	ck_assert_double_eq(lc__named_bars_bar(picture, &list, 0).width, 150);
	list.names = list.values = 0;
	list.most = 2000;
	ck_assert_double_eq_tol(lc__named_bars_bar(picture, &list, 0).width, first.width / 2,
	    1);
	lc__named_bars_draw(picture, &list);
	bytes = drawn_bytes(picture);
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">person</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">1000</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">a name that"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\xe2\x80\xa6</text>"));
	ck_assert_ptr_null(strstr((char *)bytes.data, "third of the width"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">half</text>"));
	lc__buf_free(&bytes);
}
END_TEST

START_TEST(a_bar_of_colours)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 220, 120);
	struct lc__pixels image;

	lc__colour_bar(picture, (struct lc__rect){ 10, 10, 0, 100 }, LC__COLOURS_DIVERGING, -2,
	    2, LC__UNIT_NUMBER);
	lc__colour_bar(picture, (struct lc__rect){ 110, 10, 0, 100 }, LC__COLOURS_HEAT, 3, 3,
	    LC__UNIT_NUMBER);
	image = drawn_pixels(picture);
	for (uint64_t y = 11; y < 109; y++) {
		ck_assert_uint_eq(pixel(&image, 15, y), lc__colour_at(LC__COLOURS_DIVERGING,
		    (double)(109 - y) / 99));
		ck_assert_uint_eq(pixel(&image, 115, y), lc__colour_at(LC__COLOURS_HEAT, 0.5));
	}
	lc__pixels_free(&image);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("picture");
	TCase *tc = tcase_create("picture");

	drawn_need();
	tcase_add_test(tc, formats_by_suffix);
	tcase_add_test(tc, sizes);
	tcase_add_test(tc, areas);
	tcase_add_loop_test(tc, the_same_bytes_again, 0, 3);
	tcase_add_test(tc, texts_of_svg);
	tcase_add_test(tc, text_is_cut_to_its_width);
	tcase_add_test(tc, texts_of_any_bytes);
	tcase_add_test(tc, text_in_lines);
	tcase_add_test(tc, first_error);
	tcase_add_test(tc, numbers_with_units);
	tcase_add_test(tc, ticks_in_units);
	tcase_add_test(tc, a_plane);
	tcase_add_test(tc, bars_with_names);
	tcase_add_test(tc, a_bar_of_colours);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
