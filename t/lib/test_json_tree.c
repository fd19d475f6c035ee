/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_tree.h"
#include "base/json_write.h"
#include "fail_malloc.h"
#include "need.h"

/* ---- documents as text --------------------------------------------------------------- */

/* A value again as text, from what the tree says of it. */
static void
write_value(struct lc__buf *out, const struct lc__json *value)
{
	const struct lc__json *item;
	uint32_t n = 0;

	switch (value->kind) {
	case LC__JSON_STRING:
		ck_assert_int_eq(value->string[value->string_size], '\0');
		lc__json_put_string(out, value->string, value->string_size, 0);
		break;
	case LC__JSON_ARRAY:
	case LC__JSON_OBJECT:
		lc__buf_append(out, value->kind == LC__JSON_ARRAY ? "[" : "{", 1);
		lc__json_each(item, value) {
			if (n++ > 0)
				lc__buf_append(out, ",", 1);
			ck_assert_int_eq(item->name != NULL, value->kind == LC__JSON_OBJECT);
			if (item->name != NULL) {
				lc__json_put_string(out, item->name, strlen(item->name), 0);
				lc__buf_append(out, ":", 1);
			}
			write_value(out, item);
		}
		ck_assert_uint_eq(n, value->count);
		lc__buf_append(out, value->kind == LC__JSON_ARRAY ? "]" : "}", 1);
		break;
	default:
		lc__buf_append(out, value->source.text, value->source.size);
	}
}

static char *
text_of(const struct lc__json *value)
{
	struct lc__buf out = { 0 };

	write_value(&out, value);
	lc__buf_append(&out, "", 1);
	ck_assert(!out.failed);
	return (char *)out.data;
}

/* Parse a copy that ends where its memory ends; the caller frees it after the tree. */
static lc_status
parse(const char *text, const struct lc__json_rules *rules, struct lc__json_tree *tree,
    char **copy)
{
	const size_t size = strlen(text);

	*copy = malloc(size + (size == 0));
	ck_assert_ptr_nonnull(*copy);
	memcpy(*copy, text, size);
	return lc__json_parse(*copy, size, rules, tree);
}

static const struct {
	const char *text, *want, *only;
} good_rows[] = {
	{ "null", "null", NULL }, { " true ", "true", NULL }, { "-12.50e3", "-12.50e3", NULL },
	{ "18446744073709551616", "18446744073709551616", NULL },
	{ "\xef\xbb\xbf[1]", "[1]", NULL }, { "\"\"", "\"\"", NULL },
	{ "\"\\u00e9\\ud83d\\ude00\\/\\n\"", "\"\xc3\xa9\xf0\x9f\x98\x80/\\u000a\"", NULL },
	{ "[]", "[]", NULL }, { "{ }", "{}", NULL }, { "[[],{},[[]]]", "[[],{},[[]]]", NULL },
	{ "[1,[2,{\"a\":[3,4]},5],6]", "[1,[2,{\"a\":[3,4]},5],6]", NULL },
	{ "{\"a\":{\"a\":{\"a\":1}},\"\\u0062\":[{\"a\":2},{\"a\":3}]}",
	    "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":2},{\"a\":3}]}", NULL },
	/* Only what is asked for is looked into. */
	{ "{\"a\":[1,NaN,{\"x\":[]}],\"b\":[1,[2]],\"c\":{\"]\":01},\"d\":\"x\"}",
	    "{\"a\":[],\"b\":[1,[2]],\"c\":{},\"d\":\"x\"}", "b" },
	{ "{\"\\u0062\":[1,{\"b\":[2]}],\"bb\":[3]}", "{\"b\":[1,{\"b\":[2]}],\"bb\":[]}", "b" },
	{ "[[1],[2]]", "[[1],[2]]", "b" }, { "[{\"a\":[1]}]", "[{\"a\":[1]}]", "b" },
	{ "{\"b\":{\"a\":[1]}}", "{\"b\":{\"a\":[1]}}", "b" },
};

START_TEST(good)
{
	const struct lc__json_rules rules = { .only = good_rows[_i].only };
	struct lc__json_tree tree = { 0 };
	char *copy, *text;

	/* The memory of one document is used for the next. */
	for (int round = 0; round < 2; round++) {
		assert_ok(parse(good_rows[_i].text, &rules, &tree, &copy));
		text = text_of(tree.values);
		ck_assert_str_eq(text, good_rows[_i].want);
		ck_assert_uint_eq(tree.values->span, tree.count);
		free(text);
		free(copy);
	}
	lc__json_free(&tree);
}
END_TEST

