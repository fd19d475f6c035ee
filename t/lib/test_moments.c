/* SPDX-License-Identifier: BSD-2-Clause */
/* Means and deviations beside those of a plain loop over long doubles. */
#include "need.h"
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "value/dtype.h"
#include "value/moments.h"

#define MOST 3000

/* What a loop over all elements finds. */
struct naive {
	uint64_t count, nan, infinite;
	long double mean, deviation, size, min, max; /* size: mean of the amounts */
};

/* An element, exactly. */
static long double
element(lc_dtype dtype, const void *p)
{
	uint64_t bits;

	memcpy(&bits, p, lc_dtype_size(dtype) < 8 ? 0 : 8);
	if (dtype == LC_U64)
		return (long double)bits;
	if (dtype == LC_I64)
		return (long double)(int64_t)bits;
	return (long double)lc__element_real(dtype, p);
}

static struct naive
count(lc_dtype dtype, const unsigned char *p, size_t n, size_t stride)
{
	struct naive out = { .min = (long double)INFINITY, .max = -(long double)INFINITY };
	long double sum = 0, amounts = 0, distances = 0;

	for (size_t i = 0; i < n; i++) {
		const long double x = element(dtype, p + i * stride);
		if (isnan(x)) {
			out.nan++;
			continue;
		}
		out.count++;
		out.infinite += isinf(x) != 0;
		sum += x;
		amounts += fabsl(x);
		out.min = fminl(out.min, x);
		out.max = fmaxl(out.max, x);
	}
	out.mean = sum / (long double)out.count;
	out.size = amounts / (long double)out.count;
	for (size_t i = 0; i < n; i++) {
		const long double x = element(dtype, p + i * stride);
		if (!isnan(x))
			distances += (x - out.mean) * (x - out.mean);
	}
	out.deviation = sqrtl(distances / (long double)out.count);
	return out;
}

static void
assert_near(double got, long double want, long double size, const char *what)
{
	if (isnan(want) || isinf(want))
		ck_assert_msg(isnan(want) ? isnan(got) : got == (double)want, "%s: %g, not %Lg",
		    what, got, want);
	else
		ck_assert_msg(fabsl((long double)got - want) <= 1e-15L * size, "%s: %.17g, not "
		    "%.19Lg", what, got, want);
}

static void
assert_same(const struct lc__moments *m, const struct naive *want)
{
	ck_assert_uint_eq(m->count, want->count);
	ck_assert_uint_eq(m->nan, want->nan);
	ck_assert_uint_eq(m->plus + m->minus, want->infinite);
	if (want->count == 0) {
		ck_assert(isnan(lc__moments_mean(m)) && isnan(lc__moments_deviation(m)));
		return;
	}
	ck_assert((long double)m->min.high + (long double)m->min.low == want->min);
	ck_assert((long double)m->max.high + (long double)m->max.low == want->max);
	assert_near(lc__moments_mean(m), want->mean, want->size, "mean");
	assert_near(lc__moments_deviation(m), want->infinite > 0 ? (long double)NAN :
	    want->deviation, want->size + want->deviation, "deviation");
}

/* Elements of a dtype: mostly random bits, and for wide floats numbers whose squares are
 * numbers as well. */
static void
fill(lc_dtype dtype, unsigned char *p, size_t n, uint64_t *seed)
{
	const size_t size = lc_dtype_size(dtype);

	for (size_t i = 0; i < n; i++, p += size) {
		const uint64_t r = run_random(seed);
		const double x = (r >> 60) == 0 ? (double)NAN : (r >> 60) == 1 && (r & 127) == 0 ?
		    ((r & 128) ? 1 : -1) * (double)INFINITY :
		    ldexp((double)(int64_t)(r << 8), (int)(r >> 40 & 63) - 70);
		const float f = (float)x;
		memcpy(p, &r, size < 8 ? size : 8);
		if (dtype == LC_F64)
			memcpy(p, &x, 8);
		if (dtype == LC_F32)
			memcpy(p, &f, 4);
	}
}

