/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"

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

START_TEST(the_seven)
{
	static const lc_bucket want[] = { { 1024, 1024 }, { 832, 1216 },
		{ 1216, 832 }, { 768, 1280 }, { 1280, 768 }, { 704, 1344 },
		{ 1344, 704 } };
	size_t n = 99;
	const lc_bucket *got = lc_buckets_default(&n);

	ck_assert_uint_eq(n, 7);
	ck_assert_int_eq(memcmp(got, want, sizeof(want)), 0);
	ck_assert_ptr_eq(lc_buckets_default(NULL), got);
}
END_TEST

START_TEST(nearest_of_seven)
{
	ck_assert_uint_eq(lc_bucket_nearest(lc_buckets_default(NULL), 7,
	    images[_i].width, images[_i].height), images[_i].nearest);
}
END_TEST

/* Ratios that differ behind what a double holds, and equal ones. */
START_TEST(nearest_is_exact)
{
	static const lc_bucket far[] = { { 4294967295u, 4294967294u },
		{ 4294967294u, 4294967293u } };
	static const lc_bucket back[] = { { 4294967294u, 4294967293u },
		{ 4294967295u, 4294967294u } };
	static const lc_bucket equal[] = { { 1, 9 }, { 2, 1 }, { 4, 2 },
		{ 1, 1 }, { 640, 320 } };

	ck_assert_uint_eq(lc_bucket_nearest(far, 2, 7, 7), 0);
	ck_assert_uint_eq(lc_bucket_nearest(back, 2, 7, 7), 1);
	ck_assert_uint_eq(lc_bucket_nearest(far, 2, 4294967295u, 4294967295u), 0);
	ck_assert_uint_eq(lc_bucket_nearest(equal, 5, 200, 100), 1);
	/* 3:2 is as far from 2:1 as from 1:1. */
	ck_assert_uint_eq(lc_bucket_nearest(equal, 5, 3, 2), 1);
	ck_assert_uint_eq(lc_bucket_nearest(equal + 3, 2, 3, 2), 0);
}
END_TEST

__extension__ typedef unsigned __int128 wide;

/* |w/h - bucket|, times h and the heights of both that are compared. */
static wide
distance(lc_bucket bucket, uint32_t other_height, uint32_t w, uint32_t h)
{
	const wide a = (wide)w * bucket.height, b = (wide)bucket.width * h;

	return (a > b ? a - b : b - a) * other_height;
}

static size_t
slow_nearest(const lc_bucket *buckets, size_t n, uint32_t w, uint32_t h)
{
	size_t best = 0;

	for (size_t i = 1; i < n; i++)
		if (distance(buckets[i], buckets[best].height, w, h) <
		    distance(buckets[best], buckets[i].height, w, h))
			best = i;
	return best;
}

/* Small sides are often equally near; the largest need every bit. */
START_TEST(nearest_of_random)
{
	static const uint64_t most[] = { 5, 40, 2000, UINT32_MAX };
	uint64_t seed = run_seed();

	for (int round = 0; round < 40000; round++) {
		const uint64_t sides = most[round % 4];
		lc_bucket buckets[8];
		const size_t n = 1 + run_random(&seed) % 8;
		const uint32_t w = 1 + (uint32_t)(run_random(&seed) % sides);
		const uint32_t h = 1 + (uint32_t)(run_random(&seed) % sides);
		for (size_t i = 0; i < n; i++)
			buckets[i] = (lc_bucket){
				1 + (uint32_t)(run_random(&seed) % sides),
				1 + (uint32_t)(run_random(&seed) % sides) };
		/* Two of almost the same ratio. */
		if (n > 1 && buckets[0].width < UINT32_MAX)
			buckets[n - 1] = (lc_bucket){ buckets[0].width + 1,
				buckets[0].height };
		ck_assert_uint_eq(lc_bucket_nearest(buckets, n, w, h),
		    slow_nearest(buckets, n, w, h));
	}
}
END_TEST

/* ---- learning ---------------------------------------------------------------- */

