/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "value/dtype.h"
#include "value/finite.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

/* All that may be tolerated. */
static const struct lc__finite policies[] = {
	{ false, false }, { true, false }, { false, true }, { true, true },
};

static const struct kind {
	lc_dtype part;   /* one real number of it */
	lc_dtype dtype;
	unsigned parts;
} kinds[] = {
	{ LC_F16, LC_F16, 1 }, { LC_BF16, LC_BF16, 1 }, { LC_F32, LC_F32, 1 },
	{ LC_F64, LC_F64, 1 }, { LC_F8_E4M3, LC_F8_E4M3, 1 },
	{ LC_F8_E5M2, LC_F8_E5M2, 1 }, { LC_F32, LC_C64, 2 }, { LC_F64, LC_C128, 2 },
	{ LC_F8_E8M0, LC_F8_E8M0, 1 }, { LC_F8_E4M3FNUZ, LC_F8_E4M3FNUZ, 1 },
	{ LC_F8_E5M2FNUZ, LC_F8_E5M2FNUZ, 1 }, { LC_F16, LC_C32, 2 },
};

/* ---- the slow model ---------------------------------------------------------- */

static const char *
name_of(lc_dtype part, const unsigned char *p, struct lc__finite may)
{
	const double number = lc__element_real(part, p);

	if (isnan(number))
		return may.nan ? NULL : "NaN";
	if (isinf(number))
		return may.inf ? NULL : number < 0 ? "-Inf" : "Inf";
	return NULL;
}

/* Check @p n elements, as a vector. */
static void
check(const struct kind *kind, const unsigned char *data, size_t n,
    struct lc__finite may)
{
	const size_t size = lc_dtype_size(kind->part);
	char want[60] = "";
	const uint64_t shape[1] = { n };
	lc_tensor tensor;

	for (size_t i = 0; i < n * kind->parts; i++) {
		const char *name = name_of(kind->part, data + i * size, may);
		if (name == NULL)
			continue;
		snprintf(want, sizeof(want), "%s at [%zu]", name, i / kind->parts);
		break;
	}
	ck_assert_int_eq(lc_tensor_init(&tensor, kind->dtype, 1, shape, data), LC_OK);
	ck_assert_int_eq(lc__finite_tensor(&tensor, may), *want ? LC_INVALID : LC_OK);
	if (*want)
		ck_assert_str_eq(lc_last_error()->text, want);
}

/* ---- every pattern ----------------------------------------------------------- */

static const struct {
	int kind; /* of kinds */
	unsigned patterns, nan, inf;
} small[] = {
	{ 0, 65536, 2046, 2 }, { 1, 65536, 254, 2 }, { 4, 256, 2, 0 },
	{ 5, 256, 6, 2 }, { 8, 256, 1, 0 }, { 9, 256, 1, 0 }, { 10, 256, 1, 0 },
};

/* Alone, and among as many others as fill some words. */
START_TEST(every_pattern)
{
	const struct kind *kind = &kinds[small[_i].kind];
	const size_t size = lc_dtype_size(kind->part);
	unsigned char data[32] = { 0 };
	unsigned nan = 0, inf = 0;
	lc_tensor one;

	ck_assert_int_eq(lc_tensor_init(&one, kind->dtype, 0, NULL, data), LC_OK);
	for (unsigned bits = 0; bits < small[_i].patterns; bits++) {
		const size_t at = bits * 7 % (sizeof(data) / size) * size;
		const unsigned char pattern[2] = { bits & 0xff, bits >> 8 & 0xff };
		for (int p = 0; p < 4; p++) {
			memset(data, 0, sizeof(data));
			memcpy(data, pattern, size);
			check(kind, data, 1, policies[p]);
			memset(data, 0x3c, sizeof(data));
			memcpy(data + at, pattern, size);
			check(kind, data, sizeof(data) / size, policies[p]);
		}
		memcpy(data, pattern, size);
		nan += lc__finite_tensor(&one, (struct lc__finite){ .inf = true }) !=
		    LC_OK;
		inf += lc__finite_tensor(&one, (struct lc__finite){ .nan = true }) !=
		    LC_OK;
	}
	ck_assert_uint_eq(nan, small[_i].nan);
	ck_assert_uint_eq(inf, small[_i].inf);
}
END_TEST

