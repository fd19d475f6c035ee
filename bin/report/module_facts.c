/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/module_facts.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/fileio.h"
#include "base/lines.h"
#include "draw/picture.h"
#include "report/embedding_map.h"
#include "report/pca.h"
#include "report/preview.h"
#include "report/store_map.h"
#include "report/survey.h"
#include "value/dtype.h"
#include "value/tensor.h"

#define STEP 1024 /* records between two calls of the progress callback */
#define STEPS 16  /* bins per power of two, while sizes of records are counted */
#define POWERS 40
#define VECTOR_LEAST 8     /* least elements of a vector that is mapped */
#define VECTORS_MOST 20000 /* more take too long to find their components */
#define VECTORS_LEAST 50   /* least vectors that make a map */
#define VECTOR_ELEMENTS ((size_t)1 << 24) /* most elements of all vectors together */
#define VECTOR_IMAGE 112                  /* pixels of an example */
#define MAP_WIDTH 1100
#define KEYS 256      /* longer keys share the last count */
#define TEXT_MOST 600 /* most bytes of an example's text */
#define FAILURE_LINE 65536

/* A record whose value will be read. */
struct picked {
	lc_id id; /* malloc'ed */
	uint64_t stored;
};

/* The vectors found in one field of the records that are read. */
struct directions {
	/* Path of the field, ended by a NUL; empty before the first vector. */
	struct lc__buf path;
	char type[LC__TENSOR_TEXT];
	size_t d;    /* elements per vector */
	float *rows; /* the vectors, one after another; malloc'ed */
	size_t rows_room;
	lc_id *ids; /* key of each vector; borrowed */
	size_t n, ids_room;
};

struct reading {
	struct directions vectors;
	lc_cache *cache;
	const struct lc__module_look *look;
	struct lc__module_facts *facts;
	struct picked *picked;
	size_t n_picked, room;
	/* Number of records by the logarithm of their size. */
	uint64_t sizes[POWERS * STEPS];
	uint64_t key_sizes[KEYS];
};

static lc_status
copy_id(lc_id id, lc_id *out)
{
	void *copy = malloc(id.size + 1);

	if (copy == NULL)
		return lc__no_memory(NULL);
	memcpy(copy, id.data, id.size);
	*out = (lc_id){ copy, id.size };
	return LC_OK;
}

static lc_status
go_on(const struct reading *r, uint64_t done, uint64_t all)
{
	const lc_progress *progress = &r->look->records;

	return done % STEP == 0 && progress->step != NULL &&
		progress->step(progress->ctx, done, all) != 0
	    ? lc__error(LC_CANCELLED, 0, "stopped")
	    : LC_OK;
}

static void
begin_phase(const struct reading *r, const char *name)
{
	if (r->look->records.phase != NULL)
		r->look->records.phase(r->look->records.ctx, name);
}

static lc_status
note_damage(struct lc__module_facts *facts, const char *text)
{
	if (facts->n_damage == LC__MODULE_DAMAGE)
		return LC_OK;
	facts->damage[facts->n_damage] = strdup(text);
	if (facts->damage[facts->n_damage] == NULL)
		return lc__no_memory(NULL);
	facts->n_damage++;
	return LC_OK;
}

/* ---- structures and inputs -------------------------------------------------------------- */

static int
take_schema(void *ctx, const lc_schema_stats *stats)
{
	struct lc__module_facts *facts = ctx;
	struct lc__module_schema *schema;

	if (lc__array_reserve(&facts->schemas, &facts->schemas_room, facts->n_schemas + 1,
		NULL) != LC_OK)
		return 1;
	schema = &facts->schemas[facts->n_schemas];
	schema->stats = *stats;
	schema->structure = strdup(stats->structure);
	schema->stats.structure = schema->structure;
	if (schema->structure == NULL)
		return 1;
	facts->n_schemas++;
	return 0;
}