static const struct {
	const char *text, *message;
} bad_rows[] = {
	{ "", "the text ends too early (line 1, column 1)" },
	{ "[1,]", "a value is missing (line 1, column 4)" },
	{ "[\n1,\n 2\n 3]", "a comma or the end of what is open is missing (line 4, column 2)" },
	{ "1 2", "something follows the value (line 1, column 3)" },
	{ "\xef\xbb\xbfx", "no such word in JSON (line 1, column 1)" },
	{ "{\"a\":1,\"a\":2}", "the name 'a' occurs twice (line 1, column 10)" },
	{ "{\"a\":1,\n\"\\u0061\" :\n[\":\"]}", "the name 'a' occurs twice (line 2, column 8)" },
	{ "[{\"a\":1},{\"b\":{\"a\":1,\"c\":2,\"a\":3}}]",
	    "the name 'a' occurs twice (line 1, column 30)" },
	{ "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,"
	    "\"k\":0,\"l\":0,\"m\":0,\"n\":0,\"o\":0,\"p\":0,\"q\":0,\"b\":0,\"a\":0}",
	    "the name 'b' occurs twice (line 1, column 106)" },
	{ "{\"a\\u0000\":1}", "\\u0000 in a string (line 1, column 2)" },
	{ "[\"a\\u0000\"]", "\\u0000 in a string (line 1, column 2)" },
	{ "[\"\\ud800\"]", "half of a surrogate pair (line 1, column 3)" },
	{ "{\"x\\udc00\":1}", "half of a surrogate pair (line 1, column 4)" },
	{ "[\"\xff\"]", "not UTF-8 (line 1, column 3)" },
	{ "[1e400,01]", "a number begins with 0 (line 1, column 9)" },
};