START_TEST(each_dtype)
{
	static const size_t counts[] = { 0, 1, 2, 7, 100, MOST };
	const lc_dtype dtype = (lc_dtype)_i;
	unsigned char *data = malloc(MOST * 8);
	uint64_t seed = run_seed();
	const size_t size = lc_dtype_size(dtype);

	if (!lc__dtype_is_number(dtype) || lc__dtype_is_complex(dtype)) {
		free(data);
		return;
	}
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		const size_t n = counts[k];
		struct lc__moments whole = { 0 }, merged = { 0 };
		fill(dtype, data, n, &seed);
		const struct naive want = count(dtype, data, n, size);
		lc__moments_add(&whole, dtype, data, n, size);
		assert_same(&whole, &want);

		/* In pieces, some of them empty. */
		for (size_t at = 0; at < n;) {
			struct lc__moments piece = { 0 };
			size_t some = run_random(&seed) % 50;
			if (some > n - at)
				some = n - at;
			lc__moments_add(&piece, dtype, data + at * size, some, size);
			lc__moments_merge(&merged, &piece);
			at += some;
		}
		assert_same(&merged, &want);

		/* Every second one. */
		struct lc__moments half = { 0 };
		const struct naive every = count(dtype, data, n / 2, 2 * size);
		lc__moments_add(&half, dtype, data, n / 2, 2 * size);
		assert_same(&half, &every);
	}
	free(data);
}
END_TEST

/* Where a plain sum of doubles is wrong. */
START_TEST(exact)
{
	const double cancelling[] = { 1e16, 1, -1e16 }, close[] = { 1e9 + 1, 1e9 + 2, 1e9 + 3 };
	const uint64_t large[] = { UINT64_MAX, UINT64_MAX, UINT64_MAX - 2 };
	const int64_t least[] = { INT64_MIN, INT64_MAX };
	const uint32_t wide[] = { UINT32_MAX, 0 };
	struct lc__moments m = { 0 };

	for (int i = 0; i < 1000; i++)
		lc__moments_add(&m, LC_F64, cancelling, 3, 8);
	ck_assert(lc__moments_mean(&m) == 1.0 / 3);
	m = (struct lc__moments){ 0 };
	for (int i = 0; i < 1000; i++)
		lc__moments_add(&m, LC_F64, close, 3, 8);
	ck_assert(lc__moments_mean(&m) == 1e9 + 2);
	ck_assert(lc__moments_deviation(&m) == sqrt(2.0 / 3));
	m = (struct lc__moments){ 0 };
	for (int i = 0; i < 1000; i++)
		lc__moments_add(&m, LC_U64, large, 3, 8);
	ck_assert(m.min.high == 0x1p64 && m.min.low == -3);
	ck_assert(m.max.high == 0x1p64 && m.max.low == -1);
	ck_assert(lc__moments_deviation(&m) == sqrt(8.0 / 9));
	m = (struct lc__moments){ 0 };
	lc__moments_add(&m, LC_I64, least, 2, 8);
	ck_assert(lc__moments_mean(&m) == -0.5);
	ck_assert(m.min.high == -0x1p63 && m.min.low == 0);
	ck_assert(m.max.high == 0x1p63 && m.max.low == -1);
	m = (struct lc__moments){ 0 };
	lc__moments_add(&m, LC_U32, wide, 2, 4);
	ck_assert(lc__moments_mean(&m) == UINT32_MAX / 2.0);
	ck_assert(lc__moments_deviation(&m) == UINT32_MAX / 2.0);
}
END_TEST

