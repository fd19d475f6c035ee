/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of frames: reasons, limits, boxes, sizes; what a build refuses. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "dataset.h"
#include "ingesting.h"
#include "need.h"
#include "outdir_files.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))
#define IMAGE "\"image\":\"images/f0.png\""
#define BOX(x0, y0, x1, y1) "{\"bbox_norm\":[" #x0 "," #y0 "," #x1 "," #y1 "]}"

/* A frame that is good, so that there is something to write, and f0 of run "a". */
static const char *
make_dataset(const char *label)
{
	const char *root = run_scratch();

	dataset_frame(root, "z", 0, 40, 30, 1, 1);
	dataset_frame(root, "a", 0, 40, 30, 1, 2);
	if (label != NULL)
		dataset_file(dataset_label(root, "a", 0), label);
	dataset_settle(root);
	return root;
}

/* ---- reasons ---------------------------------------------------------------------- */

static void
break_image(const char *root)
{
	dataset_file(dataset_picture(root, "a", 0), "\x89PNG\r\n\x1a\nbut no more");
}

static void
remove_image(const char *root)
{
	need(unlink(dataset_picture(root, "a", 0)) == 0);
}

/* Opening it for reading would wait for ever. */
static void
make_pipe(const char *root)
{
	remove_image(root);
	need(mkfifo(dataset_picture(root, "a", 0), 0600) == 0);
}

static void
make_directory(const char *root)
{
	remove_image(root);
	need(mkdir(dataset_picture(root, "a", 0), 0700) == 0);
}

static const struct {
	const char *label;
	void (*change)(const char *root);
	enum lc__reject reason;
	const char *detail; /* a part of it */
} reject_rows[] = {
	{ "{" IMAGE, NULL, LC__REJECT_UNPARSABLE, "a/labels/f0.json" },
	{ "{\"image_present\":false,\"image\":null,\"labels\":[]}", NULL,
	    LC__REJECT_BLANK_IMAGE, "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[{}]}", NULL, LC__REJECT_NO_BOX,
	    "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[" BOX(0, 0, 2, 1) "]}", NULL,
	    LC__REJECT_OUT_OF_RANGE, "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[" BOX(0.5, 0, 0.5, 1) "]}", NULL,
	    LC__REJECT_MIN_MAX, "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[{\"bbox_px\":[0,0,41,10]}]}", NULL,
	    LC__REJECT_OUT_OF_RANGE, "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[{\"bbox_norm\":[0,0,1,1],"
	    "\"bbox_px\":[0,0,20,10]}]}", NULL, LC__REJECT_SIZE_MISMATCH,
	    "a/labels/f0.json" },
	{ "{" IMAGE ",\"labels\":[]}", NULL, LC__REJECT_NO_LABELS,
	    "a/labels/f0.json: has no boxes" },
	{ NULL, break_image, LC__REJECT_UNDECODABLE, "a/images/f0.png" },
	{ NULL, remove_image, LC__REJECT_NO_FILE, "a/images/f0.png" },
	{ NULL, make_pipe, LC__REJECT_UNDECODABLE,
	    "a/images/f0.png: is not a regular file" },
	{ NULL, make_directory, LC__REJECT_UNDECODABLE,
	    "a/images/f0.png: is not a regular file" },
};

START_TEST(each_reason)
{
	const char *root = make_dataset(reject_rows[_i].label);
	const char *warehouse = run_scratch();
	const enum lc__reject reason = reject_rows[_i].reason;
	struct lc__ingest_result result;
	struct lc__buf lines;
	struct ingesting in;

	if (reject_rows[_i].change != NULL)
		reject_rows[_i].change(root);
	dataset_settle(root);
	for (int again = 0; again < 2; again++) {
		ingesting_init(&in, root, warehouse);
		ingesting_run(&in, LC_OK, &result);
		ck_assert_uint_eq(result.state.rejected[reason], 1);
		ck_assert_uint_eq(result.state.samples, 1);
		ck_assert_uint_eq(in.rejected, 1);
		ck_assert_msg(strstr(in.last, reject_rows[_i].detail) != NULL,
		    "%s", in.last);
		ck_assert_int_eq(result.up_to_date, again == 1);
		ck_assert_uint_eq(result.state.ns[LC__PHASE_DECODE] > 0, again == 0);
		ck_assert_uint_eq(result.summary.n_reasons, 1);
		ck_assert_str_eq(result.summary.reasons[0].name,
		    lc__reject_name(reason));
		lc__ingest_result_free(&result);
	}
	ingesting_assert_good(warehouse);
	lines = outdir_get_file(ingesting_path(warehouse, ""), "rejected.jsonl");
	lc__buf_append(&lines, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)lines.data, lc__reject_name(reason)));
	lc__buf_free(&lines);
}
END_TEST

