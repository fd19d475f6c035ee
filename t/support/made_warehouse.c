/* SPDX-License-Identifier: BSD-2-Clause */
#include "made_warehouse.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/checksum.h"
#include "outdir_files.h"
#include "run.h"
#include "shard/build.h"
#include "warehouse/about.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"

#define SHARD_BYTES ((uint64_t)100 << 10)

/* ---- samples ---------------------------------------------------------------- */

const void *
made_image(uint64_t i)
{
	static _Thread_local uint16_t image[MADE_IMAGE / 2];
	uint64_t seed = i;

	for (size_t k = 0; k < MADE_IMAGE / 2; k++)
		image[k] = (uint16_t)(run_random(&seed) & 0x3bff);
	return image;
}

/* As many as the number says, behind one another from the left. */
const void *
made_boxes(uint64_t i)
{
	static _Thread_local float boxes[MADE_MAX_BOXES][4];

	memset(boxes, 0, sizeof(boxes));
	for (size_t k = 0; k < i % (MADE_MAX_BOXES + 1); k++) {
		boxes[k][0] = (float)k / 8;
		boxes[k][1] = (float)(i % 7) / 16;
		boxes[k][2] = (float)(k + 1) / 8;
		boxes[k][3] = 0.5f + (float)(i % 5) / 16;
	}
	return boxes;
}

const void *
made_mask(uint64_t i)
{
	static _Thread_local float mask[MADE_MAX_BOXES];

	for (size_t k = 0; k < MADE_MAX_BOXES; k++)
		mask[k] = k < i % (MADE_MAX_BOXES + 1) ? 1.0f : 0.0f;
	return mask;
}

static void
make_id(uint64_t i, char out[40])
{
	snprintf(out, 40, "0123456789ab/run-%02u/%05llu", (unsigned)(i / 10),
	    (unsigned long long)i);
}

static bool
same_bytes(const lc_tensor *tensor, const void *bytes, size_t size)
{
	return tensor->nbytes == size && memcmp(tensor->data, bytes, size) == 0;
}

static bool
same_shape(const lc_tensor *t, uint64_t i, const struct made_variant *v)
{
	if (v->shapes)
		return t->ndim == 4 && t->shape[0] == 1 && t->shape[1] == 3;
	return t->ndim == 3 && t->shape[0] == 3 &&
	    t->shape[1] == (i < MADE_FIRST ? 24 : 48) &&
	    t->shape[2] == (i < MADE_FIRST ? 32 : 16);
}

/* Version 1 has one dtype: its boxes are the first half of the bytes, as f16. */
bool
made_is(const lc_sample *s, uint64_t i, const struct made_variant *v)
{
	const bool rows = v->version != 1 && !v->bare;
	const size_t element = v->version == 1 ? 2 : 4;
	const lc_dtype boxes = v->version == 1 ? LC_F16 : LC_F32;
	char id[40];

	make_id(i, id);
	return same_bytes(&s->image, made_image(i), MADE_IMAGE) &&
	    same_bytes(&s->boxes, made_boxes(i), MADE_MAX_BOXES * 4 * element) &&
	    same_bytes(&s->mask, made_mask(i), MADE_MAX_BOXES * element) &&
	    same_shape(&s->image, i, v) && s->image.dtype == LC_F16 &&
	    s->boxes.dtype == boxes && s->mask.dtype == boxes &&
	    s->id.size == (rows ? strlen(id) : 0) &&
	    (!rows || memcmp(s->id.data, id, s->id.size) == 0) &&
	    (s->meta.size > 0) == rows;
}

/* ---- the source of a build -------------------------------------------------- */

/* Which part of the samples a series has. */
struct part {
	uint64_t first;
	const struct made_variant *variant;
};

