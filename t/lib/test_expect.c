/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <string.h>

#include "lmdbcache.h"
#include "value/expect.h"

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

#define FIFTEEN "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"

/* ---- texts ------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *again; /* as it is described; NULL for the same */
} good[] = {
	{ "f16[16,*,*]", NULL }, { "f32[1024]", NULL }, { "*", NULL }, { "u8", NULL },
	{ "i64[]", NULL }, { "*[]", NULL }, { "bf16[*]", NULL }, { "f64[0]", NULL },
	{ "c64[...]", NULL }, { "*[...,3]", NULL }, { "f32[2,...,3]", NULL },
	{ "f32[2,*,...]", NULL }, { "float16[77,1024]", "f16[77,1024]" },
	{ "float8_e4m3fn[1]", "f8_e4m3[1]" }, { "f32[007]", "f32[7]" },
	{ "f32[9223372036854775807]", NULL },
	{ "u8[" FIFTEEN ",16]", NULL }, { "u8[" FIFTEEN ",16,...]", NULL },
	{ "latents=f16[16,*,*]", NULL }, { "boxes.0.score=*", NULL },
	{ "a\\.b.c\\\\=f32[]", NULL }, { "a=b=f32[1]", NULL }, { "x[0]=u8", NULL },
	{ "\xc3\xa9=u8[1]", NULL },
};

START_TEST(understood)
{
	struct lc__expect expect;
	const char *want = good[_i].again ? good[_i].again : good[_i].text;
	char text[200];

	memset(&expect, 0xa5, sizeof(expect));
	ck_assert_int_eq(lc__expect_parse(good[_i].text, &expect), LC_OK);
	memset(text, '!', sizeof(text));
	ck_assert_int_eq(lc__expect_describe(&expect, text, sizeof(text)),
	    (int)strlen(want));
	ck_assert_str_eq(text, want);
	/* Any room is enough for its beginning. */
	ck_assert_int_eq(lc__expect_describe(&expect, NULL, 0), (int)strlen(want));
	for (size_t room = 1; room <= strlen(want); room++) {
		memset(text, '!', sizeof(text));
		ck_assert_int_eq(lc__expect_describe(&expect, text, room),
		    (int)strlen(want));
		ck_assert_uint_eq(strlen(text), room - 1);
		ck_assert_int_eq(memcmp(text, want, room - 1), 0);
		ck_assert_int_eq(text[room], '!');
	}
}
END_TEST

static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "no dtype, nor * for any" },
	{ "[3]", "no dtype, nor * for any" },
	{ "a=", "no dtype, nor * for any" },
	{ "a=[]", "no dtype, nor * for any" },
	{ "float33[1]", "unknown dtype 'float33'" },
	{ "f32]", "unknown dtype 'f32]'" },
	{ " f32", "unknown dtype ' f32'" },
	{ "**", "unknown dtype '**'" },
	{ "f32f32f32f32f32f32f32f32f32f32f32f32f32",
	    "unknown dtype 'f32f32f32f32f32f32f32f32f32f32f32f32f32'" },
	{ "f32[3", "the bracket is not closed" },
	{ "f32[", "the bracket is not closed" },
	{ "f32[3]x", "'x' follows the bracket" },
	{ "f32[3][4]", "'[4]' follows the bracket" },
	{ "f32[3,]", "'' is not a dimension" },
	{ "f32[,3]", "'' is not a dimension" },
	{ "f32[,]", "'' is not a dimension" },
	{ "f32[ 3]", "' 3' is not a dimension" },
	{ "f32[-1]", "'-1' is not a dimension" },
	{ "f32[0x10]", "'0x10' is not a dimension" },
	{ "f32[..]", "'..' is not a dimension" },
	{ "f32[**]", "'**' is not a dimension" },
	{ "f32[9223372036854775808]", "'9223372036854775808' is not a dimension" },
	{ "f32[18446744073709551615]", "'18446744073709551615' is not a dimension" },
	{ "f32[99999999999999999999999]",
	    "'99999999999999999999999' is not a dimension" },
	{ "f32[...,3,...]", "has ... twice" },
	{ "u8[" FIFTEEN ",16,17]", "more than 16 dimensions" },
	{ "=f32", "there is no path before the equals sign" },
	{ "a..b=f32", "there is no path before the equals sign" },
	{ "a.=f32", "there is no path before the equals sign" },
	{ "a\\b=f32", "there is no path before the equals sign" },
	{ "a\\=f32", "there is no path before the equals sign" },
};

