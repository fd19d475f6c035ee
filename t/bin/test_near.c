/* SPDX-License-Identifier: BSD-2-Clause */
/* Near duplicates: what was planted is found, and all that a comparison of all pairs
 * finds. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report/near.h"

/* ---- pairs ---------------------------------------------------------------------- */

START_TEST(pairs_are_a_forest)
{
	struct lc__pairs pairs = { .items = 6 };

	/* 0, 1 and 2 are near each other, and 4 and 5. */
	ck_assert_int_eq(lc__pairs_add(&pairs, 2, 0, 0.3), LC_OK);
	ck_assert_int_eq(lc__pairs_add(&pairs, 1, 2, 0.1), LC_OK);
	ck_assert_int_eq(lc__pairs_add(&pairs, 0, 1, 0.2), LC_OK);
	ck_assert_int_eq(lc__pairs_add(&pairs, 5, 4, 0), LC_OK);
	ck_assert_int_eq(lc__pairs_add(&pairs, 5, 4, 0), LC_OK);
	ck_assert_int_eq(lc__pairs_end(&pairs), LC_OK);
	ck_assert_uint_eq(pairs.n, 3);
	ck_assert(pairs.all[0].a == 4 && pairs.all[0].b == 5);
	ck_assert(pairs.all[1].a == 1 && pairs.all[1].b == 2);
	ck_assert(pairs.all[2].a == 0 && pairs.all[2].b == 1);
	ck_assert_double_eq(pairs.all[2].distance, 0.2);
	lc__pairs_free(&pairs);
}
END_TEST

/* More pairs than are held at once. */
START_TEST(many_pairs_are_reduced)
{
	enum { N = 2600 };
	struct lc__pairs pairs = { .items = N };

	for (size_t i = 0; i < N; i++)
		for (size_t k = i + 1; k < N; k++)
			ck_assert_int_eq(lc__pairs_add(&pairs, i, k, (double)(k - i)), LC_OK);
	ck_assert_int_eq(lc__pairs_end(&pairs), LC_OK);
	ck_assert_uint_eq(pairs.n, N - 1);
	ck_assert_uint_le(pairs.room, (size_t)1 << 23);
	for (size_t i = 0; i < pairs.n; i++) {
		ck_assert_uint_eq(pairs.all[i].a, i);
		ck_assert_uint_eq(pairs.all[i].b, i + 1);
	}
	lc__pairs_free(&pairs);
}
END_TEST

/* ---- images --------------------------------------------------------------------- */

/* 72 x 72 pixels, brighter to the right, or to the left, and to the top. */
static struct lc__print
print_of_ramp(bool right, int more)
{
	struct lc__pixels image;
	struct lc__print print;

	ck_assert_int_eq(lc__pixels_new(72, 72, 0, &image), LC_OK);
	for (uint32_t y = 0; y < 72; y++)
		for (uint32_t x = 0; x < 72; x++) {
			const uint32_t grey = (right ? x : 71 - x) + (71 - y) + (uint32_t)more;
			lc__pixels_set(&image, x, y, grey << 16 | grey << 8 | grey);
		}
	ck_assert_int_eq(lc__print_of(&image, &print), LC_OK);
	lc__pixels_free(&image);
	return print;
}

START_TEST(prints_of_ramps)
{
	const struct lc__print right = print_of_ramp(true, 0), left = print_of_ramp(false, 0);
	const struct lc__print brighter = print_of_ramp(true, 20);
	const struct lc__print much = print_of_ramp(true, 60);

	ck_assert_uint_eq(right.bits[0], UINT64_MAX);
	ck_assert_uint_eq(right.bits[1], 0);
	ck_assert_uint_eq(left.bits[0], 0);
	ck_assert_uint_eq(left.bits[1], 0);
	ck_assert_uint_eq(right.colour[0], 71);
	ck_assert_double_eq(lc__print_distance(&right, &left), 0.5);
	ck_assert_double_eq(lc__print_distance(&right, &brighter), 0);
	ck_assert_double_eq(lc__print_distance(&right, &much), 1);
}
END_TEST

/* One field of the grid is dark. */
START_TEST(prints_of_a_spot)
{
	struct lc__pixels image;
	struct lc__print print;

	ck_assert_int_eq(lc__pixels_new(72, 72, 0xffffff, &image), LC_OK);
	/* Row 2 of 8 and column 4 of 9 across. */
	for (uint32_t y = 18; y < 27; y++)
		for (uint32_t x = 32; x < 40; x++)
			lc__pixels_set(&image, x, y, 0);
	ck_assert_int_eq(lc__print_of(&image, &print), LC_OK);
	/* Only the spot is darker than the field to its right. */
	ck_assert_uint_eq(print.bits[0], UINT64_C(1) << (2 * 8 + 4));
	lc__pixels_free(&image);
}
END_TEST

static uint64_t
random64(void)
{
	return (uint64_t)(rand() & 0xffff) << 48 | (uint64_t)(rand() & 0xffff) << 32 |
	    (uint64_t)(rand() & 0xffff) << 16 | (uint64_t)(rand() & 0xffff);
}

