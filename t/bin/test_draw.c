/* SPDX-License-Identifier: BSD-2-Clause */
/* Canvases: every pixel of what is drawn, and PNG files read back by libpng. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/buf.h"
#include "image/canvas.h"
#include "drawn.h"

#define SKY 0x102030u
#define RED 0xff0000u

static struct lc__canvas
canvas_of(uint32_t width, uint32_t height, uint32_t colour)
{
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(width, height, colour, &canvas), LC_OK);
	return canvas;
}

START_TEST(sizes)
{
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(0, 5, SKY, &canvas), LC_INVALID);
	ck_assert_int_eq(lc__canvas_new(5, 0, SKY, &canvas), LC_INVALID);
	ck_assert_int_eq(lc__canvas_new(UINT32_MAX, UINT32_MAX, SKY, &canvas),
	    LC_INVALID);
	canvas = canvas_of(7, 3, SKY);
	for (uint32_t i = 0; i < 21; i++)
		ck_assert_uint_eq(pixel(&canvas, i % 7, i / 7), SKY);
	lc__canvas_free(&canvas);
	ck_assert_ptr_null(canvas.pixels);
}
END_TEST

/* ---- areas and frames: by hand, against a rule for each pixel ------------------- */

static const struct lc__area areas[] = {
	{ 2, 1, 5, 4 }, { 0, 0, 12, 9 }, { -3, -2, 6, 5 }, { 9, 6, 100, 100 },
	{ 3, 3, 1, 1 }, { 3, 3, 0, 4 }, { 3, 3, 4, -1 }, { 50, 2, 3, 3 },
	{ -50, 2, 3, 3 }, { -10, -10, 40, 40 }, { 4, 2, 2, 6 },
	{ 0, 0, INT64_MAX, INT64_MAX }
};

static bool
inside(const struct lc__area *a, int64_t x, int64_t y)
{
	return x >= a->x && y >= a->y && x - a->x < a->width && y - a->y < a->height;
}

START_TEST(fill)
{
	struct lc__canvas canvas = canvas_of(12, 9, SKY);

	lc__canvas_fill(&canvas, areas[_i], RED);
	for (uint32_t y = 0; y < 9; y++)
		for (uint32_t x = 0; x < 12; x++)
			ck_assert_uint_eq(pixel(&canvas, x, y),
			    inside(&areas[_i], x, y) ? RED : SKY);
	lc__canvas_free(&canvas);
}
END_TEST

START_TEST(frame)
{
	const struct lc__area *a = &areas[_i];

	for (uint32_t line = 1; line <= 4; line++) {
		struct lc__canvas canvas = canvas_of(12, 9, SKY);
		const struct lc__area hole = { a->x + line, a->y + line,
		    a->width - 2 * (int64_t)line, a->height - 2 * (int64_t)line };
		lc__canvas_frame(&canvas, *a, line, RED);
		for (uint32_t y = 0; y < 9; y++)
			for (uint32_t x = 0; x < 12; x++)
				ck_assert_uint_eq(pixel(&canvas, x, y),
				    inside(a, x, y) && !inside(&hole, x, y) ?
				    RED : SKY);
		lc__canvas_free(&canvas);
	}
}
END_TEST

START_TEST(cross)
{
	const struct lc__area square = { 1, 2, 5, 5 }, dot = { 8, 1, 1, 1 };
	struct lc__canvas canvas = canvas_of(12, 9, SKY);

	lc__canvas_cross(&canvas, square, RED);
	lc__canvas_cross(&canvas, dot, RED);
	for (int y = 0; y < 9; y++)
		for (int x = 0; x < 12; x++)
			ck_assert_uint_eq(pixel(&canvas, (uint32_t)x, (uint32_t)y),
			    (inside(&square, x, y) && (x - 1 == y - 2 ||
			    x - 1 == 4 - (y - 2))) || (x == 8 && y == 1) ? RED : SKY);
	lc__canvas_free(&canvas);
}
END_TEST

/* ---- scaling -------------------------------------------------------------------- */

static struct lc__canvas
random_canvas(uint32_t width, uint32_t height, uint64_t *state)
{
	struct lc__canvas canvas = canvas_of(width, height, 0);

	for (size_t i = 0; i < (size_t)width * height * 3; i++)
		canvas.pixels[i] = (uint8_t)run_random(state);
	return canvas;
}

/*
 * The share of source pixel @p i in target pixel @p at: what they have in common of
 * the axis, in target pixels of `source` parts; enlarged, all of the nearest.
 */
static double
share(uint32_t at, uint32_t size, uint32_t i, uint32_t source)
{
	const int64_t from = (int64_t)at * source, to = from + source;
	const int64_t low = (int64_t)i * size, high = low + size;
	const int64_t common = (to < high ? to : high) - (from > low ? from : low);

	if (size >= source)
		return (2 * (int64_t)at + 1) * source >= 2 * low &&
		    (2 * (int64_t)at + 1) * source < 2 * high;
	return common > 0 ? (double)common / source : 0;
}

static double
mean(const struct lc__canvas *source, uint32_t x, uint32_t y, uint32_t width,
    uint32_t height, int channel)
{
	double sum = 0;

	for (uint32_t j = 0; j < source->height; j++)
		for (uint32_t i = 0; i < source->width; i++)
			sum += share(x, width, i, source->width) *
			    share(y, height, j, source->height) *
			    source->pixels[(j * source->width + i) * 3 + channel];
	return sum;
}

