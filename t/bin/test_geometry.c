/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/geometry.h"
#include "image/transform.h"
#include "made_image.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* ---- plans ------------------------------------------------------------------- */

static const struct {
	enum lc__fit fit;
	uint32_t source[2], target[2];
	double from[4];  /* x, y, width, height */
	uint32_t to[4];
} plans[] = {
	{ LC__FIT_LETTERBOX, { 816, 612 }, { 640, 640 }, { 0, 0, 816, 612 },
		{ 0, 80, 640, 480 } },
	{ LC__FIT_LETTERBOX, { 612, 816 }, { 640, 640 }, { 0, 0, 612, 816 },
		{ 80, 0, 480, 640 } },
	{ LC__FIT_LETTERBOX, { 100, 100 }, { 640, 640 }, { 0, 0, 100, 100 },
		{ 0, 0, 640, 640 } },
	/* 64 * 31 / 100 is 19.84: 20, and 22 above it. */
	{ LC__FIT_LETTERBOX, { 100, 31 }, { 64, 64 }, { 0, 0, 100, 31 },
		{ 0, 22, 64, 20 } },
	/* 10 * 15 / 20 is 7.5: 8. An odd rest has more on its right and bottom. */
	{ LC__FIT_LETTERBOX, { 20, 15 }, { 10, 11 }, { 0, 0, 20, 15 },
		{ 0, 1, 10, 8 } },
	{ LC__FIT_LETTERBOX, { 10000, 1 }, { 64, 64 }, { 0, 0, 10000, 1 },
		{ 0, 31, 64, 1 } },
	{ LC__FIT_LETTERBOX, { 1, 4000000000u }, { 640, 640 },
		{ 0, 0, 1, 4000000000.0 }, { 319, 0, 1, 640 } },
	{ LC__FIT_LETTERBOX, { 3, 2 }, { 2, 3 }, { 0, 0, 3, 2 }, { 0, 1, 2, 1 } },
	{ LC__FIT_STRETCH, { 816, 612 }, { 640, 64 }, { 0, 0, 816, 612 },
		{ 0, 0, 640, 64 } },
	{ LC__FIT_COVER, { 800, 600 }, { 640, 640 }, { 100, 0, 600, 600 },
		{ 0, 0, 640, 640 } },
	{ LC__FIT_COVER, { 600, 800 }, { 640, 320 }, { 0, 250, 600, 300 },
		{ 0, 0, 640, 320 } },
	{ LC__FIT_COVER, { 640, 480 }, { 64, 48 }, { 0, 0, 640, 480 },
		{ 0, 0, 64, 48 } },
	{ LC__FIT_COVER, { 101, 50 }, { 64, 48 }, { 17.0 + 1.0 / 6, 0, 200.0 / 3, 50 },
		{ 0, 0, 64, 48 } },
};

START_TEST(planned)
{
	struct lc__geometry g;

	lc__geometry_plan(plans[_i].fit, plans[_i].source[0], plans[_i].source[1],
	    plans[_i].target[0], plans[_i].target[1], &g);
	ck_assert_uint_eq(g.source_width, plans[_i].source[0]);
	ck_assert_uint_eq(g.source_height, plans[_i].source[1]);
	ck_assert_uint_eq(g.target_width, plans[_i].target[0]);
	ck_assert_uint_eq(g.target_height, plans[_i].target[1]);
	ck_assert_double_eq_tol(g.from_x, plans[_i].from[0], 1e-12);
	ck_assert_double_eq_tol(g.from_y, plans[_i].from[1], 1e-12);
	ck_assert_double_eq_tol(g.from_width, plans[_i].from[2], 1e-12);
	ck_assert_double_eq_tol(g.from_height, plans[_i].from[3], 1e-12);
	ck_assert_uint_eq(g.to_x, plans[_i].to[0]);
	ck_assert_uint_eq(g.to_y, plans[_i].to[1]);
	ck_assert_uint_eq(g.to_width, plans[_i].to[2]);
	ck_assert_uint_eq(g.to_height, plans[_i].to[3]);
}
END_TEST