START_TEST(not_understood)
{
	struct lc__expect expect, before;
	char want[400];

	memset(&expect, 0xa5, sizeof(expect));
	before = expect;
	ck_assert_int_eq(lc__expect_parse(bad[_i].text, &expect), LC_INVALID);
	snprintf(want, sizeof(want), "'%s': %s", bad[_i].text, bad[_i].why);
	ck_assert_str_eq(lc_last_error()->text, want);
	ck_assert_int_eq(memcmp(&expect, &before, sizeof(expect)), 0);
}
END_TEST

/* ---- tensors ----------------------------------------------------------------- */

static const struct {
	const char *text;
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[LC_MAX_NDIM];
	const char *why; /* NULL: as expected */
} tensors[] = {
	{ "f16[16,*,*]", LC_F16, 3, { 16, 128, 128 }, NULL },
	{ "f16[16,*,*]", LC_F16, 3, { 16, 0, 1 }, NULL },
	{ "f16[16,*,*]", LC_F32, 1, { 512 }, "is f32[512], not f16[16,*,*]" },
	{ "f16[16,*,*]", LC_F16, 3, { 4, 128, 128 },
	    "is f16[4,128,128], not f16[16,*,*]" },
	{ "f16[16,*,*]", LC_F16, 4, { 16, 1, 1, 1 },
	    "is f16[16,1,1,1], not f16[16,*,*]" },
	{ "f16[16,*,*]", LC_F16, 2, { 16, 1 }, "is f16[16,1], not f16[16,*,*]" },
	{ "f16[16,*,*]", LC_BF16, 3, { 16, 1, 1 },
	    "is bf16[16,1,1], not f16[16,*,*]" },
	{ "f32", LC_F32, 0, { 0 }, NULL },
	{ "f32", LC_F32, 4, { 1, 2, 3, 4 }, NULL },
	{ "f32", LC_F64, 1, { 1 }, "is f64[1], not f32" },
	{ "*", LC_C128, 2, { 3, 0 }, NULL },
	{ "*[3]", LC_U8, 1, { 3 }, NULL },
	{ "*[3]", LC_U8, 1, { 4 }, "is u8[4], not *[3]" },
	{ "u8[]", LC_U8, 0, { 0 }, NULL },
	{ "u8[]", LC_U8, 1, { 1 }, "is u8[1], not u8[]" },
	{ "u8[*]", LC_U8, 0, { 0 }, "is u8[], not u8[*]" },
	{ "f32[...]", LC_F32, 0, { 0 }, NULL },
	{ "f32[...]", LC_F32, 16, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
	    NULL },
	{ "f32[...]", LC_I8, 1, { 1 }, "is i8[1], not f32[...]" },
	{ "f32[...,3]", LC_F32, 1, { 3 }, NULL },
	{ "f32[...,3]", LC_F32, 3, { 5, 4, 3 }, NULL },
	{ "f32[...,3]", LC_F32, 3, { 3, 4, 5 }, "is f32[3,4,5], not f32[...,3]" },
	{ "f32[...,3]", LC_F32, 0, { 0 }, "is f32[], not f32[...,3]" },
	{ "f32[3,...]", LC_F32, 3, { 3, 4, 5 }, NULL },
	{ "f32[3,...]", LC_F32, 3, { 5, 4, 3 }, "is f32[5,4,3], not f32[3,...]" },
	{ "f32[2,...,3,*]", LC_F32, 3, { 2, 3, 9 }, NULL },
	{ "f32[2,...,3,*]", LC_F32, 5, { 2, 8, 8, 3, 0 }, NULL },
	{ "f32[2,...,3,*]", LC_F32, 5, { 2, 3, 8, 8, 0 },
	    "is f32[2,3,8,8,0], not f32[2,...,3,*]" },
	{ "f32[2,...,3,*]", LC_F32, 2, { 2, 3 }, "is f32[2,3], not f32[2,...,3,*]" },
	{ "part=f32[1]", LC_F32, 1, { 2 }, "is f32[2], not f32[1]" },
};

START_TEST(compared)
{
	struct lc__expect expect;
	const lc_tensor tensor = { .dtype = tensors[_i].dtype,
		.ndim = tensors[_i].ndim };
	lc_tensor shaped = tensor;

	memcpy(shaped.shape, tensors[_i].shape, sizeof(shaped.shape));
	ck_assert_int_eq(lc__expect_parse(tensors[_i].text, &expect), LC_OK);
	ck_assert_int_eq(lc__expect_tensor(&expect, &shaped),
	    tensors[_i].why ? LC_SCHEMA : LC_OK);
	if (tensors[_i].why != NULL)
		ck_assert_str_eq(lc_last_error()->text, tensors[_i].why);
}
END_TEST