/* A label that stands in a file with all others is told by its image. */
START_TEST(the_image_is_named)
{
	const char *root = run_scratch(), *warehouse = run_scratch();
	char path[200];
	struct ingesting in;

	snprintf(path, sizeof(path), "%s/images/bad.png", root);
	dataset_image(path, 40, 30, 1);
	snprintf(path, sizeof(path), "%s/images/good.png", root);
	dataset_image(path, 40, 30, 2);
	snprintf(path, sizeof(path), "%s/all.json", root);
	dataset_file(path, "{\"images\":[{\"id\":1,\"file_name\":\"bad.png\"},"
	    "{\"id\":2,\"file_name\":\"good.png\"}],\"annotations\":["
	    "{\"image_id\":1,\"bbox\":[0,0,99,9]},"
	    "{\"image_id\":2,\"bbox\":[0,0,9,9]}]}");
	dataset_settle(root);
	ingesting_init(&in, root, warehouse);
	in.recipe.layout = LC__LAYOUT_COCO;
	ingesting_run(&in, LC_OK, NULL);
	ck_assert_uint_eq(in.rejected, 1);
	ck_assert_msg(strstr(in.last, ": images/bad.png: label 1: ") != NULL,
	    "%s", in.last);
}
END_TEST

START_TEST(nothing_is_good)
{
	const char *root = run_scratch(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	dataset_frame(root, "a", 0, 40, 30, 1, 2);
	remove_image(root);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_FAILED, &result);
	ck_assert_uint_eq(result.summary.totals.missing_file, 1);
	ck_assert(!outdir_exists(warehouse, "current"));
	lc__ingest_result_free(&result);
}
END_TEST

/* ---- limits ------------------------------------------------------------------------ */

static const struct {
	struct lc__thresholds limits;
	lc_status status;
} limit_rows[] = {
	{ { .missing = { .has_count = true, .count = 0 } }, LC_FAILED },
	{ { .missing = { .has_count = true, .count = 1 } }, LC_OK },
	{ { .missing = { .has_ratio = true, .ratio = 0.4 } }, LC_FAILED },
	{ { .missing = { .has_ratio = true, .ratio = 0.5 } }, LC_OK },
	{ { .invalid = { .has_count = true, .count = 0 } }, LC_OK },
	{ { .missing = { .has_count = true, .count = 0 }, .warn = true }, LC_OK },
};

START_TEST(each_limit)
{
	const struct lc__thresholds *limits = &limit_rows[_i].limits;
	const char *root = make_dataset(NULL), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	remove_image(root);
	ingesting_init(&in, root, warehouse);
	in.ingest.thresholds = *limits;
	ingesting_run(&in, limit_rows[_i].status, &result);
	ck_assert_uint_eq(result.summary.totals.total, 2);
	ck_assert_uint_eq(result.summary.totals.missing_file, 1);
	ck_assert_uint_eq(in.warned, limits->warn ? 1 : 0);
	ck_assert_int_eq(outdir_exists(warehouse, "current"),
	    limit_rows[_i].status == LC_OK);
	if (limits->warn)
		ck_assert_ptr_nonnull(strstr(in.last, "missing 1 of 2 frames"));
	lc__ingest_result_free(&result);
}
END_TEST

/* A version that stands is not touched by a dataset that got worse. */
START_TEST(a_limit_keeps_current)
{
	const char *root = make_dataset(NULL), *warehouse = run_scratch();
	struct ingesting in;
	const char *current;

	ingesting_init(&in, root, warehouse);
	in.ingest.thresholds.missing.has_count = true;
	ingesting_run(&in, LC_OK, NULL);
	current = ingesting_current(warehouse);
	remove_image(root);
	ingesting_run(&in, LC_FAILED, NULL);
	ck_assert_str_eq(ingesting_current(warehouse), current);
	ingesting_assert_good(warehouse);
}
END_TEST

