/* SPDX-License-Identifier: BSD-2-Clause */
/* Principal components of vectors that were made to have them. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/pca.h"

/* Along three orthogonal directions, at the distances 3, 2 and 1 on both sides of a
 * centre: sums of squares 18, 8 and 2 of 6 vectors. */
START_TEST(known_components)
{
	static const double axes[3][3] = { { 2 / 3.0, 2 / 3.0, 1 / 3.0 },
		{ -2 / 3.0, 1 / 3.0, 2 / 3.0 }, { 1 / 3.0, -2 / 3.0, 2 / 3.0 } };
	static const double signs[3] = { 1, -1, -1 }; /* the first largest element is positive */
	static const double centre[3] = { 10, -20, 30 };
	float vectors[6][3];
	struct lc__pca pca;

	for (int i = 0; i < 6; i++)
		for (int e = 0; e < 3; e++)
			vectors[i][e] = (float)(centre[e] +
			    axes[i / 2][e] * (3 - i / 2) * (i % 2 == 0 ? 1 : -1));
	ck_assert_int_eq(lc__pca_find(vectors[0], 6, 3, 2, 0, NULL, &pca), LC_OK);
	ck_assert_uint_eq(pca.k, 2);
	ck_assert_double_eq_tol(pca.total, 28 / 6.0, 1e-5);
	ck_assert_double_eq_tol(pca.variance[0], 18 / 6.0, 1e-5);
	ck_assert_double_eq_tol(pca.variance[1], 8 / 6.0, 1e-5);
	for (int e = 0; e < 3; e++) {
		ck_assert_double_eq_tol(pca.mean[e], centre[e], 1e-6);
		ck_assert_double_eq_tol(pca.axes[e], signs[0] * axes[0][e], 1e-5);
		ck_assert_double_eq_tol(fabs(pca.axes[3 + e]), fabs(axes[1][e]), 1e-5);
	}
	for (int i = 0; i < 6; i++) {
		double at[2];
		lc__pca_project(&pca, vectors[i], at);
		ck_assert_double_eq_tol(at[0], i == 0 ? 3 : i == 1 ? -3 : 0, 1e-5);
		ck_assert_double_eq_tol(fabs(at[1]), i / 2 == 1 ? 2 : 0, 1e-5);
	}
	lc__pca_free(&pca);
}
END_TEST

/* Covariance times axis is variance times axis; axes are of length 1 and orthogonal. */
START_TEST(components_of_noise)
{
	enum { N = 500, D = 40, K = LC__PCA_MOST };
	static float vectors[N][D];
	struct lc__pca pca, again;
	double sum = 0;

	srand(1);
	for (int i = 0; i < N; i++)
		for (int e = 0; e < D; e++)
			vectors[i][e] = (float)(rand() % 2001 - 1000) / (float)(e + 1) +
			    (float)(e * 7);
	ck_assert_int_eq(lc__pca_find(vectors[0], N, D, K, 0, NULL, &pca), LC_OK);
	for (int a = 0; a < K; a++) {
		const double *axis = pca.axes + a * D;
		double got[D] = { 0 };
		for (int i = 0; i < N; i++) {
			double dot = 0;
			for (int e = 0; e < D; e++)
				dot += (vectors[i][e] - pca.mean[e]) * axis[e];
			for (int e = 0; e < D; e++)
				got[e] += dot * (vectors[i][e] - pca.mean[e]) / N;
		}
		for (int e = 0; e < D; e++)
			ck_assert_double_eq_tol(got[e], pca.variance[a] * axis[e],
			    pca.variance[0] * 1e-4);
		for (int b = 0; b <= a; b++) {
			double dot = 0;
			for (int e = 0; e < D; e++)
				dot += axis[e] * pca.axes[b * D + e];
			ck_assert_double_eq_tol(dot, a == b, 1e-9);
		}
		if (a > 0)
			ck_assert_double_le(pca.variance[a], pca.variance[a - 1]);
		sum += pca.variance[a];
	}
	ck_assert_double_lt(sum, pca.total);
	ck_assert_double_gt(sum, 0.9 * pca.total);
	/* The same bits again. */
	ck_assert_int_eq(lc__pca_find(vectors[0], N, D, K, 0, NULL, &again), LC_OK);
	ck_assert_int_eq(memcmp(pca.axes, again.axes, K * D * sizeof(double)), 0);
	ck_assert_int_eq(memcmp(pca.variance, again.variance, sizeof(pca.variance)), 0);
	lc__pca_free(&pca);
	lc__pca_free(&again);
}
END_TEST

/* Fewer directions than are asked for: the others are 0. */
START_TEST(vectors_on_a_line)
{
	float vectors[4][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 3 } };
	struct lc__pca pca;
	double at[2];

	ck_assert_int_eq(lc__pca_find(vectors[0], 4, 2, 2, 0, NULL, &pca), LC_OK);
	ck_assert_double_eq_tol(pca.total, 2.5, 1e-12);
	ck_assert_double_eq_tol(pca.variance[0], 2.5, 1e-12);
	ck_assert_double_eq_tol(pca.variance[1], 0, 1e-12);
	lc__pca_project(&pca, vectors[3], at);
	ck_assert_double_eq_tol(at[0], 1.5 * sqrt(2), 1e-12);
	ck_assert_double_eq_tol(at[1], 0, 1e-12);
	lc__pca_free(&pca);

	ck_assert_int_eq(lc__pca_find(vectors[0], 4, 2, 9, 0, NULL, &pca), LC_OK);
	ck_assert_uint_eq(pca.k, 2);
	lc__pca_free(&pca);

	memset(vectors, 0, sizeof(vectors));
	ck_assert_int_eq(lc__pca_find(vectors[0], 4, 2, 2, 0, NULL, &pca), LC_OK);
	ck_assert_double_eq(pca.total, 0);
	lc__pca_project(&pca, vectors[0], at);
	ck_assert_double_eq(at[0], 0);
	lc__pca_free(&pca);
}
END_TEST

static int
stop(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx, (void)done, (void)total;
	return 1;
}

START_TEST(it_can_be_stopped)
{
	const float vectors[4] = { 1, 2, 3, 5 };
	const lc_progress progress = { .step = stop };
	struct lc__pca pca;

	ck_assert_int_eq(lc__pca_find(vectors, 2, 2, 1, 0, &progress, &pca), LC_CANCELLED);
	lc__pca_free(&pca);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pca");
	TCase *tc = tcase_create("pca");

	tcase_add_test(tc, known_components);
	tcase_add_test(tc, components_of_noise);
	tcase_add_test(tc, vectors_on_a_line);
	tcase_add_test(tc, it_can_be_stopped);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
