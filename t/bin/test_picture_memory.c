/* SPDX-License-Identifier: BSD-2-Clause */
/* Pictures without memory: each allocation of ours fails once, and all from it on. */
#include "run.h"

#include <string.h>

#include "base/error.h"
#include "draw/axes.h"
#include "drawn.h"
#include "fail_malloc.h"
#include "image/sheet.h"
#include "image/tensor_picture.h"

static lc_status
draw_page(struct lc__picture *picture)
{
	const struct lc__caption caption = { lc_id_of("some/key"), lc_id_of("f32[4]  map") };
	const struct lc__box box = { 0.1, 0.2, 0.7, 0.9, 3 };
	const struct lc__named_bar bars[] = { { lc_id_of("one"), 1, LC__BAR, NULL } };
	const struct lc__named_bars list = { .area = { 10, 300, 200, 20 }, .bars = bars,
		.n = 1 };
	struct lc__pixels image = { 0 };
	struct lc__sheet sheet;
	lc_status status = lc__sheet_begin(picture, lc_id_of("title"), lc_id_of("line"), 4, 2,
	    96, &sheet);

	if (status == LC_OK)
		status = lc__pixels_new(30, 20, 0x123456, &image);
	if (status != LC_OK)
		return status;
	lc__sheet_image(&sheet, 0, &image, &box, 1, caption);
	lc__sheet_text(&sheet, 1, lc_id_of("a text that takes several lines of a cell"),
	    caption);
	lc__sheet_missing(&sheet, 2, lc_id_of("why"), caption);
	lc__named_bars_draw(picture, &list);
	lc__colour_bar(picture, (struct lc__rect){ 220, 200, 20, 100 }, LC__COLOURS_HEAT, 0, 1,
	    LC__UNIT_NUMBER);
	lc__pixels_free(&image);
	return LC_OK;
}

static lc_status
draw_tensor(struct lc__picture *picture)
{
	const float values[] = { 1, 2, -3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	const uint64_t shape[] = { 2, 2, 3 };
	struct lc__tensor_picture facts;
	lc_tensor tensor;

	return_if_error(lc_tensor_init(&tensor, LC_F32, 3, shape, values));
	return lc__tensor_picture(&tensor, lc_id_of("a tensor"), false, 128, picture, &facts);
}

static lc_status
draw(int what, struct lc__buf *out)
{
	struct lc__picture *picture = NULL;
	lc_status status = lc__picture_new((enum lc__picture_format)(what % 3), &picture);

	if (status == LC_OK)
		status = what < 3 ? draw_page(picture) : draw_tensor(picture);
	if (status == LC_OK)
		status = lc__picture_finish(picture, out);
	lc__picture_free(picture);
	return status;
}

START_TEST(pictures)
{
	long n, hits;

	for (int and_on = 0; and_on < 2; and_on++) {
		n = 0;
		do {
			struct lc__buf bytes = { 0 };
			lc_status status;
			fail_malloc(++n, and_on);
			status = draw(_i, &bytes);
			hits = fail_malloc_hits();
			fail_malloc(0, false);
			ck_assert_msg(status == (hits > 0 ? LC_NO_MEMORY : LC_OK),
			    "allocation %ld: %d %s", n, (int)status, lc_last_error()->text);
			ck_assert(status != LC_OK || bytes.size > 500);
			lc__buf_free(&bytes);
		} while (hits > 0);
		ck_assert_int_gt(n, 10);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("picture_memory");
	TCase *tc = tcase_create("memory");

	drawn_need();
	tcase_add_loop_test(tc, pictures, 0, 6);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
