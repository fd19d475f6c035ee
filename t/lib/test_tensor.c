/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include "lmdbcache.h"
#include "value/tensor.h"

static const struct {
	lc_dtype dtype;
	const char *name, *long_name;
	size_t size;
} dtype_rows[] = {
	{ LC_BOOL, "bool", "bool", 1 }, { LC_U8, "u8", "uint8", 1 },
	{ LC_I8, "i8", "int8", 1 }, { LC_U16, "u16", "uint16", 2 },
	{ LC_I16, "i16", "int16", 2 }, { LC_U32, "u32", "uint32", 4 },
	{ LC_I32, "i32", "int32", 4 }, { LC_U64, "u64", "uint64", 8 },
	{ LC_I64, "i64", "int64", 8 }, { LC_F16, "f16", "float16", 2 },
	{ LC_BF16, "bf16", "bfloat16", 2 }, { LC_F32, "f32", "float32", 4 },
	{ LC_F64, "f64", "float64", 8 }, { LC_C64, "c64", "complex64", 8 },
	{ LC_C128, "c128", "complex128", 16 },
	{ LC_F8_E4M3, "f8_e4m3", "float8_e4m3fn", 1 },
	{ LC_F8_E5M2, "f8_e5m2", "float8_e5m2", 1 },
	{ LC_F8_E8M0, "f8_e8m0", "float8_e8m0fnu", 1 },
	{ LC_F8_E4M3FNUZ, "f8_e4m3fnuz", "float8_e4m3fnuz", 1 },
	{ LC_F8_E5M2FNUZ, "f8_e5m2fnuz", "float8_e5m2fnuz", 1 },
	{ LC_F4_E2M1_X2, "f4_e2m1_x2", "float4_e2m1fn_x2", 1 },
	{ LC_C32, "c32", "complex32", 4 },
};

START_TEST(dtype_names_and_sizes)
{
	lc_dtype got;

	ck_assert_int_eq(dtype_rows[_i].dtype, _i);
	ck_assert_str_eq(lc_dtype_name(dtype_rows[_i].dtype), dtype_rows[_i].name);
	ck_assert_uint_eq(lc_dtype_size(dtype_rows[_i].dtype), dtype_rows[_i].size);
	ck_assert_int_eq(lc_dtype_parse(dtype_rows[_i].name, &got), LC_OK);
	ck_assert_int_eq(got, dtype_rows[_i].dtype);
	ck_assert_int_eq(lc_dtype_parse(dtype_rows[_i].long_name, &got), LC_OK);
	ck_assert_int_eq(got, dtype_rows[_i].dtype);
}
END_TEST

START_TEST(dtype_unknown)
{
	lc_dtype got;

	ck_assert_int_eq(sizeof(dtype_rows) / sizeof(dtype_rows[0]), LC_DTYPE_COUNT);

	ck_assert_ptr_null(lc_dtype_name((lc_dtype)LC_DTYPE_COUNT));
	ck_assert_uint_eq(lc_dtype_size((lc_dtype)LC_DTYPE_COUNT), 0);
	ck_assert_int_eq(lc_dtype_parse("float33", &got), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "unknown dtype 'float33'");
}
END_TEST

static const struct {
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[LC_MAX_NDIM];
	lc_status status;
	size_t nbytes;
} shape_rows[] = {
	{ LC_F32, 0, { 0 }, LC_OK, 4 },
	{ LC_F32, 1, { 0 }, LC_OK, 0 },
	{ LC_U8, 3, { 3, 640, 480 }, LC_OK, 921600 },
	{ LC_C128, 2, { 7, 9 }, LC_OK, 1008 },
	{ LC_F64, 4, { 5, 0, 7, 1 }, LC_OK, 0 },
	{ LC_U8, 16, { 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3 }, LC_OK, 6 },
	{ LC_U8, 17, { 1 }, LC_INVALID, 0 },
	{ LC_F32, 2, { UINT64_MAX, 2 }, LC_INVALID, 0 },
	{ LC_F32, 3, { 0, UINT64_MAX, 2 }, LC_INVALID, 0 },
	{ LC_U8, 1, { (uint64_t)INT64_MAX + 1 }, LC_INVALID, 0 },
	{ (lc_dtype)99, 1, { 1 }, LC_INVALID, 0 },
};

START_TEST(tensor_size)
{
	lc_tensor tensor = { .nbytes = 12345 };

	ck_assert_int_eq(lc_tensor_init(&tensor, shape_rows[_i].dtype,
	    shape_rows[_i].ndim, shape_rows[_i].shape, "x"),
	    shape_rows[_i].status);
	if (shape_rows[_i].status == LC_OK) {
		ck_assert_uint_eq(tensor.nbytes, shape_rows[_i].nbytes);
		ck_assert_int_eq(lc__tensor_check(&tensor), LC_OK);
	} else {
		ck_assert_uint_eq(tensor.nbytes, 12345);
	}
}
END_TEST

START_TEST(tensor_check_and_describe)
{
	const uint64_t shape[] = { 3, 2 };
	lc_tensor a, b;
	char text[LC__TENSOR_TEXT];

	ck_assert_int_eq(lc_tensor_init(&a, LC_F16, 2, shape, NULL), LC_OK);
	ck_assert_str_eq(lc__tensor_describe(&a, text, sizeof(text)), "f16[3,2]");
	ck_assert_int_eq(lc__tensor_check(&a), LC_INVALID);
	a.data = "123456789012";
	ck_assert_int_eq(lc__tensor_check(&a), LC_OK);
	b = a;
	ck_assert(lc__tensor_same_type(&a, &b));
	b.shape[1] = 3;
	ck_assert(!lc__tensor_same_type(&a, &b));
	a.nbytes--;
	ck_assert_int_eq(lc__tensor_check(&a), LC_INVALID);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tensor");
	TCase *tc = tcase_create("tensor");
	const int dtypes = sizeof(dtype_rows) / sizeof(dtype_rows[0]);
	const int shapes = sizeof(shape_rows) / sizeof(shape_rows[0]);

	tcase_add_loop_test(tc, dtype_names_and_sizes, 0, dtypes);
	tcase_add_test(tc, dtype_unknown);
	tcase_add_loop_test(tc, tensor_size, 0, shapes);
	tcase_add_test(tc, tensor_check_and_describe);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
