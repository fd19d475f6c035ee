/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_scan.h"
#include "formats/json_elements.h"
#include "need.h"
#include "value/dtype.h"

/* A copy that ends where its memory ends, so that a byte too far is seen. */
static char *
exactly(const char *text, size_t size)
{
	char *copy = malloc(size + (size == 0));

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, size);
	return copy;
}

/* All members of an object; how many there are. */
static lc_status
walk(const char *text, size_t size, size_t *n)
{
	struct lc__json_members members;
	struct lc__json_member member;
	lc_status status = lc__json_object(text, size, &members);

	for (*n = 0; status == LC_OK; ++*n)
		status = lc__json_next(&members, &member);
	--*n;
	return status;
}

static lc_status
walk_copy(const char *text, size_t size, size_t *n)
{
	char *copy = exactly(text, size);
	const lc_status status = walk(copy, size, n);

	free(copy);
	return status;
}

/* ---- what members are --------------------------------------------------------------- */

START_TEST(members)
{
	static const char text[] = " { \"a\" : 1 ,\"b\":[ 2, {} ],\t\"c\":\"x\\\"}\" } \r\n";
	static const struct {
		const char *name, *value, *whole;
		enum lc__json_kind kind;
	} rows[] = {
		{ "a", "1", " \"a\" : 1 ", LC__JSON_NUMBER },
		{ "b", "[ 2, {} ]", "\"b\":[ 2, {} ]", LC__JSON_ARRAY },
		{ "c", "\"x\\\"}\"", "\t\"c\":\"x\\\"}\" ", LC__JSON_STRING },
	};
	struct lc__json_members all;
	struct lc__json_member m;

	assert_ok(lc__json_object(text, sizeof(text) - 1, &all));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_ok(lc__json_next(&all, &m));
		ck_assert_int_eq(m.kind, rows[i].kind);
		ck_assert_mem_eq(m.name.text, rows[i].name, m.name.size);
		ck_assert_uint_eq(m.name.size, strlen(rows[i].name));
		ck_assert_uint_eq(m.value.size, strlen(rows[i].value));
		ck_assert_mem_eq(m.value.text, rows[i].value, m.value.size);
		ck_assert_uint_eq(m.whole.size, strlen(rows[i].whole));
		ck_assert_mem_eq(m.whole.text, rows[i].whole, m.whole.size);
	}
	assert_status(lc__json_next(&all, &m), LC_END);
	assert_status(lc__json_next(&all, &m), LC_END);
}
END_TEST

/* ---- the grammar -------------------------------------------------------------------- */