START_TEST(only_the_limits_change)
{
	const char *root = make_dataset(NULL), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;
	struct lc__buf text;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, NULL);
	in.ingest.thresholds.missing = (struct lc__limit){ .has_count = true,
		.count = 77 };
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert(result.limits_changed);
	ck_assert_uint_eq(result.state.bytes_exported, 0);
	lc__ingest_result_free(&result);
	text = outdir_get_file(ingesting_path(warehouse, ""), "manifest.json");
	lc__buf_append(&text, "", 1);
	ck_assert_ptr_nonnull(strstr((char *)text.data, "\"max_missing\": 77"));
	lc__buf_free(&text);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	lc__ingest_result_free(&result);
	ingesting_assert_good(warehouse);
}
END_TEST

/* ---- what a sample says --------------------------------------------------------------- */

/* 40 x 30 in 48 x 32: a scale of 16 / 15, 43 x 32 pixels from column 2 on. */
START_TEST(a_sample)
{
	static const float want[8] = { (float)(2.0 / 48), 0,
		(float)((2 + 43.0 / 2) / 48), 0.5f, 0, 0, 0, 0 };
	const char *root = make_dataset("{\"frame_id\":7," IMAGE ",\"labels\":["
	    "{\"bbox_norm\":[0,0,0.5,0.5],\"class_id\":4}],\"who\":\"me\"}");
	const char *warehouse = ingesting_reference(root);
	lc_shard *shard;
	lc_sample sample;
	lc_sample_origin origin;
	int64_t class_id = 0;

	assert_ok(lc_shard_open(ingesting_path(warehouse, "shard-000000.twh1"),
	    &shard));
	assert_ok(lc_shard_sample(shard, 0, &sample));
	ck_assert_uint_eq(sample.image.nbytes, 3 * 48 * 32);
	ck_assert_uint_eq(((const uint8_t *)sample.image.data)[0], 0);
	ck_assert_mem_eq(sample.boxes.data, want, sizeof(want));
	ck_assert(((const float *)sample.mask.data)[0] == 1);
	ck_assert(((const float *)sample.mask.data)[1] == 0);
	ck_assert_mem_eq((const char *)sample.id.data + 12, "/a/f0", 5);
	assert_ok(lc_sample_read_origin(&sample, &origin, &class_id, 1));
	ck_assert_uint_eq(origin.run_id.size, 1);
	ck_assert_int_eq(origin.has_frame_id, 1);
	ck_assert_uint_eq(origin.frame_id, 7);
	ck_assert_uint_eq(origin.original_width, 40);
	ck_assert_uint_eq(origin.original_height, 30);
	ck_assert_uint_eq(origin.boxes_total, 1);
	ck_assert_uint_eq(origin.n_classes, 1);
	ck_assert_int_eq(class_id, 4);
	ck_assert_uint_gt(origin.labels.size, 0);
	lc_shard_close(shard);
}
END_TEST

/* Two boxes at most; a third and a fourth are counted, those outside dropped. */
START_TEST(boxes_are_counted)
{
	const char *root = make_dataset("{" IMAGE ",\"labels\":["
	    BOX(0, 0, 0.05, 1) "," BOX(0, 0, 1, 1) "," BOX(0.4, 0.4, 0.6, 0.6) ","
	    BOX(0.4, 0.4, 0.6, 0.6) "]}");
	const char *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.recipe.transform.fit = LC__FIT_COVER;
	in.recipe.transform.width = 32;
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.summary.dropped, 1);
	ck_assert_uint_eq(result.summary.overflow_boxes, 1);
	ck_assert_uint_eq(result.summary.overflow_samples, 1);
	/* The first of the two that are left; the good frame's lies at the edge. */
	ck_assert_uint_eq(result.summary.clipped, 2);
	ck_assert_uint_eq(result.summary.boxes, 3);
	lc__ingest_result_free(&result);
	ingesting_assert_good(warehouse);
}
END_TEST

START_TEST(empty_frames_are_kept)
{
	const char *root = make_dataset("{" IMAGE ",\"labels\":[]}");
	const char *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.recipe.skip_empty = false;
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.state.samples, 2);
	ck_assert_uint_eq(result.summary.totals.empty, 1);
	ck_assert_uint_eq(result.summary.written, 2);
	ck_assert_uint_eq(result.summary.n_reasons, 0);
	lc__ingest_result_free(&result);
	ingesting_assert_good(warehouse);
}
END_TEST

