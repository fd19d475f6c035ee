/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as sources: exports, warehouses, one series of them, a file alone. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "made_warehouse.h"
#include "need.h"
#include "outdir_files.h"
#include "sample.h"
#include "source_walk.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

static const char *const all_fields[] = { "image", "boxes", "mask" };
static const struct made_variant plain;

static lc_source *
open_shards(const char *path, const lc_source_options *options)
{
	lc_source *source;

	assert_ok(lc_source_open_shards(path, options, &source));
	return source;
}

/* ---- warehouses -------------------------------------------------------------------- */

static void
expect_sample(struct lc__cursor *cursor, uint64_t record, uint64_t number)
{
	lc_tensor got[3];
	lc_id id;

	assert_ok(lc__cursor_read(cursor, record, all_fields, 3, NULL, got, &id));
	ck_assert_uint_eq(got[0].nbytes, MADE_IMAGE);
	ck_assert_mem_eq(got[0].data, made_image(number), MADE_IMAGE);
	ck_assert_mem_eq(got[1].data, made_boxes(number), got[1].nbytes);
	ck_assert_mem_eq(got[2].data, made_mask(number), got[2].nbytes);
	ck_assert_uint_eq(lc__cursor_units(cursor, record), 1);
}

/* All of them in order, from the first of the made ones that it has. */
static void
expect_made(lc_source *source, uint64_t first, uint64_t n)
{
	const lc_source_info info = walk_info(source);
	struct lc__layout *layout = lc__source_layout(source);
	struct lc__cursor *cursor = walk_cursor(source);
	struct lc__chunk_row row;

	ck_assert_uint_eq(info.records, n);
	ck_assert_uint_eq(info.length, n);
	ck_assert(info.final && !info.has_lengths);
	assert_ok(lc__cursor_begin(cursor));
	for (uint64_t p = 0; p < info.chunks; p++) {
		assert_ok(lc__layout_row(layout, p, &row));
		assert_ok(lc__cursor_go(cursor, p));
		lc__cursor_willneed(cursor, 0, row.records);
		for (uint64_t i = 0; i < row.records; i++)
			expect_sample(cursor, i, first + row.first_record + i);
	}
	lc__cursor_end(cursor);
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
}

static const struct made_variant variants[] = {
	{ .version = 0 },
	{ .shapes = true },
	{ .shard_bytes = 4096 },
	{ .version = 1 },
	{ .bare = true, .no_sha256 = true },
	{ .no_about = true },
};

START_TEST(a_series_of_a_warehouse)
{
	const struct made made = made_warehouse(&variants[_i]);
	static const char *const dirs[] = { "32x24", "16x48" };
	uint8_t uuids[2][16];

	for (int i = 0; i < 2; i++) {
		char *path = outdir_join(made.version, dirs[i]);
		lc_source *source = open_shards(path, NULL);

		memcpy(uuids[i], walk_info(source).uuid, 16);
		if (i == 0)
			expect_made(source, 0, MADE_FIRST);
		else
			expect_made(source, MADE_FIRST, MADE_SECOND);
		lc_source_close(source);
		free(path);
	}
	ck_assert_mem_ne(uuids[0], uuids[1], 16);
}
END_TEST

START_TEST(several_series_are_one_source)
{
	const struct made made = made_warehouse(&variants[_i]);
	lc_source *source = open_shards(made.warehouse, NULL);

	expect_made(source, 0, MADE_SAMPLES);
	lc_source_close(source);
}
END_TEST

static void
count_damage(void *ctx, const char *line)
{
	ck_assert_ptr_nonnull(line);
	++*(int *)ctx;
}