static int
take_input(void *ctx, const lc_input_info *info)
{
	struct lc__module_facts *facts = ctx;
	struct lc__module_input *input = &facts->inputs[facts->n_inputs];

	if (facts->n_inputs == LC__MODULE_INPUTS)
		return 1;
	input->info = *info;
	input->name = strdup(info->name);
	if (input->name == NULL)
		return 1;
	facts->n_inputs++;
	return 0;
}

/* There is no map if the build has no cairo, or if the module has too many chunks to
 * draw. */
static lc_status
draw_map(struct lc__module_facts *facts, double width, struct lc__buf *out)
{
	const struct lc__store_map map = { facts->module, facts->chunks, facts->n_chunks,
		facts->stats.file_bytes, facts->stats.free_bytes };
	struct lc__picture *picture;
	lc_status status;

	if (facts->n_chunks == 0)
		return LC_OK;
	status = lc__picture_new(LC__PICTURE_SVG, &picture);
	if (status == LC_UNSUPPORTED)
		return LC_OK;
	return_if_error(status);
	status = lc__store_map_draw(picture, &map, width);
	if (status == LC_OK)
		status = lc__picture_finish(picture, out);
	lc__picture_free(picture);
	return status == LC_INVALID ? LC_OK : status;
}

static lc_status
read_module(struct reading *r)
{
	struct lc__module_facts *facts = r->facts;
	lc_status status;

	facts->stats.struct_size = sizeof(facts->stats);
	facts->counters.struct_size = sizeof(facts->counters);
	facts->fill.struct_size = sizeof(facts->fill);
	return_if_error(lc_stat(r->cache, &facts->stats));
	return_if_error(lc_counters_get(r->cache, &facts->counters));
	return_if_error(lc_fill_get(r->cache, &facts->fill));
	return_if_error(lc__cache_chunks(r->cache, &facts->chunks, &facts->n_chunks));
	return_if_error(draw_map(facts, MAP_WIDTH, &facts->map));
	return_if_error(draw_map(facts, LC__STORE_MAP_LEAST, &facts->narrow_map));
	status = lc_schemas(r->cache, take_schema, facts);
	if (status == LC_CANCELLED)
		return lc__no_memory(NULL);
	if (status == LC_OK && facts->fill.inputs > 0)
		status = lc_inputs(r->cache, take_input, facts);
	if (status == LC_CANCELLED && facts->n_inputs < LC__MODULE_INPUTS)
		return lc__no_memory(NULL);
	return status == LC_CANCELLED ? LC_OK : status;
}

/* ---- all records: keys and sizes --------------------------------------------------------- */

/* The prefix of a key: "train/" of "train/cat/000.jpg", "img" of "img00012". It ends
 * with the first separator or, if there is none, before the first digit. */
static lc_id
prefix_of(lc_id id)
{
	const char *text = id.data;
	const size_t n = id.size < LC__TEXTS_BYTES ? id.size : LC__TEXTS_BYTES;

	for (size_t i = 0; i < n; i++)
		if (text[i] == '/' || text[i] == ':')
			return (lc_id){ text, i + 1 };
	for (size_t i = 0; i < n; i++)
		if (text[i] >= '0' && text[i] <= '9')
			return (lc_id){ text, i };
	return (lc_id){ text, n };
}

