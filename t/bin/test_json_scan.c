/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/json_number.h"
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
	{ "{\"a\":NaN}", "column 6: no such word in JSON" },
	{ "{\"a\":Infinity}", "column 6: no such word in JSON" },
	{ "{\"a\":-Infinity}", "column 7: a digit is missing" },
	{ "{\"a\":01}", "column 7: a number begins with 0" },
	{ "{\"a\":-}", "column 7: a digit is missing" },
	{ "{\"a\":1.}", "column 8: no digit after the point" },
	{ "{\"a\":1.e1}", "column 8: no digit after the point" },
	{ "{\"a\":1e}", "column 8: no digit in the exponent" },
	{ "{\"a\":1e+-1}", "column 9: no digit in the exponent" },
	{ "{\"a\":0x1}", "column 7: a comma or the end of the object is missing" },
	{ "{\"a\":True}", "column 6: no such word in JSON" },
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

/* ---- windows ------------------------------------------------------------------------- */

/* A text that comes in windows: first of `first` bytes, then `step` at a time. Each window
 * is memory of its own, so that a pointer into the one before it is seen. */
struct fed {
	struct lc__json_scan scan; /* first */
	const char *text;
	size_t size, given, first, step;
	char *window;
};

static bool
feed(struct lc__json_scan *scan)
{
	struct fed *fed = (struct fed *)scan;
	const char *keep = scan->keep != NULL ? scan->keep : scan->at;
	const size_t dropped = (size_t)(keep - scan->begin);
	const size_t old = (size_t)(scan->end - keep), at = (size_t)(scan->at - keep);
	size_t more = fed->given == 0 && fed->first > 0 ? fed->first : fed->step;
	char *window;

	if (more > fed->size - fed->given)
		more = fed->size - fed->given;
	if (more == 0)
		return false;
	window = malloc(old + more);
	ck_assert_ptr_nonnull(window);
	if (old > 0)
		memcpy(window, keep, old);
	memcpy(window + old, fed->text + fed->given, more);
	fed->given += more;
	free(fed->window);
	fed->window = window;
	scan->before += dropped;
	scan->begin = window;
	scan->at = window + at;
	scan->end = window + old + more;
	if (scan->keep != NULL)
		scan->keep = window;
	return true;
}

struct scanned {
	bool good;
	uint64_t offset;
	const char *wrong;
	struct lc__buf tokens; /* each with a blank after it */
};

static bool
skip_tokens(struct lc__json_scan *scan, struct lc__buf *out)
{
	struct lc__json_nest nest = { .depth = 0 };
	struct lc__json_slice text;
	enum lc__json_token token;

	do {
		if (!lc__json_next_token(scan, &nest, &token, &text))
			return false;
		lc__buf_append(out, text.text, text.size);
		lc__buf_append(out, " ", 1);
	} while (nest.depth > 0 || token == LC__JSON_NAME);
	return true;
}

/* Scan a value in one of three ways. */
static struct scanned
scan_in(struct lc__json_scan *scan, int way)
{
	struct scanned out = { .good = false };

	switch (way) {
	case 0: out.good = lc__json_skip_value(scan); break;
	case 1: out.good = lc__json_skip_unchecked(scan); break;
	default: out.good = skip_tokens(scan, &out.tokens); break;
	}
	out.offset = lc__json_offset(scan);
	out.wrong = out.good ? "" : scan->wrong;
	ck_assert_ptr_null(scan->keep);
	return out;
}

static void
check_windows(const char *text, size_t size)
{
	for (int way = 0; way < 3; way++) {
		char *copy = exactly(text, size);
		struct lc__json_scan whole = { .at = copy, .begin = copy, .end = copy + size };
		struct scanned want = scan_in(&whole, way);

		for (size_t i = 0; i <= size + 3; i++) {
			struct fed fed = { .scan = { .more = feed }, .text = text, .size = size,
				.first = i <= size ? i : 0, .step = i <= size ? size + 1 : i - size };
			struct scanned got = scan_in(&fed.scan, way);

			ck_assert_msg(got.good == want.good && got.offset == want.offset &&
			    strcmp(got.wrong, want.wrong) == 0 &&
			    got.tokens.size == want.tokens.size && (got.tokens.size == 0 ||
			    memcmp(got.tokens.data, want.tokens.data, got.tokens.size) == 0),
			    "%.*s: way %d, window %zu: %d %llu %s, not %d %llu %s", (int)size,
			    text, way, i, got.good, (unsigned long long)got.offset, got.wrong,
			    want.good, (unsigned long long)want.offset, want.wrong);
			lc__buf_free(&got.tokens);
			free(fed.window);
		}
		lc__buf_free(&want.tokens);
		free(copy);
	}
}