/* ---- sizes ------------------------------------------------------------------------------ */

static const char *
make_shapes(void)
{
	const char *root = run_scratch();

	for (unsigned i = 0; i < 12; i++)
		dataset_frame(root, "a", i, i % 3 == 0 ? 80 : 40,
		    i % 3 == 1 ? 80 : 40, 1, i);
	dataset_settle(root);
	return root;
}

START_TEST(buckets_are_series)
{
	const char *root = make_shapes(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.recipe.n_buckets = 4;
	in.recipe.buckets[0] = (lc_bucket){ 64, 32 };
	in.recipe.buckets[1] = (lc_bucket){ 32, 64 };
	in.recipe.buckets[2] = (lc_bucket){ 300, 10 };
	in.recipe.buckets[3] = (lc_bucket){ 48, 48 };
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.state.samples, 12);
	ck_assert(outdir_exists(ingesting_path(warehouse, "64x32"),
	    "shard-000000.twh1"));
	ck_assert(outdir_exists(ingesting_path(warehouse, "32x64"),
	    "shard-000000.twh1"));
	ck_assert(outdir_exists(ingesting_path(warehouse, "48x48"),
	    "shard-000000.twh1"));
	ck_assert(!outdir_exists(ingesting_path(warehouse, ""), "300x10"));
	lc__ingest_result_free(&result);
	ingesting_assert_good(warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	lc__ingest_result_free(&result);
}
END_TEST

START_TEST(buckets_are_learned)
{
	const char *root = make_shapes(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	for (int again = 0; again < 2; again++) {
		ingesting_init(&in, root, warehouse);
		in.recipe.transform.width = in.recipe.transform.height = 256;
		in.ingest.learn_buckets = 3;
		ingesting_run(&in, LC_OK, &result);
		ck_assert_uint_eq(in.recipe.n_buckets, 3);
		ck_assert_uint_eq(result.state.samples, 12);
		ck_assert_int_eq(result.up_to_date, again == 1);
		lc__ingest_result_free(&result);
	}
	ingesting_assert_good(warehouse);
}
END_TEST

/* ---- what a build refuses -------------------------------------------------------------- */

START_TEST(dry_run_writes_nothing)
{
	const char *root = make_dataset(NULL);
	char *warehouse = outdir_join(run_scratch(), "new");
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.ingest.dry_run = true;
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.state.samples, 2);
	ck_assert_ptr_null(result.version_dir);
	ck_assert_int_eq(access(warehouse, F_OK), -1);
	lc__ingest_result_free(&result);
	free(warehouse);
}
END_TEST

static const char *const inside_rows[] = { "", "wh", "a/deep/wh", "./a/../wh" };

START_TEST(no_warehouse_in_its_dataset)
{
	const char *root = make_dataset(NULL);
	char *warehouse = outdir_join(root, inside_rows[_i]);
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_INVALID, NULL);
	ck_assert_int_eq(outdir_count_files(root, ""), 2);
	free(warehouse);
}
END_TEST

START_TEST(no_dataset)
{
	const char *warehouse = run_scratch();
	struct ingesting in;

	ingesting_init(&in, "/nonexistent", warehouse);
	ingesting_run(&in, LC_NO_FILE, NULL);
	ck_assert_int_eq(outdir_count_files(warehouse, ""), 0);
	ingesting_init(&in, run_scratch(), warehouse);
	ingesting_run(&in, LC_INVALID, NULL);
	ck_assert(!outdir_exists(warehouse, "current"));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest_frames");
	TCase *tc = tcase_create("frames");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, each_reason, 0, COUNT(reject_rows));
	tcase_add_test(tc, the_image_is_named);
	tcase_add_test(tc, nothing_is_good);
	tcase_add_loop_test(tc, each_limit, 0, COUNT(limit_rows));
	tcase_add_test(tc, a_limit_keeps_current);
	tcase_add_test(tc, only_the_limits_change);
	tcase_add_test(tc, a_sample);
	tcase_add_test(tc, boxes_are_counted);
	tcase_add_test(tc, empty_frames_are_kept);
	tcase_add_test(tc, buckets_are_series);
	tcase_add_test(tc, buckets_are_learned);
	tcase_add_test(tc, dry_run_writes_nothing);
	tcase_add_loop_test(tc, no_warehouse_in_its_dataset, 0,
	    COUNT(inside_rows));
	tcase_add_test(tc, no_dataset);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
