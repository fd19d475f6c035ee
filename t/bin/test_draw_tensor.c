/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors as pictures: which pixels show which elements. */
#include "run.h"

#include <math.h>
#include <stdbool.h>

#include "drawn.h"
#include "image/heat_map.h"
#include "image/tensor_image.h"
#include "image/tensor_picture.h"
#include "value/dtype.h"

/* ---- elements ------------------------------------------------------------------- */

static const struct { lc_dtype dtype; const char *bytes; double value; } elements[] = {
	{ LC_BOOL, "\x01", 1 }, { LC_U8, "\xff", 255 }, { LC_I8, "\xff", -1 },
	{ LC_U16, "\x01\x02", 513 }, { LC_I16, "\xfe\xff", -2 },
	{ LC_U32, "\x00\x00\x00\x80", 2147483648.0 },
	{ LC_I32, "\x00\x00\x00\x80", -2147483648.0 },
	{ LC_U64, "\x00\x00\x00\x00\x00\x00\x00\x80", 9223372036854775808.0 },
	{ LC_I64, "\xff\xff\xff\xff\xff\xff\xff\xff", -1 },
	{ LC_F16, "\x00\x3c", 1 }, { LC_F16, "\x01\x00", 0x1p-24 },
	{ LC_F16, "\xff\xfb", -65504 }, { LC_BF16, "\xc0\x3f", 1.5 },
	{ LC_F32, "\x00\x00\x20\xc0", -2.5 },
	{ LC_F64, "\x00\x00\x00\x00\x00\x00\xe0\x3f", 0.5 },
	{ LC_C64, "\x00\x00\x40\x40\x00\x00\x80\x40", 5 },
	{ LC_C128, "\0\0\0\0\0\0\x08\x40\0\0\0\0\0\0\x10\xc0", 5 },
	{ LC_F8_E4M3, "\x38", 1 }, { LC_F8_E4M3, "\x7e", 448 },
	{ LC_F8_E5M2, "\x3c", 1 }, { LC_F8_E5M2, "\x7b", 57344 },
	{ LC_F8_E8M0, "\x7f", 1 }, { LC_F8_E8M0, "", 0x1p-127 },
	{ LC_F8_E8M0, "\xfe", 0x1p127 },
	{ LC_F8_E4M3FNUZ, "\x40", 1 }, { LC_F8_E4M3FNUZ, "\x7f", 240 },
	{ LC_F8_E4M3FNUZ, "\x81", -0x1p-10 }, { LC_F8_E4M3FNUZ, "\xff", -240 },
	{ LC_F8_E5M2FNUZ, "\x40", 1 }, { LC_F8_E5M2FNUZ, "\x7f", 57344 },
	{ LC_F8_E5M2FNUZ, "\x01", 0x1p-17 },
	{ LC_C32, "\x00\x42\x00\xc4", 5 },
};

/* What the four bits are, in either half of the byte. */
START_TEST(numbers_of_four_bits)
{
	static const double amounts[] = { 0, 0.5, 1, 1.5, 2, 3, 4, 6 };

	for (unsigned bits = 0; bits < 16; bits++) {
		const double want = bits & 8 ? -amounts[bits & 7] : amounts[bits & 7];
		const unsigned char low = (unsigned char)(0xa0 | bits);
		const unsigned char high = (unsigned char)(bits << 4 | 5);

		ck_assert_double_eq(lc__element_e2m1(&low, 0), want);
		ck_assert_double_eq(lc__element_e2m1(&high, 1), want);
	}
}
END_TEST

START_TEST(elements_as_numbers)
{
	ck_assert_double_eq(lc__element_real(elements[_i].dtype, elements[_i].bytes),
	    elements[_i].value);
}
END_TEST

START_TEST(elements_that_are_none)
{
	ck_assert(isnan(lc__element_real(LC_F16, "\x01\x7c")));
	ck_assert(isinf(lc__element_real(LC_F16, "\x00\xfc")));
	ck_assert(isnan(lc__element_real(LC_F8_E4M3, "\x7f")));
	ck_assert(isinf(lc__element_real(LC_F8_E5M2, "\x7c")));
	ck_assert(isnan(lc__element_real((lc_dtype)99, "\x00")));
	ck_assert(isnan(lc__element_real(LC_F8_E8M0, "\xff")));
	ck_assert(isnan(lc__element_real(LC_F8_E4M3FNUZ, "\x80")));
	ck_assert(isnan(lc__element_real(LC_F8_E5M2FNUZ, "\x80")));
	ck_assert(isnan(lc__element_real(LC_F4_E2M1_X2, "\x00")));
}
END_TEST

