/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>

#include "report/histogram.h"

static struct lc__histogram
made_of(const double *values, size_t n)
{
	struct lc__histogram histogram;

	lc__histogram_init(&histogram, "x", "an x", 0, 10, 5);
	for (size_t i = 0; i < n; i++)
		lc__histogram_add(&histogram, values[i]);
	return histogram;
}

START_TEST(values_go_to_their_bins)
{
	const double values[] = { 0, 1.999, 2, 3, 9.999, 10, 25, -0.001, -4,
	    (double)NAN, 4 };
	const uint64_t counts[5] = { 2, 2, 1, 0, 1 };
	const struct lc__histogram got = made_of(values, 11);

	for (int i = 0; i < 5; i++)
		ck_assert_uint_eq(got.counts[i], counts[i]);
	ck_assert_uint_eq(got.below, 2);
	ck_assert_uint_eq(got.above, 2);
	ck_assert_uint_eq(got.n, 10);
	ck_assert_double_eq(got.least, -4);
	ck_assert_double_eq(got.most, 25);
	ck_assert_double_eq_tol(got.sum, 51.997, 1e-12);
	ck_assert_str_eq(got.name, "x");
	ck_assert_str_eq(got.title, "an x");
}
END_TEST

START_TEST(empty)
{
	const struct lc__histogram got = made_of(NULL, 0);

	ck_assert_uint_eq(got.n, 0);
	ck_assert(got.least > got.most);
	ck_assert(isnan(lc__histogram_quantile(&got, 0.5)));
}
END_TEST

/* Every edge, and the numbers just below and above it, for awkward widths. */
START_TEST(edges_decide)
{
	static const struct { double low, high; uint32_t bins; } rows[] = {
		{ 0, 1, 10 }, { 0, 0.7, 7 }, { -1.1, 1.1, 64 }, { 0, 1e-300, 3 },
		{ 1e9, 1e9 + 1, 64 }, { 0, 640, 64 }, { -1e300, 1e300, 64 }
	};
	struct lc__histogram got;

	for (uint32_t bin = 0; bin < rows[_i].bins; bin++) {
		lc__histogram_init(&got, "x", "x", rows[_i].low, rows[_i].high,
		    rows[_i].bins);
		lc__histogram_add(&got, lc__histogram_edge(&got, bin));
		ck_assert_uint_eq(got.counts[bin], 1);
		lc__histogram_add(&got, nextafter(lc__histogram_edge(&got, bin + 1),
		    -(double)INFINITY));
		ck_assert_uint_eq(got.counts[bin], 2);
	}
	ck_assert_double_eq(lc__histogram_edge(&got, 0), rows[_i].low);
	ck_assert_double_eq(lc__histogram_edge(&got, rows[_i].bins), rows[_i].high);
	lc__histogram_add(&got, rows[_i].high);
	ck_assert_uint_eq(got.above, 1);
}
END_TEST

START_TEST(quantiles)
{
	/* 4 in [0,2), 2 in [2,4), 2 in [8,10) */
	const double values[] = { 0, 0.5, 1, 1.5, 2, 3, 8, 9 };
	const struct { double q, want; } rows[] = {
		{ 0, 0 }, { 0.25, 1 }, { 0.5, 2 }, { 0.625, 3 }, { 0.75, 4 },
		{ 0.875, 9 }, { 1, 9 }
	};
	const struct lc__histogram got = made_of(values, 8);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_double_eq(lc__histogram_quantile(&got, rows[i].q),
		    rows[i].want);
}
END_TEST

START_TEST(quantiles_outside)
{
	const double values[] = { -10, -5, 20, 30 };
	const double far[] = { -(double)INFINITY, 5, (double)INFINITY };
	struct lc__histogram got = made_of(values, 4);

	ck_assert_double_eq(lc__histogram_quantile(&got, 0), -10);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.25), -5);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.5), 0);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.75), 20);
	ck_assert_double_eq(lc__histogram_quantile(&got, 1), 30);
	got = made_of(far, 3);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.1), -(double)INFINITY);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.5), 5);
	ck_assert_double_eq(lc__histogram_quantile(&got, 0.9), (double)INFINITY);
}
END_TEST

/* Against the sorted values: never further away than a bin is wide. */
START_TEST(quantiles_of_random_values)
{
	uint64_t state = run_seed();
	struct lc__histogram got;
	double sum = 0;
	enum { n = 10000 };
	static uint64_t seen[1000];
	uint64_t rank = 0;

	lc__histogram_init(&got, "x", "x", 0, 1000, 50);
	for (int i = 0; i < n; i++) {
		const uint64_t value = run_random(&state) % 1000;
		seen[value]++;
		sum += (double)value;
		lc__histogram_add(&got, (double)value);
	}
	ck_assert_double_eq(got.sum, sum);
	for (int value = 0; value < 1000; value++) {
		const double q = (double)(rank + seen[value]) / n;
		rank += seen[value];
		ck_assert_double_eq_tol(lc__histogram_quantile(&got, q), value, 21);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("histogram");
	TCase *tc = tcase_create("histogram");

	tcase_add_test(tc, values_go_to_their_bins);
	tcase_add_test(tc, empty);
	tcase_add_loop_test(tc, edges_decide, 0, 7);
	tcase_add_test(tc, quantiles);
	tcase_add_test(tc, quantiles_outside);
	tcase_add_test(tc, quantiles_of_random_values);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
