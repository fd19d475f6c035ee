/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_number.h"
#include "format/summary.h"
#include "need.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* ---- numbers --------------------------------------------------------------- */

static const struct {
	double number;
	const char *text;
} number_rows[] = {
	{ 0, "0" }, { 1, "1" }, { 0.1, "0.1" }, { 0.05, "0.05" },
	{ 1.0 / 3, "0.3333333333333333" }, { 0.1 + 0.2, "0.30000000000000004" },
	{ 1e100, "1e+100" }, { -2.5, "-2.5" }, { 5e-324, "5e-324" },
	{ 1.7976931348623157e308, "1.7976931348623157e+308" },
};

START_TEST(shortest)
{
	char text[LC__SHORTEST];

	lc__shortest(number_rows[_i].number, text);
	ck_assert_str_eq(text, number_rows[_i].text);
}
END_TEST

/* A locale with a comma: the machine's, or one that it can make. */
static bool
use_comma(void)
{
	const char *dir = run_scratch();
	char *command;

	if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL)
		return true;
	ck_assert_int_ge(asprintf(&command,
	    "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null", dir), 0);
	if (system(command) == 0)
		setenv("LOCPATH", dir, 1);
	free(command);
	return setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
}

START_TEST(comma)
{
	char text[LC__SHORTEST];

	if (!use_comma())
		return;
	snprintf(text, sizeof(text), "%g", 0.5);
	ck_assert_str_eq(text, "0,5");
	lc__shortest(-1234.5e-10, text);
	ck_assert_str_eq(text, "-1.2345e-07");
	lc__shortest(3, text);
	ck_assert_str_eq(text, "3");
	setlocale(LC_NUMERIC, "C");
}
END_TEST

/* ---- summaries ------------------------------------------------------------- */

#define RUN_A "{\"run_id\":\"a\",\"total\":10,\"non_empty\":4,\"empty\":3," \
	"\"missing_image\":1,\"missing_file\":0,\"invalid\":2}"
#define RUN_B "{\"run_id\":\"b \\\"\xc3\xb6\\\"\\n\",\"total\":5,\"non_empty\":4," \
	"\"empty\":0,\"missing_image\":0,\"missing_file\":1,\"invalid\":0}"

static const char text[] =
    "{\"totals\":{\"total\":15,\"non_empty\":8,\"empty\":3,\"missing_image\":1,"
    "\"missing_file\":1,\"invalid\":2},\"runs\":[" RUN_A "," RUN_B "],"
    "\"written\":8,\"boxes\":21,\"clipped\":2,\"dropped\":1,\"overflow_boxes\":7,"
    "\"overflow_samples\":3,\"reasons\":{\"blank_image\":1,\"min_max\":2,"
    "\"no_file\":1,\"no_labels\":3}}";

