/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of points that were put there, and the map of them. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"
#include "report/embedding_map.h"

enum { A = 600, B = 300, C = 100, N = A + B + C };

/* Three round clusters, the last point of each in its middle. */
static void
make_clusters(double *points)
{
	static const struct {
		double x, y;
		int n;
	} clusters[] = { { -10, 0, A }, { 10, 0, B }, { 0, 12, C } };
	int at = 0;

	srand(7);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < clusters[k].n; i++, at++) {
			const bool middle = i == clusters[k].n - 1;
			const double angle = rand() % 360, far = middle ? 0 : rand() % 100 / 80.0;
			points[2 * at] = clusters[k].x + far * cos(angle);
			points[2 * at + 1] = clusters[k].y + far * sin(angle);
		}
}

START_TEST(clusters_are_regions)
{
	static const double at[3][2] = { { -10, 0 }, { 10, 0 }, { 0, 12 } };
	static const size_t counts[3] = { A, B, C };
	static double points[2 * N];
	struct lc__regions regions;

	make_clusters(points);
	ck_assert_int_eq(lc__regions_find(points, N, &regions), LC_OK);
	ck_assert_uint_eq(regions.n, 3);
	ck_assert_uint_eq(regions.plane.outside, 0);
	for (size_t k = 0; k < 3; k++) {
		const struct lc__region *region = &regions.all[k];
		double least = INFINITY;
		ck_assert_double_le(hypot(region->x - at[k][0], region->y - at[k][1]), 0.6);
		ck_assert_uint_eq(region->points, counts[k]);
		for (size_t i = 0; i < N; i++)
			least = fmin(least, hypot(points[2 * i] - region->x,
			    points[2 * i + 1] - region->y));
		ck_assert_double_eq(hypot(points[2 * region->example] - region->x,
		    points[2 * region->example + 1] - region->y), least);
	}
}
END_TEST

/* A few that are far away do not make the map of the others small. */
START_TEST(outliers_are_counted)
{
	static double points[2 * N];
	struct lc__regions regions;

	make_clusters(points);
	points[0] = 1e6;
	points[3] = -1e9;
	ck_assert_int_eq(lc__regions_find(points, N, &regions), LC_OK);
	ck_assert_uint_eq(regions.plane.outside, 2);
	ck_assert_double_le(regions.plane.high[0], 20);
	ck_assert_double_ge(regions.plane.low[1], -20);
	ck_assert_uint_eq(regions.n, 3);
}
END_TEST

START_TEST(equal_points_are_one_region)
{
	const double points[] = { 5, 5, 5, 5, 5, 5 };
	struct lc__regions regions;

	for (size_t n = 1; n <= 3; n += 2) {
		ck_assert_int_eq(lc__regions_find(points, n, &regions), LC_OK);
		ck_assert_uint_eq(regions.n, 1);
		ck_assert_uint_eq(regions.all[0].points, n);
		ck_assert_double_eq_tol(regions.all[0].x, 5, 0.01);
	}
}
END_TEST

/* Dark in the middle of the clusters, white where there is nothing; images beside. */
START_TEST(density_is_drawn)
{
	static double points[2 * N];
	struct lc__regions regions;
	struct lc__pixels image, got;
	int dark = 0, red = 0;

	make_clusters(points);
	ck_assert_int_eq(lc__regions_find(points, N, &regions), LC_OK);
	ck_assert_int_eq(lc__pixels_new(8, 8, 0xff0000, &image), LC_OK);
	for (size_t k = 0; k < regions.n; k++) {
		regions.all[k].id = lc_id_of("key");
		regions.all[k].image = image;
	}
	for (int width = 360; width <= 960; width += 600) {
		const struct lc__embedding_map map = { "m", "note", { "x", "y" }, points, N,
			&regions };
		struct lc__picture *picture;
		ck_assert_int_eq(lc__picture_new(LC__PICTURE_PNG, &picture), LC_OK);
		ck_assert_int_eq(lc__embedding_map_draw(picture, &map, width), LC_OK);
		ck_assert_double_eq(lc__picture_width(picture), width);
		got = drawn_pixels(picture);
		dark = red = 0;
		for (uint32_t y = 0; y < got.height; y++)
			for (uint32_t x = 0; x < got.width; x++) {
				const uint32_t colour = lc__pixels_get(&got, x, y);
				red += colour == 0xff0000;
				dark += (colour >> 16) < 0x60 && (colour & 255) > 0x50 &&
				    (colour >> 8 & 255) < 0x40;
			}
		ck_assert_int_eq(red, 3 * 54 * 54); /* 56 with a frame */
		ck_assert_int_gt(dark, 20);
		lc__pixels_free(&got);
	}
	lc__pixels_free(&image);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("embedding_map");
	TCase *tc = tcase_create("map");

	drawn_need();
	tcase_add_test(tc, clusters_are_regions);
	tcase_add_test(tc, outliers_are_counted);
	tcase_add_test(tc, equal_points_are_one_region);
	tcase_add_test(tc, density_is_drawn);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