/* What a warehouse is refused for when it is opened, and what its streams are. */
static const struct {
	const char *thresholds;       /* NULL: none */
	bool changed, moved;          /* of the dataset */
	lc_warehouse_sources sources;
	int ignore_thresholds;
	lc_status status;
	int told;                     /* lines */
} contracts[] = {
	{ NULL, false, false, LC_SOURCES_STAT, 0, LC_OK, 0 },
	{ NULL, true, false, LC_SOURCES_STAT, 0, LC_STALE, 1 },
	{ NULL, true, false, LC_SOURCES_CONTENT, 0, LC_STALE, 1 },
	{ NULL, true, false, LC_SOURCES_IGNORE, 0, LC_OK, 0 },
	{ NULL, false, true, LC_SOURCES_STAT, 0, LC_OK, 0 },
	{ NULL, false, true, LC_SOURCES_CONTENT, 0, LC_OK, 0 },
	{ NULL, true, true, LC_SOURCES_STAT, 0, LC_STALE, 1 },
	{ "{\"max_invalid\":0}", false, false, LC_SOURCES_STAT, 0, LC_FAILED, 1 },
	{ "{\"max_invalid\":0}", false, false, LC_SOURCES_IGNORE, 0, LC_FAILED, 1 },
	{ "{\"max_invalid\":0}", false, false, LC_SOURCES_STAT, 1, LC_OK, 0 },
	{ "{\"max_invalid\":0}", true, false, LC_SOURCES_STAT, 1, LC_STALE, 1 },
	{ "{\"max_invalid\":0}", true, false, LC_SOURCES_IGNORE, 1, LC_OK, 0 },
};

START_TEST(stale_and_refused_warehouses)
{
	const struct made_variant variant = { .thresholds = contracts[_i].thresholds };
	struct made made = made_warehouse(&variant);
	char *path = outdir_join(made.version, "32x24"), *moved = NULL;
	lc_warehouse_options whole;
	lc_source_options o;
	lc_warehouse *warehouse;
	lc_source *source;
	int told = 0;

	if (contracts[_i].changed)
		outdir_put_file(made.dataset, "run-0/labels/1.json", "{\"changed\":1}");
	lc_source_options_init(&o);
	ck_assert_int_eq(o.sources, LC_SOURCES_STAT);
	o.sources = contracts[_i].sources;
	o.ignore_thresholds = contracts[_i].ignore_thresholds;
	o.progress = (lc_progress){ .damage = count_damage, .ctx = &told };
	if (contracts[_i].moved) {
		moved = outdir_join(made.warehouse, "moved");
		need(rename(made.dataset, moved) == 0);
		o.dataset = moved;
	}
	if (contracts[_i].status == LC_OK) {
		source = open_shards(path, &o);
		expect_made(source, 0, MADE_FIRST);
		lc_source_close(source);
	} else {
		assert_status(lc_source_open_shards(path, &o, &source),
		    contracts[_i].status);
	}
	ck_assert_int_eq(told, contracts[_i].told);
	/* The other interface says the same. */
	lc_warehouse_options_init(&whole);
	whole.sources = o.sources;
	whole.dataset = o.dataset;
	whole.ignore_thresholds = o.ignore_thresholds;
	assert_status(lc_warehouse_open(made.version, &whole, &warehouse),
	    contracts[_i].status);
	if (contracts[_i].status == LC_OK)
		lc_warehouse_close(warehouse);
	free(moved);
	free(path);
}
END_TEST

START_TEST(sources_that_are_none_are_refused)
{
	lc_source_options o;
	lc_source *source;

	lc_source_options_init(&o);
	o.sources = (lc_warehouse_sources)3;
	assert_status(lc_source_open_shards(".", &o, &source), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "source: no sources 3");
}
END_TEST

static const struct {
	const char *path; /* from the version */
	lc_status status;
} refused[] = {
	{ "nothing", LC_NO_FILE },
	{ "manifest.json", LC_NOT_MODULE },
	{ "no-series", LC_NOT_MODULE },
};

START_TEST(what_is_no_shards_is_refused)
{
	const struct made made = made_warehouse(&plain);
	char *path = outdir_join(made.version, refused[_i].path);
	lc_source *source;

	if (strcmp(refused[_i].path, "no-series") == 0)
		assert_ok(lc__make_dirs(path));
	assert_status(lc_source_open_shards(path, NULL, &source),
	    refused[_i].status);
	/* Nor is a directory alone. */
	assert_status(lc_source_open_shards(run_scratch(), NULL, &source),
	    LC_NOT_MODULE);
	free(path);
}
END_TEST

/* ---- damage --------------------------------------------------------------------------- */