START_TEST(bad)
{
	struct lc__json_tree tree = { 0 };
	char *copy;

	assert_status(parse(bad_rows[_i].text, NULL, &tree, &copy), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	ck_assert_mem_eq(tree.wrong, bad_rows[_i].message, strlen(tree.wrong));
	ck_assert_uint_eq(tree.count, 0);
	lc__json_free(&tree);
	free(copy);
}
END_TEST

START_TEST(nul)
{
	const struct lc__json_rules rules = { .nul = true };
	struct lc__json_tree tree = { 0 };
	char *copy;

	assert_ok(parse("\"a\\u0000b\"", &rules, &tree, &copy));
	ck_assert_uint_eq(tree.values->string_size, 3);
	ck_assert_mem_eq(tree.values->string, "a\0b", 4);
	free(copy);
	assert_status(parse("{\"\\u0000\":1}", &rules, &tree, &copy), LC_CORRUPT);
	free(copy);
	lc__json_free(&tree);
}
END_TEST

START_TEST(members)
{
	static const char text[] = "{\"a\":null,\"b\":\"x\",\"c\":[1,2],\"d\":{\"b\":true}}";
	struct lc__json_tree tree = { 0 };
	const struct lc__json *top, *item;
	char *copy;

	assert_ok(parse(text, NULL, &tree, &copy));
	top = tree.values;
	ck_assert(lc__json_is(lc__json_get(top, "a"), LC__JSON_NULL));
	ck_assert_str_eq(lc__json_text(lc__json_get(top, "b")), "x");
	ck_assert(lc__json_is(lc__json_get(lc__json_get(top, "d"), "b"), LC__JSON_TRUE));
	ck_assert_ptr_null(lc__json_get(top, "e"));
	ck_assert_ptr_null(lc__json_get(lc__json_get(top, "c"), "b"));
	ck_assert_ptr_null(lc__json_get(NULL, "b"));
	ck_assert_ptr_null(lc__json_text(NULL));
	ck_assert_ptr_null(lc__json_text(top));
	lc__json_each(item, NULL)
		ck_abort();
	lc__json_each(item, lc__json_get(top, "b"))
		ck_abort();
	item = lc__json_get(top, "c");
	ck_assert_uint_eq(item->source.size, 5);
	ck_assert_mem_eq(item->source.text, "[1,2]", 5);
	lc__json_free(&tree);
	free(copy);
}
END_TEST

static const struct {
	const char *text;
	bool integer, has_int, has_uint;
	int64_t number;
	uint64_t amount;
	double real;
} number_rows[] = {
	{ "0", true, true, true, 0, 0, 0 }, { "-0", true, true, true, 0, 0, 0 },
	{ "-0.0", false, false, false, 0, 0, -0.0 }, { "1.0", false, false, false, 0, 0, 1 },
	{ "1e2", false, false, false, 0, 0, 100 }, { "-7", true, true, false, -7, 0, -7 },
	{ "9223372036854775807", true, true, true, INT64_MAX, INT64_MAX, 0x1p63 },
	{ "9223372036854775808", true, false, true, 0, UINT64_C(1) << 63, 0x1p63 },
	{ "-9223372036854775808", true, true, false, INT64_MIN, 0, -0x1p63 },
	{ "-9223372036854775809", true, false, false, 0, 0, -0x1p63 },
	{ "18446744073709551615", true, false, true, 0, UINT64_MAX, 0x1p64 },
	{ "18446744073709551616", true, false, false, 0, 0, 0x1p64 },
	{ "1e400", false, false, false, 0, 0, (double)INFINITY },
	{ "-1e400", false, false, false, 0, 0, -(double)INFINITY },
	{ "0.1", false, false, false, 0, 0, 0.1 },
};

START_TEST(numbers)
{
	struct lc__json_tree tree = { 0 };
	int64_t number;
	uint64_t amount;
	double real;
	char *copy;

	assert_ok(parse(number_rows[_i].text, NULL, &tree, &copy));
	ck_assert_int_eq(lc__json_is_integer(tree.values), number_rows[_i].integer);
	ck_assert_int_eq(lc__json_int64(tree.values, &number), number_rows[_i].has_int);
	if (number_rows[_i].has_int)
		ck_assert_int_eq(number, number_rows[_i].number);
	ck_assert_int_eq(lc__json_uint64(tree.values, &amount), number_rows[_i].has_uint);
	if (number_rows[_i].has_uint)
		ck_assert_uint_eq(amount, number_rows[_i].amount);
	ck_assert(lc__json_double(tree.values, &real));
	ck_assert_mem_eq(&real, &number_rows[_i].real, sizeof(real));
	free(copy);
	assert_ok(parse("\"1\"", NULL, &tree, &copy));
	ck_assert(!lc__json_is_integer(tree.values) && !lc__json_int64(tree.values, &number) &&
	    !lc__json_uint64(NULL, &amount) && !lc__json_double(tree.values, &real));
	lc__json_free(&tree);
	free(copy);
}
END_TEST

/* A text of `[` and its ends. */
START_TEST(depth)
{
	struct lc__json_tree tree = { 0 };
	char text[2 * (LC__JSON_DEPTH + 1)];

	for (size_t n = LC__JSON_DEPTH; n <= LC__JSON_DEPTH + 1; n++) {
		memset(text, '[', n);
		memset(text + n, ']', n);
		assert_status(lc__json_parse(text, 2 * n, NULL, &tree),
		    n <= LC__JSON_DEPTH ? LC_OK : LC_CORRUPT);
		if (n <= LC__JSON_DEPTH)
			ck_assert_uint_eq(tree.count, n);
	}
	ck_assert_str_eq(tree.wrong, "nested too deeply");
	lc__json_free(&tree);
}
END_TEST

/* Whatever fails, it is memory that is missing; the text is never malformed. */
START_TEST(without_memory)
{
	struct lc__buf text = { 0 };
	struct lc__json_tree tree;
	lc_status status;
	long n = 0, hits;

	lc__buf_append(&text, "[", 1);
	for (int i = 0; i < 40; i++)
		lc__buf_printf(&text, "{\"a\\u00e9%d\":\"%0*d\",\"1\":1,\"2\":1,\"3\":1,\"4\":1,"
		    "\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":1,\"13\":1,"
		    "\"14\":1,\"15\":1,\"16\":1},", i, 10 * i + 1, i);
	lc__buf_append(&text, "1]", 2);
	do {
		tree = (struct lc__json_tree) { 0 };
		fail_malloc(++n, _i);
		status = lc__json_parse(text.data, text.size, NULL, &tree);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_int_eq(status, hits > 0 ? LC_NO_MEMORY : LC_OK);
		lc__json_free(&tree);
	} while (hits > 0);
	ck_assert_int_gt(n, 10);
	lc__buf_free(&text);
}
END_TEST

/* ---- writing --------------------------------------------------------------------------- */

static const struct {
	const char *text;
	size_t size;
	unsigned escapes;
	const char *want;
} string_rows[] = {
	{ "", 0, 0, "" }, { "abc", 3, 0, "abc" }, { "a\"b\\c/", 6, 0, "a\\\"b\\\\c/" },
	{ "\b\f\n\r\t\x1f\0", 7, 0, "\\u0008\\u000c\\u000a\\u000d\\u0009\\u001f\\u0000" },
	{ "\b\f\n\r\t\x1f\0", 7, LC__JSON_LETTERS, "\\b\\f\\n\\r\\t\\u001f\\u0000" },
	{ "\x7f\xc3\xa9", 3, 0, "\x7f\xc3\xa9" }, { "\x7f\xc3\xa9", 3, LC__JSON_DEL, "\\u007f\xc3\xa9" },
	{ "\x7f\xc3\xa9", 3, LC__JSON_ASCII, "\x7f\\u00e9" },
	{ "\x7f\xc3\xa9", 3, LC__JSON_ASCII | LC__JSON_DEL, "\\u007f\\u00e9" },
	{ "\xef\xbf\xbf\xf0\x90\x80\x80\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", 15, LC__JSON_ASCII,
	    "\\uffff\\ud800\\udc00\\ud83d\\ude00\\udbff\\udfff" },
	{ "a\xff\xe2\x82z", 5, 0, "a\\ufffd\\ufffd\\ufffdz" },
};

START_TEST(strings)
{
	struct lc__buf out = { 0 };
	const char *want = string_rows[_i].want;

	lc__json_put_text(&out, string_rows[_i].text, string_rows[_i].size,
	    string_rows[_i].escapes);
	ck_assert_uint_eq(out.size, strlen(want));
	if (out.size > 0)
		ck_assert_mem_eq(out.data, want, out.size);
	lc__buf_free(&out);
}
END_TEST

static const struct {
	const char *text, *compact, *indented; /* NULL: not well-formed */
} layout_rows[] = {
	{ " 1 ", "1", "1" }, { "[ ]", "[]", "[]" }, { "{\t}", "{}", "{}" },
	{ "\" \\\" \"", "\" \\\" \"", "\" \\\" \"" },
	{ "[1, [2 ,3], {}]", "[1,[2,3],{}]", "[\n  1,\n  [\n    2,\n    3\n  ],\n  {}\n]" },
	{ "{\"a\" : {\"b\": [] , \"c\":\n\"x y\"}, \"d\": 0.10}",
	    "{\"a\":{\"b\":[],\"c\":\"x y\"},\"d\":0.10}",
	    "{\n  \"a\": {\n    \"b\": [],\n    \"c\": \"x y\"\n  },\n  \"d\": 0.10\n}" },
	{ "[1 2, \"a\" \"b\"  true]", "[1 2,\"a\"\"b\"true]", NULL },
	{ "[\"a", "[\"a", NULL }, { "[\"a\\", "[\"a\\", NULL },
};

START_TEST(layouts)
{
	const struct lc__json_slice text = { layout_rows[_i].text,
		strlen(layout_rows[_i].text) };
	struct lc__buf out = { 0 };

	lc__json_put_compact(&out, text);
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((char *)out.data, layout_rows[_i].compact);
	out.size = 0;
	if (layout_rows[_i].indented != NULL) {
		lc__json_put_indented(&out, text);
		lc__buf_append(&out, "", 1);
		ck_assert_str_eq((char *)out.data, layout_rows[_i].indented);
	}
	lc__buf_free(&out);
}
END_TEST

#define loop(test, rows) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(rows) / sizeof((rows)[0])))

int
main(void)
{
	Suite *suite = suite_create("json_tree");
	TCase *tcase = tcase_create("json_tree");

	loop(good, good_rows);
	loop(bad, bad_rows);
	tcase_add_test(tcase, nul);
	tcase_add_test(tcase, members);
	loop(numbers, number_rows);
	tcase_add_test(tcase, depth);
	tcase_add_loop_test(tcase, without_memory, 0, 2);
	loop(strings, string_rows);
	loop(layouts, layout_rows);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
