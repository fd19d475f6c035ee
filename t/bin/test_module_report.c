/* SPDX-License-Identifier: BSD-2-Clause */
/* The report on a module: what it counts of fields, texts and traces, and that its page is
 * well-formed and says nothing that is markup. */
#include <expat.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "report/fill_trace.h"
#include "report/module_facts.h"
#include "report/module_html.h"
#include "report/rates.h"
#include "report/record_fields.h"
#include "run.h"

/* "<script>", quotes, a control character, a byte that is no UTF-8. */
#define HOSTILE "<script>alert(1)</script>\"'&amp;\x01\xff\xe2\x80\xae"

/* ---- fields ---------------------------------------------------------------------------- */

static struct lc__record_field *
field_of(struct lc__record_fields *fields, const char *path, lc_kind kind)
{
	for (size_t i = 0; i < fields->n; i++)
		if (strcmp(fields->all[i].path, path) == 0 && fields->all[i].kind == kind)
			return &fields->all[i];
	ck_abort_msg("no field %s", path);
	return NULL;
}

static lc_tensor
floats(const float *data, uint64_t n)
{
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, LC_F32, 1, &n, (void *)data));
	return tensor;
}

/* {x: f32[n], label: string, boxes: [f32[1] ...], n: integer}; odd ones have no label */
static void
add_record(struct lc__record_fields *fields, unsigned i)
{
	const float x[4] = { (float)i, i == 3 ? NAN : -1, i == 5 ? INFINITY : 2, 3 };
	const float one = (float)(10 * i);
	const lc_tensor tensor = floats(x, i == 2 ? 3 : 4), box = floats(&one, 1);
	lc_value *map = lc_value_map(), *boxes;

	lc_value_set(map, "x", lc_value_tensor(&tensor));
	if (i % 2 == 0)
		lc_value_set(map, "label", lc_value_str(i < 8 ? "cat" : "dog"));
	boxes = lc_value_set(map, "boxes", lc_value_list());
	for (unsigned k = 0; k < i % 3; k++)
		lc_value_append(boxes, lc_value_tensor(&box));
	lc_value_set(map, "n", lc_value_integer((int64_t)i - 4));
	assert_ok(lc_value_check(map));
	assert_ok(lc__record_fields_add(fields, map));
	lc_value_free(map);
}

START_TEST(fields_are_counted)
{
	struct lc__record_fields fields;
	struct lc__record_field *x, *label, *boxes, *box, *n;
	char type[200];

	lc__record_fields_init(&fields, 12);
	for (unsigned i = 0; i < 12; i++)
		add_record(&fields, i);
	lc__record_fields_end(&fields);
	ck_assert_uint_eq(fields.n, 5);
	ck_assert_uint_eq(fields.records, 12);
	x = field_of(&fields, "x", LC_TENSOR);
	ck_assert_uint_eq(x->records, 12);
	ck_assert_uint_eq(x->elements, 47);
	ck_assert_uint_eq(x->numbers.nan, 1);
	ck_assert_uint_eq(x->numbers.plus, 1);
	ck_assert_uint_eq(x->numbers.count, 46);
	ck_assert_double_eq(x->numbers.min.high, -1);
	ck_assert(!x->integers && !x->some);
	/* without NaN and infinity */
	ck_assert_uint_eq(x->n_kept, 45);
	lc__record_field_type(x, type, sizeof(type));
	ck_assert_str_eq(type, "f32[3..4]");
	ck_assert_uint_eq(lc__record_fields_missing(&fields, (size_t)(x - fields.all)), 0);
	label = field_of(&fields, "label", LC_STRING);
	ck_assert_uint_eq(label->records, 6);
	ck_assert_uint_eq(lc__record_fields_missing(&fields, (size_t)(label - fields.all)), 6);
	ck_assert_uint_eq(label->texts.n, 2);
	ck_assert_uint_eq(label->texts.rows[0].n, 4);
	ck_assert_int_eq(memcmp(label->texts.rows[0].text.data, "cat", 3), 0);
	boxes = field_of(&fields, "boxes", LC_LIST);
	ck_assert_uint_eq(boxes->least[0], 0);
	ck_assert_uint_eq(boxes->most[0], 2);
	box = field_of(&fields, "boxes.*", LC_TENSOR);
	ck_assert_uint_eq(box->records, 8);
	ck_assert_uint_eq(box->values, 12);
	ck_assert_uint_eq(lc__record_fields_missing(&fields, (size_t)(box - fields.all)), 4);
	ck_assert_double_eq(box->numbers.max.high, 110);
	n = field_of(&fields, "n", LC_INTEGER);
	ck_assert(n->integers);
	ck_assert_double_eq(lc__moments_mean(&n->numbers), 1.5);
	lc__record_fields_free(&fields);
}
END_TEST