static lc_status
row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	static _Thread_local char id[40], run[5000];
	const struct part *part = ctx;

	i += part->first;
	memset(out, 0, sizeof(*out));
	make_id(i, id);
	snprintf(run, sizeof(run), "run-%02u", (unsigned)(i / 10));
	out->cache_id = lc_id_of(id);
	if (part->variant->long_rows) {
		memset(run, 'r', sizeof(run) - 1);
		run[sizeof(run) - 1] = '\0';
	}
	out->run_id = run;
	out->has_frame_id = true;
	out->frame_id = i;
	out->original_width = 640 + i;
	out->original_height = 480;
	out->has_shape = part->variant->shapes;
	out->ndim = 4;
	out->shape[0] = 1;
	out->shape[1] = 3;
	out->shape[2] = i < MADE_FIRST ? 24 : 48;
	out->shape[3] = i < MADE_FIRST ? 32 : 16;
	return LC_OK;
}

static lc_status
image(void *ctx, uint64_t i, void *room, const void **out)
{
	const struct part *part = ctx;

	(void)room;
	*out = made_image(part->first + i);
	return LC_OK;
}

static lc_status
boxes(void *ctx, uint64_t i, const void **out, const void **mask)
{
	const struct part *part = ctx;

	*out = made_boxes(part->first + i);
	*mask = made_mask(part->first + i);
	return LC_OK;
}

/* ---- the dataset ------------------------------------------------------------ */

static void
put_file(const char *dir, const char *name, const char *text)
{
	char *path = outdir_join(dir, name);
	char *slash = strrchr(path, '/');

	*slash = '\0';
	ck_assert_int_eq(lc__make_dirs(path), LC_OK);
	free(path);
	outdir_put_file(dir, name, text);
}

static void
add_source(struct lc__sources *sources, const char *root, const char *name,
    bool directory)
{
	char *path = outdir_join(root, name);
	struct lc__source_file file = { .path = name, .directory = directory };
	struct stat st;

	ck_assert_int_eq(stat(path, &st), 0);
	file.mtime_ns = lc__sources_mtime(&st);
	if (directory)
		ck_assert_int_eq(lc__sources_hash_dir(path, file.hash), LC_OK);
	else
		ck_assert_int_eq(lc__sources_hash_file(path, file.hash,
		    &file.size), LC_OK);
	ck_assert_int_eq(lc__sources_add(sources, &file), LC_OK);
	free(path);
}

static void
make_dataset(const char *dir)
{
	put_file(dir, "run-0/labels/1.json", "{\"one\":1}");
	put_file(dir, "run-0/labels/2.json", "{\"two\":2}");
	put_file(dir, "run-0/images/1.png", "not really an image");
	put_file(dir, "run-1/labels/1.json", "{\"one\":1}");
}

static struct lc__buf
list_sources(const char *dir, char fingerprint[65])
{
	struct lc__sources sources = { 0 };
	struct lc__buf text = { 0 };
	static const char *const files[] = { "run-0/labels/1.json",
		"run-0/labels/2.json", "run-0/images/1.png", "run-1/labels/1.json" };
	static const char *const dirs[] = { "run-0/labels", "run-0/images",
		"run-1/labels" };

	for (size_t i = 0; i < 4; i++)
		add_source(&sources, dir, files[i], false);
	for (size_t i = 0; i < 3; i++)
		add_source(&sources, dir, dirs[i], true);
	lc__sources_sort(&sources);
	ck_assert_int_eq(lc__sources_fingerprint(&sources, fingerprint), LC_OK);
	ck_assert_int_eq(lc__sources_format(&sources, &text), LC_OK);
	lc__sources_free(&sources);
	return text;
}

/* ---- the version ------------------------------------------------------------ */

static char *
make_about(const char *dataset, const char *dir)
{
	static const char rejected[] = "{\"file\":\"run-1/labels/9.json\"}\n";
	struct lc__series_about series[2] = {
		{ (char *)"32x24", 32, 24, MADE_FIRST },
		{ (char *)"16x48", 16, 48, MADE_SECOND },
	};
	struct lc__warehouse_about about = { .layout = (char *)"capture",
		.sources_root = (char *)dataset, .series = series, .n_series = 2 };
	struct lc__buf text = list_sources(dataset, about.fingerprint);
	struct lc__buf json = { 0 };

	ck_assert_int_eq(lc__sha256_of(text.data, text.size,
	    about.sources_sha256), LC_OK);
	ck_assert_int_eq(lc__sha256_of(rejected, strlen(rejected),
	    about.rejected_sha256), LC_OK);
	lc__buf_append(&text, "", 1);
	outdir_put_file(dir, LC__SOURCES_NAME, (char *)text.data);
	outdir_put_file(dir, LC__WAREHOUSE_REJECTED, rejected);
	ck_assert_int_eq(lc__warehouse_about_format(&about, &json), LC_OK);
	lc__buf_append(&json, "", 1);
	lc__buf_free(&text);
	return (char *)json.data;
}