START_TEST(infinities)
{
	const float plus[] = { 1, INFINITY, NAN }, both[] = { -INFINITY, INFINITY, 3 };
	const double huge[] = { 1e200, -1e200 };
	struct lc__moments m = { 0 };

	ck_assert(isnan(lc__moments_mean(&m)) && isnan(lc__moments_deviation(&m)));
	lc__moments_add(&m, LC_F32, plus, 3, 4);
	ck_assert_uint_eq(m.count, 2);
	ck_assert_uint_eq(m.nan, 1);
	ck_assert(lc__moments_mean(&m) == (double)INFINITY);
	ck_assert(isnan(lc__moments_deviation(&m)));
	ck_assert(m.min.high == 1 && m.max.high == (double)INFINITY);
	lc__moments_add(&m, LC_F32, both, 3, 4);
	ck_assert(isnan(lc__moments_mean(&m)));
	ck_assert(m.min.high == -(double)INFINITY);
	m = (struct lc__moments){ 0 };
	lc__moments_add(&m, LC_F64, huge, 2, 8);
	ck_assert(lc__moments_mean(&m) == 0);
	ck_assert(lc__moments_deviation(&m) == (double)INFINITY);
}
END_TEST

/* Each channel has the elements whose index in that dimension is the channel's. */
START_TEST(channels)
{
	const uint64_t shape[] = { 2, 3, 4 };
	const lc_dtype dtypes[] = { LC_I16, LC_F16, LC_C64 };
	const lc_dtype dtype = dtypes[_i];
	const lc_dtype part = dtype == LC_C64 ? LC_F32 : dtype;
	const size_t parts = dtype == LC_C64 ? 2 : 1, size = lc_dtype_size(dtype);
	unsigned char data[24 * 8], picked[24 * 8];
	uint64_t seed = run_seed();
	lc_tensor tensor;

	fill(part, data, 24 * parts, &seed);
	assert_ok(lc_tensor_init(&tensor, dtype, 3, shape, data));
	for (uint32_t axis = 0; axis <= 3; axis++) {
		const uint32_t which = axis == 3 ? LC__MOMENTS_WHOLE : axis;
		struct lc__moments m[8] = { { 0 } };
		ck_assert_uint_eq(lc__moments_channels(&tensor, which),
		    (axis == 3 ? 1 : shape[axis]) * parts);
		lc__moments_tensor(m, &tensor, which);
		for (size_t c = 0; c < (axis == 3 ? 1 : shape[axis]); c++)
			for (size_t p = 0; p < parts; p++) {
				size_t n = 0;
				for (size_t i = 0; i < 24; i++) {
					const size_t at[] = { i / 12, i / 4 % 3, i % 4, 0 };
					if (at[axis] == c)
						memcpy(picked + n++ * (size / parts), data + i * size +
						    p * (size / parts), size / parts);
				}
				const struct naive want = count(part, picked, n, size / parts);
				assert_same(&m[c * parts + p], &want);
			}
	}
}
END_TEST

START_TEST(scalars_and_empty_ones)
{
	const uint64_t shape[] = { 3, 0, UINT64_MAX };
	const float seven = 7;
	struct lc__moments m[3] = { { 0 } };
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 0, NULL, &seven));
	ck_assert_uint_eq(lc__moments_channels(&tensor, LC__MOMENTS_WHOLE), 1);
	lc__moments_tensor(m, &tensor, LC__MOMENTS_WHOLE);
	ck_assert_uint_eq(m[0].count, 1);
	ck_assert(lc__moments_mean(m) == 7 && lc__moments_deviation(m) == 0);
	assert_ok(lc_tensor_init(&tensor, LC_F32, 2, shape, NULL));
	ck_assert_uint_eq(lc__moments_channels(&tensor, 0), 3);
	lc__moments_tensor(m, &tensor, 0);
	ck_assert_uint_eq(m[0].count + m[1].count + m[2].count, 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("moments");
	TCase *tcase = tcase_create("moments");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, each_dtype, 0, LC_DTYPE_COUNT);
	tcase_add_test(tcase, exact);
	tcase_add_test(tcase, infinities);
	tcase_add_loop_test(tcase, channels, 0, 3);
	tcase_add_test(tcase, scalars_and_empty_ones);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