START_TEST(damage_is_seen_unless_verifying_is_off)
{
	const struct made made = made_warehouse(&plain);
	char *path = outdir_join(made.version, "32x24/shard-000000.twh1");
	static const char *const image[] = { "image" };
	lc_source_options options;
	lc_tensor tensor;
	lc_id id;

	outdir_flip(made.version, "32x24/shard-000000.twh1", 4096 + 100);
	for (int verify = 0; verify < 2; verify++) {
		lc_source *source;
		struct lc__cursor *cursor;

		lc_source_options_init(&options);
		options.verify = verify;
		source = open_shards(path, &options);
		cursor = walk_cursor(source);
		assert_ok(lc__cursor_begin(cursor));
		assert_ok(lc__cursor_go(cursor, 0));
		assert_status(lc__cursor_read(cursor, 0, image, 1, NULL, &tensor, &id),
		    verify ? LC_CORRUPT : LC_OK);
		if (verify)
			ck_assert_ptr_nonnull(strstr(lc_last_error()->text,
			    "shard-000000.twh1"));
		lc__cursor_free(cursor);
		lc_source_close(source);
	}
	free(path);
}
END_TEST

/* ---- a file alone --------------------------------------------------------------------- */

static const struct made_variant alone[] = {
	{ .version = 0 }, { .version = 1 }, { .bare = true },
};

START_TEST(a_shard_alone)
{
	static const char *const missing[] = { "scores" };
	const struct made made = made_warehouse(&alone[_i]);
	char *path = outdir_join(made.version, "32x24/shard-000000.twh1");
	lc_source *source = open_shards(path, NULL);
	const uint64_t n = walk_info(source).records;
	struct lc__cursor *cursor = walk_cursor(source);
	lc_tensor tensor;
	char **names;
	size_t n_names;
	lc_id id;

	ck_assert_uint_gt(n, 0);
	expect_made(source, 0, n);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	names = walk_names(cursor, 0, &n_names);
	ck_assert_uint_eq(n_names, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_str_eq(names[i], all_fields[i]);
	walk_free_names(names, n_names);
	assert_status(lc__cursor_read(cursor, 0, missing, 1, NULL, &tensor, &id),
	    LC_SCHEMA);
	assert_ok(walk_read_one(cursor, 1, &tensor, &id));
	ck_assert_mem_eq(tensor.data, made_image(1), MADE_IMAGE);
	lc__cursor_free(cursor);
	lc_source_close(source);
	free(path);
}
END_TEST

/* ---- fields out of metadata rows ------------------------------------------------------- */

static const char *const told[] = { "run_id", "class_ids", "image", "frame_id",
	"original_size" };

static void
expect_told(const lc_tensor got[5], uint64_t number)
{
	char run[256] = "";
	const int64_t size[2] = { 640 + (int64_t)number, 480 };

	snprintf(run, sizeof(run), "run-%02u", (unsigned)(number / 10));
	ck_assert(got[0].dtype == LC_U8 && got[0].ndim == 1 && got[0].shape[0] == 256);
	ck_assert_mem_eq(got[0].data, run, 256);
	ck_assert(got[1].dtype == LC_I64 && got[1].ndim == 1 &&
	    got[1].shape[0] == MADE_MAX_BOXES);
	for (size_t i = 0; i < MADE_MAX_BOXES; i++)
		ck_assert_int_eq(((const int64_t *)got[1].data)[i], -1);
	ck_assert_mem_eq(got[2].data, made_image(number), MADE_IMAGE);
	ck_assert(got[3].dtype == LC_I64 && got[3].ndim == 0);
	ck_assert_int_eq(*(const int64_t *)got[3].data, (int64_t)number);
	ck_assert(got[4].dtype == LC_I64 && got[4].ndim == 1 && got[4].shape[0] == 2);
	ck_assert_mem_eq(got[4].data, size, sizeof(size));
}

/* They are not in the map: they stay for as long as a pin is held. */
START_TEST(fields_of_metadata)
{
	const struct made made = made_warehouse(&plain);
	char *path = outdir_join(made.version, "32x24/shard-000000.twh1");
	lc_source *source = open_shards(path, NULL);
	struct lc__cursor *cursor = walk_cursor(source);
	lc_tensor got[12][5], other[5];
	struct lc__pin *pin;
	lc_id id;

	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	for (uint64_t i = 0; i < 12; i++)
		assert_ok(lc__cursor_read(cursor, i, told, 5, NULL, got[i], &id));
	assert_ok(lc__cursor_pin(cursor, &pin));
	ck_assert_uint_gt(lc__pin_bytes(pin), 12 * 256);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_ok(lc__cursor_read(cursor, 13, told, 5, NULL, other, &id));
	lc__cursor_forget(cursor);
	lc__cursor_end(cursor);
	for (uint64_t i = 0; i < 12; i++)
		expect_told(got[i], i);
	lc__pin_drop(pin);
	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_ok(lc__cursor_read(cursor, 14, told, 5, NULL, other, &id));
	expect_told(other, 14);
	lc__cursor_free(cursor);
	lc_source_close(source);
	free(path);
}
END_TEST

static const struct {
	struct made_variant variant;
	const char *says;
} untold[] = {
	{ { .bare = true }, "sample 0 has no run_id" },
	{ { .version = 1 }, "sample 0 has no run_id" },
	{ { .long_rows = true }, "sample 0: its run_id has 4999 bytes, and the field run_id "
	  "256 at most" },
};

START_TEST(fields_that_are_not_there)
{
	const struct made made = made_warehouse(&untold[_i].variant);
	char *path = outdir_join(made.version, "32x24/shard-000000.twh1");
	lc_source *source = open_shards(path, NULL);
	struct lc__cursor *cursor = walk_cursor(source);
	lc_tensor tensor;
	lc_id id;

	assert_ok(lc__cursor_begin(cursor));
	assert_ok(lc__cursor_go(cursor, 0));
	assert_status(lc__cursor_read(cursor, 0, told, 1, NULL, &tensor, &id), LC_SCHEMA);
	ck_assert_ptr_nonnull(strstr(lc_last_error()->text, untold[_i].says));
	lc__cursor_free(cursor);
	lc_source_close(source);
	free(path);
}
END_TEST

/* ---- exports --------------------------------------------------------------------------- */

#define ROWS 100
#define WIDTH 24

static const char *
export_tokens(lc_cache **cache, int metadata, bool square)
{
	const char *dir = run_scratch();
	lc_export_options options;
	lc_export_result result;
	lc_options open = sample_options();

	*cache = sample_open(run_scratch(), "m", &open);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint16_t row[WIDTH];
		const uint64_t flat = WIDTH, two[2] = { 2, WIDTH / 2 };
		lc_tensor tensor;
		char id[16];
		const int size = snprintf(id, sizeof(id), "row%u", i);

		for (uint32_t k = 0; k < WIDTH; k++)
			row[k] = (uint16_t)(i * WIDTH + k);
		assert_ok(lc_tensor_init(&tensor, LC_U16, square ? 2 : 1,
		    square ? two : &flat, row));
		assert_ok(lc_put(*cache, id, (size_t)size, &tensor));
	}
	lc_export_options_init(&options);
	options.shard_bytes = 4096;
	options.metadata = metadata;
	assert_ok(lc_export(*cache, dir, &options, &result));
	ck_assert_uint_gt(result.shards, 1);
	return dir;
}

