/* SPDX-License-Identifier: BSD-2-Clause */
/* Text without memory: values that are read, and streams that are written, say so and lose
 * nothing quietly. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "fail_malloc.h"
#include "formats/loaded.h"
#include "formats/value_json.h"
#include "need.h"

START_TEST(value)
{
	static const char line[] = "{\"str\":\"a text\",\"list\":[1,2.5,-7]}";
	struct lc__loaded loaded = { 0 };
	lc_status status;
	long n = 0, hits;
	char *text;

	do {
		fail_malloc(++n, _i);
		status = lc__value_json_read(line, strlen(line), NULL, NULL, &loaded);
		hits = fail_malloc_hits();
		fail_malloc(0, false);
		ck_assert_msg(status == LC_OK || (status == LC_NO_MEMORY && hits > 0),
		    "allocation %ld: %s", n, lc_last_error()->text);
		/* Some memory is not needed: then nothing is missing. */
		text = status == LC_OK ? lc__value_json_text(loaded.value) : NULL;
		if (text != NULL)
			ck_assert_str_eq(text, line);
		free(text);
		lc__loaded_free(&loaded);
	} while (hits > 0);
	ck_assert_int_gt(n, 3);
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

	tcase_add_loop_test(tc, value, 0, 2);
	tcase_add_loop_test(tc, stream, 0, 2);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
