/* SPDX-License-Identifier: BSD-2-Clause */
/* Datasets to warehouses: the same bytes always, and what a second build takes over. */
#include "run.h"

#include <fcntl.h>
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
#define FRAMES 20u /* a run; every fifth has no boxes */

static const char *
make_dataset(void)
{
	const char *root = run_scratch();

	dataset_make(root, FRAMES);
	return root;
}

/* ---- the same bytes ------------------------------------------------------------- */

START_TEST(builds_a_version)
{
	const char *root = make_dataset(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.frames, 2 * FRAMES);
	ck_assert_uint_eq(result.state.frames_done, 2 * FRAMES);
	ck_assert_uint_eq(result.state.samples, 2 * FRAMES * 4 / 5);
	ck_assert_uint_eq(result.state.reused, 0);
	ck_assert_uint_eq(result.state.rejected[LC__REJECT_NO_LABELS],
	    2 * FRAMES / 5);
	ck_assert_uint_eq(in.rejected, 2 * FRAMES / 5);
	ck_assert_uint_gt(result.shards, 3);
	ck_assert_uint_eq(result.shards_reused, 0);
	ck_assert_uint_eq(result.summary.n_runs, 2);
	ck_assert_uint_gt(result.summary.overflow_samples, 0);
	ck_assert_int_eq(in.recipe.layout, LC__LAYOUT_CAPTURE);
	ck_assert_int_eq(strncmp(ingesting_current(warehouse), "v20231114-", 10), 0);
	ingesting_assert_good(warehouse);
	lc__ingest_result_free(&result);
}
END_TEST

START_TEST(same_bytes_for_any_threads)
{
	static const unsigned threads[] = { 1, 2, 4 };
	const char *root = make_dataset(), *one = ingesting_reference(root);
	const char *warehouse = run_scratch();
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	in.ingest.threads = threads[_i];
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(one, warehouse);
}
END_TEST

/* ---- a second run ---------------------------------------------------------------- */

START_TEST(second_run_is_up_to_date)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
	ck_assert_uint_eq(result.state.bytes_read, 0);
	ck_assert_uint_eq(result.state.bytes_stored, 0);
	ck_assert_uint_eq(result.state.bytes_exported, 0);
	ck_assert_uint_gt(result.shards, 3);
	lc__ingest_result_free(&result);
}
END_TEST

/* Change the dataset, build again in the same warehouse, and compare with a new
 * one: all but @p anew frames are taken over. */
static void
build_again(const char *root, const char *warehouse, uint64_t anew,
    struct lc__ingest_result *out)
{
	const char *old = strdupa(ingesting_current(warehouse));
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, out);
	ck_assert(!out->up_to_date);
	ck_assert_uint_eq(out->state.reused, out->state.frames - anew);
	ck_assert_uint_eq(out->shards_reused,
	    ingesting_common_shards(warehouse, old));
	ck_assert_str_ne(old, ingesting_current(warehouse));
	ingesting_assert_good(warehouse);
	ingesting_assert_same(ingesting_reference(root), warehouse);
}

static void
change_label(const char *root)
{
	const char *path = dataset_label(root, "a", 3);

	dataset_file(path, "{\"frame_id\":3,\"image\":\"images/f3.png\","
	    "\"labels\":[{\"bbox_norm\":[0,0,1,1]}]}");
	dataset_settle(root);
}

static void
change_image(const char *root)
{
	dataset_image(dataset_picture(root, "b", 7), 50, 20, 4711);
	dataset_settle(root);
}

static void
add_frame(const char *root)
{
	dataset_frame(root, "a", FRAMES, 40, 40, 1, 4711);
	dataset_settle(root);
}

static void
add_run(const char *root)
{
	dataset_frame(root, "c", 0, 40, 40, 1, 4711);
	dataset_settle(root);
}

static void
remove_frame(const char *root)
{
	need(unlink(dataset_label(root, "a", 2)) == 0);
	need(unlink(dataset_picture(root, "a", 2)) == 0);
	dataset_settle(root);
}

