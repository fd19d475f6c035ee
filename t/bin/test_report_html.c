/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages are well-formed, need nothing else and say nothing that is markup. */
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "drawn.h"
#include "made_report.h"
#include "need.h"
#include "report/facts.h"
#include "report/html.h"
#include "report/page.h"
#include "run.h"

/* "<script>", quotes, a control character, a byte that is no UTF-8. */
#define HOSTILE "<script>alert(1)</script>\"'&amp;\x01\xff\xe2\x80\xae"

static struct lc__facts facts;

static void
make(uint64_t seed, double shift)
{
	const struct made_report how = { run_scratch(), seed, 400, 7, shift,
		HOSTILE };

	made_report(&how, &facts);
}

static char *
page_of(size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_ok(lc__html_write(out, &facts));
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

/* ---- what a parser sees -------------------------------------------------------- */

struct found {
	unsigned elements, scripts, links, images, plots;
	bool hostile;       /* the text has it, unescaped again */
	struct lc__buf text;
};

static void
on_element(void *ctx, const char *name, const char **attributes)
{
	struct found *found = ctx;

	found->elements++;
	found->scripts += strcmp(name, "script") == 0;
	found->images += strcmp(name, "img") == 0;
	found->plots += strcmp(name, "svg") == 0;
	for (; attributes[0] != NULL; attributes += 2) {
		/* Only data of its own, and no handlers of events. */
		if (strcmp(attributes[0], "src") == 0)
			found->links += strncmp(attributes[1], "data:", 5) != 0;
		else if (strcmp(attributes[0], "href") == 0)
			found->links++;
		found->scripts += strncmp(attributes[0], "on", 2) == 0;
	}
}

static void
on_text(void *ctx, const char *text, int size)
{
	struct found *found = ctx;

	lc__buf_append(&found->text, text, (size_t)size);
}

static struct found
parse(const char *text, size_t size)
{
	XML_Parser parser = XML_ParserCreate("UTF-8");
	struct found found = { 0 };

	XML_SetUserData(parser, &found);
	XML_SetStartElementHandler(parser, on_element);
	XML_SetCharacterDataHandler(parser, on_text);
	ck_assert_msg(XML_Parse(parser, text, (int)size, 1) == XML_STATUS_OK,
	    "line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(parser),
	    XML_ErrorString(XML_GetErrorCode(parser)));
	XML_ParserFree(parser);
	ck_assert_uint_gt(found.elements, 100);
	ck_assert_uint_eq(found.scripts, 0);
	ck_assert_uint_eq(found.links, 0);
	found.hostile = memmem(found.text.data, found.text.size,
	    "<script>alert(1)</script>\"'&amp;", 32) != NULL;
	lc__buf_free(&found.text);
	return found;
}

/* The address of the XHTML namespace, and no other. */
static void
expect_no_address(const char *text)
{
	const char *first = strstr(text, "http");

	ck_assert_ptr_nonnull(first);
	ck_assert_int_eq(strncmp(first, "http://www.w3.org/1999/xhtml\"", 29), 0);
	ck_assert_ptr_null(strstr(first + 4, "http"));
	ck_assert_ptr_null(strstr(text, "@import"));
	ck_assert_ptr_null(strstr(text, "url("));
}

START_TEST(page_is_whole)
{
	struct found found;
	size_t size, again_size;
	char *text, *again;

	make(1, 0);
	text = page_of(&size);
	found = parse(text, size);
	ck_assert_uint_eq(found.plots, LC__METRICS);
	ck_assert(found.hostile);
	expect_no_address(text);
	ck_assert_ptr_null(strstr(text, "<script"));
	ck_assert_ptr_null(strchr(text, '\x01'));
	ck_assert_ptr_nonnull(strstr(text, "<h1>data/captures &lt;filtered&gt; "
	    "&amp; more</h1>"));
	ck_assert_ptr_nonnull(strstr(text, "2023-11-14 22:13:20 UTC"));
	ck_assert_ptr_nonnull(strstr(text, "<td>resize_mode</td>"
	    "<td><code>Letterbox</code></td>"));
	ck_assert_ptr_nonnull(strstr(text, "&lt;b&gt;f1&lt;/b&gt;"));
	again = page_of(&again_size);
	ck_assert_uint_eq(size, again_size);
	ck_assert_mem_eq(text, again, size);
	free(text);
	free(again);
	made_report_free(&facts);
}
END_TEST

START_TEST(limits_have_verdicts)
{
	size_t size;
	char *text;

	make(1, 0);
	text = page_of(&size);
	/* 11 of 427 frames are invalid, where one in a thousand may be. */
	ck_assert_ptr_nonnull(strstr(text, "<tr><td>invalid</td><td class=\"n\">11"
	    "</td><td class=\"n\">2.6 %</td><td class=\"n\"></td><td class=\"n\">"
	    "0.1 %</td><td class=\"bad\">exceeded</td></tr>"));
	ck_assert_ptr_nonnull(strstr(text, "<td class=\"n\">1,000,000</td>"
	    "<td class=\"n\"></td><td class=\"good\">kept</td></tr>"));
	ck_assert_ptr_nonnull(strstr(text, "<td class=\"dim\">no limit</td>"));
	free(text);
	made_report_free(&facts);
}
END_TEST

START_TEST(rows_are_bounded)
{
	const struct made_report how = { run_scratch(), 3, 2000, 1000, 0, NULL };
	size_t size;
	char *text;

	made_report(&how, &facts);
	text = page_of(&size);
	parse(text, size);
	ck_assert_ptr_nonnull(strstr(text, "run-299"));
	ck_assert_ptr_null(strstr(text, "run-300"));
	ck_assert_ptr_nonnull(strstr(text, "and 700 more runs"));
	free(text);
	made_report_free(&facts);
}
END_TEST

START_TEST(samples_are_pictures)
{
	static const struct lc__box box = { 0.25, 0.25, 0.75, 0.75, 3 };
	struct lc__observation seen = made_observation(&box, 1);
	const uint64_t shape[] = { 3, 400, 200 };
	unsigned char *planes = malloc(3 * 400 * 200);
	lc_sample sample = { .id = { HOSTILE, sizeof(HOSTILE) - 1 } };
	struct found found;
	size_t size;
	char *text;

	make(1, 0);
	memset(planes, 90, 3 * 400 * 200);
	assert_ok(lc_tensor_init(&sample.image, LC_U8, 3, shape, planes));
	assert_ok(lc__thumbnail_add(&facts, &seen, &sample));
	/* What is no image is passed over. */
	sample.image.ndim = 1;
	assert_ok(lc__thumbnail_add(&facts, &seen, &sample));
	ck_assert_uint_eq(facts.n_thumbnails, 1);
	ck_assert_uint_eq(facts.thumbnails[0].width, 80);
	ck_assert_uint_eq(facts.thumbnails[0].height, 160);
	text = page_of(&size);
	found = parse(text, size);
	ck_assert_uint_eq(found.images, 1);
	ck_assert_ptr_nonnull(strstr(text, "<img width=\"80\" height=\"160\" "
	    "alt=\"sample 0\" src=\"data:image/png;base64,iVBORw0KGgo"));
	ck_assert_ptr_nonnull(strstr(text, "<span>sample 0, 1 box</span>"));
	free(text);
	free(planes);
	made_report_free(&facts);
}
END_TEST

START_TEST(empty_warehouse)
{
	lc_warehouse_info info = { .path = "v", .version = "", .recipe = "",
		.fingerprint = "", .dataset_root = "" };
	struct lc__facts nothing = { .info = &info };
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	lc__distributions_init(&nothing.seen);
	assert_ok(lc__html_write(out, &nothing));
	ck_assert_int_eq(fclose(out), 0);
	parse(text, size);
	ck_assert_ptr_nonnull(strstr(text, "Every frame became a sample."));
	ck_assert_ptr_null(strstr(text, "nan"));
	free(text);
}
END_TEST

START_TEST(drift_is_whole)
{
	static struct lc__facts old;
	struct lc__drift drift;
	double limits[LC__DRIFT_METRICS];
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	make(1, 0);
	old = facts;
	make(2, 0.3);
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		limits[i] = 0.1;
	lc__drift_compare(&(struct lc__drift_side){ &old.summary, &old.seen },
	    &(struct lc__drift_side){ &facts.summary, &facts.seen }, limits, &drift);
	assert_ok(lc__html_drift(out, &old, &facts, &drift));
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_uint_eq(parse(text, size).plots, LC__METRICS);
	expect_no_address(text);
	ck_assert_ptr_nonnull(strstr(text, "above"));
	free(text);
	made_report_free(&old);
	made_report_free(&facts);
}
END_TEST

/* ---- text and numbers -------------------------------------------------------------- */

#define TEN "0123456789"
static const struct {
	const char *in, *out;
	bool id;
} texts[] = {
	{ "a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;", false },
	{ "\x01\x1f\x7f\t\n", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\t\n", false },
	{ "\xc3\xa4\xc2\x85\xff", "\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd", false },
	{ "\xef\xbf\xbf\xef\xbf\xbd", "\xef\xbf\xbd\xef\xbf\xbd", false },
	{ TEN TEN TEN TEN TEN "123456",
	    "<bdi class=\"id\">" TEN TEN TEN TEN TEN "123456</bdi>", true },
	{ TEN TEN TEN TEN TEN "<234567",
	    "<bdi class=\"id\" title=\"" TEN TEN TEN TEN TEN "&lt;234567\">"
	    TEN TEN TEN "012345\xe2\x80\xa6" "123456789&lt;234567</bdi>", true },
};

static char *
written(void (*write)(FILE *out, const void *arg), const void *arg)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	write(out, arg);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

static void
write_text(FILE *out, const void *arg)
{
	const size_t i = *(const int *)arg;

	if (texts[i].id)
		lc__page_id(out, texts[i].in, strlen(texts[i].in));
	else
		lc__page_str(out, texts[i].in);
}

START_TEST(text_is_escaped)
{
	char *text = written(write_text, &_i);

	ck_assert_str_eq(text, texts[_i].out);
	free(text);
}
END_TEST

static void
write_numbers(FILE *out, const void *arg)
{
	static const uint64_t bytes[] = { 0, 1023, 1024, 1536, 1048575, 10485760,
		1023 * 1048576ull, UINT64_MAX };

	(void)arg;
	lc__page_count(out, 0);
	putc(' ', out);
	lc__page_count(out, 999);
	putc(' ', out);
	lc__page_count(out, 1234567);
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		putc('|', out);
		lc__page_bytes(out, bytes[i]);
	}
	putc('|', out);
	lc__page_share(out, 0, 7);
	putc('|', out);
	lc__page_share(out, 1, 3);
	putc('|', out);
	lc__page_share(out, 1, 1000);
	putc('|', out);
	lc__page_share(out, 1, 100000);
	putc('|', out);
	lc__page_share(out, 1, 0);
}

START_TEST(numbers)
{
	char *text = written(write_numbers, NULL);

	ck_assert_str_eq(text, "0 999 1,234,567|0 B|1023 B|1.00 KiB|1.50 KiB|"
	    "1.00 MiB|10.0 MiB|1.00 GiB|16.0 EiB|0.0 %|33.3 %|0.10 %|&lt; 0.01 %|");
	free(text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("report_html");
	TCase *tc = tcase_create("report_html");

	tcase_add_test(tc, page_is_whole);
	tcase_add_test(tc, limits_have_verdicts);
	tcase_add_test(tc, rows_are_bounded);
	if (drawn_unable() == NULL)
		tcase_add_test(tc, samples_are_pictures);
	tcase_add_test(tc, empty_warehouse);
	tcase_add_test(tc, drift_is_whole);
	tcase_add_loop_test(tc, text_is_escaped, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(tc, numbers);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