/* Values as RFC 8259 has them. */
static const struct {
	const char *text;
	enum lc__json_kind kind;
} good_rows[] = {
	{ "null", LC__JSON_NULL }, { "true", LC__JSON_TRUE }, { "false", LC__JSON_FALSE },
	{ "0", LC__JSON_NUMBER }, { "-0", LC__JSON_NUMBER }, { "-0.0", LC__JSON_NUMBER },
	{ "10", LC__JSON_NUMBER }, { "1E400", LC__JSON_NUMBER },
	{ "1e+0", LC__JSON_NUMBER }, { "1.5E-7", LC__JSON_NUMBER },
	{ "0e00", LC__JSON_NUMBER }, { "0.000", LC__JSON_NUMBER },
	{ "1234567890123456789012345678901234567890", LC__JSON_NUMBER },
	{ "-9.99999999999999999999999999999999999e-999999999999999999", LC__JSON_NUMBER },
	{ "\"\"", LC__JSON_STRING }, { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", LC__JSON_STRING },
	{ "\"\\u0000\\uD83D\\uDE00\\uabCD\"", LC__JSON_STRING },
	{ "\"\\ud800\"", LC__JSON_STRING }, { "\"\x7f\"", LC__JSON_STRING },
	{ "\"\xc2\x80 \xdf\xbf \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf\"", LC__JSON_STRING },
	{ "\"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf\"", LC__JSON_STRING },
	{ "\"sixteen and more plain characters \xe2\x82\xac and again some more\"",
	    LC__JSON_STRING },
	{ "[]", LC__JSON_ARRAY }, { "[ ]", LC__JSON_ARRAY }, { "[\t[\n]\r, []]", LC__JSON_ARRAY },
	{ "[null,true,false,0,\"\",[],{}]", LC__JSON_ARRAY }, { "[[[[1]]],2]", LC__JSON_ARRAY },
	{ "{}", LC__JSON_OBJECT }, { "{ }", LC__JSON_OBJECT },
	{ "{\"\":{\"a\":[{\"b\":{}}]},\"\":1}", LC__JSON_OBJECT },
	{ "{ \"a\" : [ 1 , 2 ] , \"b\" : { } }", LC__JSON_OBJECT },
};

START_TEST(good)
{
	static const char *const frames[][2] = {
		{ "{\"x\":", "}" }, { " {\"x\" : ", " }\n" },
		{ "{\"w\":0,\"x\":", ",\"y\":[]}" }
	};
	const char *value = good_rows[_i].text;

	for (size_t f = 0; f < sizeof(frames) / sizeof(frames[0]); f++) {
		struct lc__json_members all;
		struct lc__json_member m;
		char text[300], *copy;
		const size_t size = (size_t)snprintf(text, sizeof(text), "%s%s%s",
		    frames[f][0], value, frames[f][1]);
		size_t seen = 0;
		lc_status status;
		copy = exactly(text, size);
		assert_ok(lc__json_object(copy, size, &all));
		while ((status = lc__json_next(&all, &m)) == LC_OK)
			if (lc__json_name_is(m.name, "x")) {
				seen++;
				ck_assert_int_eq(m.kind, good_rows[_i].kind);
				ck_assert_uint_eq(m.value.size, strlen(value));
				ck_assert_mem_eq(m.value.text, value, m.value.size);
			}
		ck_assert_int_eq(status, LC_END);
		ck_assert_uint_eq(seen, 1);
		free(copy);
	}
}
END_TEST

/* Refused, each with where and why. */
static const struct {
	const char *text, *message;
} bad_rows[] = {
	{ "", "column 1: the text ends too early" },
	{ "  ", "column 3: the text ends too early" },
	{ "[]", "column 1: no object begins here" },
	{ "\xef\xbb\xbf{}", "column 1: no object begins here" },
	{ "{} x", "column 4: something follows the object" },
	{ "{}{}", "column 3: something follows the object" },
	{ "{,}", "column 2: a string is missing" },
	{ "{\"a\":1,}", "column 8: a string is missing" },
	{ "{\"a\":1 \"b\":2}", "column 8: a comma or the end of the object is missing" },
	{ "{\"a\" 1}", "column 6: a colon is missing" },
	{ "{a:1}", "column 2: a string is missing" },
	{ "{'a':1}", "column 2: a string is missing" },
	{ "{\"a\":}", "column 6: a value is missing" },
	{ "{\"a\":+1}", "column 6: a value is missing" },
	{ "{\"a\":.5}", "column 6: a value is missing" },
	{ "{\"a\":NaN}", "column 6: a value is missing" },
	{ "{\"a\":Infinity}", "column 6: a value is missing" },
	{ "{\"a\":-Infinity}", "column 7: a digit is missing" },
	{ "{\"a\":01}", "column 7: a number begins with 0" },
	{ "{\"a\":-}", "column 7: a digit is missing" },
	{ "{\"a\":1.}", "column 8: no digit behind the point" },
	{ "{\"a\":1.e1}", "column 8: no digit behind the point" },
	{ "{\"a\":1e}", "column 8: no digit in the exponent" },
	{ "{\"a\":1e+-1}", "column 9: no digit in the exponent" },
	{ "{\"a\":0x1}", "column 7: a comma or the end of the object is missing" },
	{ "{\"a\":True}", "column 6: a value is missing" },
	{ "{\"a\":nul}", "column 9: no such word in JSON" },
	{ "{\"a\":truex}", "column 10: a comma or the end of the object is missing" },
	{ "{\"a\":[1,]}", "column 9: a value is missing" },
	{ "{\"a\":[,1]}", "column 7: a value is missing" },
	{ "{\"a\":[1 2]}", "column 9: a comma or the end of what is open is missing" },
	{ "{\"a\":[1}}", "column 8: a comma or the end of what is open is missing" },
	{ "{\"a\":{\"b\":1]}", "column 12: a comma or the end of what is open is missing" },
	{ "{\"a\":{\"b\"}}", "column 10: a colon is missing" },
	{ "{\"a\":{1:2}}", "column 7: a string is missing" },
	{ "{\"a\":{\"b\":1,}}", "column 13: a string is missing" },
	{ "{\"a\":/**/1}", "column 6: a value is missing" },
	{ "{\"a\":\"\\x\"}", "column 8: no such escape" },
	{ "{\"a\":\"\\U0041\"}", "column 8: no such escape" },
	{ "{\"a\":\"\\u12g4\"}", "column 11: \\u without four hexadecimal digits" },
	{ "{\"a\":\"\n\"}", "column 7: a control character in a string" },
	{ "{\"a\":\"0123456789abcdef\x1f\"}", "column 23: a control character in a string" },
	{ "{\"a\":\"\x80\"}", "column 7: not UTF-8" }, { "{\"a\":\"\xff\"}", "column 7: not UTF-8" },
	{ "{\"a\":\"\xc0\xaf\"}", "column 7: not UTF-8" },
	{ "{\"a\":\"\xe2\x82\"}", "column 7: not UTF-8" },
	{ "{\"a\":\"\xed\xa0\x80\"}", "column 7: not UTF-8" },
	{ "{\"a\":\"\xf4\x90\x80\x80\"}", "column 7: not UTF-8" },
	{ "{\"\xf8\":1}", "column 3: not UTF-8" },
	{ "{\"a\":1\v}", "column 7: a comma or the end of the object is missing" },
};

START_TEST(refused)
{
	const char *text = bad_rows[_i].text;
	size_t n;

	assert_status(walk_copy(text, strlen(text), &n), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
}
END_TEST

START_TEST(nul_is_a_byte)
{
	static const char in_string[] = "{\"a\":\"\0\"}", escaped[] = "{\"a\":\"\\\0\"}",
	    outside[] = "{\"a\":1\0}";
	size_t n;

	assert_status(walk_copy(in_string, sizeof(in_string) - 1, &n), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "column 7: a control character in a string");
	assert_status(walk_copy(escaped, sizeof(escaped) - 1, &n), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "column 8: no such escape");
	assert_status(walk_copy(outside, sizeof(outside) - 1, &n), LC_CORRUPT);
}
END_TEST

START_TEST(every_prefix_is_refused)
{
	static const char text[] = "{\"image_path\": \"a/\\u00e9\\ud83d\\ude00 \xe2\x82\xac.jpg\", "
	    "\"e\": [1.5, -2e-3, 0, [true, null]], \"n\": -12.50E+10, \"o\": {\"a\": {}}, "
	    "\"f\": false}";
	size_t n;

	for (size_t size = 0; size < sizeof(text) - 1; size++) {
		unsigned column;
		assert_status(walk_copy(text, size, &n), LC_CORRUPT);
		ck_assert_msg(sscanf(lc_last_error()->text, "column %u: ", &column) == 1 &&
		    column >= 1 && column <= size + 1, "%zu: %s", size,
		    lc_last_error()->text);
	}
	assert_status(walk_copy(text, sizeof(text) - 1, &n), LC_END);
	ck_assert_uint_eq(n, 5);
}
END_TEST

/* Depth of the member's value, arrays and objects in turn. */
static lc_status
walk_depth(size_t depth)
{
	char *text = malloc(depth * 7 + 20);
	size_t size = (size_t)sprintf(text, "{\"a\":"), n;
	lc_status status;

	for (size_t i = 0; i < depth; i++)
		size += (size_t)sprintf(text + size, i % 2 ? "{\"\":" : "[");
	text[size++] = '1';
	for (size_t i = depth; i-- > 0;)
		text[size++] = i % 2 ? '}' : ']';
	text[size++] = '}';
	status = walk(text, size, &n);
	free(text);
	return status;
}

START_TEST(depth)
{
	assert_status(walk_depth(LC__JSON_DEPTH), LC_END);
	assert_status(walk_depth(LC__JSON_DEPTH + 1), LC_CORRUPT);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "nested too deeply"));
}
END_TEST

