/* SPDX-License-Identifier: BSD-2-Clause */
/* Tensors and samples as pictures: which pixels show which elements. */
#include "run.h"

#include <math.h>
#include <stdbool.h>

#include "draw/boxes.h"
#include "draw/colour.h"
#include "draw/heat_map.h"
#include "draw/look.h"
#include "draw/sheet.h"
#include "draw/tensor_image.h"
#include "draw/tensor_picture.h"
#include "value/element.h"

static lc_tensor
tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape, const void *data)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, ndim, shape, data), LC_OK);
	return tensor;
}

static uint32_t
pixel(const struct lc__canvas *canvas, int64_t x, int64_t y)
{
	const uint8_t *p = canvas->pixels +
	    ((size_t)y * canvas->width + (size_t)x) * 3;

	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* ---- elements ---------------------------------------------------------------------- */

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
	{ LC_F8_E5M2, "\x3c", 1 }, { LC_F8_E5M2, "\x7b", 57344 }
};

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
}
END_TEST

START_TEST(ranges)
{
	const float values[] = { 2, NAN, -3, INFINITY, -INFINITY, 5 };
	const double wide[] = { -1.7e308, 1.7e308, 0 };
	const uint64_t six = 6, three = 3;
	lc_tensor tensor = tensor_of(LC_F32, 1, &six, values);
	struct lc__range range = lc__range_of(&tensor);

	ck_assert_double_eq(range.low, -3);
	ck_assert_double_eq(range.high, 5);
	ck_assert_uint_eq(range.nan, 1);
	ck_assert_uint_eq(range.infinite, 2);
	ck_assert_double_eq(lc__range_share(&range, 1), 0.5);
	tensor = tensor_of(LC_F64, 1, &three, wide);
	range = lc__range_of(&tensor);
	ck_assert_double_eq(lc__range_share(&range, 0), 0.5);
	ck_assert_double_eq(lc__range_share(&range, 1.7e308), 1);
	range.high = range.low;
	ck_assert_double_eq(lc__range_share(&range, range.low), 0.5);
}
END_TEST

/* ---- images ------------------------------------------------------------------------- */

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

static struct lc__canvas
image_of(const lc_tensor *tensor, struct lc__range *range)
{
	struct lc__image_form form;
	struct lc__canvas canvas;

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
	struct lc__range range;

	for (int i = 0; i < height * width; i++)
		for (int c = 0; c < 3; c++)
			first[c * height * width + i] = last[3 * i + c] =
			    (uint8_t)run_random(&state);
	for (int k = 0; k < 2; k++) {
		struct lc__canvas canvas = image_of(&tensors[k], &range);
		ck_assert_mem_eq(canvas.pixels, last, sizeof(last));
		ck_assert_double_eq(range.high, 255);
		lc__canvas_free(&canvas);
	}
}
END_TEST

START_TEST(floats_are_shown_in_their_range)
{
	float values[4] = { 0, 1, 0.5F, 0.25F };
	const lc_tensor tensor = tensor_of(LC_F32, 3, (uint64_t[]) { 1, 2, 2 }, values);
	struct lc__range range;
	struct lc__canvas canvas = image_of(&tensor, &range);

	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 1, 0), 0xffffff);
	ck_assert_uint_eq(pixel(&canvas, 0, 1), 0x808080);
	ck_assert_uint_eq(pixel(&canvas, 1, 1), 0x404040);
	lc__canvas_free(&canvas);
	values[0] = -1;
	values[3] = NAN;
	canvas = image_of(&tensor, &range);
	ck_assert_double_eq(range.low, -1);
	ck_assert_double_eq(range.high, 1);
	ck_assert_uint_eq(range.nan, 1);
	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 0, 1), 0xbfbfbf);
	ck_assert_uint_eq(pixel(&canvas, 1, 1), LC__COLOUR_NOT_FINITE);
	lc__canvas_free(&canvas);
}
END_TEST