static lc_shard_info
form_of(const struct made_variant *v, uint32_t height, uint32_t width)
{
	return (lc_shard_info){ .version = v->version ? v->version : 2,
		.dtype = LC_F16, .boxes_dtype = v->version == 1 ? LC_F16 : LC_F32,
		.channels = 3, .height = height, .width = width,
		.max_boxes = MADE_MAX_BOXES };
}

static void
build(const struct made_variant *v, const char *dir, char *about_text)
{
	const char *recipe = v->recipe ? v->recipe : "{\"made\":1}";
	char key[65];
	struct part parts[2] = { { 0, v }, { MADE_FIRST, v } };
	const struct lc__shard_source sources[2] = {
		{ .ctx = &parts[0], .row = row, .image = image, .boxes = boxes },
		{ .ctx = &parts[1], .row = row, .image = image, .boxes = boxes },
	};
	const lc_shard_info forms[2] = { form_of(v, 24, 32), form_of(v, 48, 16) };
	const struct lc__shard_series series[2] = {
		{ "32x24", &forms[0], &sources[0], MADE_FIRST },
		{ "16x48", &forms[1], &sources[1], MADE_SECOND },
	};
	const struct lc__manifest about = { .dataset_root = (char *)"assets",
		.transform = (char *)"{\"resize_mode\":\"Letterbox\"}",
		.version = key, .version_recipe = (char *)recipe,
		.code_version = (char *)"test",
		.thresholds = (char *)(v->thresholds ? v->thresholds : "{}"),
		.summary = (char *)(v->summary ? v->summary :
		    "{\"totals\":{\"total\":104,\"non_empty\":82,\"empty\":21,"
		    "\"invalid\":1}}"),
		.warehouse = about_text };
	const struct lc__build b = { .dir = dir, .series = series, .n_series = 2,
		.metadata = v->version != 1 && !v->bare, .no_sha256 = v->no_sha256,
		.shard_bytes = v->shard_bytes ? v->shard_bytes : SHARD_BYTES, .threads = 1, .about = &about,
		.recipe = recipe, .state = "made" };
	lc_export_result result;

	ck_assert_int_eq(lc__sha256_of(recipe, strlen(recipe), key), LC_OK);
	ck_assert_msg(lc__build_run(&b, &result) == LC_OK, "%s",
	    lc_last_error()->text);
}

void
made_another(struct made *made, const struct made_variant *v)
{
	/* Kept here for the leak checker, to whom they are not lost then. */
	static char *versions[1000];
	static unsigned n;
	char name[LC__VERSION_NAME];
	char *about;

	ck_assert_uint_lt(n, 1000);
	snprintf(name, sizeof(name), "v20261121-%012x", n + 1);
	made->version = versions[n++] = outdir_join(made->warehouse, name);
	ck_assert_int_eq(lc__make_dirs(made->version), LC_OK);
	about = make_about(made->dataset, made->version);
	build(v, made->version, v->no_about ? NULL : about);
	free(about);
	ck_assert_int_eq(lc__version_switch(made->warehouse, name), LC_OK);
}

struct made
made_warehouse(const struct made_variant *v)
{
	struct made made = { .dataset = run_scratch(), .warehouse = run_scratch() };

	make_dataset(made.dataset);
	made_another(&made, v);
	return made;
}

lc_warehouse_options
made_options(lc_warehouse_mode mode)
{
	lc_warehouse_options options;

	lc_warehouse_options_init(&options);
	options.mode = mode;
	return options;
}