/* All that are numbers side by side: no carry makes one of them anything else. */
START_TEST(every_number)
{
	const struct kind *kind = &kinds[small[_i].kind];
	const size_t size = lc_dtype_size(kind->part);
	unsigned char *data = malloc(2 * small[_i].patterns * size);
	size_t n = 0;

	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < small[_i].patterns; i++) {
			const unsigned bits = round ? i * 40503u % small[_i].patterns : i;
			const unsigned char pattern[2] = { bits & 0xff,
				bits >> 8 & 0xff };
			if (isfinite(lc__element_real(kind->part, pattern)))
				memcpy(data + n++ * size, pattern, size);
		}
	ck_assert_uint_eq(n, 2 * (small[_i].patterns - small[_i].nan -
	    small[_i].inf));
	for (int p = 0; p < 4; p++)
		check(kind, data, n, policies[p]);
	free(data);
}
END_TEST

/* ---- special values ---------------------------------------------------------- */

static const struct {
	lc_dtype dtype;
	uint64_t bits;
	const char *name; /* NULL: a number */
} special[] = {
	{ LC_F32, 0, NULL }, { LC_F32, 0x80000000, NULL }, { LC_F32, 1, NULL },
	{ LC_F32, 0x007fffff, NULL }, { LC_F32, 0x807fffff, NULL },
	{ LC_F32, 0x7f7fffff, NULL }, { LC_F32, 0xff7fffff, NULL },
	{ LC_F32, 0x7f800000, "Inf" }, { LC_F32, 0xff800000, "-Inf" },
	{ LC_F32, 0x7f800001, "NaN" }, { LC_F32, 0xff800001, "NaN" },
	{ LC_F32, 0x7fc00000, "NaN" }, { LC_F32, 0x7fffffff, "NaN" },
	{ LC_F32, 0xffffffff, "NaN" },
	{ LC_F64, 0, NULL }, { LC_F64, 0x8000000000000000, NULL }, { LC_F64, 1, NULL },
	{ LC_F64, 0x000fffffffffffff, NULL }, { LC_F64, 0x7fefffffffffffff, NULL },
	{ LC_F64, 0xffefffffffffffff, NULL }, { LC_F64, 0x7ff0000000000000, "Inf" },
	{ LC_F64, 0xfff0000000000000, "-Inf" }, { LC_F64, 0x7ff0000000000001, "NaN" },
	{ LC_F64, 0xfff0000000000001, "NaN" }, { LC_F64, 0x7ff8000000000000, "NaN" },
	{ LC_F64, 0x7fffffffffffffff, "NaN" }, { LC_F64, 0xffffffffffffffff, "NaN" },
	{ LC_F16, 0x7bff, NULL }, { LC_F16, 0x7c00, "Inf" }, { LC_F16, 0xfc00, "-Inf" },
	{ LC_F16, 0x7c01, "NaN" }, { LC_BF16, 0x7f7f, NULL }, { LC_BF16, 0xff80, "-Inf" },
	{ LC_BF16, 0x7f81, "NaN" }, { LC_F8_E4M3, 0x7e, NULL }, { LC_F8_E4M3, 0x7f, "NaN" },
	{ LC_F8_E4M3, 0xff, "NaN" }, { LC_F8_E4M3, 0x78, NULL },
	{ LC_F8_E5M2, 0x7b, NULL }, { LC_F8_E5M2, 0x7c, "Inf" }, { LC_F8_E5M2, 0xfc, "-Inf" },
	{ LC_F8_E5M2, 0x7d, "NaN" },
};

START_TEST(special_values)
{
	const size_t size = lc_dtype_size(special[_i].dtype);
	const bool nan = special[_i].name && strcmp(special[_i].name, "NaN") == 0;
	const bool inf = special[_i].name && !nan;
	unsigned char data[8];
	char want[20];
	lc_tensor tensor;

	for (size_t i = 0; i < 8; i++)
		data[i] = (unsigned char)(special[_i].bits >> 8 * i);
	ck_assert_int_eq(lc_tensor_init(&tensor, special[_i].dtype, 0, NULL, data),
	    LC_OK);
	ck_assert_uint_eq(tensor.nbytes, size);
	for (int p = 0; p < 4; p++) {
		const bool fine = (!nan || policies[p].nan) && (!inf || policies[p].inf);
		ck_assert_int_eq(lc__finite_tensor(&tensor, policies[p]),
		    fine ? LC_OK : LC_INVALID);
		snprintf(want, sizeof(want), "%s at []", special[_i].name);
		if (!fine)
			ck_assert_str_eq(lc_last_error()->text, want);
	}
}
END_TEST