/* Families of prints that differ in a few bits, against all pairs. */
START_TEST(near_prints_are_all_found)
{
	enum { N = 600 };
	static const double limits[] = { 0, 0.008, 0.05, 0.1, 0.3 };
	struct lc__print prints[N], at[N];

	srand(11);
	for (size_t i = 0; i < N; i++) {
		prints[i] = (struct lc__print){ { random64(), random64() }, { 9, 9, 9 }, i };
		if (i % 6 == 0)
			continue;
		prints[i] = prints[i - i % 6];
		prints[i].item = i;
		for (int k = rand() % 9; k > 0; k--)
			prints[i].bits[rand() % 2] ^= UINT64_C(1) << rand() % 64;
	}
	for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		struct lc__pairs got = { .items = N }, want = { .items = N };
		memcpy(at, prints, sizeof(at));
		ck_assert_int_eq(lc__near_prints(at, N, limits[l], NULL, &got), LC_OK);
		for (size_t i = 0; i < N; i++)
			for (size_t k = i + 1; k < N; k++) {
				const double far = lc__print_distance(&prints[i], &prints[k]);
				if (far <= limits[l])
					ck_assert_int_eq(lc__pairs_add(&want, i, k, far), LC_OK);
			}
		ck_assert_int_eq(lc__pairs_end(&got), LC_OK);
		ck_assert_int_eq(lc__pairs_end(&want), LC_OK);
		ck_assert_uint_eq(got.n, want.n);
		if (l >= 2)
			ck_assert_uint_ge(got.n, 300);
		for (size_t i = 0; i < got.n; i++)
			ck_assert(got.all[i].a == want.all[i].a &&
			    got.all[i].b == want.all[i].b &&
			    got.all[i].distance == want.all[i].distance);
		lc__pairs_free(&got);
		lc__pairs_free(&want);
	}
}
END_TEST

/* ---- vectors ---------------------------------------------------------------------- */

static double
cosine_distance(const float *a, const float *b, size_t d)
{
	double ab = 0, aa = 0, bb = 0;

	for (size_t e = 0; e < d; e++) {
		ab += (double)a[e] * b[e];
		aa += (double)a[e] * a[e];
		bb += (double)b[e] * b[e];
	}
	return 1 - ab / sqrt(aa * bb);
}

START_TEST(near_vectors_are_all_found)
{
	enum { N = 500, D = 24 };
	static const double limits[] = { 0.001, 0.02, 0.3 };
	static float rows[N][D], at[N][D];
	static size_t items[N];

	srand(12);
	for (size_t i = 0; i < N; i++) {
		items[i] = i;
		for (size_t e = 0; e < D; e++) {
			const float noise = (float)(rand() % 2001 - 1000) / 1000;
			rows[i][e] = i % 5 == 0
			    ? noise
			    : (rows[i - i % 5][e] + noise * 0.04f * (float)(i % 5)) *
				(float)(i % 3 + 1);
		}
	}
	for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		struct lc__pairs got = { .items = N }, want = { .items = N };
		memcpy(at, rows, sizeof(at));
		ck_assert_int_eq(lc__near_vectors(at[0], items, N, D, limits[l], NULL, &got),
		    LC_OK);
		for (size_t i = 0; i < N; i++)
			for (size_t k = i + 1; k < N; k++) {
				const double far = cosine_distance(rows[i], rows[k], D);
				if (far <= limits[l])
					ck_assert_int_eq(lc__pairs_add(&want, i, k, far), LC_OK);
			}
		ck_assert_uint_eq(got.n, want.n);
		ck_assert_int_eq(lc__pairs_end(&got), LC_OK);
		ck_assert_int_eq(lc__pairs_end(&want), LC_OK);
		ck_assert_uint_eq(got.n, want.n);
		ck_assert_uint_ge(got.n, 20);
		for (size_t i = 0; i < got.n; i++)
			ck_assert_double_eq_tol(got.all[i].distance, want.all[i].distance, 1e-5);
		lc__pairs_free(&got);
		lc__pairs_free(&want);
	}
}
END_TEST

START_TEST(vectors_without_a_direction)
{
	float rows[4][2] = { { 0, 0 }, { 2, 0 }, { 0, 0 }, { 5, 0 } };
	const size_t items[] = { 3, 5, 7, 9 };
	struct lc__pairs pairs = { .items = 10 };

	ck_assert_int_eq(lc__near_vectors(rows[0], items, 4, 2, 0.01, NULL, &pairs), LC_OK);
	ck_assert_uint_eq(pairs.n, 1);
	ck_assert(pairs.all[0].a == 5 && pairs.all[0].b == 9);
	ck_assert_double_eq(pairs.all[0].distance, 0);
	ck_assert_int_eq(lc__near_vectors(rows[0], items, 0, 0, 0.01, NULL, &pairs), LC_OK);
	lc__pairs_free(&pairs);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("near");
	TCase *tc = tcase_create("near");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, pairs_are_a_forest);
	tcase_add_test(tc, many_pairs_are_reduced);
	tcase_add_test(tc, prints_of_ramps);
	tcase_add_test(tc, prints_of_a_spot);
	tcase_add_test(tc, near_prints_are_all_found);
	tcase_add_test(tc, near_vectors_are_all_found);
	tcase_add_test(tc, vectors_without_a_direction);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