static void
remove_image(const char *root)
{
	need(unlink(dataset_picture(root, "b", 2)) == 0);
	dataset_settle(root);
}

static const struct {
	void (*change)(const char *root);
	uint64_t anew, gone;
	bool decoded;
} change_rows[] = {
	{ change_label, 1, 0, false },
	{ change_image, 1, 0, true },
	{ add_frame, 1, 0, true },
	{ add_run, 1, 0, true },
	{ remove_frame, 0, 1, false },
	{ remove_image, 1, 0, false },
};

START_TEST(a_change_is_all_that_is_built)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;

	change_rows[_i].change(root);
	build_again(root, warehouse, change_rows[_i].anew, &result);
	ck_assert_uint_eq(result.forgotten, change_rows[_i].gone);
	ck_assert_int_eq(result.state.ns[LC__PHASE_DECODE] > 0,
	    change_rows[_i].decoded);
	ck_assert_uint_gt(result.shards_reused, 0);
	ck_assert_uint_lt(result.shards_reused, result.shards);
	lc__ingest_result_free(&result);
}
END_TEST

/* Half of a dataset may not be mounted: what is stored of it outlasts a build that the
 * limits end. */
START_TEST(an_exceeded_limit_forgets_nothing)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	char run[600], away[600];
	struct lc__ingest_result result;
	struct ingesting in;

	snprintf(run, sizeof(run), "%s/b", root);
	snprintf(away, sizeof(away), "%s.b", root);
	ingesting_init(&in, root, warehouse);
	in.ingest.thresholds.empty.has_count = true;
	need(rename(run, away) == 0);
	ingesting_run(&in, LC_FAILED, &result);
	ck_assert_uint_eq(result.forgotten, 0);
	lc__ingest_result_free(&result);
	need(rename(away, run) == 0);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	ck_assert_uint_eq(result.state.reused, result.state.frames);
	lc__ingest_result_free(&result);
}
END_TEST

static lc_status
open_warehouse(const char *warehouse, lc_warehouse **out)
{
	lc_warehouse_options options;

	lc_warehouse_options_init(&options);
	options.verify_files = 1;
	return lc_warehouse_open(warehouse, &options, out);
}

/* The library's reader takes it, until a source changes, and again when it is built. */
START_TEST(the_reader_follows)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	lc_warehouse *reader;
	lc_sample sample;
	struct ingesting in;
	uint64_t samples;

	for (int round = 0; round < 2; round++) {
		assert_ok(open_warehouse(warehouse, &reader));
		samples = lc_warehouse_info_of(reader)->samples;
		ck_assert_uint_ge(samples, 2 * FRAMES * 4 / 5 - 1);
		ck_assert_int_eq(lc_warehouse_info_of(reader)->sources_seen, 1);
		for (uint64_t i = 0; i < samples; i++) {
			assert_ok(lc_warehouse_sample(reader, i, &sample));
			ck_assert_uint_eq(sample.image.nbytes, 3 * 48 * 32);
			lc_warehouse_release(reader, &sample);
		}
		lc_warehouse_close(reader);
		if (round > 0)
			break;
		change_rows[_i].change(root);
		assert_status(open_warehouse(warehouse, &reader), LC_STALE);
		ingesting_init(&in, root, warehouse);
		ingesting_run(&in, LC_OK, NULL);
	}
}
END_TEST

START_TEST(an_image_that_comes_late)
{
	const char *root = make_dataset(), *warehouse = run_scratch();
	struct lc__ingest_result result;
	struct ingesting in;

	remove_image(root);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.state.rejected[LC__REJECT_NO_FILE], 1);
	ck_assert_uint_eq(result.summary.totals.missing_file, 1);
	lc__ingest_result_free(&result);

	/* It is looked for each time, but nothing changes. */
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES - 1);
	lc__ingest_result_free(&result);

	dataset_image(dataset_picture(root, "b", 2), 30, 30, 5);
	dataset_settle(root);
	build_again(root, warehouse, 1, &result);
	ck_assert_uint_eq(result.summary.totals.missing_file, 0);
	lc__ingest_result_free(&result);
}
END_TEST