static lc_status
list_record(struct reading *r, const lc_item *item)
{
	struct lc__module_facts *facts = r->facts;
	const uint64_t i = facts->listed++, all = facts->stats.records;
	const uint64_t most = r->look->samples > 0 ? r->look->samples : all;
	const double power = log2(
	    (double)(item->stored_size > 0 ? item->stored_size : 1));
	const size_t step = (size_t)(power * STEPS);

	if (i == 0 || item->stored_size < facts->least_bytes)
		facts->least_bytes = item->stored_size;
	if (item->stored_size > facts->most_bytes)
		facts->most_bytes = item->stored_size;
	if (i == 0 || item->id.size < facts->least_key)
		facts->least_key = item->id.size;
	if (item->id.size > facts->most_key)
		facts->most_key = item->id.size;
	facts->listed_bytes += item->stored_size;
	facts->key_bytes += item->id.size;
	r->sizes[step < POWERS * STEPS ? step : POWERS * STEPS - 1]++;
	r->key_sizes[item->id.size < KEYS ? item->id.size : KEYS - 1]++;
	return_if_error(
	    lc__texts_add(&facts->prefixes, prefix_of(item->id), item->stored_size));
	if (facts->n_keys < LC__MODULE_KEYS && lc__spread(i, all, LC__MODULE_KEYS)) {
		return_if_error(copy_id(item->id, &facts->keys[facts->n_keys]));
		facts->n_keys++;
	}
	if (lc__spread(i, all, most)) {
		return_if_error(
		    lc__array_reserve(&r->picked, &r->room, r->n_picked + 1, NULL));
		return_if_error(copy_id(item->id, &r->picked[r->n_picked].id));
		r->picked[r->n_picked++].stored = item->stored_size;
	}
	return go_on(r, i, all);
}

static lc_status
list_records(struct reading *r)
{
	lc_iter *iter;
	lc_item item;
	lc_status status;

	begin_phase(r, "keys");
	return_if_error(
	    lc_iter_open(r->cache, LC_BY_COMMIT | LC_ITER_LISTED, NULL, 0, &iter));
	do {
		status = lc_iter_next(iter, &item);
		if (status == LC_OK) {
			status = list_record(r, &item);
		} else if (status == LC_CORRUPT) {
			r->facts->unlisted++;
			status = note_damage(r->facts, lc_last_error()->text);
		}
	} while (status == LC_OK);
	lc_iter_close(iter);
	return status == LC_END ? LC_OK : status;
}

/* Use as many bins per power of two as the histogram has room for. */
static void
make_sizes(const struct reading *r, struct lc__histogram *out)
{
	const struct lc__module_facts *facts = r->facts;
	uint32_t first = 0, end = POWERS, bins = STEPS;

	while (first < POWERS - 1 && exp2(first + 1) <= (double)facts->least_bytes)
		first++;
	while (end > first + 1 && exp2(end - 1) > (double)facts->most_bytes)
		end--;
	while ((end - first) * bins > LC__HISTOGRAM_BINS)
		bins /= 2;
	lc__histogram_init(out, "record_bytes", "Size of a record", first, end,
	    (end - first) * bins);
	for (uint32_t i = first * STEPS; i < end * STEPS; i++)
		out->counts[(i - first * STEPS) / (STEPS / bins)] += r->sizes[i];
	out->n = facts->listed;
	out->least = log2((double)(facts->least_bytes > 0 ? facts->least_bytes : 1));
	out->most = log2((double)(facts->most_bytes > 0 ? facts->most_bytes : 1));
	out->sum = facts->listed > 0
	    ? log2((double)facts->listed_bytes / (double)facts->listed) *
		(double)facts->listed
	    : 0;
}

static void
make_key_sizes(const struct reading *r, struct lc__histogram *out)
{
	const struct lc__module_facts *facts = r->facts;
	const uint64_t first = facts->least_key < KEYS ? facts->least_key : KEYS - 1;
	const uint64_t last = facts->most_key < KEYS - 1 ? facts->most_key : KEYS - 2;
	const uint64_t range = last >= first ? last - first + 1 : 1;
	const uint64_t width = (range + LC__HISTOGRAM_BINS - 1) / LC__HISTOGRAM_BINS;
	const uint32_t bins = (uint32_t)((range + width - 1) / width);

	lc__histogram_init(out, "key_bytes", "Length of a key", (double)first,
	    (double)(first + bins * width), bins);
	for (uint64_t size = first; size <= last; size++)
		out->counts[(size - first) / width] += r->key_sizes[size];
	out->above = r->key_sizes[KEYS - 1];
	out->n = facts->listed;
	out->least = (double)facts->least_key;
	out->most = (double)facts->most_key;
	out->sum = (double)facts->key_bytes;
}