START_TEST(an_export_has_the_records_of_its_module)
{
	lc_cache *cache;
	const char *dir = export_tokens(&cache, _i, false);
	lc_source *source = open_shards(dir, NULL);
	struct lc__layout *layout = lc__source_layout(source);
	struct lc__cursor *cursor = walk_cursor(source);
	lc_iter *iter;
	lc_item item;

	assert_ok(lc_iter_open(cache, LC_BY_COMMIT, NULL, 0, &iter));
	assert_ok(lc__cursor_begin(cursor));
	for (uint64_t i = 0; i < ROWS; i++) {
		struct lc__chunk_row row;
		lc_tensor tensor;
		uint64_t position;
		lc_id id;

		assert_ok(lc_iter_next(iter, &item));
		assert_ok(lc__layout_find_record(layout, i, &position, &row));
		assert_ok(lc__cursor_go(cursor, position));
		assert_ok(walk_read_one(cursor, i - row.first_record, &tensor, &id));
		ck_assert_uint_eq(tensor.nbytes, item.tensor.nbytes);
		ck_assert_mem_eq(tensor.data, item.tensor.data, tensor.nbytes);
		ck_assert_uint_eq(id.size, _i ? item.id.size : 0);
		if (_i)
			ck_assert_mem_eq(id.data, item.id.data, id.size);
	}
	lc_iter_close(iter);
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

/* The width is the length: what windows are cut of has one axis. */
START_TEST(rows_of_one_axis_have_lengths)
{
	lc_cache *cache;
	const char *dir = export_tokens(&cache, _i, false);
	lc_source_options options;
	struct lc__cursor *cursor;
	struct lc__layout *layout;
	struct lc__chunk_row row;
	uint64_t position, record, before;
	lc_source *source;
	lc_tensor tensor;
	lc_id id;

	lc_source_options_init(&options);
	options.length_field = ".";
	source = open_shards(dir, &options);
	ck_assert(walk_info(source).has_lengths);
	ck_assert_uint_eq(walk_info(source).length, ROWS * WIDTH);
	layout = lc__source_layout(source);
	cursor = walk_cursor(source);
	assert_ok(lc__cursor_begin(cursor));
	for (uint64_t unit = 0; unit < ROWS * WIDTH; unit += 7) {
		assert_ok(lc__layout_find_unit(layout, unit, &position, &row));
		assert_ok(lc__cursor_go(cursor, position));
		assert_ok(lc__cursor_find(cursor, unit - row.first_unit, &record,
		    &before));
		assert_ok(walk_read_one(cursor, record, &tensor, &id));
		ck_assert_uint_eq(tensor.ndim, 1);
		ck_assert_uint_eq(tensor.shape[0], WIDTH);
		ck_assert_uint_eq(lc__cursor_units(cursor, record), WIDTH);
		ck_assert_uint_eq(((const uint16_t *)tensor.data)[
		    unit - row.first_unit - before], unit);
	}
	lc__cursor_free(cursor);
	lc__layout_drop(layout);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

START_TEST(other_lengths_of_shards_are_refused)
{
	static const char *const fields[] = { ".", "image" };
	lc_cache *cache;
	const char *dir = export_tokens(&cache, 1, _i == 0);
	lc_source_options options;
	lc_source *source;

	lc_source_options_init(&options);
	options.length_field = fields[_i];
	assert_status(lc_source_open_shards(dir, &options, &source), LC_INVALID);
	assert_ok(lc_close(cache));
}
END_TEST

/* ---- generations ----------------------------------------------------------------------- */

START_TEST(the_same_shards_are_the_same_source)
{
	lc_cache *cache;
	const char *dir = export_tokens(&cache, 1, false);
	lc_source *source = open_shards(dir, NULL);
	const lc_source_info info = walk_info(source);
	lc_source_info again;
	lc_source *other;

	assert_ok(lc_source_refresh(source));
	assert_ok(lc_source_wait(source, ROWS, 0));
	assert_status(lc_source_wait(source, ROWS + 1, UINT64_MAX), LC_END);
	again = walk_info(source);
	ck_assert_mem_eq(&info, &again, sizeof(info));
	other = open_shards(dir, NULL);
	again = walk_info(other);
	ck_assert_mem_eq(&info, &again, sizeof(info));
	lc_source_close(other);
	lc_source_close(source);
	assert_ok(lc_close(cache));
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("source_shards");
	TCase *t = tcase_create("shards");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, a_series_of_a_warehouse, 0, COUNT(variants));
	tcase_add_loop_test(t, several_series_are_one_source, 0,
	    COUNT(variants));
	tcase_add_loop_test(t, stale_and_refused_warehouses, 0, COUNT(contracts));
	tcase_add_test(t, sources_that_are_none_are_refused);
	tcase_add_loop_test(t, what_is_no_shards_is_refused, 0, COUNT(refused));
	tcase_add_test(t, damage_is_seen_unless_verifying_is_off);
	tcase_add_loop_test(t, a_shard_alone, 0, COUNT(alone));
	tcase_add_test(t, fields_of_metadata);
	tcase_add_loop_test(t, fields_that_are_not_there, 0, COUNT(untold));
	tcase_add_loop_test(t, an_export_has_the_records_of_its_module, 0, 2);
	tcase_add_loop_test(t, rows_of_one_axis_have_lengths, 0, 2);
	tcase_add_loop_test(t, other_lengths_of_shards_are_refused, 0, 2);
	tcase_add_test(t, the_same_shards_are_the_same_source);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	return run_suite(suite());
}