START_TEST(planned_of_random)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 10000; round++) {
		const unsigned shift = run_random(&seed) % 32;
		uint32_t size[4];
		struct lc__geometry g;
		double scale;
		for (int i = 0; i < 4; i++)
			size[i] = 1 + ((uint32_t)run_random(&seed) >> (i < 2 ? shift : 20));
		lc__geometry_plan((enum lc__fit)(round % 3), size[0], size[1], size[2],
		    size[3], &g);
		ck_assert_uint_ge(g.to_width, 1);
		ck_assert_uint_ge(g.to_height, 1);
		ck_assert_uint_le(g.to_x + g.to_width, size[2]);
		ck_assert_uint_le(g.to_y + g.to_height, size[3]);
		ck_assert_double_ge(g.from_x, 0);
		ck_assert_double_ge(g.from_y, 0);
		ck_assert_double_le(g.from_x + g.from_width, size[0]);
		ck_assert_double_le(g.from_y + g.from_height, size[1]);
		if (round % 3 != LC__FIT_LETTERBOX)
			continue;
		scale = fmin((double)size[2] / size[0], (double)size[3] / size[1]);
		ck_assert_double_le(fabs(g.to_width - fmax(1, size[0] * scale)), 0.501);
		ck_assert_double_le(fabs(g.to_height - fmax(1, size[1] * scale)), 0.501);
		ck_assert(g.to_width == size[2] || g.to_height == size[3]);
	}
}
END_TEST

START_TEST(names)
{
	ck_assert_str_eq(lc__fit_recipe_name(LC__FIT_LETTERBOX), "Letterbox");
	ck_assert_str_eq(lc__fit_recipe_name(LC__FIT_STRETCH), "Stretch");
	ck_assert_str_eq(lc__fit_recipe_name(LC__FIT_COVER), "Cover");
}
END_TEST

/* ---- boxes by arithmetic ----------------------------------------------------- */

static const struct {
	enum lc__fit fit;
	double least;
	double box[4];
	enum lc__box_fate fate;
	double out[4];
} boxes[] = {
	/* 800 x 600 to 640 x 640: letterbox by 0.8 at (0, 80), cover by 16/15 from
	 * x = 100 on. */
	{ LC__FIT_LETTERBOX, 0.1, { 0, 0, 800, 600 }, LC__BOX_WHOLE,
		{ 0, 80, 640, 560 } },
	{ LC__FIT_LETTERBOX, 0.1, { 100, 50, 101, 50.5 }, LC__BOX_WHOLE,
		{ 80, 120, 80.8, 120.4 } },
	{ LC__FIT_LETTERBOX, 0.1, { -10, 0, 10, 10 }, LC__BOX_CLIPPED,
		{ 0, 80, 8, 88 } },
	{ LC__FIT_LETTERBOX, 0.1, { 790, 590, 810, 610 }, LC__BOX_CLIPPED,
		{ 632, 552, 640, 560 } },
	{ LC__FIT_STRETCH, 0.1, { 400, 300, 800, 600 }, LC__BOX_WHOLE,
		{ 320, 320, 640, 640 } },
	{ LC__FIT_COVER, 0.1, { 100, 0, 700, 600 }, LC__BOX_WHOLE,
		{ 0, 0, 640, 640 } },
	{ LC__FIT_COVER, 0.1, { 250, 150, 400, 300 }, LC__BOX_WHOLE,
		{ 160, 160, 320, 320 } },
	{ LC__FIT_COVER, 0.1, { 25, 150, 175, 300 }, LC__BOX_CLIPPED,
		{ 0, 160, 80, 320 } },
	/* Half of it is left. */
	{ LC__FIT_COVER, 0.5, { 25, 150, 175, 300 }, LC__BOX_CLIPPED,
		{ 0, 160, 80, 320 } },
	{ LC__FIT_COVER, 0.51, { 25, 150, 175, 300 }, LC__BOX_DROPPED, { 0 } },
	{ LC__FIT_COVER, 0, { 0, 0, 100, 600 }, LC__BOX_DROPPED, { 0 } },
	{ LC__FIT_COVER, 0, { 0, 0, 100.5, 600 }, LC__BOX_CLIPPED,
		{ 0, 0, 8.0 / 15, 640 } },
	{ LC__FIT_COVER, 0.1, { 0, 0, 100.5, 600 }, LC__BOX_DROPPED, { 0 } },
	{ LC__FIT_LETTERBOX, 0, { 5, 5, 5, 50 }, LC__BOX_DROPPED, { 0 } },
	{ LC__FIT_LETTERBOX, 0, { 900, 5, 950, 50 }, LC__BOX_DROPPED, { 0 } },
	{ LC__FIT_LETTERBOX, 0, { NAN, 5, 50, 50 }, LC__BOX_DROPPED, { 0 } },
};