/* As a copy of the dataset has other times: read once more, then never again. */
START_TEST(touched_files_are_the_same)
{
	const struct timespec times[2] = { { 1650000000, 5 }, { 1650000000, 5 } };
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	const char *current = ingesting_current(warehouse);
	struct lc__ingest_result result;
	struct ingesting in;

	for (int i = 0; i < 3; i++) {
		if (i == 1) {
			need(utimensat(AT_FDCWD, dataset_picture(root, "a", 1),
			    times, 0) == 0);
			need(utimensat(AT_FDCWD, dataset_label(root, "b", 1),
			    times, 0) == 0);
		}
		ingesting_init(&in, root, warehouse);
		ingesting_run(&in, LC_OK, &result);
		ck_assert(result.up_to_date);
		ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
		ck_assert_int_eq(result.state.bytes_read > 0, i == 1);
		ck_assert_uint_eq(result.state.ns[LC__PHASE_DECODE], 0);
		ck_assert_str_eq(ingesting_current(warehouse), current);
		lc__ingest_result_free(&result);
	}
}
END_TEST

/* Size and time as they were: only who reads it sees. */
START_TEST(rehash_reads_everything)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	char *path = strdupa(dataset_label(root, "a", 1));
	struct lc__ingest_result result;
	struct lc__buf text = { 0 };
	struct ingesting in;

	assert_ok(lc__read_file(path, 1 << 20, &text));
	lc__buf_append(&text, "", 1);
	*strstr((char *)text.data, "seed") = 'S';
	dataset_file(path, (char *)text.data);
	lc__buf_free(&text);
	dataset_settle(root);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	lc__ingest_result_free(&result);
	in.ingest.rehash = true;
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES - 1);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	lc__ingest_result_free(&result);
}
END_TEST

/* ---- another recipe ---------------------------------------------------------------- */

static void
other_dtype(struct ingesting *in)
{
	in->recipe.dtype = LC_F32;
}

static void
more_boxes(struct ingesting *in)
{
	in->recipe.max_boxes = 5;
}

static void
keep_empty(struct ingesting *in)
{
	in->recipe.skip_empty = false;
}

static void
larger_shards(struct ingesting *in)
{
	in->recipe.shard_bytes = 64 << 10;
}

static void
old_shards(struct ingesting *in)
{
	in->recipe.shard_version = 1;
	in->recipe.dtype = LC_F16;
	in->recipe.metadata = false;
}

static void
other_size(struct ingesting *in)
{
	in->recipe.transform.width = 20;
}

static const struct {
	void (*change)(struct ingesting *in);
	bool decoded; /* samples are others */
} recipe_rows[] = {
	{ other_dtype, false },
	{ more_boxes, false },
	{ keep_empty, false },
	{ larger_shards, false },
	{ old_shards, false },
	{ other_size, true },
};

START_TEST(another_recipe)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	const char *fresh = run_scratch();
	const char *old = strdupa(ingesting_current(warehouse));
	struct lc__ingest_result result;
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	recipe_rows[_i].change(&in);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused,
	    recipe_rows[_i].decoded ? 0 : 2 * FRAMES);
	ck_assert_int_eq(result.state.bytes_read > 0, recipe_rows[_i].decoded);
	ingesting_assert_good(warehouse);
	lc__ingest_result_free(&result);
	ingesting_init(&in, root, fresh);
	recipe_rows[_i].change(&in);
	ingesting_run(&in, LC_OK, NULL);
	ingesting_assert_same(fresh, warehouse);

	/* Back again: that version still stands. */
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
	ck_assert_uint_eq(result.state.bytes_read, 0);
	ck_assert_uint_eq(result.state.bytes_exported, 0);
	ck_assert_uint_eq(result.shards_reused, result.shards);
	ck_assert_str_eq(ingesting_current(warehouse), old);
	lc__ingest_result_free(&result);
}
END_TEST