START_TEST(opacity_shows_the_ground)
{
	uint8_t values[4 * 2 * 10] = { 0 };
	const lc_tensor tensor = tensor_of(LC_U8, 3, (uint64_t[]) { 4, 2, 10 }, values);
	struct lc__range range;
	struct lc__canvas canvas;

	values[3 * 20 + 1] = 255; /* opaque black, the others clear */
	canvas = image_of(&tensor, &range);
	ck_assert_uint_eq(pixel(&canvas, 0, 0), 0x999999);
	ck_assert_uint_eq(pixel(&canvas, 1, 0), 0x000000);
	ck_assert_uint_eq(pixel(&canvas, 8, 0), 0xcccccc);
	lc__canvas_free(&canvas);
}
END_TEST

/* ---- heat maps ------------------------------------------------------------------------ */

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
	{ 2, { 300, 2000 }, 1, 300, 2000, 3, 1, 1 },
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

	lc__heat_map_plan(&tensor, side, &map);
	ck_assert_uint_eq(map.slices, plan_rows[_i].slices);
	ck_assert_uint_eq(map.rows, plan_rows[_i].rows);
	ck_assert_uint_eq(map.columns, plan_rows[_i].columns);
	ck_assert_uint_eq(map.mean_x, plan_rows[_i].mean_x);
	ck_assert_uint_eq(map.mean_y, plan_rows[_i].mean_y);
	ck_assert_uint_eq(map.shown, plan_rows[_i].shown);
	ck_assert_uint_le(map.width, side);
	ck_assert_uint_le(map.height, side);
	for (uint32_t i = 0; i < map.shown; i++) {
		const struct lc__area a = lc__heat_map_slice(&map, 3, 5, i);
		ck_assert(a.x >= 3 && a.x + a.width <= 3 + map.width);
		ck_assert(a.y >= 5 && a.y + a.height <= 5 + map.height);
	}
}
END_TEST

START_TEST(an_empty_heat_map)
{
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 0, 7 }, NULL);
	struct lc__heat_map map;

	lc__heat_map_plan(&tensor, 960, &map);
	ck_assert_uint_eq(map.shown, 0);
	ck_assert_uint_eq(map.width, 0);
}
END_TEST

/* Any side down to the smallest, any number of slices: nothing overlaps the edge. */
START_TEST(heat_maps_fit)
{
	uint64_t state = run_seed();

	for (int i = 0; i < 2000; i++) {
		const uint32_t side = 64 + (uint32_t)(run_random(&state) % 2000);
		const uint64_t shape[] = { 1 + run_random(&state) % 2000,
		    1 + run_random(&state) % 300, 1 + run_random(&state) % 300 };
		const uint32_t ndim = 1 + (uint32_t)(run_random(&state) % 3);
		const lc_tensor tensor = tensor_of(LC_U8, ndim, shape, NULL);
		struct lc__heat_map map;
		lc__heat_map_plan(&tensor, side, &map);
		ck_assert_uint_ge(map.shown, 1);
		ck_assert_uint_ge(map.slice_width, 1);
		ck_assert_uint_ge(map.slice_height, 1);
		ck_assert_uint_le(map.width, side);
		ck_assert_uint_le(map.height, side);
	}
}
END_TEST

START_TEST(heat_map_pixels)
{
	float values[2][3][4] = { 0 };
	const lc_tensor tensor = tensor_of(LC_F32, 3, (uint64_t[]) { 2, 3, 4 }, values);
	uint32_t colours[LC__HEAT_COLOURS];
	struct lc__heat_map map;
	struct lc__range range;
	struct lc__canvas canvas;

	for (int i = 0; i < 24; i++)
		((float *)values)[i] = (float)i / 23;
	values[1][2][1] = NAN;
	lc__colour_heat(colours);
	lc__heat_map_plan(&tensor, 200, &map);
	range = lc__range_of(&tensor);
	ck_assert_int_eq(lc__canvas_new(map.width + 2, map.height + 2, 0xffffff,
	    &canvas), LC_OK);
	lc__heat_map_draw(&map, &range, &canvas, 1, 1);
	for (uint32_t i = 0; i < 24; i++) {
		const struct lc__area a = lc__heat_map_slice(&map, 1, 1, i / 12);
		const int64_t x = a.x + i % 4 * map.zoom_x, y = a.y + i % 12 / 4 * map.zoom_y;
		const uint32_t want = i == 21 ? LC__COLOUR_NOT_FINITE :
		    colours[lround(i / 23.0 * 255)];
		ck_assert_uint_eq(pixel(&canvas, x, y), want);
		ck_assert_uint_eq(pixel(&canvas, x + map.zoom_x - 1,
		    y + map.zoom_y - 1), want);
	}
	lc__canvas_free(&canvas);
}
END_TEST