START_TEST(ranges)
{
	const float values[] = { 2, NAN, -3, INFINITY, -INFINITY, 5 };
	const double wide[] = { -1.7e308, 1.7e308, 0 };
	const uint64_t six = 6, three = 3;
	lc_tensor tensor = tensor_of(LC_F32, 1, &six, values);
	struct lc__value_range range = lc__value_range_of(&tensor);

	ck_assert_double_eq(range.low, -3);
	ck_assert_double_eq(range.high, 5);
	ck_assert_uint_eq(range.nan, 1);
	ck_assert_uint_eq(range.infinite, 2);
	ck_assert_double_eq(lc__value_range_share(&range, 1), 0.5);
	tensor = tensor_of(LC_F64, 1, &three, wide);
	range = lc__value_range_of(&tensor);
	ck_assert_double_eq(lc__value_range_share(&range, 0), 0.5);
	ck_assert_double_eq(lc__value_range_share(&range, 1.7e308), 1);
	range.high = range.low;
	ck_assert_double_eq(lc__value_range_share(&range, range.low), 0.5);
}
END_TEST

/* ---- images --------------------------------------------------------------------- */

static const struct {
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[4];
	bool image;
	uint32_t channels, height, width;
} form_rows[] = {
	{ LC_U8, 3, { 3, 20, 30 }, true, 3, 20, 30 },
	{ LC_F16, 3, { 1, 20, 30 }, true, 1, 20, 30 },
	{ LC_BF16, 3, { 4, 2, 2 }, true, 4, 2, 2 },
	{ LC_F32, 3, { 3, 2, 4 }, true, 3, 2, 4 },
	{ LC_U8, 3, { 20, 30, 3 }, true, 3, 20, 30 },
	{ LC_U8, 3, { 20, 30, 1 }, true, 1, 20, 30 },
	{ LC_U8, 3, { 20, 7, 3 }, false, 0, 0, 0 },
	{ LC_F32, 3, { 20, 30, 3 }, false, 0, 0, 0 },
	{ LC_U8, 3, { 2, 20, 30 }, false, 0, 0, 0 },
	{ LC_F32, 3, { 3, 1, 30 }, false, 0, 0, 0 },
	{ LC_F64, 3, { 3, 20, 30 }, false, 0, 0, 0 },
	{ LC_U8, 2, { 20, 30 }, false, 0, 0, 0 },
	{ LC_U8, 4, { 1, 3, 20, 30 }, false, 0, 0, 0 },
	{ LC_U8, 3, { 3, 0, 30 }, false, 0, 0, 0 },
};

START_TEST(what_looks_like_an_image)
{
	const lc_tensor tensor = tensor_of(form_rows[_i].dtype, form_rows[_i].ndim,
	    form_rows[_i].shape, NULL);
	struct lc__image_form form;

	ck_assert_int_eq(lc__image_form_of(&tensor, &form), form_rows[_i].image);
	if (!form_rows[_i].image)
		return;
	ck_assert_uint_eq(form.channels, form_rows[_i].channels);
	ck_assert_uint_eq(form.height, form_rows[_i].height);
	ck_assert_uint_eq(form.width, form_rows[_i].width);
}
END_TEST

static struct lc__pixels
image_of(const lc_tensor *tensor, struct lc__value_range *range)
{
	struct lc__image_form form;
	struct lc__pixels canvas;

	ck_assert(lc__image_form_of(tensor, &form));
	ck_assert_int_eq(lc__image_pixels(tensor, &form, &canvas, range), LC_OK);
	return canvas;
}

