/* SPDX-License-Identifier: BSD-2-Clause */
/* Boxes and contact sheets, pixel by pixel. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "drawn.h"
#include "image/boxes.h"
#include "image/sheet.h"

/* ---- boxes and sheets ----------------------------------------------------------- */

static const struct { struct lc__box box; struct lc__rect area; } box_rows[] = {
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

#define GROUND 0x808080u

static struct lc__picture *
grey(double width, double height)
{
	struct lc__picture *picture = drawn_begin(LC__PICTURE_PNG, width, height);

	lc__picture_fill(picture, (struct lc__rect){ 0, 0, width, height }, GROUND);
	return picture;
}

START_TEST(boxes_are_drawn_at_their_pixels)
{
	const struct lc__rect area = { 10, 20, 100, 80 }, want = box_rows[_i].area;
	const struct lc__rect at = lc__box_area(&box_rows[_i].box, area);
	struct lc__picture *picture = grey(130, 120);
	struct lc__pixels got;

	ck_assert_mem_eq(&at, &want, sizeof(at));
	lc__boxes_draw(picture, area, &box_rows[_i].box, 1, 2, NULL);
	got = drawn_pixels(picture);
	for (double y = want.y; y < want.y + want.height; y++)
		for (double x = want.x; x < want.x + want.width; x++) {
			const bool edge = x < want.x + 2 || y < want.y + 2 ||
			    x >= want.x + want.width - 2 ||
			    y >= want.y + want.height - 2;
			if (edge)
				ck_assert_uint_eq(pixel(&got, x, y), 0xffffff);
			else
				ck_assert_uint_ne(pixel(&got, x, y), 0xffffff);
		}
	ck_assert_uint_eq(pixel(&got, want.x - 1, want.y), 0x101010);
	ck_assert_uint_ne(pixel(&got, want.x - 2, want.y), 0xffffff);
	lc__pixels_free(&got);
}
END_TEST

START_TEST(boxes_have_the_colours_of_their_classes)
{
	const struct lc__box boxes[3] = { { 0.1, 0.3, 0.2, 0.4, 0 },
	    { 0.5, 0.5, 0.8, 0.9, 7 }, { (double)NAN, 0, 1, 1, 1 } };
	const struct lc__rect area = { 0, 0, 200, 200 };
	struct lc__picture *picture = grey(200, 200);
	struct lc__pixels got;

	lc__boxes_draw(picture, area, boxes, 3, 1, NULL);
	got = drawn_pixels(picture);
	ck_assert_uint_eq(pixel(&got, 20, 79), lc__colour_class(0));
	ck_assert_uint_eq(pixel(&got, 159, 179), lc__colour_class(7));
	/* the tags are above */
	ck_assert_uint_eq(pixel(&got, 20, 48), lc__colour_class(0));
	ck_assert_uint_eq(pixel(&got, 100, 88), lc__colour_class(7));
	ck_assert_uint_eq(pixel(&got, 199, 199), GROUND);
	lc__pixels_free(&got);
}
END_TEST

/* Where there is no room above: below, and of a box as high as the image inside. */
START_TEST(class_ids_at_the_edge)
{
	const struct lc__box boxes[2] = { { 0.3, 0, 0.5, 0.2, 4 }, { 0.99, 0, 1, 1, 12 } };
	const struct lc__rect area = { 0, 0, 200, 200 };
	struct lc__picture *picture = grey(200, 200);
	struct lc__pixels got;

	lc__boxes_draw(picture, area, boxes, 2, 1, NULL);
	got = drawn_pixels(picture);
	ck_assert_uint_eq(pixel(&got, 60, 40), lc__colour_class(4));
	ck_assert_uint_eq(pixel(&got, 60, 52), lc__colour_class(4));
	ck_assert_uint_eq(pixel(&got, 60, 53), GROUND);
	/* inside, up to the right edge */
	ck_assert_uint_eq(pixel(&got, 199, 0), lc__colour_class(12));
	ck_assert_uint_eq(pixel(&got, 190, 12), lc__colour_class(12));
	ck_assert_uint_eq(pixel(&got, 190, 13), GROUND);
	lc__pixels_free(&got);
}
END_TEST

static const char *
long_name(const void *ctx, int64_t class_id)
{
	return class_id == 3 ? ctx : NULL;
}

/* A name that is wider than the image is cut; a class without one has its number. */
START_TEST(names_of_classes)
{
	const struct lc__class_names names = { long_name,
		"a name of a class that is far too long for an image of this size" };
	const struct lc__box boxes[2] = { { 0.3, 0.2, 0.5, 0.4, 3 }, { 0.3, 0.7, 0.9, 1, 99 } };
	struct lc__picture *picture = drawn_begin(LC__PICTURE_SVG, 140, 140);
	struct lc__buf bytes;

	lc__boxes_draw(picture, (struct lc__rect){ 10, 10, 120, 120 }, boxes, 2, 2, &names);
	bytes = drawn_bytes(picture);
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">99</text>"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, ">a name of"));
	ck_assert_ptr_nonnull(strstr((char *)bytes.data, "\xe2\x80\xa6</text>"));
	lc__buf_free(&bytes);
}
END_TEST