START_TEST(windows_of_good)
{
	check_windows(good_rows[_i].text, strlen(good_rows[_i].text));
}
END_TEST

START_TEST(windows_of_bad)
{
	check_windows(bad_rows[_i].text, strlen(bad_rows[_i].text));
}
END_TEST

/* What is skipped without a look at it: how far, or what is wrong. */
static const struct {
	const char *text;
	size_t size; /* that is skipped */
	const char *wrong;
} unchecked_rows[] = {
	{ "1,2", 1, NULL }, { " tru}", 4, NULL }, { "1.2.3 ", 5, NULL }, { "NaN]", 3, NULL },
	{ "\"a\\\"b\" ", 6, NULL }, { "\"\x01\xff\\q\",", 6, NULL }, { "[}", 1, "not JSON" },
	{ "[1 2,,{:}]x", 10, NULL }, { "{\"]\":[\"}\\\\\"]}", 13, NULL },
	{ "[\"0123456789abcdef\",0123456789abcdef0123456789]", 47, NULL },
	{ "[[]", 3, "the text ends too early" }, { "\"abc", 4, "the text ends too early" },
	{ "\"abc\\", 5, "the text ends too early" }, { "", 0, "the text ends too early" },
	{ ",", 0, "a value is missing" }, { ":", 0, "a value is missing" },
	{ "]", 0, "a value is missing" }, { "{]", 1, "not JSON" },
};

START_TEST(unchecked)
{
	const char *text = unchecked_rows[_i].text;
	struct lc__json_scan scan = { .at = text, .begin = text, .end = text + strlen(text) };

	ck_assert_int_eq(lc__json_skip_unchecked(&scan), unchecked_rows[_i].wrong == NULL);
	ck_assert_uint_eq(lc__json_offset(&scan), unchecked_rows[_i].size);
	if (unchecked_rows[_i].wrong != NULL)
		ck_assert_str_eq(scan.wrong, unchecked_rows[_i].wrong);
	check_windows(text, strlen(text));
}
END_TEST

/* ---- numbers -------------------------------------------------------------------------- */

/* Of numbers: the double, the integer if it is one, and where one ends that more follows. */
static const struct {
	const char *text;
	size_t size; /* of the number, or where it is wrong */
	const char *wrong;
	double real;
	bool negative, whole, integer; /* it has 64 bits; it has neither point nor exponent */
	uint64_t amount;
} number_rows[] = {
	{ "0 ", 1, NULL, 0, false, true, true, 0 },
	{ "-0 ", 2, NULL, -0.0, true, true, true, 0 },
	{ "7x", 1, NULL, 7, false, true, true, 7 },
	{ "-12,", 3, NULL, -12, true, true, true, 12 },
	{ "9223372036854775807 ", 19, NULL, 0x1p63, false, true, true, INT64_MAX },
	{ "-9223372036854775808 ", 20, NULL, -0x1p63, true, true, true, UINT64_C(1) << 63 },
	{ "18446744073709551615 ", 20, NULL, 0x1p64, false, true, true, UINT64_MAX },
	{ "18446744073709551616 ", 20, NULL, 0x1p64, false, false, true, 0 },
	{ "00 ", 1, "a number begins with 0", 0, false, false, false, 0 },
	{ "-01 ", 2, "a number begins with 0", 0, false, false, false, 0 },
	{ "- ", 1, "a digit is missing", 0, false, false, false, 0 },
	{ "+1 ", 0, "a digit is missing", 0, false, false, false, 0 },
	{ ".5 ", 0, "a digit is missing", 0, false, false, false, 0 },
	{ " 1 ", 0, "a digit is missing", 0, false, false, false, 0 },
	{ "1. ", 2, "no digit after the point", 0, false, false, false, 0 },
	{ "1.e5 ", 2, "no digit after the point", 0, false, false, false, 0 },
	{ "1e ", 2, "no digit in the exponent", 0, false, false, false, 0 },
	{ "1E+ ", 3, "no digit in the exponent", 0, false, false, false, 0 },
	{ "1e- ", 3, "no digit in the exponent", 0, false, false, false, 0 },
	{ "1e+-1 ", 3, "no digit in the exponent", 0, false, false, false, 0 },
	{ "1.0 ", 3, NULL, 1, false, true, false, 1 },
	{ "1e3]", 3, NULL, 1000, false, true, false, 1000 },
	{ "12.5e1}", 6, NULL, 125, false, true, false, 125 },
	{ "1.5 ", 3, NULL, 1.5, false, false, false, 0 },
	{ "1e400 ", 5, NULL, (double)INFINITY, false, false, false, 0 },
	{ "-1e400 ", 6, NULL, -(double)INFINITY, true, false, false, 0 },
	{ "1e-400 ", 6, NULL, 0, false, false, false, 0 },
	{ "0.1 ", 3, NULL, 0.1, false, false, false, 0 },
	{ "0x1 ", 1, NULL, 0, false, true, true, 0 },
	{ "12345678 ", 8, NULL, 12345678, false, true, true, 12345678 },
	{ "1234567890123456 ", 16, NULL, 1234567890123456, false, true, true,
	    1234567890123456 },
};

