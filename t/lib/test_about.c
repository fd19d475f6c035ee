/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "warehouse/about.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define A64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdea"
#define B64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdeb"
#define C64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdec"

static const char text[] =
    "{\"layout\":\"yolo\",\"fingerprint\":\"" A64 "\",\"sources_root\":"
    "\"/srv/\xc3\xb6 \\\"x\\\"\",\"sources_sha256\":\"" B64 "\",\"rejected_sha256\":"
    "\"" C64 "\",\"series\":[{\"path\":\"\",\"width\":640,\"height\":480,"
    "\"samples\":9223372036854775800},{\"path\":\"832x1216\",\"width\":832,"
    "\"height\":1216,\"samples\":0}],\"classes\":[\"c\\\"at\",null,\"\xc3\xb6\"]}";

START_TEST(round_trip)
{
	struct lc__warehouse_about about;
	struct lc__buf out = { 0 };

	assert_ok(lc__warehouse_about_parse(text, "m", &about));
	ck_assert_str_eq(about.layout, "yolo");
	ck_assert_str_eq(about.fingerprint, A64);
	ck_assert_str_eq(about.sources_root, "/srv/\xc3\xb6 \"x\"");
	ck_assert_str_eq(about.sources_sha256, B64);
	ck_assert_str_eq(about.rejected_sha256, C64);
	ck_assert_uint_eq(about.n_series, 2);
	ck_assert_str_eq(about.series[0].path, "");
	ck_assert_uint_eq(about.series[0].width, 640);
	ck_assert_uint_eq(about.series[0].height, 480);
	ck_assert_uint_eq(about.series[0].samples, 9223372036854775800u);
	ck_assert_str_eq(about.series[1].path, "832x1216");
	ck_assert_uint_eq(about.n_classes, 3);
	ck_assert_str_eq(about.classes[0], "c\"at");
	ck_assert_ptr_null(about.classes[1]);
	ck_assert_str_eq(about.classes[2], "\xc3\xb6");
	assert_ok(lc__warehouse_about_format(&about, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, text);
	lc__buf_free(&out);
	lc__warehouse_about_free(&about);
	lc__warehouse_about_free(&about);
}
END_TEST

START_TEST(no_warehouse)
{
	const char *const texts[] = { NULL, "null" };
	struct lc__warehouse_about about;

	assert_status(lc__warehouse_about_parse(texts[_i], "m", &about),
	    LC_NOT_MODULE);
	ck_assert_str_eq(lc_last_error()->text, "m: is a manifest of shards, not of a warehouse");
}
END_TEST

START_TEST(not_utf8)
{
	struct lc__warehouse_about about;
	struct lc__buf out = { 0 };

	assert_ok(lc__warehouse_about_parse(text, "m", &about));
	about.sources_root[0] = '\xff';
	assert_status(lc__warehouse_about_format(&about, &out), LC_INVALID);
	lc__buf_free(&out);
	lc__warehouse_about_free(&about);
}
END_TEST

static const struct {
	const char *from, *to, *message;
} bad_rows[] = {
	{ text, "[]", "m: is not a JSON object" },
	{ text, "{", "m: line 1: the text ends too early" },
	{ "\"layout\"", "\"Layout\"", "m: warehouse: layout is missing" },
	{ "\"yolo\"", "7", "m: warehouse: layout is not a string" },
	{ "\"yolo\"", "null", "m: warehouse: layout is missing" },
	{ "dea\"", "de\"", "m: warehouse: fingerprint is not 64 hex digits" },
	{ "dea\"", "deaa\"", "m: warehouse: fingerprint is not 64 hex digits" },
	{ "dea\"", "deA\"", "m: warehouse: fingerprint is not 64 hex digits" },
	{ "deb\"", "deg\"", "m: warehouse: sources_sha256 is not 64 hex digits" },
	{ "rejected_sha256", "x", "m: warehouse: rejected_sha256 is missing" },
	{ "\"series\":[{", "\"series\":[],\"x\":[{", "m: warehouse: series is empty" },
	{ "\"series\":[{", "\"series\":[7,{", "m: series[0]: entry is not an object" },
	{ "[{\"path\":\"\",", "[{", "m: series[0]: path is missing" },
	{ "\"832x1216\"", "\"a/b\"", "m: series[1]: path is not one name" },
	{ "\"832x1216\"", "\"..\"", "m: series[1]: path is not one name" },
	{ "\"832x1216\"", "\"/\"", "m: series[1]: path is not one name" },
	{ "\"832x1216\"", "\"\"", "m: warehouse: series have a path twice" },
	{ "\"width\":640", "\"width\":0", "m: series[0]: width is 0" },
	{ "\"width\":640", "\"width\":4294967296", "m: series[0]: width is out of range" },
	{ "\"height\":1216", "\"height\":\"a\"", "m: series[1]: height is not an integer" },
	{ "\"samples\":0", "\"samples\":-1", "m: series[1]: samples is out of range" },
	{ "\"samples\":0}", "\"samples\":9223372036854775807},{\"path\":\"c\","
	    "\"width\":1,\"height\":1,\"samples\":9223372036854775807}",
	    "m: warehouse: series have too many samples" },
};

/* The first occurrence of one text replaced by another; freed by the caller. */
static char *
replaced(const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *out;

	ck_assert_ptr_nonnull(at);
	ck_assert_int_ge(asprintf(&out, "%.*s%s%s", (int)(at - text), text, to,
	    at + strlen(from)), 0);
	return out;
}

START_TEST(bad)
{
	char *changed = replaced(bad_rows[_i].from, bad_rows[_i].to);
	struct lc__warehouse_about about;

	assert_status(lc__warehouse_about_parse(changed, "m", &about), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	free(changed);
}
END_TEST

/* More series than are compared with one another. */
START_TEST(too_long)
{
	struct lc__buf list = { 0 };
	struct lc__warehouse_about about;
	char *changed;

	lc__buf_printf(&list, "[");
	for (int i = 0; i < 4095; i++)
		lc__buf_printf(&list, "{\"path\":\"%d\",\"width\":1,\"height\":1,"
		    "\"samples\":0},", i);
	lc__buf_printf(&list, "{");
	lc__buf_append(&list, "", 1);
	changed = replaced("[{", (const char *)list.data);
	assert_status(lc__warehouse_about_parse(changed, "m", &about), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "m: warehouse: series is too long");
	free(changed);
	lc__buf_free(&list);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("about");
	TCase *tc = tcase_create("about");

	tcase_add_test(tc, round_trip);
	tcase_add_loop_test(tc, no_warehouse, 0, 2);
	tcase_add_test(tc, not_utf8);
	tcase_add_loop_test(tc, bad, 0, COUNT(bad_rows));
	tcase_add_test(tc, too_long);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
