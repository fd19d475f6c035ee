/* SPDX-License-Identifier: BSD-2-Clause */
/* What a report counts and compares. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "made_report.h"
#include "need.h"
#include "report/csv.h"
#include "report/drift.h"
#include "report/survey.h"
#include "run.h"

/* ---- distributions ---------------------------------------------------------- */

static uint64_t
bin_of(const struct lc__distributions *seen, enum lc__metric metric, double value)
{
	const struct lc__histogram *h = &seen->histograms[metric];

	for (uint32_t i = 0; i < h->bins; i++)
		if (value >= lc__histogram_edge(h, i) &&
		    value < lc__histogram_edge(h, i + 1))
			return h->counts[i];
	return UINT64_MAX;
}

START_TEST(table_of_metrics)
{
	for (int i = 0; i < LC__METRICS; i++) {
		const struct lc__metric_row *row = &lc__metrics[i];
		ck_assert_ptr_nonnull(row->name);
		ck_assert_uint_ge(row->bins, 1);
		ck_assert_uint_le(row->bins, LC__HISTOGRAM_BINS);
		ck_assert(row->low < row->high);
		ck_assert_uint_eq(lc__drift_find(row->name),
		    LC__DRIFT_HISTOGRAMS + (size_t)i);
	}
	ck_assert_uint_eq(lc__drift_find("sideways"), LC__DRIFT_METRICS);
}
END_TEST

START_TEST(a_sample_is_counted)
{
	static const struct lc__box boxes[] = {
		{ 0, 0, 1, 1, 7 },          /* all of the image */
		{ 0.25, 0.5, 0.75, 0.75, -1 }, /* twice as wide as high */
		{ (double)NAN, 0, 1, 1, 7 },
	};
	struct lc__observation sample = made_observation(boxes, 3);
	struct lc__distributions seen;

	sample.origin.original_width = 4000;
	sample.origin.original_height = 2000;
	sample.lit = true;
	sample.brightness = 1;
	sample.contrast = 0.25;
	lc__distributions_init(&seen);
	assert_ok(lc__distributions_add(&seen, &sample));
	sample.n = 0;
	sample.lit = false;
	sample.origin.original_width = 0;
	assert_ok(lc__distributions_add(&seen, &sample));

	ck_assert_uint_eq(seen.samples, 2);
	ck_assert_uint_eq(seen.boxes, 3);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOXES_PER_SAMPLE, 3), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOXES_PER_SAMPLE, 0), 1);
	/* What is not finite is in no bin, and 1 is in the last one. */
	ck_assert_uint_eq(seen.histograms[LC__METRIC_BOX_SIDE].n, 2);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_SIDE, 0.999), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_SIDE, sqrt(0.125)), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_ASPECT, 0), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_ASPECT, 1), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_X, 0.5), 2);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BOX_Y, 0.625), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_SOURCE_WIDTH, 4000), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_SOURCE_MEGAPIXELS, 3), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_SOURCE_ASPECT, 1), 1);
	ck_assert_uint_eq(seen.histograms[LC__METRIC_SOURCE_ASPECT].n, 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_BRIGHTNESS, 0.999), 1);
	ck_assert_uint_eq(bin_of(&seen, LC__METRIC_CONTRAST, 0.25), 1);
	ck_assert_uint_eq(seen.histograms[LC__METRIC_BRIGHTNESS].above, 0);
	ck_assert_uint_eq(lc__classes_count(&seen.classes, 7), 2);
	ck_assert_uint_eq(lc__classes_count(&seen.classes, -1), 1);
	ck_assert_uint_eq(lc__classes_count(&seen.classes, 8), 0);
	lc__distributions_free(&seen);
}
END_TEST

START_TEST(classes_are_bounded)
{
	struct lc__classes classes = { 0 };

	for (int64_t round = 0; round < 2; round++) {
		lc__classes_begin(&classes, LC__CLASSES_MOST + 2);
		for (int64_t id = LC__CLASSES_MOST; id >= -1; id--)
			assert_ok(lc__classes_add(&classes, id * id - 2));
	}
	ck_assert_uint_eq(classes.n, LC__CLASSES_MOST);
	ck_assert_uint_eq(classes.boxes, 2 * (LC__CLASSES_MOST + 2));
	/* 1 and -1 have one square. */
	ck_assert_uint_eq(lc__classes_count(&classes, -1), 4);
	/* Two of them in each of both samples. */
	ck_assert_double_eq(classes.rows[0].squares, 2 * 4);
	ck_assert_double_eq(classes.rows[0].products, 2 * 2 * (LC__CLASSES_MOST + 2));
	ck_assert_uint_eq(classes.others.boxes, 2);
	for (size_t i = 1; i < classes.n; i++)
		ck_assert_int_lt(classes.rows[i - 1].id, classes.rows[i].id);
	lc__classes_free(&classes);
}
END_TEST

