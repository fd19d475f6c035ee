/* SPDX-License-Identifier: BSD-2-Clause */
/* Text without memory: JSON that is read, and streams that are written, say so and lose
 * nothing quietly. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "fail_malloc.h"
#include "format/json_parse.h"
#include "formats/loaded.h"
#include "formats/value_json.h"
#include "need.h"

static long left; /* allocations of jansson until the one that fails; 0: none */

static void *
take(size_t size)
{
	if (left > 0 && --left == 0) {
		errno = ENOMEM;
		return NULL;
	}
	return malloc(size);
}

/* It has what makes jansson allocate: escapes, long strings, growing objects. */
static const char text[] = "{\"a\": [1, 2.5, true, null, \"b\\u00e9\", -7],"
    " \"a longer name than most others are, and a longer text\": \"aaaaaaaaaaaaaaaaaaaaaaaa"
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\", \"b\": {\"c\": {}},"
    " \"d\": 1, \"e\": 2, \"f\": 3, \"g\": 4, \"h\": 5, \"i\": 6, \"j\": 7}";

START_TEST(parse)
{
	json_error_t error;
	json_t *json;
	long n = 0;

	json_set_alloc_funcs(take, free);
	do {
		left = ++n;
		json = lc__json_parse(text, strlen(text), JSON_REJECT_DUPLICATES, &error);
		if (json == NULL)
			ck_assert_msg(json_error_code(&error) == json_error_out_of_memory,
			    "allocation %ld: %s", n, error.text);
		json_decref(json);
	} while (left == 0);
	left = 0;
	ck_assert_int_gt(n, 20);
	/* It is what memory does, not the text. */
	ck_assert_ptr_null(lc__json_parse("{", 1, 0, &error));
	ck_assert_int_ne(json_error_code(&error), json_error_out_of_memory);
	json_set_alloc_funcs(malloc, free);
}
END_TEST

START_TEST(value)
{
	static const char line[] = "{\"str\": \"a text\"}";
	struct lc__loaded loaded = { 0 };
	lc_status status;
	long n = 0;

	json_set_alloc_funcs(take, free);
	do {
		left = ++n;
		status = lc__value_json_read(line, strlen(line), NULL, NULL, &loaded);
		ck_assert_msg(status == LC_OK || status == LC_NO_MEMORY,
		    "allocation %ld: %s", n, lc_last_error()->text);
		lc__loaded_free(&loaded);
	} while (left == 0);
	left = 0;
	ck_assert_int_gt(n, 3);
	json_set_alloc_funcs(malloc, free);
}
END_TEST

/* Whatever fails, the text is whole or said to be lost. */
START_TEST(stream)
{
	enum { lines = 400 };
	struct lc__buf buf;
	long n = 0, hits;

	do {
		FILE *out;
		bool good;
		buf = (struct lc__buf) { 0 };
		fail_malloc(++n, _i);
		out = lc__buf_stream(&buf);
		for (int i = 0; i < lines && out != NULL; i++)
			fprintf(out, "line %03d of the text\n", i);
		good = lc__buf_stream_end(out, &buf);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_int_eq(good, !buf.failed);
		ck_assert_int_eq(good, hits == 0);
		if (good) {
			ck_assert_uint_eq(buf.size, lines * 21);
			ck_assert_int_eq(buf.data[buf.size], '\0');
			ck_assert_mem_eq((char *)buf.data + 399 * 21,
			    "line 399 of the text\n", 21);
		}
		lc__buf_free(&buf);
	} while (hits > 0);
	ck_assert_int_gt(n, 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("text_memory");
	TCase *tc = tcase_create("text_memory");

	tcase_add_test(tc, parse);
	tcase_add_test(tc, value);
	tcase_add_loop_test(tc, stream, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
