/* SPDX-License-Identifier: BSD-2-Clause */
/* Every pixel of areas, frames and images, against a rule for each. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"

#define SKY LC__PAPER
#define RED 0xff0000u

static struct lc__pixels
pixels_of(uint32_t width, uint32_t height)
{
	struct lc__pixels pixels;

	ck_assert_int_eq(lc__pixels_new(width, height, RED, &pixels), LC_OK);
	return pixels;
}

START_TEST(sizes)
{
	struct lc__pixels pixels;

	ck_assert_int_eq(lc__pixels_new(0, 5, SKY, &pixels), LC_INVALID);
	ck_assert_int_eq(lc__pixels_new(5, 0, SKY, &pixels), LC_INVALID);
	ck_assert_int_eq(lc__pixels_new(UINT32_MAX, UINT32_MAX, SKY, &pixels),
	    LC_INVALID);
	pixels = pixels_of(7, 3);
	for (uint32_t i = 0; i < 21; i++)
		ck_assert_uint_eq(pixel(&pixels, i % 7, i / 7), RED);
	lc__pixels_free(&pixels);
	ck_assert_ptr_null(pixels.data);
}
END_TEST

/* ---- areas and frames ------------------------------------------------------------- */

static const struct lc__rect areas[] = {
	{ 2, 1, 5, 4 }, { 0, 0, 12, 9 }, { -3, -2, 6, 5 }, { 9, 6, 100, 100 },
	{ 3, 3, 1, 1 }, { 3, 3, 0, 4 }, { 3, 3, 4, -1 }, { 50, 2, 3, 3 },
	{ -50, 2, 3, 3 }, { -10, -10, 40, 40 }, { 4, 2, 2, 6 }, { 0, 0, 1e300, 1e300 },
	{ -1e300, 0, 2e300, 1e9 }, { (double)NAN, 0, 5, 5 }, { 0, 0, 5, (double)NAN },
};

static bool
inside(const struct lc__rect *a, double x, double y)
{
	return x >= a->x && y >= a->y && x < a->x + a->width && y < a->y + a->height;
}

START_TEST(fill)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 12, 9);
	struct lc__pixels got;

	lc__picture_fill(picture, areas[_i], RED);
	got = drawn_pixels(picture);
	for (uint32_t y = 0; y < 9; y++)
		for (uint32_t x = 0; x < 12; x++)
			ck_assert_uint_eq(pixel(&got, x, y),
			    inside(&areas[_i], x, y) ? RED : SKY);
	lc__pixels_free(&got);
}
END_TEST

START_TEST(frame)
{
	const struct lc__rect *a = &areas[_i];

	for (int line = 1; line <= 4; line++) {
		struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 12, 9);
		const struct lc__rect hole = { a->x + line, a->y + line,
		    a->width - 2 * line, a->height - 2 * line };
		struct lc__pixels got;
		lc__picture_frame(picture, *a, line, RED);
		got = drawn_pixels(picture);
		for (uint32_t y = 0; y < 9; y++)
			for (uint32_t x = 0; x < 12; x++)
				ck_assert_uint_eq(pixel(&got, x, y),
				    inside(a, x, y) && !inside(&hole, x, y) ?
				    RED : SKY);
		lc__pixels_free(&got);
	}
}
END_TEST

/* ---- scaling -------------------------------------------------------------------- */

static struct lc__pixels
random_pixels(uint32_t width, uint32_t height, uint64_t *state)
{
	struct lc__pixels pixels = pixels_of(width, height);

	for (size_t i = 0; i < (size_t)width * height * 3; i++)
		pixels.data[i] = (uint8_t)run_random(state);
	return pixels;
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
mean(const struct lc__pixels *source, uint32_t x, uint32_t y, uint32_t width,
    uint32_t height, int channel)
{
	double sum = 0;

	for (uint32_t j = 0; j < source->height; j++)
		for (uint32_t i = 0; i < source->width; i++)
			sum += share(x, width, i, source->width) *
			    share(y, height, j, source->height) *
			    source->data[(j * source->width + i) * 3 + channel];
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
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, width + 9, height + 9);
	struct lc__pixels source = random_pixels(scales[_i].from[0], scales[_i].from[1],
	    &state);
	struct lc__pixels target, got;

	ck_assert_int_eq(lc__pixels_resize(&source, width, height, &target), LC_OK);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			for (int c = 0; c < 3; c++)
				ck_assert_double_le(fabs((double)target.data[
				    (y * width + x) * 3 + (uint32_t)c] -
				    mean(&source, x, y, width, height, c)),
				    0.5 + 1e-9);
	/* The same on a picture, and nothing around it. */
	lc__picture_image(picture, (struct lc__rect){ 4, 5, width, height }, &source);
	got = drawn_pixels(picture);
	for (uint32_t y = 0; y < height + 9; y++)
		for (uint32_t x = 0; x < width + 9; x++)
			ck_assert_uint_eq(pixel(&got, x, y),
			    x >= 4 && y >= 5 && x < width + 4 && y < height + 5
				? pixel(&target, x - 4, y - 5)
				: SKY);
	lc__pixels_free(&got);
	lc__pixels_free(&source);
	lc__pixels_free(&target);
}
END_TEST

/* A part outside changes nothing of the part inside. */
START_TEST(scaled_and_cut)
{
	uint64_t state = run_seed();
	struct lc__pixels source = random_pixels(11, 7, &state), whole, part;
	struct lc__picture *pictures[] = { drawn_begin(LC__PICTURE_PNG, 30, 20),
	    drawn_begin(LC__PICTURE_PNG, 12, 9) };

	lc__picture_image(pictures[0], (struct lc__rect){ 5, 4, 16, 12 }, &source);
	lc__picture_image(pictures[1], (struct lc__rect){ -5, -2, 16, 12 }, &source);
	whole = drawn_pixels(pictures[0]);
	part = drawn_pixels(pictures[1]);
	for (uint32_t y = 0; y < 9; y++)
		for (uint32_t x = 0; x < 12; x++)
			ck_assert_uint_eq(pixel(&part, x, y),
			    pixel(&whole, x + 10, y + 6));
	lc__pixels_free(&source);
	lc__pixels_free(&whole);
	lc__pixels_free(&part);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("draw");
	TCase *tc = tcase_create("areas");
	const int n_areas = sizeof(areas) / sizeof(areas[0]);
	const int n_scales = sizeof(scales) / sizeof(scales[0]);

	drawn_need();
	tcase_add_test(tc, sizes);
	tcase_add_loop_test(tc, fill, 0, n_areas);
	tcase_add_loop_test(tc, frame, 0, n_areas);
	tcase_add_loop_test(tc, scaled, 0, n_scales);
	tcase_add_test(tc, scaled_and_cut);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