START_TEST(sheets)
{
	const struct lc__caption caption = { lc_id_of("run/frame"), lc_id_of("#1") };
	const struct lc__box box = { 0, 0, 0.5, 0.5, -1 };
	struct lc__picture *picture;
	struct lc__pixels image, got;
	struct lc__sheet sheet;
	struct lc__rect place, cell;

	ck_assert_int_eq(lc__picture_new(LC__PICTURE_PNG, &picture), LC_OK);
	ck_assert_int_eq(lc__pixels_new(200, 100, 0x3366aa, &image), LC_OK);
	ck_assert_int_eq(lc__sheet_begin(picture, lc_id_of("title"), lc_id_of("line"), 5, 3, 96,
	    &sheet), LC_OK);
	lc__sheet_image(&sheet, 4, &image, &box, 1, caption);
	lc__sheet_missing(&sheet, 0, lc_id_of("why"), caption);
	lc__sheet_text(&sheet, 2, lc_id_of("some text"), caption);
	place = lc__sheet_place(&sheet, 4, 200, 100);
	ck_assert_double_eq(place.width, 96);
	ck_assert_double_eq(place.height, 48);
	ck_assert_double_eq(place.y - lc__sheet_cell(&sheet, 4).y, 24);
	got = drawn_pixels(picture);
	for (int y = 26; y < 48; y++)
		for (int x = 50; x < 96; x++)
			ck_assert_uint_eq(pixel(&got, place.x + x, place.y + y), 0x3366aa);
	ck_assert_uint_eq(pixel(&got, place.x, place.y), 0xffffff);
	ck_assert_uint_eq(pixel(&got, place.x + 10, place.y - 3), LC__WASH);
	cell = lc__sheet_cell(&sheet, 0);
	ck_assert_uint_eq(pixel(&got, cell.x, cell.y + 5), 0xd9a09b);
	ck_assert_uint_eq(pixel(&got, cell.x + 20, cell.y + 5), LC__WASH);
	cell = lc__sheet_cell(&sheet, 2);
	ck_assert_uint_eq(pixel(&got, cell.x + 2, cell.y + 48), LC__WASH);
	ck_assert_uint_eq(pixel(&got, cell.x + 6, cell.y + 48), LC__RULE);
	ck_assert_uint_eq(pixel(&got, cell.x + 88, cell.y + 48), LC__PAPER);
	lc__pixels_free(&image);
	lc__pixels_free(&got);
}
END_TEST

static const struct { uint32_t n, columns, cell; lc_status status; } sheet_rows[] = {
	{ 1, 1, 48, LC_OK }, { 1, 10000, 2048, LC_OK }, { 7, 3, 100, LC_OK },
	{ 10000, 100, 2048, LC_INVALID }, { UINT32_MAX, UINT32_MAX, 2048, LC_INVALID },
	{ UINT32_MAX, 1, 2048, LC_INVALID }
};

START_TEST(sizes_of_sheets)
{
	struct lc__picture *picture;
	struct lc__sheet sheet;

	ck_assert_int_eq(lc__picture_new(LC__PICTURE_SVG, &picture), LC_OK);
	ck_assert_int_eq(lc__sheet_begin(picture, lc_id_of("t"), lc_id_of("l"),
	    sheet_rows[_i].n, sheet_rows[_i].columns, sheet_rows[_i].cell, &sheet),
	    sheet_rows[_i].status);
	for (uint32_t i = 0; sheet_rows[_i].status == LC_OK && i < sheet_rows[_i].n; i++) {
		const struct lc__rect cell = lc__sheet_cell(&sheet, i);
		ck_assert_double_le(cell.x + cell.width + LC__MARGIN,
		    lc__picture_width(picture));
		ck_assert_double_le(cell.y + cell.height + LC__MARGIN,
		    lc__picture_height(picture));
	}
	lc__picture_free(picture);
}
END_TEST

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

int
main(void)
{
	Suite *suite = suite_create("draw_sheet");
	TCase *tc = tcase_create("sheet");

	drawn_need();
	tcase_add_test(tc, boxes_are_read);
	tcase_add_loop_test(tc, boxes_are_drawn_at_their_pixels, 0, COUNT(box_rows));
	tcase_add_test(tc, boxes_have_the_colours_of_their_classes);
	tcase_add_test(tc, class_ids_at_the_edge);
	tcase_add_test(tc, names_of_classes);
	tcase_add_test(tc, sheets);
	tcase_add_loop_test(tc, sizes_of_sheets, 0, COUNT(sheet_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