START_TEST(numbers)
{
	const char *text = number_rows[_i].text;
	struct lc__json_number number;
	const char *end = lc__json_number(text, text + strlen(text), &number);
	const char *wrong, *what;
	uint64_t amount;
	double real;

	check_windows(text, strlen(text));
	ck_assert_ptr_eq(lc__json_number_end(text, text + strlen(text), &wrong, &what), end);
	if (number_rows[_i].wrong != NULL) {
		ck_assert_ptr_null(end);
		ck_assert_uint_eq((size_t)(wrong - text), number_rows[_i].size);
		ck_assert_str_eq(what, number_rows[_i].wrong);
		return;
	}
	ck_assert_uint_eq((size_t)(end - text), number_rows[_i].size);
	ck_assert_int_eq(number.negative, number_rows[_i].negative);
	ck_assert_int_eq(number.integer, number_rows[_i].integer);
	real = lc__json_number_double(&number);
	ck_assert_mem_eq(&real, &number_rows[_i].real, sizeof(real));
	ck_assert_int_eq(lc__json_number_integer(&number, &amount), number_rows[_i].whole);
	if (number_rows[_i].whole)
		ck_assert_uint_eq(amount, number_rows[_i].amount);
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
	{ "1", LC_F32, "at []: not an array" }, { "", LC_F32, "at []: not an array" },
	{ "[1", LC_F32, "at [0]: the text ends too early" },
	{ "[1,", LC_F32, "at [1]: not a number of this dtype" },
	{ "[1,]", LC_F32, "at [1]: not a number of this dtype" },
	{ "[1 2]", LC_F32, "at [1]: a comma is missing" },
	{ "[1]]", LC_F32, "at []: something follows the array" },
	{ "[[1,2],[3]]", LC_F32, "at [1]: an array of another length than those before it" },
	{ "[[1],2]", LC_F32, "at [1]: a number among arrays" },
	{ "[1,[2]]", LC_F32, "at [1]: nested deeper than the elements before it" },
	{ "[[[]],[]]", LC_F32, "at [1,0]: an array of another rank than those before it" },
	{ "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", LC_F32,
	    "at [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]: nested deeper than the elements before it" },
	{ "[0,\"1\"]", LC_F32, "at [1]: not a number of this dtype" },
	{ "[null]", LC_F32, "at [0]: not a number of this dtype" },
	{ "[true]", LC_F32, "at [0]: not a number of this dtype" },
	{ "[01]", LC_F32, "at [0]: not a number of this dtype" },
	{ "[nan]", LC_F32, "at [0]: not a number of this dtype" },
	{ "[0,1e39]", LC_F32, "at [1]: too large for the dtype" },
	{ "[-1E400]", LC_F64, "at [0]: too large for the dtype" },
	{ "[65520]", LC_F16, "at [0]: too large for the dtype" },
	{ "[464.01]", LC_F8_E4M3, "at [0]: too large for the dtype" },
	{ "[Infinity]", LC_F8_E4M3, "at [0]: not a number of this dtype" },
	{ "[61440]", LC_F8_E5M2, "at [0]: too large for the dtype" },
	{ "[1.5]", LC_I32, "at [0]: not an integer" }, { "[1e-1]", LC_U8, "at [0]: not an integer" },
	{ "[256]", LC_U8, "at [0]: outside the range of the dtype" },
	{ "[-1]", LC_U8, "at [0]: outside the range of the dtype" },
	{ "[-129]", LC_I8, "at [0]: outside the range of the dtype" },
	{ "[128]", LC_I8, "at [0]: outside the range of the dtype" },
	{ "[18446744073709551616]", LC_U64, "at [0]: not an integer" },
	{ "[9223372036854775808]", LC_I64, "at [0]: outside the range of the dtype" },
	{ "[NaN]", LC_I64, "at [0]: not a number of this dtype" },
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
	loop(windows_of_good, good_rows);
	loop(windows_of_bad, bad_rows);
	loop(unchecked, unchecked_rows);
	loop(numbers, number_rows);
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