START_TEST(round_trip)
{
	struct lc__summary s;
	struct lc__buf out = { 0 };

	assert_ok(lc__summary_parse(text, "m", &s));
	ck_assert_uint_eq(s.totals.total, 15);
	ck_assert_uint_eq(s.totals.non_empty, 8);
	ck_assert_uint_eq(s.totals.empty, 3);
	ck_assert_uint_eq(s.totals.missing_image, 1);
	ck_assert_uint_eq(s.totals.missing_file, 1);
	ck_assert_uint_eq(s.totals.invalid, 2);
	ck_assert_uint_eq(s.written, 8);
	ck_assert_uint_eq(s.boxes, 21);
	ck_assert_uint_eq(s.clipped, 2);
	ck_assert_uint_eq(s.dropped, 1);
	ck_assert_uint_eq(s.overflow_boxes, 7);
	ck_assert_uint_eq(s.overflow_samples, 3);
	ck_assert_uint_eq(s.n_runs, 2);
	ck_assert_str_eq(s.runs[1].run_id, "b \"\xc3\xb6\"\n");
	ck_assert_uint_eq(s.runs[1].counts.missing_file, 1);
	ck_assert_uint_eq(s.n_reasons, 4);
	ck_assert_str_eq(s.reasons[1].name, "min_max");
	ck_assert_uint_eq(s.reasons[3].count, 3);
	assert_ok(lc__summary_format(&s, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, text);
	lc__buf_free(&out);
	lc__summary_free(&s);
	lc__summary_free(&s);
}
END_TEST

START_TEST(nothing)
{
	const struct lc__summary none = { 0 };
	struct lc__buf out = { 0 };

	assert_ok(lc__summary_format(&none, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data,
	    "{\"totals\":{\"total\":0,\"non_empty\":0,\"empty\":0,"
	    "\"missing_image\":0,\"missing_file\":0,\"invalid\":0},\"runs\":[],"
	    "\"written\":0,\"boxes\":0,\"clipped\":0,\"dropped\":0,"
	    "\"overflow_boxes\":0,\"overflow_samples\":0,\"reasons\":{}}");
	lc__buf_free(&out);
}
END_TEST

START_TEST(not_utf8)
{
	struct lc__run_summary run = { .run_id = (char *)"r\xff" };
	const struct lc__summary s = { .runs = &run, .n_runs = 1 };
	struct lc__buf out = { 0 };

	assert_status(lc__summary_format(&s, &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "'r\\xff' is not UTF-8");
	lc__buf_free(&out);
}
END_TEST

/* Totals of what others wrote: total, non_empty, empty, missing_image, missing_file,
 * invalid; their sums are their own affair. */
static const struct {
	const char *text;
	uint64_t totals[6];
} foreign_rows[] = {
	{ "null", { 0 } },
	{ "{}", { 0 } },
	{ "{\"totals\":null,\"runs\":null,\"reasons\":null,\"x\":[1]}", { 0 } },
	{ "{\"totals\":{\"total\":9,\"missing\":2,\"invalid\":1}}",
	    { 9, 0, 0, 0, 2, 1 } },
	{ "{\"totals\":{\"missing\":9,\"missing_file\":2}}", { 2, 0, 0, 0, 2, 0 } },
	{ "{\"totals\":{\"missing\":9,\"missing_image\":2}}", { 2, 0, 0, 2, 0, 0 } },
	{ "{\"totals\":{\"non_empty\":3,\"empty\":4}}", { 7, 3, 4, 0, 0, 0 } },
	{ "{\"runs\":[" RUN_A "," RUN_B "]}", { 15, 8, 3, 1, 1, 2 } },
	{ "{\"totals\":{\"total\":1},\"runs\":[" RUN_A "]}", { 1, 0, 0, 0, 0, 0 } },
	{ "{\"totals\":{\"total\":9223372036854775807,\"invalid\":5}}",
	    { 9223372036854775807u, 0, 0, 0, 0, 5 } },
};

START_TEST(foreign)
{
	const uint64_t *want = foreign_rows[_i].totals;
	struct lc__summary s;

	assert_ok(lc__summary_parse(foreign_rows[_i].text, "m", &s));
	ck_assert_uint_eq(s.totals.total, want[0]);
	ck_assert_uint_eq(s.totals.non_empty, want[1]);
	ck_assert_uint_eq(s.totals.empty, want[2]);
	ck_assert_uint_eq(s.totals.missing_image, want[3]);
	ck_assert_uint_eq(s.totals.missing_file, want[4]);
	ck_assert_uint_eq(s.totals.invalid, want[5]);
	ck_assert_uint_eq(s.written, 0);
	lc__summary_free(&s);
}
END_TEST

START_TEST(reasons_sorted)
{
	struct lc__summary s;

	assert_ok(lc__summary_parse("{\"reasons\":{\"c\":1,\"a\":2,\"b\":3}}", "m",
	    &s));
	ck_assert_str_eq(s.reasons[0].name, "a");
	ck_assert_str_eq(s.reasons[1].name, "b");
	ck_assert_str_eq(s.reasons[2].name, "c");
	ck_assert_uint_eq(s.reasons[2].count, 1);
	lc__summary_free(&s);
}
END_TEST

#define MAX "9223372036854775807"

/* Texts that are refused, whoever wrote them, or changes of ours by which it does not
 * add up any more. */
static const struct {
	const char *from, *to, *message;
} bad_rows[] = {
	{ text, "[]", "m: is not a JSON object" },
	{ text, "7", "m: is not a JSON object" },
	{ text, "", "m: line 1: the text ends too early" },
	{ text, "{\"totals\":[]}", "m: summary: totals is not an object" },
	{ text, "{\"runs\":{}}", "m: summary: runs is not an array" },
	{ text, "{\"runs\":[7]}", "m: runs[0]: entry is not an object" },
	{ text, "{\"runs\":[{}]}", "m: runs[0]: run_id is missing" },
	{ text, "{\"runs\":[{\"run_id\":7}]}", "m: runs[0]: run_id is not a string" },
	{ text, "{\"totals\":{\"empty\":-1}}", "m: totals: empty is out of range" },
	{ text, "{\"totals\":{\"empty\":1.0}}", "m: totals: empty is not an integer" },
	{ text, "{\"totals\":{\"empty\":" MAX ",\"invalid\":" MAX ",\"missing\":" MAX
	    "}}", "m: totals: total is out of range" },
	{ text, "{\"runs\":[{\"run_id\":\"\",\"total\":" MAX "},{\"run_id\":\"\","
	    "\"total\":" MAX "},{\"run_id\":\"\",\"total\":" MAX "}]}",
	    "m: summary: runs are out of range" },
	{ text, "{\"reasons\":[]}", "m: summary: reasons is not an object" },
	{ text, "{\"reasons\":{\"x\":true}}", "m: reasons: x is not an integer" },
	{ text, "{\"written\":\"1\"}", "m: summary: written is not an integer" },
	{ "\"total\":15", "\"total\":16", "m: summary: totals do not add up to total" },
	{ "\"total\":10", "\"total\":11",
	    "m: runs[0]: total is not the sum of its counts" },
	{ "\"total\":5,\"non_empty\":4", "\"total\":6,\"non_empty\":5",
	    "m: summary: totals are not the sum of the runs" },
	{ "\"written\":8", "\"written\":9",
	    "m: summary: written is neither non_empty nor that and empty" },
	{ "\"written\":8", "\"written\":11",
	    "m: summary: written and reasons are not total" },
	{ "\"no_labels\":3", "\"no_labels\":2",
	    "m: summary: written and reasons are not total" },
	{ "\"no_labels\":3", "\"no_labels\":" MAX ",\"x\":" MAX ",\"y\":" MAX,
	    "m: summary: reasons are out of range" },
};

/* The first occurrence of one text replaced by another; freed by the caller. */
static char *
replaced(const char *in, const char *from, const char *to)
{
	const char *at = strstr(in, from);
	char *out;

	ck_assert_ptr_nonnull(at);
	ck_assert_int_ge(asprintf(&out, "%.*s%s%s", (int)(at - in), in, to,
	    at + strlen(from)), 0);
	return out;
}

START_TEST(bad)
{
	char *changed = replaced(text, bad_rows[_i].from, bad_rows[_i].to);
	struct lc__summary s;

	assert_status(lc__summary_parse(changed, "m", &s), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].message);
	free(changed);
}
END_TEST

/* Empty frames that are written are no reason for anything. */
START_TEST(empty_written)
{
	struct lc__summary s;
	char *written = replaced(text, "\"written\":8", "\"written\":11");
	char *more = replaced(written, ",\"no_labels\":3", "");

	assert_ok(lc__summary_parse(more, "m", &s));
	ck_assert_uint_eq(s.written, 11);
	lc__summary_free(&s);
	free(more);
	free(written);
}
END_TEST

/* Some bytes of a text changed: it is refused, or read and written again; what is not
 * ours then need not add up. */
START_TEST(mutations)
{
	uint64_t seed = run_seed();

	for (int i = 0; i < 20000; i++) {
		char *changed = strdup(text);
		struct lc__summary s;
		struct lc__buf out = { 0 };
		for (uint64_t n = 1 + run_random(&seed) % 3; n > 0; n--)
			changed[run_random(&seed) % (sizeof(text) - 1)] =
			    "0123456789{}[],:\"\\-+eE.ntruls\xff"[
			    run_random(&seed) % 31];
		if (lc__summary_parse(changed, "m", &s) == LC_OK) {
			assert_ok(lc__summary_format(&s, &out));
			lc__summary_free(&s);
			lc__buf_append(&out, "", 1);
			if (strstr(changed, "\"written\":") != NULL) {
				assert_ok(lc__summary_parse((char *)out.data, "m",
				    &s));
				lc__summary_free(&s);
			}
		} else {
			ck_assert_int_eq(lc_last_error()->status, LC_CORRUPT);
		}
		lc__buf_free(&out);
		free(changed);
	}
}
END_TEST

/* ---- thresholds ------------------------------------------------------------ */

static const struct {
	struct lc__thresholds limits;
	const char *text;
} limit_rows[] = {
	{ { .warn = false }, "{\"mode\":\"fail\"}" },
	{ { .warn = true }, "{\"mode\":\"warn\"}" },
	{ { .invalid = { .has_count = true }, .missing = { .has_ratio = true } },
	    "{\"max_invalid\":0,\"max_missing_ratio\":0,\"mode\":\"fail\"}" },
	{ { .invalid = { true, true, 5, 0.05 }, .missing = { true, true, 6, 1.0 / 3 },
	    .empty = { true, true, 7, 1 } },
	    "{\"max_invalid\":5,\"max_invalid_ratio\":0.05,\"max_missing\":6,"
	    "\"max_missing_ratio\":0.3333333333333333,\"max_empty\":7,"
	    "\"max_empty_ratio\":1,\"mode\":\"fail\"}" },
};

static bool
same_limit(const struct lc__limit *a, const struct lc__limit *b)
{
	return a->has_count == b->has_count && a->has_ratio == b->has_ratio &&
	    a->count == b->count && a->ratio == b->ratio;
}

START_TEST(limits_round_trip)
{
	const struct lc__thresholds *want = &limit_rows[_i].limits;
	struct lc__thresholds got;
	struct lc__buf out = { 0 };

	assert_ok(lc__thresholds_format(want, &out));
	lc__buf_append(&out, "", 1);
	ck_assert_str_eq((const char *)out.data, limit_rows[_i].text);
	assert_ok(lc__thresholds_parse((const char *)out.data, "m", &got));
	ck_assert(same_limit(&want->invalid, &got.invalid));
	ck_assert(same_limit(&want->missing, &got.missing));
	ck_assert(same_limit(&want->empty, &got.empty));
	ck_assert_int_eq(want->warn, got.warn);
	lc__buf_free(&out);
}
END_TEST

static const struct {
	const char *text, *message; /* a message, or it is read as no limit */
} limit_texts[] = {
	{ "null", NULL },
	{ "{}", NULL },
	{ "{\"max_invalid\":null,\"max_empty_ratio\":null,\"mode\":null,\"x\":1}", NULL },
	{ "[]", "m: is not a JSON object" },
	{ "{\"max_invalid\":-1}", "m: thresholds: max_invalid is out of range" },
	{ "{\"max_empty\":0.5}", "m: thresholds: max_empty is not an integer" },
	{ "{\"max_missing_ratio\":1.5}",
	    "m: thresholds: max_missing_ratio is not within 0 and 1" },
	{ "{\"max_missing_ratio\":-0.1}",
	    "m: thresholds: max_missing_ratio is not within 0 and 1" },
	{ "{\"max_missing_ratio\":\"5%\"}",
	    "m: thresholds: max_missing_ratio is not a number" },
	{ "{\"mode\":\"Fail\"}", "m: thresholds: mode is neither fail nor warn" },
	{ "{\"mode\":1}", "m: thresholds: mode is neither fail nor warn" },
};

START_TEST(limits_parse)
{
	const char *message = limit_texts[_i].message;
	struct lc__thresholds got;
	const lc_status status = lc__thresholds_parse(limit_texts[_i].text, "m", &got);

	assert_status(status, message != NULL ? LC_CORRUPT : LC_OK);
	if (message != NULL) {
		ck_assert_str_eq(lc_last_error()->text, message);
		return;
	}
	ck_assert(!got.invalid.has_count && !got.invalid.has_ratio);
	ck_assert(!got.missing.has_count && !got.missing.has_ratio);
	ck_assert(!got.empty.has_count && !got.empty.has_ratio);
	ck_assert(!got.warn);
}
END_TEST

START_TEST(limits_not_formatted)
{
	const double ratios[] = { -0.1, 1.01, (double)INFINITY, (double)NAN };
	const struct lc__thresholds limits = { .empty = { .has_ratio = true,
		.ratio = ratios[_i] } };
	struct lc__buf out = { 0 };

	assert_status(lc__thresholds_format(&limits, &out), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text,
	    "max_empty_ratio is not within 0 and 1");
	lc__buf_free(&out);
}
END_TEST

/* total, invalid, missing_image, missing_file, empty; a limit of each; the message. */
static const struct {
	uint64_t counts[5];
	struct lc__thresholds limits;
	const char *message;
} check_rows[] = {
	{ { 100, 12, 3, 4, 50 }, { .warn = false }, NULL },
	{ { 100, 12, 0, 0, 0 }, { .invalid = { true, true, 12, 0.12 } }, NULL },
	{ { 100, 12, 0, 0, 0 }, { .invalid = { .has_ratio = true, .ratio = 0.05 } },
	    "invalid 12 of 100 frames (12.0 %), limit 5 %" },
	{ { 100, 12, 0, 0, 0 }, { .invalid = { .has_count = true, .count = 11 } },
	    "invalid 12 of 100 frames, limit 11" },
	{ { 100, 5, 0, 0, 0 }, { .invalid = { .has_ratio = true, .ratio = 0.05 } },
	    NULL },
	{ { 100, 29, 0, 0, 0 }, { .invalid = { .has_ratio = true, .ratio = 0.29 } },
	    NULL },
	{ { 1000, 7, 0, 0, 0 }, { .invalid = { .has_ratio = true, .ratio = 0.007 } },
	    NULL },
	{ { 1000, 8, 0, 0, 0 }, { .invalid = { .has_ratio = true, .ratio = 0.007 } },
	    "invalid 8 of 1000 frames (0.8 %), limit 0.7 %" },
	{ { 0, 0, 0, 0, 0 }, { .invalid = { true, true, 0, 0 } }, NULL },
	{ { 1, 1, 0, 0, 0 }, { .invalid = { true, true, 0, 0 } },
	    "invalid 1 of 1 frames, limit 0; "
	    "invalid 1 of 1 frames (100.0 %), limit 0 %" },
	{ { 3, 0, 1, 1, 0 }, { .missing = { true, true, 1, 0.5 } },
	    "missing 2 of 3 frames, limit 1; "
	    "missing 2 of 3 frames (66.7 %), limit 50 %" },
	{ { 9, 1, 1, 1, 1 }, { .invalid = { .has_count = true }, .missing = {
	    .has_count = true, .count = 2 }, .empty = { .has_ratio = true } },
	    "invalid 1 of 9 frames, limit 0; "
	    "empty 1 of 9 frames (11.1 %), limit 0 %" },
};

START_TEST(check_limits)
{
	const uint64_t *n = check_rows[_i].counts;
	const struct lc__counts counts = { .total = n[0], .invalid = n[1],
		.missing_image = n[2], .missing_file = n[3], .empty = n[4] };
	const char *message = check_rows[_i].message;

	assert_status(lc__thresholds_check(&check_rows[_i].limits, &counts),
	    message != NULL ? LC_INVALID : LC_OK);
	if (message != NULL)
		ck_assert_str_eq(lc_last_error()->text, message);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("summary");
	TCase *tc = tcase_create("summary");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, shortest, 0, COUNT(number_rows));
	tcase_add_test(tc, comma);
	tcase_add_test(tc, round_trip);
	tcase_add_test(tc, nothing);
	tcase_add_test(tc, not_utf8);
	tcase_add_loop_test(tc, foreign, 0, COUNT(foreign_rows));
	tcase_add_test(tc, reasons_sorted);
	tcase_add_loop_test(tc, bad, 0, COUNT(bad_rows));
	tcase_add_test(tc, empty_written);
	tcase_add_test(tc, mutations);
	tcase_add_loop_test(tc, limits_round_trip, 0, COUNT(limit_rows));
	tcase_add_loop_test(tc, limits_parse, 0, COUNT(limit_texts));
	tcase_add_loop_test(tc, limits_not_formatted, 0, 4);
	tcase_add_loop_test(tc, check_limits, 0, COUNT(check_rows));
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