START_TEST(light_of_an_image)
{
	static const unsigned char planes[12] = { 0, 255, 0, 255, 0, 255, 0, 255,
		0, 255, 0, 255 };
	const uint64_t shape[] = { 3, 2, 2 };
	struct lc__observation seen = { 0 };
	lc_tensor image;

	assert_ok(lc_tensor_init(&image, LC_U8, 3, shape, planes));
	lc__observe_light(&image, &seen);
	ck_assert(seen.lit);
	ck_assert_double_eq(seen.brightness, 0.5);
	ck_assert_double_eq(seen.contrast, 0.5);
	seen.lit = false;
	image.nbytes = 0;
	lc__observe_light(&image, &seen);
	ck_assert(!seen.lit);
}
END_TEST

START_TEST(samples_are_spread)
{
	static const uint64_t all[] = { 1, 7, 24, 25, 100, 1001 };

	for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
		uint64_t taken = 0, last = 0, gap = 0;
		for (uint64_t i = 0; i < all[k]; i++)
			if (lc__spread(i, all[k], 24)) {
				gap = i - last > gap ? i - last : gap;
				last = i;
				taken++;
			}
		ck_assert_uint_eq(taken, all[k] < 24 ? all[k] : 24);
		ck_assert_uint_le(gap, all[k] / 24 + 1);
	}
}
END_TEST

/* ---- drift --------------------------------------------------------------------- */

static const struct lc__drift_row *
row_of(const struct lc__drift *drift, const char *name)
{
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		if (strcmp(lc__drift_name(drift->rows[i].metric), name) == 0)
			return &drift->rows[i];
	ck_abort_msg("no row %s", name);
}

/* A warehouse of samples with so many boxes each, of classes that follow. */
static void
see(struct lc__distributions *seen, const char *boxes_each, const char *classes)
{
	lc__distributions_init(seen);
	for (; *boxes_each != '\0'; boxes_each++) {
		struct lc__box boxes[9];
		const uint32_t n = (uint32_t)(*boxes_each - '0');
		const struct lc__observation sample = made_observation(boxes, n);
		for (uint32_t i = 0; i < n; i++)
			boxes[i] = (struct lc__box){ 0.1, 0.1, 0.2, 0.2,
				*classes++ - '0' };
		assert_ok(lc__distributions_add(seen, &sample));
	}
}

static void
compare(const struct lc__summary *a, const char *old_boxes, const char *old_classes,
    const struct lc__summary *b, const char *new_boxes, const char *new_classes,
    struct lc__drift *out)
{
	struct lc__distributions old, new;
	const struct lc__drift_side sides[] = { { a, &old }, { b, &new } };
	double limits[LC__DRIFT_METRICS];

	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		limits[i] = 0.1;
	limits[lc__drift_find("empty")] = 0.3;
	see(&old, old_boxes, old_classes);
	see(&new, new_boxes, new_classes);
	lc__drift_compare(&sides[0], &sides[1], limits, out);
	lc__distributions_free(&old);
	lc__distributions_free(&new);
}

static char no_box[] = "no_box", no_file[] = "no_file", no_labels[] = "no_labels";