static void
check_learned(const double *ratios, size_t count, size_t k, uint64_t area,
    uint32_t quantum, const lc_bucket *want, size_t n_want)
{
	lc_bucket got[LC_BUCKETS_MAX];
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
	ck_assert_int_eq(lc_buckets_learn(copy, count, k, area, quantum, got, &n),
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
	static const lc_bucket two_want[] = { { 832, 1280 }, { 1280, 832 } };
	static const double same[] = { 1, 1, 1, 1, 1 };
	static const lc_bucket same_want[] = { { 1024, 1024 } };
	static const double one[] = { 1e12 };
	static const lc_bucket one_want[] = { { 65472, 64 } };
	static const double three[] = { 0.5, 1, 1, 1, 2 };
	static const lc_bucket three_want[] = { { 453, 905 }, { 640, 640 },
		{ 905, 453 } };
	/* The middle of what is evenly spread on both sides. */
	static const double spread[] = { 0.25, 0.5, 1, 2, 4 };
	static const lc_bucket spread_want[] = { { 64, 64 } };
	static const double ends[] = { 5e-324, 1.7976931348623157e308 };
	static const lc_bucket ends_want[] = { { 1, 65535 }, { 65535, 1 } };

	check_learned(two, ROWS(two), 2, 1 << 20, 64, two_want, 2);
	check_learned(same, ROWS(same), 7, 1 << 20, 64, same_want, 1);
	check_learned(one, 1, 1, 1 << 20, 64, one_want, 1);
	check_learned(three, ROWS(three), 3, 640 * 640, 1, three_want, 3);
	check_learned(spread, ROWS(spread), 1, 64 * 64, 1, spread_want, 1);
	check_learned(ends, 2, 2, 1 << 20, 1, ends_want, 2);
	check_learned(ends, 2, LC_BUCKETS_MAX, 1 << 20, 1, ends_want, 2);
}
END_TEST

/* Most images are square, so that the middles of all parts are: yet what else there is
 * gets buckets. */
START_TEST(learned_of_mostly_squares)
{
	static const lc_bucket want[] = { { 512, 2048 }, { 724, 1448 }, { 1024, 1024 },
		{ 1448, 724 }, { 2048, 512 } };
	double ratios[1000];

	for (int i = 0; i < 1000; i++)
		ratios[i] = 1;
	ratios[17] = 2;
	ratios[400] = 0.25;
	ratios[401] = 0.5;
	ratios[999] = 4;
	check_learned(ratios, 1000, 5, 1 << 20, 4, want, 5);
	/* As many as there are ratios, and no more. */
	check_learned(ratios, 1000, 6, 1 << 20, 4, want, 5);
	check_learned(ratios, 1000, LC_BUCKETS_MAX, 1 << 20, 4, want, 5);
}
END_TEST

/* Whatever is learned: ascending, of the quantum, and some image's nearest. */
START_TEST(learned_in_order)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 2000; round++) {
		lc_bucket got[LC_BUCKETS_MAX];
		double ratios[60];
		const size_t count = 1 + run_random(&seed) % 60;
		const size_t k = 1 + run_random(&seed) % LC_BUCKETS_MAX;
		const uint64_t area = 1 + run_random(&seed) % (1 << 22);
		const uint32_t quantum = 1 + (uint32_t)(run_random(&seed) %
		    (round % 7 == 0 ? 65535 : 100));
		size_t n = 0;
		for (size_t i = 0; i < count; i++)
			ratios[i] = (double)(1 + run_random(&seed) % 12) /
			    (double)(1 + run_random(&seed) % 12);
		ck_assert_int_eq(lc_buckets_learn(ratios, count, k, area, quantum, got,
		    &n), LC_OK);
		ck_assert(n >= 1 && n <= k && n <= count);
		for (size_t i = 0; i < n; i++) {
			ck_assert(got[i].width >= 1 && got[i].width <= 65535);
			ck_assert(got[i].height >= 1 && got[i].height <= 65535);
			ck_assert_uint_eq(got[i].width % quantum, 0);
			ck_assert_uint_eq(got[i].height % quantum, 0);
			ck_assert(i == 0 || (uint64_t)got[i - 1].width * got[i].height <
			    (uint64_t)got[i].width * got[i - 1].height);
		}
	}
}
END_TEST

/* What k-means ends at: no ratio is nearer to another bucket than to its own, so
 * clusters of real spread are told apart. */
START_TEST(learned_of_random)
{
	static const double centres[] = { 0.5, 0.75, 1.0, 1.333, 2.0 };
	uint64_t seed = run_seed();
	lc_bucket got[LC_BUCKETS_MAX];
	double ratios[1000];
	size_t n;

	for (int i = 0; i < 1000; i++)
		ratios[i] = centres[i % 5] *
		    exp(((double)(run_random(&seed) % 2001) - 1000) / 20000);
	ck_assert_int_eq(lc_buckets_learn(ratios, 1000, 5, 1 << 20, 32, got, &n),
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
	lc_bucket got[LC_BUCKETS_MAX];
	double good[2] = { 1, 2 }, zero[2] = { 1, 0 }, infinite[1] = { INFINITY },
	    none[1] = { NAN };
	size_t n = 77;

	ck_assert_int_eq(lc_buckets_learn(good, 0, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(good, 2, 0, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(good, 2, LC_BUCKETS_MAX + 1, 1, 1, got,
	    &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(good, 2, 1, 1, 0, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(good, 2, 1, 1, 65536, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(good, 2, 1, 0, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(zero, 2, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(infinite, 1, 1, 1, 1, got, &n),
	    LC_INVALID);
	ck_assert_int_eq(lc_buckets_learn(none, 1, 1, 1, 1, got, &n), LC_INVALID);
	ck_assert_uint_eq(n, 77);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("buckets");
	TCase *tc = tcase_create("buckets");

	tcase_add_test(tc, the_seven);
	tcase_add_loop_test(tc, nearest_of_seven, 0, ROWS(images));
	tcase_add_test(tc, nearest_is_exact);
	tcase_add_test(tc, nearest_of_random);
	tcase_add_test(tc, learned);
	tcase_add_test(tc, learned_of_mostly_squares);
	tcase_add_test(tc, learned_in_order);
	tcase_add_test(tc, learned_of_random);
	tcase_add_test(tc, not_learned);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