START_TEST(box_fates)
{
	struct lc__geometry g;
	double out[4];

	lc__geometry_plan(boxes[_i].fit, 800, 600, 640, 640, &g);
	ck_assert_int_eq(lc__geometry_box(&g, boxes[_i].box, boxes[_i].least, out),
	    boxes[_i].fate);
	for (int i = 0; i < 4 && boxes[_i].fate != LC__BOX_DROPPED; i++)
		ck_assert_double_eq_tol(out[i], boxes[_i].out[i], 1e-10);
}
END_TEST

/* Where EXIF's standard puts the file's first row and first column. */
static const struct {
	char row, column; /* sides of the picture: Top, Bottom, Left, Right */
} sides[9] = { [1] = { 'T', 'L' }, [2] = { 'T', 'R' }, [3] = { 'B', 'R' },
	[4] = { 'B', 'L' }, [5] = { 'L', 'T' }, [6] = { 'R', 'T' }, [7] = { 'R', 'B' },
	[8] = { 'L', 'B' } };

/* The same of one point: distances from a side become coordinates. */
static void
turn_point(unsigned orientation, double width, double height, const double from[2],
    double to[2])
{
	const char found[2] = { sides[orientation].column, sides[orientation].row };
	const double shown[2] = { orientation > 4 ? height : width,
		orientation > 4 ? width : height };

	for (int i = 0; i < 2; i++) {
		const int axis = found[i] == 'T' || found[i] == 'B';
		to[axis] = found[i] == 'B' || found[i] == 'R' ? shown[axis] - from[i] :
		    from[i];
	}
}

START_TEST(turned_boxes)
{
	double box[4] = { 1, 2, 7.5, 31 }, a[2], b[2];

	turn_point((unsigned)_i, 50, 40, box, a);
	turn_point((unsigned)_i, 50, 40, box + 2, b);
	lc__geometry_turn((unsigned)_i, 50, 40, box);
	for (int axis = 0; axis < 2; axis++) {
		ck_assert_double_eq(box[axis], fmin(a[axis], b[axis]));
		ck_assert_double_eq(box[axis + 2], fmax(a[axis], b[axis]));
	}
}
END_TEST

/* ---- boxes found again in the pixels ----------------------------------------- */

/* Every mode, every orientation, these sizes. */
static const uint32_t pictures[][2] = { { 97, 61 }, { 61, 97 }, { 64, 64 },
	{ 150, 33 }, { 641, 480 }, { 24, 20 } };
static const uint32_t targets[][2] = { { 64, 64 }, { 96, 41 }, { 37, 75 },
	{ 200, 161 } };

/* Three boxes of the stored picture, by its size: one a colour. */
static const double shares[3][4] = { { 0.30, 0.25, 0.62, 0.70 },
	{ 0, 0.55, 0.45, 1 }, { 0.5, 0, 1, 0.35 } };

static void
draw(uint32_t width, uint32_t height, unsigned channels, uint8_t *pixels,
    double drawn[3][4])
{
	for (unsigned c = 0; c < 3; c++)
		for (int i = 0; i < 4; i++)
			drawn[c][i] = floor(shares[c][i] * (i % 2 ? height : width) + 0.5);
	for (uint32_t y = 0; y < height; y++)
		for (uint32_t x = 0; x < width; x++)
			for (unsigned c = 0; c < channels; c++)
				*pixels++ = x >= drawn[c][0] && x < drawn[c][2] &&
				    y >= drawn[c][1] && y < drawn[c][3] ? 255 : 0;
}

/* The box of a plane's bright part, in whole pixels. */
static bool
find_box(const uint8_t *plane, const struct lc__geometry *g, double found[4])
{
	const uint32_t width = g->target_width, height = g->target_height;
	uint32_t box[4] = { width, height, 0, 0 };

	for (uint32_t y = g->to_y; y < g->to_y + g->to_height; y++)
		for (uint32_t x = g->to_x; x < g->to_x + g->to_width; x++)
			if (plane[(size_t)y * width + x] > 127) {
				box[0] = x < box[0] ? x : box[0];
				box[1] = y < box[1] ? y : box[1];
				box[2] = x + 1 > box[2] ? x + 1 : box[2];
				box[3] = y + 1 > box[3] ? y + 1 : box[3];
			}
	for (int i = 0; i < 4; i++)
		found[i] = box[i];
	return box[2] > box[0];
}