/* The same picture, channels first and last. */
START_TEST(bytes_are_shown_as_they_are)
{
	enum { height = 9, width = 11 };
	uint8_t first[3 * height * width], last[3 * height * width];
	uint64_t state = run_seed();
	const lc_tensor tensors[] = {
		tensor_of(LC_U8, 3, (uint64_t[]) { 3, height, width }, first),
		tensor_of(LC_U8, 3, (uint64_t[]) { height, width, 3 }, last)
	};
	struct lc__value_range range;

	for (int i = 0; i < height * width; i++)
		for (int c = 0; c < 3; c++)
			first[c * height * width + i] = last[3 * i + c] =
			    (uint8_t)run_random(&state);
	for (int k = 0; k < 2; k++) {
		struct lc__pixels canvas = image_of(&tensors[k], &range);
		ck_assert_mem_eq(canvas.data, last, sizeof(last));
		ck_assert_double_eq(range.high, 255);
		lc__pixels_free(&canvas);
	}
}
END_TEST

START_TEST(floats_are_shown_in_their_range)
{
	float values[4] = { 0, 1, 0.5F, 0.25F };
	const lc_tensor tensor = tensor_of(LC_F32, 3, (uint64_t[]) { 1, 2, 2 }, values);
	struct lc__value_range range;
	struct lc__pixels canvas = image_of(&tensor, &range);

	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 1, 0), 0xffffff);
	ck_assert_uint_eq(pixel(&canvas, 0, 1), 0x808080);
	ck_assert_uint_eq(pixel(&canvas, 1, 1), 0x404040);
	lc__pixels_free(&canvas);
	values[0] = -1;
	values[3] = NAN;
	canvas = image_of(&tensor, &range);
	ck_assert_double_eq(range.low, -1);
	ck_assert_double_eq(range.high, 1);
	ck_assert_uint_eq(range.nan, 1);
	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 0, 1), 0xbfbfbf);
	ck_assert_uint_eq(pixel(&canvas, 1, 1), LC__COLOUR_NOT_FINITE);
	lc__pixels_free(&canvas);
}
END_TEST

START_TEST(opacity_shows_the_ground)
{
	uint8_t values[4 * 2 * 10] = { 0 };
	const lc_tensor tensor = tensor_of(LC_U8, 3, (uint64_t[]) { 4, 2, 10 }, values);
	struct lc__value_range range;
	struct lc__pixels canvas;

	values[3 * 20 + 1] = 255; /* opaque black, the others clear */
	canvas = image_of(&tensor, &range);
	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x999999);
	ck_assert_uint_eq(pixel(&canvas, 1, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 8, 0), 0xcccccc);
	lc__pixels_free(&canvas);
}
END_TEST

/* ---- heat maps ------------------------------------------------------------------ */

static const struct {
	uint32_t ndim;
	uint64_t shape[4];
	uint64_t slices, rows, columns, mean_x, mean_y;
	uint32_t shown;
} plan_rows[] = {
	{ 0, { 0 }, 1, 1, 1, 1, 1, 1 },
	{ 1, { 64 }, 1, 1, 64, 1, 1, 1 },
	{ 1, { 65 }, 1, 5, 16, 1, 1, 1 },
	{ 1, { 512 }, 1, 16, 32, 1, 1, 1 },
	{ 2, { 300, 2000 }, 1, 300, 2000, 3, 3, 1 },
	{ 2, { 2000, 300 }, 1, 2000, 300, 3, 3, 1 },
	{ 2, { 4, 2000 }, 1, 4, 2000, 3, 1, 1 },
	{ 2, { 60, 2000 }, 1, 60, 2000, 3, 2, 1 },
	{ 2, { 3000, 10 }, 1, 3000, 10, 1, 4, 1 },
	{ 3, { 64, 7, 9 }, 64, 7, 9, 1, 1, 64 },
	{ 4, { 2, 3, 7, 9 }, 6, 7, 9, 1, 1, 6 },
	{ 3, { 5000, 2, 2 }, 5000, 2, 2, 1, 1, 1024 },
	{ 3, { 5, 1, 100000 }, 5, 1, 100000, 105, 1, 5 },
};

