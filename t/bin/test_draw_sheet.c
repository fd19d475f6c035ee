/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes and contact sheets, pixel by pixel. */
#include "run.h"

#include <math.h>
#include <stdbool.h>

#include "drawn.h"
#include "image/boxes.h"
#include "image/canvas.h"
#include "image/sheet.h"

/* ---- boxes and sheets ----------------------------------------------------------- */

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

/* Where there is no room above: below, and of a box as high as the image inside. */
START_TEST(class_ids_at_the_edge)
{
	const struct lc__box boxes[2] = { { 0.3, 0, 0.5, 0.2, 4 }, { 0.99, 0, 1, 1, 12 } };
	const struct lc__area area = { 0, 0, 200, 200 };
	struct lc__canvas canvas;

	ck_assert_int_eq(lc__canvas_new(200, 200, 0x808080, &canvas), LC_OK);
	lc__boxes_draw(&canvas, area, boxes, 2, 1);
	ck_assert_uint_eq(pixel(&canvas, 60, 40), lc__colour_class(4));
	ck_assert_uint_eq(pixel(&canvas, 60, 50), lc__colour_class(4));
	ck_assert_uint_eq(pixel(&canvas, 60, 51), 0x808080);
	/* two digits and their ground take 15 pixels */
	ck_assert_uint_eq(pixel(&canvas, 185, 0), lc__colour_class(12));
	ck_assert_uint_eq(pixel(&canvas, 185, 10), lc__colour_class(12));
	ck_assert_uint_eq(pixel(&canvas, 185, 11), 0x808080);
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
	Suite *suite = suite_create("draw_sheet");
	TCase *tc = tcase_create("sheet");

	tcase_add_test(tc, boxes_are_read);
	tcase_add_loop_test(tc, boxes_are_drawn_at_their_pixels, 0, COUNT(box_rows));
	tcase_add_test(tc, boxes_have_the_colours_of_their_classes);
	tcase_add_test(tc, class_ids_at_the_edge);
	tcase_add_test(tc, sheets);
	tcase_add_loop_test(tc, sizes_of_sheets, 0, COUNT(sheet_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