/* ---- a map of vectors ---------------------------------------------------------------------- */

/* Whether the tensor is a vector of floats. Integers, such as tokens, have no
 * direction. */
static bool
is_vector(const lc_tensor *tensor)
{
	const char *type = lc_dtype_name(tensor->dtype);

	return tensor->ndim == 1 && tensor->shape[0] >= VECTOR_LEAST &&
	    lc__dtype_is_number(tensor->dtype) && (type[0] == 'f' || type[0] == 'b') &&
	    tensor->dtype != LC_BOOL;
}

/* Find the path of the first such vector in a value and its nested maps. */
static bool
find_vector(const lc_value *value, struct lc__buf *path)
{
	const size_t size = path->size;
	lc_tensor tensor;

	if (lc_value_as_tensor(value, &tensor) == LC_OK)
		return is_vector(&tensor);
	for (size_t i = 0; lc_value_kind(value) == LC_MAP && i < lc_value_count(value);
	     i++) {
		lc__buf_printf(path, "%s%s", size > 0 ? "." : "",
		    lc_value_name(value, i));
		if (find_vector(lc_value_at(value, i), path))
			return true;
		path->size = size;
	}
	return false;
}

static lc_status
add_vector(struct directions *v, lc_id id, const lc_tensor *tensor)
{
	const size_t size = lc_dtype_size(tensor->dtype);
	float *row;

	if (v->d == 0) {
		v->d = (size_t)tensor->shape[0];
		lc__tensor_describe(tensor, v->type, sizeof(v->type));
	}
	if (!is_vector(tensor) || tensor->shape[0] != v->d ||
	    v->d > VECTOR_ELEMENTS / (v->n + 1))
		return LC_OK;
	return_if_error(
	    lc__array_reserve(&v->rows, &v->rows_room, (v->n + 1) * v->d, NULL));
	return_if_error(lc__array_reserve(&v->ids, &v->ids_room, v->n + 1, NULL));
	row = v->rows + v->n * v->d;
	for (size_t i = 0; i < v->d; i++) {
		row[i] = (float)lc__element_real(tensor->dtype,
		    (const char *)tensor->data + i * size);
		if (!isfinite(row[i]))
			return LC_OK;
	}
	v->ids[v->n++] = id;
	return LC_OK;
}

/* Add the vector of one more record, a value or a tensor, if it has the field. */
static lc_status
take_vector(struct directions *v, lc_id id, const lc_value *value,
    const lc_tensor *record)
{
	lc_tensor tensor;

	if (value == NULL) {
		if (v->path.size == 0 && is_vector(record))
			lc__buf_append(&v->path, "", 1);
		return v->path.size == 1 ? add_vector(v, id, record) : LC_OK;
	}
	if (v->path.size == 0) {
		const bool found = find_vector(value, &v->path);
		if (found)
			lc__buf_append(&v->path, "", 1);
		else
			v->path.size = 0;
		if (v->path.failed)
			return lc__no_memory(NULL);
	}
	if (v->path.size > 1) {
		value = lc_value_find(value, (const char *)v->path.data);
		if (value != NULL && lc_value_as_tensor(value, &tensor) == LC_OK)
			return add_vector(v, id, &tensor);
	}
	return LC_OK;
}

static lc_status
draw_embedding(const struct lc__embedding_map *map, double width, struct lc__buf *out)
{
	struct lc__picture *picture;
	lc_status status = lc__picture_new(LC__PICTURE_SVG, &picture);

	if (status == LC_UNSUPPORTED)
		return LC_OK;
	return_if_error(status);
	status = lc__embedding_map_draw(picture, map, width);
	if (status == LC_OK)
		status = lc__picture_finish(picture, out);
	lc__picture_free(picture);
	return status;
}

