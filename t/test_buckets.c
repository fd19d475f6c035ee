/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "etl/buckets.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* ---- the nearest ------------------------------------------------------------- */

static const struct {
	uint32_t width, height;
	size_t nearest; /* of the seven */
} images[] = {
	{ 1024, 1024, 0 }, { 1, 1, 0 }, { 4000, 3000, 2 }, { 3000, 4000, 1 },
	{ 3000, 2000, 2 }, { 2000, 3000, 1 }, { 1920, 1080, 4 }, { 1080, 1920, 3 },
	{ 1000, 1000000, 5 }, { 1000000, 1000, 6 }, { 1280, 768, 4 },
	{ 768, 1280, 3 }, { 704, 1344, 5 }, { 1344, 704, 6 }, { 1216, 832, 2 },
};

START_TEST(nearest_of_seven)
{
	ck_assert_uint_eq(lc__bucket_nearest(lc__buckets_default, 7,
	    images[_i].width, images[_i].height), images[_i].nearest);
}
END_TEST

/* Ratios that differ behind what a double holds, and equal ones. */
START_TEST(nearest_is_exact)
{
	static const struct lc__bucket far[] = { { 4294967295u, 4294967294u },
		{ 4294967294u, 4294967293u } };
	static const struct lc__bucket back[] = { { 4294967294u, 4294967293u },
		{ 4294967295u, 4294967294u } };
	static const struct lc__bucket equal[] = { { 1, 9 }, { 2, 1 }, { 4, 2 },
		{ 1, 1 }, { 640, 320 } };

	ck_assert_uint_eq(lc__bucket_nearest(far, 2, 7, 7), 0);
	ck_assert_uint_eq(lc__bucket_nearest(back, 2, 7, 7), 1);
	ck_assert_uint_eq(lc__bucket_nearest(far, 2, 4294967295u, 4294967295u), 0);
	ck_assert_uint_eq(lc__bucket_nearest(equal, 5, 200, 100), 1);
	/* 3:2 is as far from 2:1 as from 1:1. */
	ck_assert_uint_eq(lc__bucket_nearest(equal, 5, 3, 2), 1);
	ck_assert_uint_eq(lc__bucket_nearest(equal + 3, 2, 3, 2), 0);
}
END_TEST

/* Against |a/b - c/d| on one denominator, for sizes where that fits 64 bits. */
START_TEST(nearest_of_random)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 20000; round++) {
		struct lc__bucket buckets[8];
		const size_t n = 1 + run_random(&seed) % 8;
		const uint32_t w = 1 + (uint32_t)(run_random(&seed) % 500);
		const uint32_t h = 1 + (uint32_t)(run_random(&seed) % 500);
		size_t best = 0;
		for (size_t i = 0; i < n; i++)
			buckets[i] = (struct lc__bucket){
				1 + (uint32_t)(run_random(&seed) % 40),
				1 + (uint32_t)(run_random(&seed) % 40) };
		for (size_t i = 1; i < n; i++) {
			const int64_t a = llabs((int64_t)w * buckets[i].height -
			    (int64_t)h * buckets[i].width) * buckets[best].height;
			const int64_t b = llabs((int64_t)w * buckets[best].height -
			    (int64_t)h * buckets[best].width) * buckets[i].height;
			if (a < b)
				best = i;
		}
		ck_assert_uint_eq(lc__bucket_nearest(buckets, n, w, h), best);
	}
}
END_TEST

/* ---- learning ---------------------------------------------------------------- */