/* A mean in the middle between two colours may become either. */
static bool
is_colour_of(const struct lc__range *range, double value, uint32_t colour)
{
	const double at = (value - range->low) / (range->high - range->low) * 255;
	uint32_t colours[LC__HEAT_COLOURS];

	lc__colour_heat(colours);
	return colour == colours[lround(at - 1e-9)] ||
	    colour == colours[lround(at + 1e-9)];
}

/* 128 x 256 in 64: each pixel is the mean of 2 x 4, a NaN shows. */
START_TEST(heat_map_means)
{
	static float values[128][256];
	const lc_tensor tensor = tensor_of(LC_F32, 2, (uint64_t[]) { 128, 256 }, values);
	uint64_t state = run_seed();
	struct lc__range range;
	struct lc__heat_map map;
	struct lc__canvas canvas;

	for (int i = 0; i < 128 * 256; i++)
		((float *)values)[i] = (float)(run_random(&state) % 1024);
	values[17][33] = INFINITY;
	range = lc__range_of(&tensor);
	lc__heat_map_plan(&tensor, 64, &map);
	ck_assert_uint_eq(map.mean_x, 4);
	ck_assert_uint_eq(map.mean_y, 2);
	ck_assert_int_eq(lc__canvas_new(64, 64, 0xffffff, &canvas), LC_OK);
	lc__heat_map_draw(&map, &range, &canvas, 0, 0);
	for (int y = 0; y < 64; y++)
		for (int x = 0; x < 64; x++) {
			double sum = 0;
			for (int k = 0; k < 8; k++)
				sum += (double)values[2 * y + k / 4][4 * x + k % 4];
			if (isinf(sum))
				ck_assert_uint_eq(pixel(&canvas, x, y),
				    LC__COLOUR_NOT_FINITE);
			else
				ck_assert(is_colour_of(&range, sum / 8,
				    pixel(&canvas, x, y)));
		}
	ck_assert_uint_eq(pixel(&canvas, 8, 8), LC__COLOUR_NOT_FINITE);
	lc__canvas_free(&canvas);
}
END_TEST

/* ---- pages ------------------------------------------------------------------------------ */

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
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__tensor_picture(&tensor, lc_id_of("a tensor"),
	    page_rows[_i].heat, side, &canvas, &facts), LC_OK);
	ck_assert_int_eq(facts.image, page_rows[_i].image);
	if (page_rows[_i].width > 0) {
		ck_assert_uint_eq(facts.width, page_rows[_i].width);
		ck_assert_uint_eq(facts.height, page_rows[_i].height);
	}
	ck_assert_uint_ge(canvas.width, facts.width + 2 * LC__MARGIN);
	ck_assert_uint_ge(canvas.height, facts.height + 2 * LC__MARGIN);
	ck_assert_uint_eq(pixel(&canvas, 0, 0), LC__PAPER);
	lc__canvas_free(&canvas);
}
END_TEST

/* ---- boxes and sheets ----------------------------------------------------------------- */

static const struct { struct lc__box box; struct lc__area area; } box_rows[] = {
	{ { 0.25, 0.5, 0.75, 1, -1 }, { 35, 60, 50, 40 } },
	{ { 0, 0, 1, 1, -1 }, { 10, 20, 100, 80 } },
	{ { -1, -1, 2, 2, -1 }, { 10, 20, 100, 80 } },
	{ { 0.104, 0.106, 0.206, 0.5, -1 }, { 20, 28, 11, 32 } },
	{ { 0.5, 0.5, 0.5, 0.5, -1 }, { 60, 60, 1, 1 } },
	{ { 0.9, 0.9, 0.1, 0.1, -1 }, { 100, 92, 1, 1 } },
};