static lc_status
map_vectors(struct reading *r, const struct lc__pca *pca, double *points,
    struct lc__regions *regions)
{
	const struct directions *v = &r->vectors;
	char axes[2][80], note[LC__TENSOR_TEXT + 300];
	const struct lc__embedding_map map = {
		.title = v->path.size > 1 ? (const char *)v->path.data : r->facts->module,
		.note = note,
		.axes = { axes[0], axes[1] },
		.points = points,
		.n = v->n,
		.regions = regions,
	};
	lc_status status;

	snprintf(note, sizeof(note), "%zu vectors %s", v->n, v->type);
	for (int k = 0; k < 2; k++)
		snprintf(axes[k], sizeof(axes[k]),
		    "%s principal component, %.3g %% of the variance",
		    k == 0 ? "first" : "second", 100 * pca->variance[k] / pca->total);
	for (size_t i = 0; i < v->n; i++)
		lc__pca_project(pca, v->rows + i * v->d, points + 2 * i);
	return_if_error(lc__regions_find(points, v->n, regions));
	for (size_t k = 0; k < regions->n; k++) {
		struct lc__region *region = &regions->all[k];
		region->id = v->ids[region->example];
		status = lc__preview_image(r->cache, region->id, VECTOR_IMAGE,
		    &region->image);
		/* The record is gone or damaged: show its name only. */
		if (status != LC_OK && status != LC_NOT_FOUND && status != LC_CORRUPT)
			return status;
	}
	return_if_error(draw_embedding(&map, MAP_WIDTH, &r->facts->vectors));
	return draw_embedding(&map, LC__STORE_MAP_LEAST, &r->facts->narrow_vectors);
}

/* If there are enough vectors, map them to the plane of their first two principal
 * components. */
static lc_status
show_vectors(struct reading *r)
{
	const struct directions *v = &r->vectors;
	const lc_progress progress = { .step = r->look->bytes.step };
	struct lc__regions regions = { .n = 0 };
	struct lc__pca pca = { 0 };
	double *points;
	lc_status status;

	if (v->n < VECTORS_LEAST)
		return LC_OK;
	points = malloc(2 * v->n * sizeof(*points));
	if (points == NULL)
		return lc__no_memory(NULL);
	begin_phase(r, "components");
	status = lc__pca_find(v->rows, v->n, v->d, 2, 0, &progress, &pca);
	if (status == LC_OK && pca.total > 0)
		status = map_vectors(r, &pca, points, &regions);
	for (size_t k = 0; k < regions.n; k++)
		lc__pixels_free(&regions.all[k].image);
	lc__pca_free(&pca);
	free(points);
	return status;
}

/* ---- some records: values and examples ---------------------------------------------------- */

/* Show a picture if one can be drawn, else a text. */
static lc_status
show_preview(struct lc__preview *preview, struct lc__module_example *out)
{
	struct lc__picture *picture;
	lc_status status;

	out->note = strdup(preview->note);
	if (out->note == NULL)
		return lc__no_memory(NULL);
	if (preview->kind == LC__PREVIEW_TEXT) {
		const size_t n = preview->text.size;
		lc__buf_append(&out->text, preview->text.data,
		    n < TEXT_MOST ? n : TEXT_MOST);
		if (n > TEXT_MOST)
			lc__buf_append(&out->text, "\xe2\x80\xa6", 3);
		return out->text.failed ? lc__no_memory(NULL) : LC_OK;
	}
	/* A build without cairo makes pages without pictures. */
	status = lc__picture_new(LC__PICTURE_PNG, &picture);
	if (status == LC_UNSUPPORTED)
		return LC_OK;
	return_if_error(status);
	status = lc__preview_draw(preview, LC__THUMBNAIL_SIDE, picture);
	if (status == LC_OK) {
		out->width = (uint32_t)lc__picture_width(picture);
		out->height = (uint32_t)lc__picture_height(picture);
		status = lc__picture_finish(picture, &out->png);
	}
	lc__picture_free(picture);
	return status;
}