/* ---- any length, any alignment ----------------------------------------------- */

/* Numbers, with a few patterns strewn in that are none. */
static void
random_numbers(const struct kind *kind, unsigned char *data, size_t n, unsigned bad,
    uint64_t *seed)
{
	static const uint64_t others[] = { 0x7ff0000000000000, 0xfff0000000000000,
		0x7ff8000000000000, 0x7f800000, 0xff800000, 0x7fc00001, 0x7c00, 0xfc00,
		0x7f80, 0xff81, 0x7f, 0xff, 0x7c, 0x7d, 0xfc };
	const size_t size = lc_dtype_size(kind->part);

	for (size_t i = 0; i < n * kind->parts; i++)
		do {
			const uint64_t bits = run_random(seed);
			memcpy(data + i * size, &bits, size);
		} while (!isfinite(lc__element_real(kind->part, data + i * size)));
	for (unsigned i = 0; i < bad && n > 0; i++)
		memcpy(data + run_random(seed) % (n * kind->parts) * size,
		    &others[run_random(seed) % ROWS(others)], size);
}

START_TEST(strewn)
{
	const struct kind *kind = &kinds[_i];
	const size_t size = lc_dtype_size(kind->dtype);
	uint64_t seed = run_seed();

	for (int round = 0; round < 400; round++) {
		const size_t most = round % 4 == 0 ? 30000 : 300;
		const size_t n = run_random(&seed) % (most / size);
		const size_t shift = run_random(&seed) % 16;
		/* To the byte, so that a step too far is found. */
		unsigned char *room = malloc(shift + n * size);
		random_numbers(kind, room + shift, n, round % 5, &seed);
		for (int p = 0; p < 4; p++)
			check(kind, room + shift, n, policies[p]);
		free(room);
	}
}
END_TEST

/* In each place there is, the last of the whole included. */
START_TEST(every_place)
{
	const struct kind *kind = &kinds[_i];
	const size_t size = lc_dtype_size(kind->dtype), n = 9000 / size + 3;
	unsigned char *data = calloc(n, size);

	for (size_t i = 0; i < n; i++) {
		unsigned char *last = data + (i + 1) * size - 1;
		memset(last + 1 - lc_dtype_size(kind->part), 0xff,
		    lc_dtype_size(kind->part));
		check(kind, data, n, policies[0]);
		check(kind, data, n, policies[2]);
		memset(data + i * size, 0, size);
	}
	free(data);
}
END_TEST

START_TEST(random_bits)
{
	const struct kind *kind = &kinds[_i];
	const size_t size = lc_dtype_size(kind->dtype);
	uint64_t seed = run_seed(), data[512];

	for (int round = 0; round < 1000; round++) {
		const size_t n = 1 + run_random(&seed) % (sizeof(data) / size);
		for (int i = 0; i < ROWS(data); i++)
			data[i] = run_random(&seed);
		check(kind, (unsigned char *)data, n, policies[round % 4]);
	}
}
END_TEST

/* ---- other dtypes, positions ------------------------------------------------- */

START_TEST(integers)
{
	unsigned char ones[64];
	lc_tensor tensor;

	memset(ones, 0xff, sizeof(ones));
	for (int dtype = LC_BOOL; dtype <= LC_I64; dtype++) {
		ck_assert_int_eq(lc_tensor_init(&tensor, (lc_dtype)dtype, 1,
		    (uint64_t[]){ 8 }, ones), LC_OK);
		ck_assert_int_eq(lc__finite_tensor(&tensor, policies[0]), LC_OK);
	}
	ck_assert_int_eq(lc_tensor_init(&tensor, LC_F32, 2, (uint64_t[]){ 3, 0 },
	    NULL), LC_OK);
	ck_assert_int_eq(lc__finite_tensor(&tensor, policies[0]), LC_OK);
}
END_TEST