/* f16 boxes, a mask with a hole, one box too many for the room. */
START_TEST(boxes_are_read)
{
	static const uint16_t boxes[16] = { 0, 0x3800, 0x3c00, 0x3c00, [8] = 0x3400,
	    0x3400, 0x3a00, 0x3a00, [12] = 0x3c00 };
	static const uint16_t mask[4] = { 0x3c00, 0, 0x3c00, 0x3c00 };
	const int64_t ids[4] = { 5, 6, 7, 8 };
	const lc_sample sample = {
		.boxes = tensor_of(LC_F16, 2, (uint64_t[]) { 4, 4 }, boxes),
		.mask = tensor_of(LC_F16, 1, (uint64_t[]) { 4 }, mask)
	};
	struct lc__box got[3];

	ck_assert_uint_eq(lc__boxes_read(&sample, ids, got, 2), 2);
	ck_assert_double_eq(got[0].y0, 0.5);
	ck_assert_double_eq(got[0].x1, 1);
	ck_assert_int_eq(got[0].class_id, 5);
	ck_assert_double_eq(got[1].x0, 0.25);
	ck_assert_double_eq(got[1].y1, 0.75);
	ck_assert_int_eq(got[1].class_id, 7);
	ck_assert_uint_eq(lc__boxes_read(&sample, NULL, got, 3), 3);
	ck_assert_int_eq(got[2].class_id, -1);
}
END_TEST

START_TEST(boxes_are_drawn_at_their_pixels)
{
	const struct lc__area area = { 10, 20, 100, 80 }, want = box_rows[_i].area;
	const struct lc__area got = lc__box_area(&box_rows[_i].box, area);
	struct lc__canvas canvas;

	ck_assert_mem_eq(&got, &want, sizeof(got));
	ck_assert_int_eq(lc__canvas_new(130, 120, 0x808080, &canvas), LC_OK);
	lc__boxes_draw(&canvas, area, &box_rows[_i].box, 1, 2);
	for (int64_t y = want.y; y < want.y + want.height; y++)
		for (int64_t x = want.x; x < want.x + want.width; x++) {
			const bool edge = x < want.x + 2 || y < want.y + 2 ||
			    x >= want.x + want.width - 2 ||
			    y >= want.y + want.height - 2;
			if (edge)
				ck_assert_uint_eq(pixel(&canvas, x, y), 0xffffff);
			else
				ck_assert_uint_ne(pixel(&canvas, x, y), 0xffffff);
		}
	ck_assert_uint_eq(pixel(&canvas, want.x - 1, want.y), 0x101010);
	ck_assert_uint_ne(pixel(&canvas, want.x - 2, want.y), 0xffffff);
	lc__canvas_free(&canvas);
}
END_TEST

START_TEST(boxes_have_the_colours_of_their_classes)
{
	const struct lc__box boxes[3] = { { 0.1, 0.3, 0.2, 0.4, 0 },
	    { 0.5, 0.5, 0.8, 0.9, 7 }, { NAN, 0, 1, 1, 1 } };
	const struct lc__area area = { 0, 0, 200, 200 };
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(200, 200, 0x808080, &canvas), LC_OK);
	lc__boxes_draw(&canvas, area, boxes, 3, 1);
	ck_assert_uint_eq(pixel(&canvas, 20, 79), lc__colour_class(0));
	ck_assert_uint_eq(pixel(&canvas, 159, 179), lc__colour_class(7));
	/* the tags stand above */
	ck_assert_uint_eq(pixel(&canvas, 20, 50), lc__colour_class(0));
	ck_assert_uint_eq(pixel(&canvas, 100, 90), lc__colour_class(7));
	ck_assert_uint_eq(pixel(&canvas, 199, 199), 0x808080);
	lc__canvas_free(&canvas);
}
END_TEST