static void
check_learned(const double *ratios, size_t count, size_t k, uint64_t area,
    uint32_t quantum, const struct lc__bucket *want, size_t n_want)
{
	struct lc__bucket got[LC__BUCKETS_MAX];
	double *copy = calloc(count, sizeof(*copy));
	uint64_t seed = run_seed();
	size_t n = 99;

	memcpy(copy, ratios, count * sizeof(*copy));
	/* The order must not matter. */
	for (size_t i = count - 1; i > 0; i--) {
		const size_t j = run_random(&seed) % (i + 1);
		const double swapped = copy[i];
		copy[i] = copy[j];
		copy[j] = swapped;
	}
	ck_assert_int_eq(lc__buckets_learn(copy, count, k, area, quantum, got, &n),
	    LC_OK);
	for (size_t i = 1; i < count; i++)
		ck_assert_double_le(copy[i - 1], copy[i]);
	ck_assert_uint_eq(n, n_want);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(got[i].width, want[i].width);
		ck_assert_uint_eq(got[i].height, want[i].height);
	}
	free(copy);
}

START_TEST(learned)
{
	static const double two[] = { 1.5, 1.49, 1.51, 1.5, 0.66, 0.67, 2.0 / 3 };
	static const struct lc__bucket two_want[] = { { 832, 1280 }, { 1280, 832 } };
	static const double same[] = { 1, 1, 1, 1, 1 };
	static const struct lc__bucket same_want[] = { { 1024, 1024 } };
	static const double one[] = { 1e12 };
	static const struct lc__bucket one_want[] = { { 65472, 64 } };
	static const double three[] = { 0.5, 1, 1, 1, 2 };
	static const struct lc__bucket three_want[] = { { 453, 905 }, { 640, 640 },
		{ 905, 453 } };

	check_learned(two, ROWS(two), 2, 1 << 20, 64, two_want, 2);
	check_learned(same, ROWS(same), 7, 1 << 20, 64, same_want, 1);
	check_learned(one, 1, 1, 1 << 20, 64, one_want, 1);
	check_learned(three, ROWS(three), 3, 640 * 640, 1, three_want, 3);
}
END_TEST

/* What k-means ends at: no ratio is nearer to another bucket than to its own, so
 * clusters of real spread are told apart. */
START_TEST(learned_of_random)
{
	static const double centres[] = { 0.5, 0.75, 1.0, 1.333, 2.0 };
	uint64_t seed = run_seed();
	struct lc__bucket got[LC__BUCKETS_MAX];
	double ratios[1000];
	size_t n;

	for (int i = 0; i < 1000; i++)
		ratios[i] = centres[i % 5] *
		    exp(((double)(run_random(&seed) % 2001) - 1000) / 20000);
	ck_assert_int_eq(lc__buckets_learn(ratios, 1000, 5, 1 << 20, 32, got, &n),
	    LC_OK);
	ck_assert_uint_eq(n, 5);
	for (int i = 0; i < 5; i++) {
		const double ratio = (double)got[i].width / got[i].height;
		ck_assert_double_lt(fabs(log(ratio / centres[i])), 0.1);
		ck_assert_uint_eq(got[i].width % 32, 0);
		ck_assert_uint_eq(got[i].height % 32, 0);
	}
}
END_TEST

START_TEST(not_learned)
{
	struct lc__bucket got[LC__BUCKETS_MAX];
	double good[2] = { 1, 2 }, zero[2] = { 1, 0 }, infinite[1] = { INFINITY },
	    none[1] = { NAN };
	size_t n = 77;

	ck_assert_int_eq(lc__buckets_learn(good, 0, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(good, 2, 0, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(good, 2, LC__BUCKETS_MAX + 1, 1, 1, got,
	    &n), LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(good, 2, 1, 1, 0, got, &n), LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(zero, 2, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(infinite, 1, 1, 1, 1, got, &n),
	    LC_INVALID);
	ck_assert_int_eq(lc__buckets_learn(none, 1, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_uint_eq(n, 77);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("buckets");
	TCase *tc = tcase_create("buckets");

	tcase_add_loop_test(tc, nearest_of_seven, 0, ROWS(images));
	tcase_add_test(tc, nearest_is_exact);
	tcase_add_test(tc, nearest_of_random);
	tcase_add_test(tc, learned);
	tcase_add_test(tc, learned_of_random);
	tcase_add_test(tc, not_learned);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