START_TEST(positions)
{
	static const uint64_t deep[16] = { 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1,
		2 };
	float numbers[24] = { 0 };
	lc_tensor tensor;

	numbers[23] = NAN;
	ck_assert_int_eq(lc_tensor_init(&tensor, LC_F32, 3, (uint64_t[]){ 4, 3, 2 },
	    numbers), LC_OK);
	ck_assert_int_eq(lc__finite_tensor(&tensor, policies[0]), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "NaN at [3,2,1]");
	numbers[10] = -INFINITY;
	ck_assert_int_eq(lc__finite_tensor(&tensor, policies[0]), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "-Inf at [1,2,0]");
	ck_assert_int_eq(lc_tensor_init(&tensor, LC_C64, 2, (uint64_t[]){ 4, 3 },
	    numbers), LC_OK);
	ck_assert_int_eq(lc__finite_tensor(&tensor, policies[2]), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "NaN at [3,2]");
	numbers[2] = INFINITY;
	ck_assert_int_eq(lc_tensor_init(&tensor, LC_F32, 16, deep, numbers), LC_OK);
	ck_assert_int_eq(lc__finite_tensor(&tensor, policies[0]), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "Inf at [0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0]");
}
END_TEST

/* ---- values ------------------------------------------------------------------ */

static lc_value *
vector(const float *numbers, uint64_t n)
{
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, LC_F32, 1, &n, numbers), LC_OK);
	return lc_value_tensor(&tensor);
}

static void
check_value(const lc_value *value, int policy, const char *want)
{
	ck_assert_int_eq(lc__finite_value(value, policies[policy]),
	    want ? LC_INVALID : LC_OK);
	if (want != NULL)
		ck_assert_str_eq(lc_last_error()->text, want);
}

START_TEST(values)
{
	static const float good[3] = { 1, 2, 3 }, bad[3] = { 1, INFINITY, NAN };
	lc_value *value = lc_value_map(), *list, *inner, *copy, *alone;

	lc_value_set(value, "good", vector(good, 3));
	lc_value_set(value, "plain", lc_value_float(NAN));
	list = lc_value_set(value, "a.b", lc_value_list());
	lc_value_append(list, lc_value_float(-INFINITY));
	inner = lc_value_append(list, lc_value_map());
	ck_assert_int_eq(lc_value_check(value), LC_OK);
	check_value(value, 0, NULL);
	lc_value_set(inner, "x\\y", vector(bad, 3));
	check_value(value, 0, "part 'a\\.b.1.x\\\\y': Inf at [1]");
	check_value(value, 2, "part 'a\\.b.1.x\\\\y': NaN at [2]");
	check_value(value, 3, NULL);
	ck_assert_ptr_eq(lc_value_find(value, "a\\.b.1.x\\\\y"),
	    lc_value_find(inner, "x\\\\y"));
	/* A part that is looked at alone has the paths that it has alone. */
	check_value(inner, 0, "part 'x\\\\y': Inf at [1]");
	check_value(list, 0, "part '1.x\\\\y': Inf at [1]");
	copy = lc_value_copy(value);
	lc_value_free(value);
	check_value(copy, 0, "part 'a\\.b.1.x\\\\y': Inf at [1]");
	lc_value_free(copy);
	alone = vector(bad, 3);
	check_value(alone, 0, "Inf at [1]");
	lc_value_free(alone);
	check_value(NULL, 0, NULL);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("finite");
	TCase *tc = tcase_create("finite");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, every_pattern, 0, ROWS(small));
	tcase_add_loop_test(tc, every_number, 0, ROWS(small));
	tcase_add_loop_test(tc, special_values, 0, ROWS(special));
	tcase_add_loop_test(tc, strewn, 0, ROWS(kinds));
	tcase_add_loop_test(tc, every_place, 0, ROWS(kinds));
	tcase_add_loop_test(tc, random_bits, 0, ROWS(kinds));
	tcase_add_test(tc, integers);
	tcase_add_test(tc, positions);
	tcase_add_test(tc, values);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