START_TEST(heat_maps_are_laid_out)
{
	const uint32_t side = 960;
	const lc_tensor tensor = tensor_of(LC_U8, plan_rows[_i].ndim,
	    plan_rows[_i].shape, NULL);
	struct lc__heat_map map;

	lc__heat_map_plan(&tensor, side, true, &map);
	ck_assert_uint_eq(map.slices, plan_rows[_i].slices);
	ck_assert_uint_eq(map.rows, plan_rows[_i].rows);
	ck_assert_uint_eq(map.columns, plan_rows[_i].columns);
	ck_assert_uint_eq(map.mean_x, plan_rows[_i].mean_x);
	ck_assert_uint_eq(map.mean_y, plan_rows[_i].mean_y);
	ck_assert_uint_eq(map.shown, plan_rows[_i].shown);
	ck_assert_uint_le(map.width, side);
	ck_assert_uint_le(map.height, side);
	for (uint32_t i = 0; i < map.shown; i++) {
		const struct lc__rect a = lc__heat_map_slice(&map, 3, 5, i);
		ck_assert(a.x >= 3 && a.x + a.width <= 3 + map.width);
		ck_assert(a.y >= 5 && a.y + a.height <= 5 + map.height);
	}
}
END_TEST

START_TEST(an_empty_heat_map)
{
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 0, 7 }, NULL);
	struct lc__heat_map map;

	lc__heat_map_plan(&tensor, 960, true, &map);
	ck_assert_uint_eq(map.shown, 0);
	ck_assert_uint_eq(map.width, 0);
}
END_TEST

/* Any side down to the smallest, any number of slices: nothing overlaps the edge. */
START_TEST(heat_maps_fit)
{
	uint64_t state = run_seed();

	for (int i = 0; i < 2000; i++) {
		const uint32_t side = 48 + (uint32_t)(run_random(&state) % 2000);
		const uint64_t shape[] = { 1 + run_random(&state) % 2000,
		    1 + run_random(&state) % 300, 1 + run_random(&state) % 300 };
		const uint32_t ndim = 1 + (uint32_t)(run_random(&state) % 3);
		const lc_tensor tensor = tensor_of(LC_U8, ndim, shape, NULL);
		struct lc__heat_map map;
		lc__heat_map_plan(&tensor, side, run_random(&state) % 2, &map);
		ck_assert_uint_ge(map.shown, 1);
		ck_assert_uint_ge(map.slice_width, 1);
		ck_assert_uint_ge(map.slice_height, 1);
		ck_assert_uint_le(map.width, side);
		ck_assert_uint_le(map.height, side);
	}
}
END_TEST

/* A square element stays square, unless a side would be too thin. */
START_TEST(heat_maps_keep_their_aspect)
{
	uint64_t state = run_seed();

	for (int i = 0; i < 500; i++) {
		const uint64_t shape[] = { 24 + run_random(&state) % 3000,
		    24 + run_random(&state) % 3000 };
		const lc_tensor tensor = tensor_of(LC_U8, 2, shape, NULL);
		struct lc__heat_map map;
		lc__heat_map_plan(&tensor, 960, true, &map);
		if (map.cells_x >= 48 && map.cells_y >= 48) {
			ck_assert_uint_eq(map.mean_x, map.mean_y);
			ck_assert_uint_eq(map.zoom_x, map.zoom_y);
		}
		ck_assert_uint_ge(map.slice_width, 24);
		ck_assert_uint_ge(map.slice_height, 24);
	}
}
END_TEST

START_TEST(heat_map_pixels)
{
	float values[2][3][4] = { 0 };
	const lc_tensor tensor = tensor_of(LC_F32, 3, (uint64_t[]) { 2, 3, 4 }, values);
	struct lc__picture *picture;
	struct lc__heat_map map;
	struct lc__heat_scale scale;
	struct lc__pixels got;

	for (int i = 0; i < 24; i++)
		((float *)values)[i] = (float)i / 23;
	values[1][2][1] = NAN;
	lc__heat_map_plan(&tensor, 200, true, &map);
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_int_eq(scale.map, LC__COLOURS_HEAT);
	ck_assert_double_eq(scale.low, 0);
	ck_assert_double_eq(scale.high, 1);
	ck_assert_uint_eq(scale.below + scale.above, 0);
	picture = drawn_begin(LC__PICTURE_PNG, map.width + 2, map.height + 2);
	lc__heat_map_draw(&map, &scale, picture, 1, 1);
	got = drawn_pixels(picture);
	for (uint32_t i = 0; i < 24; i++) {
		const struct lc__rect a = lc__heat_map_slice(&map, 1, 1, i / 12);
		const double x = a.x + i % 4 * map.zoom_x;
		const double y = a.y + i % 12 / 4 * map.zoom_y;
		const uint32_t want = i == 21 ? LC__COLOUR_NOT_FINITE :
		    lc__colours(LC__COLOURS_HEAT)[lround(i / 23.0 * 255)];
		ck_assert_uint_eq(pixel(&got, x, y), want);
		ck_assert_uint_eq(pixel(&got, x + map.zoom_x - 1,
		    y + map.zoom_y - 1), want);
	}
	lc__pixels_free(&got);
}
END_TEST