/* ---- values ------------------------------------------------------------------ */

static lc_value *
tensor_value(lc_dtype dtype, uint64_t a, uint64_t b)
{
	static const unsigned char zeros[256];
	lc_tensor tensor;

	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, 2, (uint64_t[]){ a, b },
	    zeros), LC_OK);
	return lc_value_tensor(&tensor);
}

/* {latents: f16[4,8], "a.b": {"x=y": [f32[2,3], "text"]}, size: 5, none: nil} */
static lc_value *
make_value(void)
{
	lc_value *value = lc_value_map(), *inner, *list;

	lc_value_set(value, "latents", tensor_value(LC_F16, 4, 8));
	inner = lc_value_set(value, "a.b", lc_value_map());
	list = lc_value_set(inner, "x=y", lc_value_list());
	lc_value_append(list, tensor_value(LC_F32, 2, 3));
	lc_value_append(list, lc_value_str("text"));
	lc_value_set(value, "size", lc_value_integer(5));
	lc_value_set(value, "none", lc_value_nil());
	ck_assert_int_eq(lc_value_check(value), LC_OK);
	return value;
}

static const struct {
	const char *text, *why;
} parts[] = {
	{ "latents=f16[4,*]", NULL },
	{ "latents=*", NULL },
	{ "a\\.b.x=y.0=f32[2,3]", NULL },
	{ "latents=f16[16,*,*]", "part 'latents': is f16[4,8], not f16[16,*,*]" },
	{ "a\\.b.x=y.0=u8", "part 'a\\.b.x=y.0': is f32[2,3], not u8" },
	{ "a\\.b.x=y.1=u8", "part 'a\\.b.x=y.1': is of kind string, not u8" },
	{ "a\\.b.x=y.2=u8", "part 'a\\.b.x=y.2': is missing, not u8" },
	{ "a.b=u8", "part 'a.b': is missing, not u8" },
	{ "size=i64[]", "part 'size': is of kind integer, not i64[]" },
	{ "none=*", "part 'none': is of kind nil, not *" },
	{ "a\\.b=*[]", "part 'a\\.b': is of kind map, not *[]" },
	{ "f32[1]", "is of kind map, not f32[1]" },
};

START_TEST(parts_compared)
{
	lc_value *value = make_value();
	struct lc__expect expect[2];

	/* Behind one that fits. */
	ck_assert_int_eq(lc__expect_parse("latents=f16[4,8]", &expect[0]), LC_OK);
	ck_assert_int_eq(lc__expect_parse(parts[_i].text, &expect[1]), LC_OK);
	ck_assert_int_eq(lc__expect_value(expect, 1, value), LC_OK);
	ck_assert_int_eq(lc__expect_value(expect, 2, value),
	    parts[_i].why ? LC_SCHEMA : LC_OK);
	if (parts[_i].why != NULL)
		ck_assert_str_eq(lc_last_error()->text, parts[_i].why);
	lc_value_free(value);
}
END_TEST

START_TEST(tensor_alone)
{
	lc_value *value = tensor_value(LC_F16, 4, 8);
	struct lc__expect expect;

	ck_assert_int_eq(lc__expect_value(NULL, 0, value), LC_OK);
	ck_assert_int_eq(lc__expect_parse("f16[4,8]", &expect), LC_OK);
	ck_assert_int_eq(lc__expect_value(&expect, 1, value), LC_OK);
	ck_assert_int_eq(lc__expect_value(&expect, 1, NULL), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "is missing, not f16[4,8]");
	ck_assert_int_eq(lc__expect_parse("f16[4]", &expect), LC_OK);
	ck_assert_int_eq(lc__expect_value(&expect, 1, value), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "is f16[4,8], not f16[4]");
	ck_assert_int_eq(lc__expect_parse("x=f16[4]", &expect), LC_OK);
	ck_assert_int_eq(lc__expect_value(&expect, 1, value), LC_SCHEMA);
	ck_assert_str_eq(lc_last_error()->text, "part 'x': is missing, not f16[4]");
	lc_value_free(value);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("expect");
	TCase *tc = tcase_create("expect");

	tcase_add_loop_test(tc, understood, 0, ROWS(good));
	tcase_add_loop_test(tc, not_understood, 0, ROWS(bad));
	tcase_add_loop_test(tc, compared, 0, ROWS(tensors));
	tcase_add_loop_test(tc, parts_compared, 0, ROWS(parts));
	tcase_add_test(tc, tensor_alone);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