START_TEST(distances_are_exact)
{
	struct lc__tally old_reasons[] = { { no_box, 1 }, { no_labels, 2 } };
	struct lc__tally new_reasons[] = { { no_file, 5 }, { no_labels, 2 } };
	const struct lc__summary old = {
		.totals = { .total = 10, .non_empty = 7, .empty = 2, .invalid = 1 },
		.written = 7, .reasons = old_reasons, .n_reasons = 2 };
	const struct lc__summary new = {
		.totals = { .total = 20, .non_empty = 10, .empty = 2,
		    .missing_file = 5, .invalid = 3 },
		.written = 13, .reasons = new_reasons, .n_reasons = 2 };
	struct lc__drift drift;

	compare(&old, "1122", "001122", &new, "1111", "1223", &drift);
	/* Shares of 0.1 and 0.15, 0 and 0.25, 0.2 and 0.1. */
	ck_assert_double_eq_tol(row_of(&drift, "invalid")->distance, 0.05, 1e-12);
	ck_assert(!row_of(&drift, "invalid")->exceeded);
	ck_assert_double_eq_tol(row_of(&drift, "missing")->distance, 0.25, 1e-12);
	ck_assert_double_eq_tol(row_of(&drift, "missing")->new_value, 0.25, 1e-12);
	ck_assert(row_of(&drift, "missing")->exceeded);
	ck_assert_double_eq_tol(row_of(&drift, "empty")->distance, 0.1, 1e-12);
	ck_assert(!row_of(&drift, "empty")->exceeded);
	/* 0.7 .1 0 .2 and .65 0 .25 .1 */
	ck_assert_double_eq_tol(row_of(&drift, "outcomes")->distance, 0.25, 1e-12);
	/* Thirds, and 0 1/4 1/2 1/4. */
	ck_assert_double_eq_tol(row_of(&drift, "classes")->distance, 5 / 12.0,
	    1e-12);
	ck_assert_uint_eq(row_of(&drift, "classes")->old_n, 6);
	/* Two and two, four and none. */
	ck_assert_double_eq_tol(row_of(&drift, "boxes_per_sample")->distance, 0.5,
	    1e-12);
	/* Half of twice the mean deviation of 3/4 and of 1/4, of four each. */
	ck_assert_double_eq_tol(row_of(&drift, "boxes_per_sample")->noise,
	    sqrt(0.75 * 0.25 * (1 / 4.0 + 1 / 4.0)) * sqrt(2 / M_PI), 1e-12);
	ck_assert(!row_of(&drift, "boxes_per_sample")->chance);
	ck_assert_double_eq(row_of(&drift, "box_side")->distance, 0);
	ck_assert(row_of(&drift, "box_side")->chance);
	ck_assert_uint_eq(drift.exceeded, 4);
	for (size_t i = 1; i < LC__DRIFT_METRICS; i++)
		ck_assert(drift.rows[i - 1].distance >= drift.rows[i].distance);
}
END_TEST

START_TEST(nothing_to_compare)
{
	const struct lc__summary none = { .written = 0 };
	const struct lc__summary some = { .totals = { .total = 1, .non_empty = 1 },
		.written = 1 };
	struct lc__drift drift;

	compare(&none, "", "", &none, "", "", &drift);
	ck_assert_uint_eq(drift.exceeded, 0);
	ck_assert_double_eq(drift.rows[0].distance, 0);
	compare(&none, "", "", &some, "1", "1", &drift);
	ck_assert_double_eq(row_of(&drift, "classes")->distance, 1);
	ck_assert_double_eq(row_of(&drift, "classes")->noise, 0);
	ck_assert_double_eq(row_of(&drift, "outcomes")->distance, 1);
	ck_assert_double_eq(row_of(&drift, "brightness")->distance, 0);
}
END_TEST

static void
draw(uint64_t *seed, uint64_t n, struct lc__distributions *seen)
{
	lc__distributions_init(seen);
	for (uint64_t i = 0; i < n; i++) {
		struct lc__observation sample = made_observation(NULL, 0);
		sample.lit = true;
		sample.brightness = (double)(run_random(seed) >> 11) * 0x1p-53;
		sample.brightness *= sample.brightness;
		assert_ok(lc__distributions_add(seen, &sample));
	}
}

/* The distance by chance is what draws from one source have on average. */
START_TEST(chance_is_what_it_says)
{
	static const uint64_t sizes[][2] = { { 40, 60 }, { 300, 900 } };
	const uint64_t *n = sizes[_i];
	const struct lc__summary none = { .written = 0 };
	const double limits[LC__DRIFT_METRICS] = { 0 };
	uint64_t seed = run_seed();
	double distance = 0, noise = 0;

	for (int round = 0; round < 200; round++) {
		struct lc__distributions a, b;
		const struct lc__drift_side sides[] = { { &none, &a },
			{ &none, &b } };
		struct lc__drift drift;
		draw(&seed, n[0], &a);
		draw(&seed, n[1], &b);
		lc__drift_compare(&sides[0], &sides[1], limits, &drift);
		distance += row_of(&drift, "brightness")->distance;
		noise += row_of(&drift, "brightness")->noise;
	}
	ck_assert_msg(fabs(distance / noise - 1) < 0.1,
	    "distance %g, by chance %g", distance / 200, noise / 200);
}
END_TEST

/* ---- CSV ------------------------------------------------------------------------- */

static char plain[] = "run-1", comma[] = "a,\"b\"\nc", formula[] = "=1+1",
    quoted[] = "@a,b", nothing[] = "";

static void
expect_csv(const struct lc__summary *summary, bool spreadsheet, const char *want)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	lc__csv_write(out, summary, spreadsheet);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, want);
	free(text);
}