/* 0 is white, and equal values of both signs are as far from it. */
START_TEST(signed_values_diverge)
{
	const float values[2][3] = { { -2, 0, 4 }, { 2, -1, 1 } };
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 2, 3 }, values);
	const uint32_t *colours = lc__colours(LC__COLOURS_DIVERGING);
	struct lc__picture *picture;
	struct lc__heat_map map;
	struct lc__heat_scale scale;
	struct lc__pixels got;

	lc__heat_map_plan(&tensor, 96, false, &map);
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_int_eq(scale.map, LC__COLOURS_DIVERGING);
	ck_assert_double_eq(scale.low, -4);
	ck_assert_double_eq(scale.high, 4);
	picture = drawn_begin(LC__PICTURE_PNG, map.width, map.height);
	lc__heat_map_draw(&map, &scale, picture, 0, 0);
	got = drawn_pixels(picture);
	for (uint32_t i = 0; i < 6; i++)
		ck_assert_uint_eq(pixel(&got, i % 3 * map.zoom_x, i / 3 * map.zoom_y),
		    colours[lround(((double)values[i / 3][i % 3] + 4) / 8 * 255)]);
	lc__pixels_free(&got);
}
END_TEST

/* A few values far away do not take the colours from the others. */
START_TEST(scales_leave_out_what_is_far)
{
	static float values[100][100];
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 100, 100 }, values);
	struct lc__heat_map map;
	struct lc__heat_scale scale;

	for (int i = 0; i < 10000; i++)
		((float *)values)[i] = (float)(1 + i % 100);
	lc__heat_map_plan(&tensor, 960, true, &map);
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_double_eq(scale.low, 1);
	ck_assert_double_eq(scale.high, 100);
	for (int i = 0; i < 60; i++)
		values[i][i] = 1e9F;
	values[70][1] = INFINITY;
	values[99][99] = -5;
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_int_eq(scale.map, LC__COLOURS_HEAT);
	ck_assert_double_eq(scale.low, 1);
	ck_assert_double_eq(scale.high, 100);
	ck_assert_uint_eq(scale.above, 60);
	ck_assert_uint_eq(scale.below, 1);
	/* One value only, but for a few: the percentiles are equal. */
	for (int i = 0; i < 10000; i++)
		((float *)values)[i] = 7;
	values[0][3] = 9;
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_double_eq(scale.low, 7);
	ck_assert_double_eq(scale.high, 9);
	/* None. */
	for (int i = 0; i < 10000; i++)
		((float *)values)[i] = NAN;
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	ck_assert_double_gt(scale.low, scale.high);
}
END_TEST

/* A mean in the middle between two colours may become either. */
static bool
is_colour_of(const struct lc__heat_scale *scale, double value, uint32_t colour)
{
	const double at = fmin(fmax((value - scale->low) / (scale->high - scale->low), 0), 1) *
	    255;
	const uint32_t *colours = lc__colours(scale->map);

	return colour == colours[lround(fmax(at - 1e-9, 0))] ||
	    colour == colours[lround(fmin(at + 1e-9, 255))];
}

/* 128 x 256 in 64: each cell is the mean of 4 x 4, a NaN shows. */
START_TEST(heat_map_means)
{
	static float values[128][256];
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 128, 256 }, values);
	uint64_t state = run_seed();
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, 64, 64);
	struct lc__heat_scale scale;
	struct lc__heat_map map;
	struct lc__pixels got;

	for (int i = 0; i < 128 * 256; i++)
		((float *)values)[i] = (float)(run_random(&state) % 1024);
	values[17][33] = INFINITY;
	lc__heat_map_plan(&tensor, 64, true, &map);
	ck_assert_uint_eq(map.mean_x, 4);
	ck_assert_uint_eq(map.mean_y, 4);
	ck_assert_int_eq(lc__heat_map_scale(&map, &scale), LC_OK);
	lc__heat_map_draw(&map, &scale, picture, 0, 0);
	got = drawn_pixels(picture);
	for (int y = 0; y < 32; y++)
		for (int x = 0; x < 64; x++) {
			double sum = 0;
			for (int k = 0; k < 16; k++)
				sum += (double)values[4 * y + k / 4][4 * x + k % 4];
			if (isinf(sum))
				ck_assert_uint_eq(pixel(&got, x, y),
				    LC__COLOUR_NOT_FINITE);
			else
				ck_assert(is_colour_of(&scale, sum / 16,
				    pixel(&got, x, y)));
		}
	ck_assert_uint_eq(pixel(&got, 8, 4), LC__COLOUR_NOT_FINITE);
	lc__pixels_free(&got);
}
END_TEST