START_TEST(clear_builds_everything)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;

	outdir_flip(ingesting_path(warehouse, ""), "shard-000001.twh1", 9000);
	ingesting_init(&in, root, warehouse);
	in.ingest.clear = true;
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 0);
	ck_assert_uint_eq(result.shards_reused, 0);
	ingesting_assert_good(warehouse);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	ck_assert_int_eq(outdir_count_files(warehouse, ""), 4);
	lc__ingest_result_free(&result);
}
END_TEST

START_TEST(missing_shard_is_built)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;

	outdir_remove_file(ingesting_path(warehouse, ""), "shard-000001.twh1");
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(!result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES);
	ck_assert_uint_eq(result.shards_reused, result.shards - 1);
	ingesting_assert_same(ingesting_reference(root), warehouse);
	lc__ingest_result_free(&result);
}
END_TEST

/* ---- a new label, old pixels ------------------------------------------------------- */

static void
cover(struct lc__recipe *recipe)
{
	recipe->transform.fit = LC__FIT_COVER;
}

static void
stretch(struct lc__recipe *recipe)
{
	recipe->transform.fit = LC__FIT_STRETCH;
}

static void
stored(struct lc__recipe *recipe)
{
	recipe->boxes_stored = true;
}

static void
ignored(struct lc__recipe *recipe)
{
	recipe->transform.ignore_orientation = true;
}

static void
bucketed(struct lc__recipe *recipe)
{
	recipe->n_buckets = 2;
	recipe->buckets[0] = (lc_bucket){ 32, 48 };
	recipe->buckets[1] = (lc_bucket){ 48, 32 };
}

static void (*const fit_rows[])(struct lc__recipe *recipe) = { cover, stretch,
	stored, ignored, bucketed };

/* Each with another orientation, and with a box that @p x0 decides. */
static void
make_turned(const char *root, double x0)
{
	char path[4096], text[400];

	for (unsigned i = 1; i <= 8; i++) {
		snprintf(path, sizeof(path), "%s/a/images/t%u.jpg", root, i);
		if (x0 == 0)
			dataset_turned(path, 50, 30, i, i);
		snprintf(path, sizeof(path), "%s/a/labels/t%u.json", root, i);
		snprintf(text, sizeof(text), "{\"image\":\"images/t%u.jpg\","
		    "\"labels\":[{\"bbox_norm\":[%g,0.1,0.9,0.7]}]}", i, x0);
		dataset_file(path, text);
	}
	dataset_settle(root);
}

static void
build_turned(const char *root, const char *warehouse,
    struct lc__ingest_result *out, int row)
{
	struct ingesting in;

	ingesting_init(&in, root, warehouse);
	fit_rows[row](&in.recipe);
	ingesting_run(&in, LC_OK, out);
}

START_TEST(only_labels_change)
{
	const char *root = run_scratch(), *warehouse = run_scratch();
	const char *fresh = run_scratch();
	struct lc__ingest_result result;

	make_turned(root, 0);
	build_turned(root, warehouse, NULL, _i);
	make_turned(root, 0.375);
	build_turned(root, warehouse, &result, _i);
	ck_assert_uint_eq(result.state.reused, 0);
	ck_assert_uint_eq(result.state.samples, 8);
	ck_assert_uint_eq(result.state.ns[LC__PHASE_DECODE], 0);
	lc__ingest_result_free(&result);
	build_turned(root, fresh, NULL, _i);
	ck_assert_str_eq(ingesting_current(fresh), ingesting_current(warehouse));
	if (fit_rows[_i] != bucketed)
		ingesting_assert_same(fresh, warehouse);
	else
		for (int i = 0; i < 2; i++)
			outdir_assert_same_dirs(
			    ingesting_path(fresh, i ? "32x48" : "48x32"),
			    ingesting_path(warehouse, i ? "32x48" : "48x32"));
}
END_TEST