static lc_status
show_bad(struct lc__module_example *out)
{
	const char *why = lc_last_error()->text;

	out->bad = true;
	out->png.size = 0;
	out->text.size = 0;
	lc__buf_append(&out->text, why, strlen(why));
	return out->text.failed ? lc__no_memory(NULL) : LC_OK;
}

static lc_status
look_into(struct reading *r, size_t i, struct lc__module_example *example)
{
	const struct picked *picked = &r->picked[i];
	struct lc__module_facts *facts = r->facts;
	struct lc__preview preview = { .kind = LC__PREVIEW_TEXT };
	const lc_value *value = NULL;
	lc_view view;
	lc_status status = lc_get(r->cache, picked->id.data, picked->id.size, &view);

	/* Another process may have deleted the record since it was listed. */
	if (status == LC_NOT_FOUND)
		return LC_OK;
	if (status == LC_OK) {
		if (view.kind != LC_TENSOR)
			status = lc_view_value(&view, NULL, &value);
		if (status == LC_OK)
			status = value != NULL
			    ? lc__record_fields_add(&facts->fields, value)
			    : lc__record_fields_add_tensor(&facts->fields, &view.tensor);
		if (status == LC_OK && lc__spread(i, r->n_picked, VECTORS_MOST))
			status = take_vector(&r->vectors, picked->id, value,
			    &view.tensor);
		if (status == LC_OK && example != NULL) {
			status = value != NULL
			    ? lc__preview_of_value(value, false, &preview)
			    : lc__preview_of_tensor(&view.tensor, "", false, &preview);
			/* An image too large to draw must not end the report. */
			if (status == LC_OK && show_preview(&preview, example) != LC_OK)
				status = lc_last_error()->status == LC_NO_MEMORY
				    ? LC_NO_MEMORY
				    : show_bad(example);
			lc__preview_free(&preview);
		}
		lc_view_release(&view);
	}
	if (status != LC_CORRUPT)
		return status;
	facts->damaged++;
	return_if_error(note_damage(facts, lc_last_error()->text));
	return example != NULL ? show_bad(example) : LC_OK;
}

static lc_status
look_into_some(struct reading *r)
{
	struct lc__module_facts *facts = r->facts;
	const uint64_t most = r->look->examples < LC__MODULE_EXAMPLES
	    ? r->look->examples
	    : LC__MODULE_EXAMPLES;

	begin_phase(r, "values");
	lc__record_fields_init(&facts->fields, r->n_picked);
	for (size_t i = 0; i < r->n_picked; i++) {
		struct lc__module_example *example = NULL;

		if (facts->n_examples < most && lc__spread(i, r->n_picked, most)) {
			example = &facts->examples[facts->n_examples];
			return_if_error(copy_id(r->picked[i].id, &example->id));
			example->stored = r->picked[i].stored;
			facts->n_examples++;
		}
		return_if_error(look_into(r, i, example));
		return_if_error(
		    go_on(r, (uint64_t)i * STEP, (uint64_t)r->n_picked * STEP));
	}
	lc__record_fields_end(&facts->fields);
	lc__texts_sort(&facts->prefixes);
	return LC_OK;
}

/* ---- the state --------------------------------------------------------------------------- */

static void
take_damage(void *ctx, const char *line)
{
	/* Without memory for the message, only the damage is counted. */
	(void)(note_damage(ctx, line) == LC_OK);
}

static lc_status
verify(struct reading *r)
{
	struct lc__module_facts *facts = r->facts;
	lc_progress progress = r->look->bytes;
	lc_status status;

	if (!r->look->verify)
		return LC_OK;
	/* The library passes one context to all callbacks. */
	progress.ctx = facts;
	progress.damage = take_damage;
	for (size_t i = 0; i < facts->n_damage; i++)
		free(facts->damage[i]);
	facts->n_damage = 0;
	status = lc_verify(r->cache, &progress, &facts->verify);
	facts->verified = status == LC_OK || status == LC_CORRUPT;
	return facts->verified ? LC_OK : status;
}