/* ---- pages ---------------------------------------------------------------------- */

static const struct {
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[3];
	bool heat, image;
	uint32_t width, height; /* of the drawing; 0 where it does not matter */
} page_rows[] = {
	{ LC_U8, 3, { 3, 40, 60 }, false, true, 300, 200 },
	{ LC_U8, 3, { 3, 40, 60 }, true, false, 0, 0 },
	{ LC_U8, 3, { 1, 500, 400 }, false, true, 205, 256 },
	{ LC_U8, 3, { 1, 200, 100 }, false, true, 100, 200 },
	{ LC_U8, 3, { 1, 3000, 2 }, false, true, 1, 256 },
	{ LC_U8, 2, { 0, 3 }, false, false, 0, 0 },
	{ LC_U8, 0, { 0 }, false, false, 32, 32 },
	{ LC_C64, 1, { 10 }, false, false, 0, 0 },
};

START_TEST(pages)
{
	static const uint8_t zeros[500 * 400];
	const uint32_t side = page_rows[_i].shape[1] == 40 ? 960 : 256;
	const lc_tensor tensor = tensor_of(page_rows[_i].dtype, page_rows[_i].ndim,
	    page_rows[_i].shape, zeros);
	struct lc__tensor_picture facts;
	struct lc__picture *picture;
	struct lc__pixels got;

	ck_assert_int_eq(lc__picture_new(LC__PICTURE_PNG, &picture), LC_OK);
	ck_assert_int_eq(lc__tensor_picture(&tensor, lc_id_of("a tensor"),
	    page_rows[_i].heat, side, picture, &facts), LC_OK);
	ck_assert_int_eq(facts.image, page_rows[_i].image);
	if (page_rows[_i].width > 0) {
		ck_assert_double_eq(facts.place.width, page_rows[_i].width);
		ck_assert_double_eq(facts.place.height, page_rows[_i].height);
	}
	ck_assert_double_ge(lc__picture_width(picture),
	    facts.place.x + facts.place.width + LC__MARGIN);
	ck_assert_double_ge(lc__picture_height(picture),
	    facts.place.y + facts.place.height + LC__MARGIN);
	got = drawn_pixels(picture);
	ck_assert_uint_eq(pixel(&got, 0, 0), LC__PAPER);
	lc__pixels_free(&got);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

int
main(void)
{
	Suite *suite = suite_create("draw_tensor");
	TCase *tc = tcase_create("tensor");

	drawn_need();
	tcase_add_loop_test(tc, elements_as_numbers, 0, COUNT(elements));
	tcase_add_test(tc, elements_that_are_none);
	tcase_add_test(tc, numbers_of_four_bits);
	tcase_add_test(tc, ranges);
	tcase_add_loop_test(tc, what_looks_like_an_image, 0, COUNT(form_rows));
	tcase_add_test(tc, bytes_are_shown_as_they_are);
	tcase_add_test(tc, floats_are_shown_in_their_range);
	tcase_add_test(tc, opacity_shows_the_ground);
	tcase_add_loop_test(tc, heat_maps_are_laid_out, 0, COUNT(plan_rows));
	tcase_add_test(tc, an_empty_heat_map);
	tcase_add_test(tc, heat_maps_fit);
	tcase_add_test(tc, heat_maps_keep_their_aspect);
	tcase_add_test(tc, signed_values_diverge);
	tcase_add_test(tc, scales_leave_out_what_is_far);
	tcase_add_test(tc, heat_map_pixels);
	tcase_add_test(tc, heat_map_means);
	tcase_add_loop_test(tc, pages, 0, COUNT(page_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