/* Bytes changed at random: never a read behind the end, and what is taken is taken
 * again when it is put together from its members. */
START_TEST(random_bytes)
{
	static const char sample[] = "{\"p\": \"a\\n\xc3\xa9\", \"e\": [1.5,-2e3,[]], \"o\":{\"x\":null}}";
	static const char bytes[] = "\"\\{}[],:0123456789eE+-. \tntrufals\xc3\xa9\x80\x01";
	uint64_t random = run_seed();

	for (int round = 0; round < 200000; round++) {
		char text[sizeof(sample)];
		size_t n, size = sizeof(sample) - 1 - run_random(&random) % 3;
		memcpy(text, sample, sizeof(sample));
		for (uint64_t i = run_random(&random) % 4; i-- > 0;)
			text[run_random(&random) % size] =
			    bytes[run_random(&random) % (sizeof(bytes) - 1)];
		const lc_status status = walk_copy(text, size, &n);
		ck_assert(status == LC_END || status == LC_CORRUPT);
	}
}
END_TEST

/* ---- text of strings ----------------------------------------------------------------- */

static const struct {
	const char *text, *bytes;
	size_t size;
} string_rows[] = {
	{ "\"\"", "", 0 }, { "\"abc\"", "abc", 3 }, { "abc", "abc", 3 }, { "", "", 0 },
	{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
	{ "\\\"", "\"", 1 }, { "\"\\\"\"", "\"", 1 },
	{ "a\\u0000b", "a\0b", 3 }, { "\\u007f\\u0080", "\x7f\xc2\x80", 3 },
	{ "\\u07FF\\u0800\\uffff", "\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 8 },
	{ "\\ud83d\\ude00", "\xf0\x9f\x98\x80", 4 },
	{ "\\uD800\\uDC00\\udbff\\udfff", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8 },
	{ "\xe2\x82\xac\\n\xe2\x82\xac", "\xe2\x82\xac\n\xe2\x82\xac", 7 },
};

START_TEST(unescape)
{
	const struct lc__json_slice in = { string_rows[_i].text, strlen(string_rows[_i].text) };
	struct lc__buf out = { 0 };

	assert_ok(lc__json_unescape(in, &out));
	ck_assert_uint_eq(out.size, string_rows[_i].size);
	if (out.size > 0)
		ck_assert_mem_eq(out.data, string_rows[_i].bytes, out.size);
	lc__buf_free(&out);
}
END_TEST

START_TEST(half_pairs)
{
	static const char *const rows[] = {
		"\\ud800", "\\udc00", "\\udfff\\ud800", "\\ud800x", "\\ud800\\n",
		"\\ud800\\ud800", "\\ud83d\\u0041", "\\ud83d\\ude0", "\\udbff"
	};
	const struct lc__json_slice in = { rows[_i], strlen(rows[_i]) };
	struct lc__buf out = { 0 };

	assert_status(lc__json_unescape(in, &out), LC_CORRUPT);
	ck_assert(!lc__json_name_is(in, "x"));
	lc__buf_free(&out);
}
END_TEST

static const struct {
	const char *name, *wanted;
	bool is;
} name_rows[] = {
	{ "caption", "caption", true }, { "caption", "captio", false },
	{ "captio", "caption", false }, { "", "", true }, { "a", "", false },
	{ "c\\u0061ption", "caption", true }, { "c\\u0061ptio", "caption", false },
	{ "c\\u0061ptions", "caption", false }, { "\\u00e9", "\xc3\xa9", true },
	{ "\\u00e9", "\xc3", false }, { "a\\/b", "a/b", true }, { "a\\u0000", "a", false },
	{ "\\u0061", "", false },
};

START_TEST(names)
{
	const struct lc__json_slice name = { name_rows[_i].name, strlen(name_rows[_i].name) };

	ck_assert_int_eq(lc__json_name_is(name, name_rows[_i].wanted), name_rows[_i].is);
}
END_TEST

/* ---- elements -------------------------------------------------------------------------- */

static lc_status
read_elements(const char *text, lc_dtype dtype, uint32_t *ndim, uint64_t *shape,
    struct lc__buf *out)
{
	char *copy = exactly(text, strlen(text));
	const struct lc__json_slice slice = { copy, strlen(text) };
	const lc_status status = lc__json_elements(slice, dtype, ndim, shape, out);

	free(copy);
	return status;
}

static const struct {
	const char *text;
	uint32_t ndim;
	uint64_t shape[4];
} shape_rows[] = {
	{ "[]", 1, { 0 } }, { "[1]", 1, { 1 } }, { " [ 1 , 2 ] ", 1, { 2 } },
	{ "[[1,2],[3,4],[5,6]]", 2, { 3, 2 } }, { "[[],[]]", 2, { 2, 0 } },
	{ "[[[1],[2]],[[3],[4]]]", 3, { 2, 2, 1 } }, { "[[[]]]", 3, { 1, 1, 0 } },
	{ "[[[[1,2,3]]]]", 4, { 1, 1, 1, 3 } },
};

START_TEST(shapes)
{
	struct lc__buf out = { 0 };
	uint64_t shape[LC_MAX_NDIM], count = 1;
	uint32_t ndim;

	assert_ok(read_elements(shape_rows[_i].text, LC_I32, &ndim, shape, &out));
	ck_assert_uint_eq(ndim, shape_rows[_i].ndim);
	for (uint32_t d = 0; d < ndim; d++) {
		ck_assert_uint_eq(shape[d], shape_rows[_i].shape[d]);
		count *= shape[d];
	}
	ck_assert_uint_eq(out.size, count * 4);
	for (uint32_t i = 0; i < count; i++)
		ck_assert_uint_eq(lc__get32(out.data + (size_t)i * 4), i + 1);
	lc__buf_free(&out);
}
END_TEST

static const struct {
	const char *text;
	lc_dtype dtype;
	const char *message;
} wrong_rows[] = {
	{ "1", LC_F32, "at []: no array" }, { "", LC_F32, "at []: no array" },
	{ "[1", LC_F32, "at [0]: the text ends too early" },
	{ "[1,", LC_F32, "at [1]: no number of this dtype" },
	{ "[1,]", LC_F32, "at [1]: no number of this dtype" },
	{ "[1 2]", LC_F32, "at [1]: a comma is missing" },
	{ "[1]]", LC_F32, "at []: something follows the array" },
	{ "[[1,2],[3]]", LC_F32, "at [1]: an array of another length than those before it" },
	{ "[[1],2]", LC_F32, "at [1]: a number among arrays" },
	{ "[1,[2]]", LC_F32, "at [1]: nested deeper than what is before it" },
	{ "[[[]],[]]", LC_F32, "at [1,0]: an array of another rank than those before it" },
	{ "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", LC_F32,
	    "at [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]: nested deeper than what is before it" },
	{ "[0,\"1\"]", LC_F32, "at [1]: no number of this dtype" },
	{ "[null]", LC_F32, "at [0]: no number of this dtype" },
	{ "[true]", LC_F32, "at [0]: no number of this dtype" },
	{ "[01]", LC_F32, "at [0]: no number of this dtype" },
	{ "[nan]", LC_F32, "at [0]: no number of this dtype" },
	{ "[0,1e39]", LC_F32, "at [1]: too large for the dtype" },
	{ "[-1E400]", LC_F64, "at [0]: too large for the dtype" },
	{ "[65520]", LC_F16, "at [0]: too large for the dtype" },
	{ "[464.01]", LC_F8_E4M3, "at [0]: too large for the dtype" },
	{ "[Infinity]", LC_F8_E4M3, "at [0]: no number of this dtype" },
	{ "[61440]", LC_F8_E5M2, "at [0]: too large for the dtype" },
	{ "[1.5]", LC_I32, "at [0]: no integer" }, { "[1e-1]", LC_U8, "at [0]: no integer" },
	{ "[256]", LC_U8, "at [0]: outside the range of the dtype" },
	{ "[-1]", LC_U8, "at [0]: outside the range of the dtype" },
	{ "[-129]", LC_I8, "at [0]: outside the range of the dtype" },
	{ "[128]", LC_I8, "at [0]: outside the range of the dtype" },
	{ "[18446744073709551616]", LC_U64, "at [0]: no integer" },
	{ "[9223372036854775808]", LC_I64, "at [0]: outside the range of the dtype" },
	{ "[NaN]", LC_I64, "at [0]: no number of this dtype" },
	{ "[2]", LC_BOOL, "at [0]: outside the range of the dtype" },
	{ "[1]", LC_C64, "JSON has no numbers of this dtype" },
};

START_TEST(wrong_elements)
{
	struct lc__buf out = { 0 };
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;

	assert_status(read_elements(wrong_rows[_i].text, wrong_rows[_i].dtype, &ndim, shape,
	    &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, wrong_rows[_i].message);
	lc__buf_free(&out);
}
END_TEST

/* The bits of one number. */
static uint64_t
bits_of(const char *number, lc_dtype dtype)
{
	unsigned char bytes[8] = { 0 };
	struct lc__buf out = { 0 };
	uint64_t shape[LC_MAX_NDIM];
	char text[2000];
	uint32_t ndim;

	snprintf(text, sizeof(text), "[%s]", number);
	assert_ok(read_elements(text, dtype, &ndim, shape, &out));
	ck_assert_uint_eq(out.size, lc_dtype_size(dtype));
	memcpy(bytes, out.data, out.size);
	lc__buf_free(&out);
	return lc__get64(bytes);
}

static const struct {
	const char *number;
	lc_dtype dtype;
	uint64_t bits;
} bit_rows[] = {
	{ "0", LC_F32, 0 }, { "-0.0", LC_F32, 0x80000000 }, { "-0", LC_F64, 1ULL << 63 },
	{ "1", LC_F32, 0x3f800000 }, { "NaN", LC_F32, 0x7fc00000 },
	{ "Infinity", LC_F32, 0x7f800000 }, { "-Infinity", LC_F64, 0xfff0000000000000 },
	{ "3.4028235677973366e38", LC_F64, 0x47efffffefffffff + 1 },
	{ "3.4028234663852886e38", LC_F32, 0x7f7fffff },
	{ "1e-45", LC_F32, 1 }, { "1e-46", LC_F32, 0 },
	/* Ties go to the even one, whatever is beside a tie goes to its side. */
	{ "1.00048828125", LC_F16, 0x3c00 }, { "1.00146484375", LC_F16, 0x3c02 },
	{ "1.000488281250001", LC_F16, 0x3c01 }, { "-1.00048828125", LC_F16, 0xbc00 },
	{ "65504", LC_F16, 0x7bff }, { "65519.99", LC_F16, 0x7bff },
	{ "6.103515625e-05", LC_F16, 0x0400 }, { "6.097555160522461e-05", LC_F16, 0x03ff },
	{ "6.1005353927612305e-05", LC_F16, 0x0400 },
	{ "5.960464477539063e-08", LC_F16, 1 }, { "2.9802322387695312e-08", LC_F16, 0 },
	{ "2.980232238769532e-08", LC_F16, 1 }, { "8.940696716308594e-08", LC_F16, 2 },
	{ "NaN", LC_F16, 0x7e00 }, { "-Infinity", LC_F16, 0xfc00 }, { "-0", LC_F16, 0x8000 },
	{ "1e-300", LC_F16, 0 }, { "-5e-324", LC_F16, 0x8000 },
	{ "1.00390625", LC_BF16, 0x3f80 }, { "1.01171875", LC_BF16, 0x3f82 },
	{ "1.003906250001", LC_BF16, 0x3f81 }, { "3.3895313892515355e38", LC_BF16, 0x7f7f },
	{ "1.1754943508222875e-38", LC_BF16, 0x0080 }, { "NaN", LC_BF16, 0x7fc0 },
	{ "9.183549615799121e-41", LC_BF16, 1 },
	{ "448", LC_F8_E4M3, 0x7e }, { "464", LC_F8_E4M3, 0x7e }, { "NaN", LC_F8_E4M3, 0x7f },
	{ "0.001953125", LC_F8_E4M3, 1 }, { "0.0009765625", LC_F8_E4M3, 0 },
	{ "17", LC_F8_E4M3, 0x58 }, { "19", LC_F8_E4M3, 0x5a },
	{ "57344", LC_F8_E5M2, 0x7b }, { "Infinity", LC_F8_E5M2, 0x7c },
	{ "NaN", LC_F8_E5M2, 0x7e },
	{ "255", LC_U8, 255 }, { "1.0", LC_U8, 1 }, { "2.5e1", LC_U8, 25 },
	{ "-0", LC_U8, 0 }, { "0e-99999999999", LC_U8, 0 }, { "-128", LC_I8, 128 },
	{ "127", LC_I8, 127 }, { "-1", LC_I16, 0xffff }, { "65535", LC_U16, 65535 },
	{ "4294967295", LC_U32, 4294967295 }, { "-2147483648", LC_I32, 0x80000000 },
	{ "18446744073709551615", LC_U64, UINT64_MAX },
	{ "-9223372036854775808", LC_I64, 1ULL << 63 },
	{ "9007199254740993", LC_I64, 9007199254740993 },
	{ "true", LC_BOOL, 1 }, { "false", LC_BOOL, 0 }, { "1", LC_BOOL, 1 },
};

START_TEST(element_bits)
{
	ck_assert_uint_eq(bits_of(bit_rows[_i].number, bit_rows[_i].dtype),
	    bit_rows[_i].bits);
}
END_TEST

/* Every f16, bf16 and f8 is read back from its own value. */
START_TEST(small_floats)
{
	static const lc_dtype dtypes[] = { LC_F16, LC_BF16, LC_F8_E4M3, LC_F8_E5M2 };
	const lc_dtype dtype = dtypes[_i];
	const uint32_t count = lc_dtype_size(dtype) == 1 ? 256 : 65536;

	for (uint32_t i = 0; i < count; i++) {
		unsigned char bytes[2];
		char text[40];
		double value;
		lc__set16(bytes, (uint16_t)i);
		value = lc__element_real(dtype, bytes);
		if (!isfinite(value))
			continue;
		snprintf(text, sizeof(text), "%.17g", value);
		ck_assert_uint_eq(bits_of(text, dtype), i);
	}
}
END_TEST

static uint64_t
strtod_bits(const char *text)
{
	const double value = strtod(text, NULL);
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static const char *const hard_numbers[] = {
	"9007199254740993", "9007199254740991.5", "9007199254740992.5", "9007199254740993.0",
	"2.2250738585072011e-308", "2.2250738585072014e-308", "4.9406564584124654e-324",
	"2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308",
	"1.7976931348623158e308", "0.1", "0.3", "1e22", "1e23", "8.5e22", "1e27", "1e28",
	"9999999999999999999", "18446744073709551615", "18446744073709551616",
	"99999999999999999999e-10", "1.0000000000000001110223024625156540423631668090820312500",
	"1.0000000000000001110223024625156540423631668090820312501", "1e-27", "1e-28",
	"3.0e-27", "7e-27", "0.000000000000000000000000001", "6929495644600919.5",
	"3.14159265358979323846264338327950288", "123456789012345678e-27",
	"0.00000000000000000000000000000000000000000000000000000000000012345678901234567",
	"1844674407370955161500000000000", "4503599627370496.5", "4503599627370497.5",
	"0e999999999999", "0.0e-999999999999", "1e-999999999999",
};

START_TEST(hard)
{
	ck_assert_uint_eq(bits_of(hard_numbers[_i], LC_F64), strtod_bits(hard_numbers[_i]));
}
END_TEST

/* A random number's text, of every kind that programs write. */
static void
random_number(uint64_t *random, char *out, size_t room)
{
	uint64_t bits = run_random(random);
	double value;
	float single;

	switch (run_random(random) % 5) {
	case 0: /* any double */
		bits &= ~(UINT64_C(0x400) << 52);
		memcpy(&value, &bits, sizeof(value));
		snprintf(out, room, "%.*g", (int)(1 + run_random(random) % 20), value);
		break;
	case 1: /* a single as Python writes it */
		single = (float)((double)(int64_t)bits * 0x1p-63);
		snprintf(out, room, "%.17g", (double)single);
		break;
	case 2: /* halfway between two doubles, or beside that */
		value = (double)(bits >> 11);
		snprintf(out, room, "%.0f.%s", value, run_random(random) % 2 ? "5" :
		    "50000000001");
		break;
	case 3: /* digits with a point somewhere */
		snprintf(out, room, "%llu.%llu", (unsigned long long)(bits >> (bits & 63)),
		    (unsigned long long)run_random(random) >> (run_random(random) & 63));
		break;
	default: /* digits and a small exponent */
		snprintf(out, room, "%llue%d", (unsigned long long)(bits >> (bits >> 58)),
		    (int)(run_random(random) % 70) - 35);
		break;
	}
}

START_TEST(as_strtod)
{
	uint64_t random = run_seed();
	char text[64];

	for (int i = 0; i < 300000; i++) {
		random_number(&random, text, sizeof(text));
		ck_assert_msg(bits_of(text, LC_F64) == strtod_bits(text), "%s", text);
	}
}
END_TEST

/* A long array crosses the blocks that it is converted in. */
START_TEST(many)
{
	struct lc__buf text = { 0 }, out = { 0 };
	uint64_t shape[LC_MAX_NDIM];
	uint32_t ndim;

	for (int i = 0; i < 1024; i++)
		lc__buf_printf(&text, "%s%d.%d", i ? ", " : "[", i - 500, i % 10);
	lc__buf_append(&text, "]", 2);
	assert_ok(read_elements((char *)text.data, LC_F32, &ndim, shape, &out));
	ck_assert_uint_eq(shape[0], 1024);
	ck_assert_uint_eq(out.size, 4096);
	for (int i = 0; i < 1024; i++) {
		char one[32];
		snprintf(one, sizeof(one), "%d.%d", i - 500, i % 10);
		ck_assert(lc__element_real(LC_F32, out.data + i * 4) ==
		    (double)strtof(one, NULL));
	}
	lc__buf_free(&text);
	lc__buf_free(&out);
}
END_TEST

/* Where the locale has a decimal comma, JSON has none. */
START_TEST(decimal_comma)
{
	static const char *const locales[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE" };

	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++)
		if (setlocale(LC_NUMERIC, locales[i]) != NULL)
			break;
	ck_assert_uint_eq(bits_of("1.00000000000000000000000000001", LC_F64),
	    0x3ff0000000000000);
	ck_assert_uint_eq(bits_of("1.5e-300", LC_F32), 0);
	ck_assert_uint_eq(bits_of("2.5000000000000000000000000000000", LC_F32), 0x40200000);
	setlocale(LC_NUMERIC, "C");
}
END_TEST

#define loop(test, rows) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(rows) / sizeof((rows)[0])))

int
main(void)
{
	Suite *suite = suite_create("json_scan");
	TCase *tcase = tcase_create("scan");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, members);
	loop(good, good_rows);
	loop(refused, bad_rows);
	tcase_add_test(tcase, nul_is_a_byte);
	tcase_add_test(tcase, every_prefix_is_refused);
	tcase_add_test(tcase, depth);
	tcase_add_test(tcase, random_bytes);
	loop(unescape, string_rows);
	tcase_add_loop_test(tcase, half_pairs, 0, 9);
	loop(names, name_rows);
	loop(shapes, shape_rows);
	loop(wrong_elements, wrong_rows);
	loop(element_bits, bit_rows);
	tcase_add_loop_test(tcase, small_floats, 0, 4);
	loop(hard, hard_numbers);
	tcase_add_test(tcase, as_strtod);
	tcase_add_test(tcase, many);
	tcase_add_test(tcase, decimal_comma);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