static lc_status
take_failure(struct lc__module_facts *facts, const char *line)
{
	struct lc__fields *slot = &facts->failed[facts->failures % LC__MODULE_FAILURES];
	const char *why;

	lc__fields_free(slot);
	return_if_error(lc__fields_read(line, slot));
	why = lc__fields_find(slot, "why");
	facts->failures++;
	if (why == NULL)
		why = "";
	return lc__texts_add(&facts->reasons,
	    (lc_id){ why, strlen(why) < LC__TEXTS_BYTES ? strlen(why) : LC__TEXTS_BYTES },
	    0);
}

/* Read failures.jsonl in the module's directory, if a fill has written one. */
static lc_status
read_failures(struct reading *r)
{
	struct lc__lines lines = { .limit = FAILURE_LINE };
	struct lc__text_line line;
	char *path = lc__path_join(lc__cache_dir(r->cache), "failures.jsonl");
	lc_status status = LC_OK;

	if (path == NULL)
		return lc__no_memory(NULL);
	lines.path = path;
	lines.fd = lc__open(path, O_RDONLY);
	if (lines.fd == -1 && errno != ENOENT)
		status = lc__error_sys(errno, "%s", path);
	while (lines.fd != -1 && status == LC_OK) {
		status = lc__lines_next(&lines, &line);
		if (status == LC_OK && line.size > 0)
			status = take_failure(r->facts, line.text);
		else if (status == LC_INVALID)
			status = LC_OK;
	}
	if (lines.fd != -1)
		close(lines.fd);
	lc__lines_free(&lines);
	free(path);
	lc__texts_sort(&r->facts->reasons);
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__module_facts_read(lc_cache *cache, const char *module,
    const struct lc__module_look *look, struct lc__module_facts *out)
{
	struct reading *r = calloc(1, sizeof(*r));
	lc_status status;

	memset(out, 0, sizeof(*out));
	out->module = module;
	if (r == NULL)
		return lc__no_memory(NULL);
	r->cache = cache;
	r->look = look;
	r->facts = out;
	status = read_module(r);
	if (status == LC_OK)
		status = list_records(r);
	if (status == LC_OK) {
		make_sizes(r, &out->sizes);
		make_key_sizes(r, &out->key_sizes);
		status = look_into_some(r);
	}
	if (status == LC_OK)
		status = show_vectors(r);
	if (status == LC_OK)
		status = verify(r);
	if (status == LC_OK)
		status = read_failures(r);
	for (size_t i = 0; i < r->n_picked; i++)
		free((void *)r->picked[i].id.data);
	free(r->picked);
	lc__buf_free(&r->vectors.path);
	free(r->vectors.rows);
	free(r->vectors.ids);
	free(r);
	return status;
}

void
lc__module_facts_free(struct lc__module_facts *facts)
{
	for (size_t i = 0; i < facts->n_schemas; i++)
		free(facts->schemas[i].structure);
	free(facts->schemas);
	free(facts->chunks);
	lc__buf_free(&facts->map);
	lc__buf_free(&facts->narrow_map);
	lc__buf_free(&facts->vectors);
	lc__buf_free(&facts->narrow_vectors);
	for (size_t i = 0; i < facts->n_inputs; i++)
		free(facts->inputs[i].name);
	for (size_t i = 0; i < facts->n_keys; i++)
		free((void *)facts->keys[i].data);
	for (size_t i = 0; i < facts->n_damage; i++)
		free(facts->damage[i]);
	for (size_t i = 0; i < facts->n_examples; i++) {
		free((void *)facts->examples[i].id.data);
		free(facts->examples[i].note);
		lc__buf_free(&facts->examples[i].png);
		lc__buf_free(&facts->examples[i].text);
	}
	for (size_t i = 0; i < LC__MODULE_FAILURES; i++)
		lc__fields_free(&facts->failed[i]);
	lc__texts_free(&facts->prefixes);
	lc__texts_free(&facts->reasons);
	lc__record_fields_free(&facts->fields);
	memset(facts, 0, sizeof(*facts));
}