static void
check_found(const struct lc__transformed *done, unsigned orientation,
    double drawn[3][4], const uint8_t *planes, unsigned channels)
{
	const struct lc__geometry *g = &done->geometry;
	const size_t plane = (size_t)g->target_width * g->target_height;

	for (unsigned c = 0; c < channels; c++) {
		double box[4], want[4], found[4];
		memcpy(box, drawn[c], sizeof(box));
		lc__geometry_turn(orientation, done->stored_width, done->stored_height,
		    box);
		/* What is narrower than a pixel may be too dim to be found. */
		if (lc__geometry_box(g, box, 0, want) == LC__BOX_DROPPED ||
		    want[2] - want[0] < 1.5 || want[3] - want[1] < 1.5)
			continue;
		ck_assert(find_box(planes + c * plane, g, found));
		for (int i = 0; i < 4; i++)
			ck_assert_double_le(fabs(found[i] - want[i]), 0.75);
	}
}

static void
check_padding(const struct lc__transformed *done, const uint8_t pad[3],
    const uint8_t *planes)
{
	const struct lc__geometry *g = &done->geometry;
	size_t wrong = 0;

	for (unsigned c = 0; c < 3; c++)
		for (uint32_t y = 0; y < g->target_height; y++)
			for (uint32_t x = 0; x < g->target_width; x++, planes++)
				wrong += (x < g->to_x || x >= g->to_x + g->to_width ||
				    y < g->to_y || y >= g->to_y + g->to_height) &&
				    *planes != pad[c];
	ck_assert_uint_eq(wrong, 0);
}

static void
check_transform(const struct lc__buf *file, enum lc__fit fit, unsigned orientation,
    bool dct_scale, double drawn[3][4], unsigned channels)
{
	struct lc__workspace *workspace = lc__workspace_new();

	for (int t = 0; t < ROWS(targets); t++) {
		const struct lc__transform transform = { .width = targets[t][0],
			.height = targets[t][1], .fit = fit, .pad = { 10, 200, 90 },
			.dct_scale = dct_scale };
		uint8_t *planes = malloc((size_t)3 * transform.width * transform.height);
		struct lc__transformed done;
		ck_assert_int_eq(lc__transform_image(&transform, file->data, file->size,
		    "x", workspace, planes, &done), LC_OK);
		ck_assert_uint_eq(done.orientation, orientation);
		check_found(&done, orientation, drawn, planes, channels);
		check_padding(&done, transform.pad, planes);
		free(planes);
	}
	lc__workspace_free(workspace);
}

START_TEST(drawn_boxes)
{
	const unsigned orientation = 1 + (unsigned)_i / 3;

	for (int p = 0; p < ROWS(pictures); p++) {
		const uint32_t width = pictures[p][0], height = pictures[p][1];
		uint8_t *pixels = malloc((size_t)3 * width * height);
		struct lc__buf file = { 0 };
		unsigned char exif[38];
		double drawn[3][4];

		draw(width, height, 3, pixels, drawn);
		make_png_of(pixels, width, height, 3, &file);
		make_exif(exif, p % 2, orientation);
		insert_chunk(&file, 33, "eXIf", exif, sizeof(exif));
		check_transform(&file, (enum lc__fit)(_i % 3), orientation, false, drawn,
		    3);
		lc__buf_free(&file);
		free(pixels);
	}
}
END_TEST

/* The decoder shrinks sizes that its blocks do not divide. */
START_TEST(drawn_boxes_of_shrunk_jpeg)
{
	const unsigned orientation = 1 + (unsigned)_i / 3;
	static const uint32_t sizes[][2] = { { 1601, 1203 }, { 700, 1999 } };

	for (int p = 0; p < ROWS(sizes); p++) {
		const uint32_t width = sizes[p][0], height = sizes[p][1];
		uint8_t *pixels = malloc((size_t)width * height);
		struct lc__buf file = { 0 };
		unsigned char exif[38];
		double drawn[3][4];

		draw(width, height, 1, pixels, drawn);
		make_exif(exif, p % 2, orientation);
		make_jpeg_of(pixels, width, height, 1, exif, sizeof(exif), &file);
		check_transform(&file, (enum lc__fit)(_i % 3), orientation, true, drawn, 1);
		lc__buf_free(&file);
		free(pixels);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("geometry");
	TCase *tc = tcase_create("geometry");

	tcase_set_timeout(tc, 300);
	tcase_add_loop_test(tc, planned, 0, ROWS(plans));
	tcase_add_test(tc, planned_of_random);
	tcase_add_test(tc, names);
	tcase_add_loop_test(tc, box_fates, 0, ROWS(boxes));
	tcase_add_loop_test(tc, turned_boxes, 1, 9);
	tcase_add_loop_test(tc, drawn_boxes, 0, 24);
	tcase_add_loop_test(tc, drawn_boxes_of_shrunk_jpeg, 0, 24);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