static const struct { uint32_t from[2], to[2]; } scales[] = {
	{ { 8, 6 }, { 4, 3 } }, { { 7, 5 }, { 3, 2 } }, { { 4, 4 }, { 8, 12 } },
	{ { 3, 3 }, { 7, 5 } }, { { 5, 9 }, { 5, 9 } }, { { 20, 2 }, { 3, 11 } },
	{ { 13, 17 }, { 1, 1 } }, { { 1, 1 }, { 6, 4 } }, { { 31, 29 }, { 30, 30 } }
};

START_TEST(scaled)
{
	uint64_t state = run_seed();
	const uint32_t width = scales[_i].to[0], height = scales[_i].to[1];
	const struct lc__area all = { 0, 0, width, height };
	struct lc__canvas source = random_canvas(scales[_i].from[0],
	    scales[_i].from[1], &state);
	struct lc__canvas target = canvas_of(width, height, SKY);

	lc__canvas_blit(&target, all, &source);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			for (int c = 0; c < 3; c++)
				ck_assert_double_le(fabs((double)target.pixels[
				    (y * width + x) * 3 + (uint32_t)c] -
				    mean(&source, x, y, width, height, c)),
				    0.5 + 1e-9);
	lc__canvas_free(&source);
	lc__canvas_free(&target);
}
END_TEST

/* A part outside changes nothing of the part inside. */
START_TEST(scaled_and_cut)
{
	uint64_t state = run_seed();
	struct lc__canvas source = random_canvas(11, 7, &state);
	struct lc__canvas whole = canvas_of(30, 20, SKY);
	struct lc__canvas part = canvas_of(12, 9, SKY);
	const struct lc__area at = { 5, 4, 16, 12 };
	const struct lc__area moved = { -5, -2, 16, 12 };

	lc__canvas_blit(&whole, at, &source);
	lc__canvas_blit(&part, moved, &source);
	for (uint32_t y = 0; y < 9; y++)
		for (uint32_t x = 0; x < 12; x++)
			ck_assert_uint_eq(pixel(&part, x, y),
			    pixel(&whole, x + 10, y + 6));
	ck_assert_uint_eq(pixel(&whole, 4, 4), SKY);
	ck_assert_uint_eq(pixel(&whole, 21, 15), SKY);
	lc__canvas_free(&source);
	lc__canvas_free(&whole);
	lc__canvas_free(&part);
}
END_TEST

/* ---- files ---------------------------------------------------------------------- */

/* With libpng's simplified interface, which the writer does not use. */
static struct lc__canvas
decode(const struct lc__buf *file)
{
	png_image image = { .version = PNG_IMAGE_VERSION };
	struct lc__canvas canvas;

	ck_assert(png_image_begin_read_from_memory(&image, file->data, file->size));
	ck_assert_uint_eq(image.format, PNG_FORMAT_RGB);
	canvas = canvas_of(image.width, image.height, SKY);
	ck_assert(png_image_finish_read(&image, NULL, canvas.pixels, 0, NULL));
	return canvas;
}

/* The types of a file's chunks, one behind the other. */
static void
chunk_names(const struct lc__buf *file, char *out, size_t room)
{
	size_t used = 0;

	for (size_t at = 8; at + 12 <= file->size; ) {
		ck_assert_uint_lt(used + 4, room);
		memcpy(out + used, file->data + at + 4, 4);
		if (used < 4 || memcmp(out + used - 4, out + used, 4) != 0)
			used += 4;
		at += 12 + png_get_uint_32(file->data + at);
	}
	out[used] = '\0';
}

static const uint32_t file_sizes[][2] = {
	{ 1, 1 }, { 1, 300 }, { 300, 1 }, { 37, 23 }, { 640, 480 }
};

START_TEST(png_reads_back)
{
	uint64_t state = run_seed();
	struct lc__canvas canvas = random_canvas(file_sizes[_i][0], file_sizes[_i][1],
	    &state), got;
	struct lc__buf file = { 0 }, again = { 0 };
	char names[100];

	ck_assert_int_eq(lc__canvas_png(&canvas, &file), LC_OK);
	ck_assert_int_eq(lc__canvas_png(&canvas, &again), LC_OK);
	ck_assert_uint_eq(file.size, again.size);
	ck_assert_mem_eq(file.data, again.data, file.size);
	chunk_names(&file, names, sizeof(names));
	ck_assert_str_eq(names, "IHDRIDATIEND");
	got = decode(&file);
	ck_assert_uint_eq(got.width, canvas.width);
	ck_assert_uint_eq(got.height, canvas.height);
	ck_assert_mem_eq(got.pixels, canvas.pixels,
	    (size_t)canvas.width * canvas.height * 3);
	lc__canvas_free(&got);
	lc__canvas_free(&canvas);
	lc__buf_free(&file);
	lc__buf_free(&again);
}
END_TEST

START_TEST(png_without_memory)
{
	struct lc__canvas canvas = canvas_of(5, 5, SKY);
	struct lc__buf file = { .failed = true };

	ck_assert_int_eq(lc__canvas_png(&canvas, &file), LC_NO_MEMORY);
	lc__canvas_free(&canvas);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("draw");
	TCase *tc = tcase_create("canvas");
	const int n_areas = sizeof(areas) / sizeof(areas[0]);
	const int n_scales = sizeof(scales) / sizeof(scales[0]);
	const int n_sizes = sizeof(file_sizes) / sizeof(file_sizes[0]);

	tcase_add_test(tc, sizes);
	tcase_add_loop_test(tc, fill, 0, n_areas);
	tcase_add_loop_test(tc, frame, 0, n_areas);
	tcase_add_test(tc, cross);
	tcase_add_loop_test(tc, scaled, 0, n_scales);
	tcase_add_test(tc, scaled_and_cut);
	tcase_add_loop_test(tc, png_reads_back, 0, n_sizes);
	tcase_add_test(tc, png_without_memory);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
