/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/transform.h"

/* A half from its bits, exactly. */
static double
half_value(uint16_t half)
{
	const int exponent = half >> 10;

	return exponent == 0 ? ldexp(half, -24) :
	    ldexp(1024 + (half & 1023), exponent - 25);
}

/* Is value nearer to v / 255 than the two beside it, or as near and even? All
 * products are exact in double: at most 24 + 8 bits. */
static void
check_nearest(int v, double value, double below, double above, bool even)
{
	const double away = fabs(value * 255 - v);

	ck_assert_double_le(away, fabs(below * 255 - v));
	ck_assert_double_le(away, fabs(above * 255 - v));
	if (away == fabs(below * 255 - v) || away == fabs(above * 255 - v))
		ck_assert(even);
}

START_TEST(all_values)
{
	uint8_t samples[256];
	uint16_t halves[256];
	float floats[256];

	for (int v = 0; v < 256; v++)
		samples[v] = (uint8_t)v;
	ck_assert_int_eq(lc__planes_convert(samples, 256, LC_F16, halves), LC_OK);
	ck_assert_int_eq(lc__planes_convert(samples, 256, LC_F32, floats), LC_OK);
	ck_assert_uint_eq(halves[0], 0);
	ck_assert_uint_eq(halves[255], 0x3c00);
	ck_assert_float_eq(floats[0], 0);
	ck_assert_float_eq(floats[255], 1);
	for (int v = 1; v < 256; v++) {
		check_nearest(v, half_value(halves[v]),
		    half_value((uint16_t)(halves[v] - 1)),
		    half_value((uint16_t)(halves[v] + 1)), halves[v] % 2 == 0);
		check_nearest(v, floats[v], nextafterf(floats[v], -1),
		    nextafterf(floats[v], 2), false);
	}
}
END_TEST

/* Whatever the number and the place, one value is one element: what the vectors
 * do not hold is converted otherwise. */
START_TEST(all_sizes)
{
	uint64_t seed = run_seed();
	uint8_t samples[200], all[256], bytes[200];
	uint16_t halves[256], half[200];
	float floats[256], wide[200];

	for (int v = 0; v < 256; v++) {
		/* One at a time is never a vector. */
		all[v] = (uint8_t)v;
		ck_assert_int_eq(lc__planes_convert(&all[v], 1, LC_F16, &halves[v]),
		    LC_OK);
		ck_assert_int_eq(lc__planes_convert(&all[v], 1, LC_F32, &floats[v]),
		    LC_OK);
	}
	for (int round = 0; round < 2000; round++) {
		const size_t from = run_random(&seed) % 32;
		const size_t n = run_random(&seed) % (150 - from);
		for (size_t i = 0; i < 200; i++)
			samples[i] = (uint8_t)run_random(&seed);
		memset(half, 0xee, sizeof(half));
		ck_assert_int_eq(lc__planes_convert(samples + from, n, LC_F16, half),
		    LC_OK);
		ck_assert_int_eq(lc__planes_convert(samples + from, n, LC_F32, wide),
		    LC_OK);
		ck_assert_int_eq(lc__planes_convert(samples + from, n, LC_U8, bytes),
		    LC_OK);
		for (size_t i = 0; i < n; i++) {
			ck_assert_uint_eq(half[i], halves[samples[from + i]]);
			ck_assert_float_eq(wide[i], floats[samples[from + i]]);
			ck_assert_uint_eq(bytes[i], samples[from + i]);
		}
		ck_assert_uint_eq(half[n], 0xeeee);
	}
}
END_TEST

START_TEST(other_dtypes)
{
	double out[1];

	ck_assert_int_eq(lc__planes_convert((const uint8_t *)"a", 1, LC_F64, out),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, "no pixels as f64");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("convert");
	TCase *tc = tcase_create("convert");

	tcase_add_test(tc, all_values);
	tcase_add_test(tc, all_sizes);
	tcase_add_test(tc, other_dtypes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