START_TEST(histograms_have_bins_that_fit)
{
	struct lc__record_fields fields;
	struct lc__histogram histogram;
	struct lc__record_field *field;
	float numbers[1000];
	lc_tensor tensor;

	lc__record_fields_init(&fields, 1);
	for (int i = 0; i < 1000; i++)
		numbers[i] = (float)i / 1000;
	numbers[7] = 1e9f;
	tensor = floats(numbers, 1000);
	assert_ok(lc__record_fields_add_tensor(&fields, &tensor));
	field = &fields.all[0];
	ck_assert(lc__record_field_histogram(field, &histogram));
	/* The one that is far away is outside. */
	ck_assert_uint_eq(histogram.above, 1);
	ck_assert_double_eq_tol(histogram.low, 0, 0.011);
	ck_assert_double_eq_tol(histogram.high, 1, 0.021);
	ck_assert_uint_eq(histogram.n, 1000);
	lc__record_fields_free(&fields);

	/* Whole numbers have bins of whole numbers. */
	lc__record_fields_init(&fields, 10);
	for (int i = 0; i < 10; i++) {
		lc_value *value = lc_value_integer(i % 2 == 0 ? -3 : 4);
		assert_ok(lc__record_fields_add(&fields, value));
		lc_value_free(value);
	}
	ck_assert(lc__record_field_histogram(&fields.all[0], &histogram));
	ck_assert_double_eq(histogram.low, -3);
	ck_assert_uint_eq(histogram.bins, 8);
	ck_assert_uint_eq(histogram.counts[0], 5);
	ck_assert_uint_eq(histogram.counts[7], 5);
	lc__record_fields_free(&fields);

	/* One number is no distribution. */
	lc__record_fields_init(&fields, 1);
	tensor = floats(numbers, 1);
	assert_ok(lc__record_fields_add_tensor(&fields, &tensor));
	ck_assert(!lc__record_field_histogram(&fields.all[0], &histogram));
	lc__record_fields_free(&fields);
}
END_TEST

/* The elements that are looked at of a large image are of all channels. */
START_TEST(large_tensors_are_looked_at_evenly)
{
	const uint64_t shape[3] = { 1024, 768, 3 };
	const size_t size = 1024 * 768 * 3;
	unsigned char *pixels = malloc(size);
	struct lc__record_fields fields;
	lc_tensor tensor;

	ck_assert_ptr_nonnull(pixels);
	for (size_t i = 0; i < size; i++)
		pixels[i] = (unsigned char)(i % 3 * 100);
	assert_ok(lc_tensor_init(&tensor, LC_U8, 3, shape, pixels));
	lc__record_fields_init(&fields, 1);
	assert_ok(lc__record_fields_add_tensor(&fields, &tensor));
	ck_assert(fields.all[0].some);
	ck_assert_uint_le(fields.all[0].numbers.count, LC__FIELD_ELEMENTS);
	ck_assert_uint_gt(fields.all[0].numbers.count, LC__FIELD_ELEMENTS / 2);
	ck_assert_double_eq_tol(lc__moments_mean(&fields.all[0].numbers), 100, 0.01);
	lc__record_fields_free(&fields);
	free(pixels);
}
END_TEST

START_TEST(fields_and_texts_are_bounded)
{
	struct lc__record_fields fields;
	struct lc__texts texts = { 0 };
	lc_value *map = lc_value_map();
	char name[40];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "field%d", i);
		lc_value_set(map, name, lc_value_integer(i));
	}
	lc__record_fields_init(&fields, 1);
	assert_ok(lc__record_fields_add(&fields, map));
	ck_assert_uint_eq(fields.n, LC__RECORD_FIELDS);
	ck_assert_uint_eq(fields.others, 100 - LC__RECORD_FIELDS);
	lc__record_fields_free(&fields);
	lc_value_free(map);

	for (int round = 0; round < 2; round++)
		for (int i = 0; i < LC__TEXTS_MOST + 10; i++) {
			snprintf(name, sizeof(name), "%d", i);
			assert_ok(lc__texts_add(&texts, lc_id_of(name), 3));
		}
	ck_assert_uint_eq(texts.n, LC__TEXTS_MOST);
	ck_assert_uint_eq(texts.others, 20);
	ck_assert_uint_eq(texts.others_bytes, 60);
	lc__texts_sort(&texts);
	ck_assert_uint_eq(texts.rows[0].n, 2);
	ck_assert_uint_eq(texts.rows[0].bytes, 6);
	lc__texts_free(&texts);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------ */