START_TEST(sheets)
{
	const struct lc__caption caption = { lc_id_of("run/frame"), lc_id_of("#1") };
	const struct lc__box box = { 0, 0, 0.5, 0.5, -1 };
	struct lc__canvas picture;
	struct lc__sheet sheet;
	struct lc__area place;

	ck_assert_int_eq(lc__canvas_new(200, 100, 0x3366aa, &picture), LC_OK);
	ck_assert_int_eq(lc__sheet_new(lc_id_of("title"), lc_id_of("line"), 5, 3, 96,
	    &sheet), LC_OK);
	lc__sheet_picture(&sheet, 4, &picture, &box, 1, caption);
	place = lc__sheet_place(&sheet, 4, 200, 100);
	ck_assert_int_eq(place.width, 96);
	ck_assert_int_eq(place.height, 48);
	ck_assert_int_eq(place.y - lc__sheet_cell(&sheet, 4).y, 24);
	for (int64_t y = 26; y < 48; y++)
		for (int64_t x = 50; x < 96; x++)
			ck_assert_uint_eq(pixel(&sheet.canvas, place.x + x, place.y + y),
			    0x3366aa);
	ck_assert_uint_eq(pixel(&sheet.canvas, place.x, place.y), 0xffffff);
	ck_assert_uint_eq(pixel(&sheet.canvas, place.x + 10, place.y - 3), LC__WASH);
	lc__sheet_missing(&sheet, 0, lc_id_of("why"), caption);
	place = lc__sheet_cell(&sheet, 0);
	ck_assert_uint_eq(pixel(&sheet.canvas, place.x + 5, place.y + 5), 0xd9a09b);
	ck_assert_uint_eq(pixel(&sheet.canvas, place.x + 20, place.y + 5), LC__WASH);
	lc__sheet_free(&sheet);
	lc__canvas_free(&picture);
}
END_TEST

static const struct { uint32_t n, columns, cell; lc_status status; } sheet_rows[] = {
	{ 1, 1, 48, LC_OK }, { 1, 10000, 2048, LC_OK }, { 7, 3, 100, LC_OK },
	{ 10000, 100, 2048, LC_INVALID }, { UINT32_MAX, UINT32_MAX, 2048, LC_INVALID },
	{ UINT32_MAX, 1, 2048, LC_INVALID }
};

START_TEST(sizes_of_sheets)
{
	struct lc__sheet sheet;

	ck_assert_int_eq(lc__sheet_new(lc_id_of("t"), lc_id_of("l"), sheet_rows[_i].n,
	    sheet_rows[_i].columns, sheet_rows[_i].cell, &sheet), sheet_rows[_i].status);
	if (sheet_rows[_i].status != LC_OK)
		return;
	for (uint32_t i = 0; i < sheet_rows[_i].n; i++) {
		const struct lc__area cell = lc__sheet_cell(&sheet, i);
		ck_assert_int_le(cell.x + cell.width + LC__MARGIN, sheet.canvas.width);
		ck_assert_int_le(cell.y + cell.height + LC__MARGIN, sheet.canvas.height);
	}
	lc__sheet_free(&sheet);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

int
main(void)
{
	Suite *suite = suite_create("draw_picture");
	TCase *tc = tcase_create("picture");

	tcase_add_loop_test(tc, elements_as_numbers, 0, COUNT(elements));
	tcase_add_test(tc, elements_that_are_none);
	tcase_add_test(tc, ranges);
	tcase_add_loop_test(tc, what_looks_like_an_image, 0, COUNT(form_rows));
	tcase_add_test(tc, bytes_are_shown_as_they_are);
	tcase_add_test(tc, floats_are_shown_in_their_range);
	tcase_add_test(tc, opacity_shows_the_ground);
	tcase_add_loop_test(tc, heat_maps_are_laid_out, 0, COUNT(plan_rows));
	tcase_add_test(tc, an_empty_heat_map);
	tcase_add_test(tc, heat_maps_fit);
	tcase_add_test(tc, heat_map_pixels);
	tcase_add_test(tc, heat_map_means);
	tcase_add_loop_test(tc, pages, 0, COUNT(page_rows));
	tcase_add_test(tc, boxes_are_read);
	tcase_add_loop_test(tc, boxes_are_drawn_at_their_pixels, 0, COUNT(box_rows));
	tcase_add_test(tc, boxes_have_the_colours_of_their_classes);
	tcase_add_test(tc, sheets);
	tcase_add_loop_test(tc, sizes_of_sheets, 0, COUNT(sheet_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