START_TEST(csv_bytes)
{
	struct lc__run_summary runs[] = {
		{ plain, { 10, 4, 3, 2, 1, 0 } }, { comma, { 1, 0, 0, 0, 0, 1 } },
		{ formula, { 1, 1, 0, 0, 0, 0 } }, { quoted, { 1, 0, 1, 0, 0, 0 } },
		{ nothing, { 0, 0, 0, 0, 0, 0 } }
	};
	struct lc__summary summary = { .totals = { 13, 5, 4, 2, 1, 1 },
		.written = 5, .runs = runs, .n_runs = 5 };

	expect_csv(&summary, false,
	    "row,run_id,total,non_empty,empty,missing_image,missing_file,invalid,"
	    "written\r\n"
	    "run,run-1,10,4,3,2,1,0,4\r\n"
	    "run,\"a,\"\"b\"\"\nc\",1,0,0,0,0,1,0\r\n"
	    "run,=1+1,1,1,0,0,0,0,1\r\n"
	    "run,\"@a,b\",1,0,1,0,0,0,0\r\n"
	    "run,,0,0,0,0,0,0,0\r\n"
	    "total,,13,5,4,2,1,1,5\r\n");
	/* Empty frames are samples here. */
	summary.written = 9;
	expect_csv(&summary, true,
	    "row,run_id,total,non_empty,empty,missing_image,missing_file,invalid,"
	    "written\r\n"
	    "run,run-1,10,4,3,2,1,0,7\r\n"
	    "run,\"a,\"\"b\"\"\nc\",1,0,0,0,0,1,0\r\n"
	    "run,'=1+1,1,1,0,0,0,0,1\r\n"
	    "run,\"'@a,b\",1,0,1,0,0,0,1\r\n"
	    "run,,0,0,0,0,0,0,0\r\n"
	    "total,,13,5,4,2,1,1,9\r\n");
}
END_TEST

/* Four boxes in each sample, all in one place or each in its own. */
static void
draw_boxes(uint64_t *seed, uint64_t n, bool alike, struct lc__distributions *seen)
{
	lc__distributions_init(seen);
	for (uint64_t i = 0; i < n; i++) {
		struct lc__box boxes[4] = { { 0 } };
		const struct lc__observation sample = made_observation(boxes, 4);
		for (int k = 0; k < 4; k++) {
			boxes[k] = boxes[0];
			if (k == 0 || !alike)
				boxes[k].x0 = boxes[k].x1 =
				    (double)(run_random(seed) >> 11) * 0x1p-53;
			boxes[k].class_id = (int64_t)(boxes[k].x0 * 5);
		}
		assert_ok(lc__distributions_add(seen, &sample));
	}
}

START_TEST(chance_knows_likeness)
{
	const struct lc__summary none = { .written = 0 };
	const double limits[LC__DRIFT_METRICS] = { 0 };
	static const char *const names[] = { "box_x", "classes" };
	uint64_t seed = run_seed();
	double distance[2] = { 0 }, noise[2] = { 0 };

	for (int round = 0; round < 200; round++) {
		struct lc__distributions a, b;
		const struct lc__drift_side sides[] = { { &none, &a },
			{ &none, &b } };
		struct lc__drift drift;
		draw_boxes(&seed, 150, _i == 1, &a);
		draw_boxes(&seed, 250, _i == 1, &b);
		lc__drift_compare(&sides[0], &sides[1], limits, &drift);
		for (int k = 0; k < 2; k++) {
			distance[k] += row_of(&drift, names[k])->distance;
			noise[k] += row_of(&drift, names[k])->noise;
		}
		lc__distributions_free(&a);
		lc__distributions_free(&b);
	}
	for (int k = 0; k < 2; k++)
		ck_assert_msg(fabs(distance[k] / noise[k] - 1) < 0.15,
		    "%s: distance %g, by chance %g", names[k],
		    distance[k] / 200, noise[k] / 200);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("report");
	TCase *tc = tcase_create("report");

	tcase_add_test(tc, table_of_metrics);
	tcase_add_test(tc, a_sample_is_counted);
	tcase_add_test(tc, classes_are_bounded);
	tcase_add_test(tc, light_of_an_image);
	tcase_add_test(tc, samples_are_spread);
	tcase_add_test(tc, distances_are_exact);
	tcase_add_test(tc, nothing_to_compare);
	tcase_add_loop_test(tc, chance_is_what_it_says, 0, 2);
	tcase_add_loop_test(tc, chance_knows_likeness, 0, 2);
	tcase_add_test(tc, csv_bytes);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