START_TEST(rates_keep_the_sum)
{
	struct lc__rates rates;
	double sum = 0;

	lc__rates_init(&rates, 7);
	ck_assert_uint_eq(rates.n, 7);
	lc__rates_add(&rates, 0, 0, 7, 70);
	lc__rates_add(&rates, 0, 2.5, 3.5, 10);
	lc__rates_add(&rates, 0, 6.9, 6.9, 1);
	for (size_t i = 0; i < rates.n; i++)
		sum += rates.y[0][i];
	ck_assert_double_eq_tol(sum, 81, 1e-9);
	ck_assert_double_eq_tol(rates.y[0][2], 15, 1e-9);
	ck_assert_double_eq_tol(rates.y[0][6], 11, 1e-9);
	lc__rates_init(&rates, 1e6);
	ck_assert_uint_eq(rates.n, LC__RATES_SPANS);
	lc__rates_add(&rates, 1, 0, 1e6, 5e6);
	lc__rates_end(&rates);
	ck_assert_double_eq_tol(rates.y[1][60], 5, 1e-9);
}
END_TEST

static char *
write_trace(const char *text)
{
	static char path[4200];
	FILE *file;

	snprintf(path, sizeof(path), "%s/trace.jsonl", run_scratch());
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

START_TEST(traces_are_read)
{
	struct lc__fill_trace trace;
	const char *path = write_trace(
	    "{\"event\":\"begin\",\"seconds\":0,\"cachex\":\"0.1.0\",\"time_ms\":1700000000000,"
	    "\"module\":\"a<b\",\"options\":{\"batch\":\"8\"}}\n"
	    "{\"event\":\"batch\",\"seconds\":0.5,\"items\":8,\"failed\":0,\"attempts\":1,"
	    "\"metrics\":{\"loss\":2.5,\"name\":\"x\"}}\n"
	    "{\"event\":\"progress\",\"seconds\":1,\"stored\":8,\"failed\":1,\"bytes\":100,"
	    "\"retried\":1,\"died\":1,\"timed_out\":2,\"garbage\":0,\"running\":2,\"busy\":1}\n"
	    "{\"event\":\"batch\",\"seconds\":1.5,\"metrics\":{\"loss\":1.25e0}}\n"
	    "garbage\n"
	    "{\"event\":\"end\",\"seconds\":2,\"status\":\"ok\",\"stored\":24,\"failed\":1,"
	    "\"bad\":2,\"bytes\":300}\n"
	    "{\"event\":\"prog");

	assert_ok(lc__fill_trace_read(path, &trace));
	ck_assert_str_eq(trace.module, "a<b");
	ck_assert_str_eq(trace.status, "ok");
	ck_assert_uint_eq(trace.began_ms, 1700000000000);
	ck_assert_uint_eq(trace.bad, 2);
	ck_assert_uint_eq(trace.n, 2);
	ck_assert(trace.producers);
	ck_assert_double_eq(trace.points[0].stored, 8);
	ck_assert_double_eq(trace.points[0].lost, 3);
	ck_assert_double_eq(trace.points[0].busy, 1);
	ck_assert_double_eq(trace.points[1].failed, 3);
	ck_assert_uint_eq(trace.n_metrics, 1);
	ck_assert_str_eq(trace.metrics[0].name, "loss");
	ck_assert_uint_eq(trace.metrics[0].n, 2);
	ck_assert_double_eq(trace.metrics[0].points[1].value, 1.25);
	lc__fill_trace_free(&trace);

	assert_status(lc__fill_trace_read(write_trace("{\"event\":1}\n[]\n"), &trace),
	    LC_CORRUPT);
	lc__fill_trace_free(&trace);
	assert_status(lc__fill_trace_read("/nonexistent", &trace), LC_NO_FILE);
	lc__fill_trace_free(&trace);
}
END_TEST

/* ---- the page -------------------------------------------------------------------------- */

struct found {
	unsigned elements, scripts, links;
	bool hostile;
	struct lc__buf text;
};

static void
on_element(void *ctx, const char *name, const char **attributes)
{
	struct found *found = ctx;

	found->elements++;
	found->scripts += strcmp(name, "script") == 0;
	for (; attributes[0] != NULL; attributes += 2) {
		if (strcmp(attributes[0], "src") == 0 || strcmp(attributes[0], "srcset") == 0)
			found->links += strncmp(attributes[1], "data:image/", 11) != 0;
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

static void
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
	ck_assert_ptr_nonnull(memmem(found.text.data, found.text.size,
	    "<script>alert(1)</script>\"'&amp;", 32));
	lc__buf_free(&found.text);
}

/* Keys, names of fields, texts, names of inputs and of settings: all are hostile. */
static const char *
make_module(void)
{
	const char *root = run_scratch();
	static const float features[512] = { 1, 2, NAN };
	const lc_tensor tensor = floats(features, 512);
	lc_options options;
	lc_cache *cache;
	char key[100];

	lc_options_init(&options);
	assert_ok(lc_open(root, "m", &options, &cache));
	for (int i = 0; i < 50; i++) {
		lc_value *map = lc_value_map();
		const int n = snprintf(key, sizeof(key), HOSTILE "%d", i);
		lc_value_set(map, "<script>alert(1)</script>", lc_value_str(HOSTILE));
		lc_value_set(map, "]]>", lc_value_tensor(&tensor));
		assert_ok(lc_put_value(cache, key, (size_t)n, map));
		lc_value_free(map);
	}
	assert_ok(lc_close(cache));
	return root;
}

static char *
page_of(const char *root, size_t *size)
{
	static struct lc__module_facts facts;
	const struct lc__module_look look = { .samples = 20, .examples = 5, .verify = true };
	struct lc__field setting = { (char *)"<b>name</b>", (char *)HOSTILE };
	struct lc__fill_trace trace;
	const struct lc__module_extras extras = { &setting, 1, &trace, 1 };
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	lc_options options;
	lc_cache *cache;

	lc_options_init(&options);
	options.flags = LC_RDONLY;
	assert_ok(lc_open(root, "m", &options, &cache));
	assert_ok(lc__fill_trace_read(
	    write_trace("{\"event\":\"progress\",\"seconds\":9,\"stored\":90,\"bytes\":9,"
			"\"failed\":1,\"running\":2,\"busy\":1}\n"
			"{\"event\":\"batch\",\"seconds\":9,\"metrics\":{\"<script>\":1}}\n"
			"{\"event\":\"end\",\"seconds\":9,\"bytes\":9,\"stored\":90,"
			"\"status\":\"<script>\"}\n"),
	    &trace));
	assert_ok(lc__module_facts_read(cache, "m<&>", &look, &facts));
	ck_assert_uint_eq(facts.listed, 50);
	ck_assert_uint_eq(facts.fields.records, 20);
	ck_assert_uint_eq(facts.n_examples, 5);
	ck_assert(facts.verified);
	ck_assert_uint_eq(facts.verify.damaged, 0);
	lc__module_html_write(out, &facts, &extras);
	ck_assert_int_eq(fclose(out), 0);
	lc__module_facts_free(&facts);
	lc__fill_trace_free(&trace);
	assert_ok(lc_close(cache));
	return text;
}

START_TEST(the_page_is_whole)
{
	const char *root = make_module();
	size_t size;
	char *text = page_of(root, &size);

	parse(text, size);
	ck_assert_ptr_null(strstr(text, "<script"));
	ck_assert_ptr_null(strchr(text, '\x01'));
	ck_assert_ptr_null(strchr(text, '\xff'));
	ck_assert_ptr_nonnull(strstr(text, "<h1>m&lt;&amp;&gt;</h1>"));
	ck_assert_ptr_nonnull(strstr(text, "<bdi class=\"id\">f32[512]</bdi>"));
	free(text);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("module_report");
	TCase *tcase = tcase_create("module_report");

	tcase_add_test(tcase, fields_are_counted);
	tcase_add_test(tcase, histograms_have_bins_that_fit);
	tcase_add_test(tcase, large_tensors_are_looked_at_evenly);
	tcase_add_test(tcase, fields_and_texts_are_bounded);
	tcase_add_test(tcase, rates_keep_the_sum);
	tcase_add_test(tcase, traces_are_read);
	tcase_add_test(tcase, the_page_is_whole);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