/* ---- damage in the module ------------------------------------------------------- */

/* The key of the first sample, as its shard has it. */
static void
first_sample(const char *warehouse, char key[64], uint8_t pixels[256])
{
	lc_shard *shard;
	lc_sample sample;

	assert_ok(lc_shard_open(ingesting_path(warehouse, "shard-000000.twh1"),
	    &shard));
	assert_ok(lc_shard_sample(shard, 0, &sample));
	need(sample.id.size < 64);
	memcpy(key, sample.id.data, sample.id.size);
	key[sample.id.size] = '\0';
	memcpy(pixels, (const uint8_t *)sample.image.data + 16 * 48, 256);
	lc_shard_close(shard);
}

/* A record that is no sample is as good as none. */
START_TEST(foreign_records_are_replaced)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__ingest_result result;
	struct ingesting in;
	uint8_t pixels[256];
	char key[64];
	lc_value *value = _i == 0 ? lc_value_str("hello") : lc_value_map();
	lc_cache *cache;

	first_sample(warehouse, key, pixels);
	assert_ok(lc_open(warehouse, "samples", NULL, &cache));
	assert_ok(lc_put_value(cache, key, strlen(key), value));
	assert_ok(lc_close(cache));
	lc_value_free(value);
	ingesting_init(&in, root, warehouse);
	ingesting_run(&in, LC_OK, &result);
	ck_assert(result.up_to_date);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES - 1);
	lc__ingest_result_free(&result);
}
END_TEST

/* Pixels that went bad on the disk are not exported, and made anew the next time. */
START_TEST(damaged_pixels_are_made_anew)
{
	const char *root = make_dataset(), *warehouse = ingesting_reference(root);
	struct lc__buf data = outdir_get_file(warehouse, "samples/data.mdb");
	struct lc__ingest_result result;
	struct ingesting in;
	uint8_t pixels[256], *found;
	char key[64];

	first_sample(warehouse, key, pixels);
	found = memmem(data.data, data.size, pixels, sizeof(pixels));
	ck_assert_ptr_nonnull(found);
	outdir_flip(warehouse, "samples/data.mdb", found - data.data);
	lc__buf_free(&data);
	ingesting_init(&in, root, warehouse);
	in.recipe.dtype = LC_F32;
	ingesting_run(&in, LC_CORRUPT, NULL);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, key));
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, "build again"));
	ingesting_run(&in, LC_OK, &result);
	ck_assert_uint_eq(result.state.reused, 2 * FRAMES - 1);
	lc__ingest_result_free(&result);
	ingesting_assert_good(warehouse);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("ingest");
	TCase *same = tcase_create("the same bytes");
	TCase *again = tcase_create("a second run");
	TCase *other = tcase_create("another recipe");

	tcase_add_test(same, builds_a_version);
	tcase_add_loop_test(same, same_bytes_for_any_threads, 0, 3);
	suite_add_tcase(s, same);
	tcase_add_test(again, second_run_is_up_to_date);
	tcase_add_loop_test(again, a_change_is_all_that_is_built, 0,
	    COUNT(change_rows));
	tcase_add_test(again, an_exceeded_limit_forgets_nothing);
	tcase_add_loop_test(again, the_reader_follows, 0, COUNT(change_rows));
	tcase_add_test(again, an_image_that_comes_late);
	tcase_add_test(again, touched_files_are_the_same);
	tcase_add_test(again, rehash_reads_everything);
	suite_add_tcase(s, again);
	tcase_add_loop_test(other, another_recipe, 0, COUNT(recipe_rows));
	tcase_add_test(other, clear_builds_everything);
	tcase_add_test(other, missing_shard_is_built);
	tcase_add_loop_test(other, only_labels_change, 0, COUNT(fit_rows));
	tcase_add_loop_test(other, foreign_records_are_replaced, 0, 2);
	tcase_add_test(other, damaged_pixels_are_made_anew);
	suite_add_tcase(s, other);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
