/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a build, as they go into shards. */
#include "build/samples.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/mpack.h"
#include "build/sample.h"
#include "build/recipe.h"
#include "build/store.h"
#include "labels/dataset.h"
#include "shard/build.h"

/* ---- their source ---------------------------------------------------------------- */

/* Records that are prefetched from the disk at a time. */
#define AHEAD 8

/* What one thread read last. */
struct scratch {
	lc_view view;
	lc_cache *from; /* the module that it is of */
	bool held;
	struct lc__buf key;
	struct lc__buf transform; /* of the row */
	struct lc__buf boxes;     /* and mask, in the form of the shard */
};

/* ---- reading one -------------------------------------------------------------- */

static void
let_go(struct scratch *scratch)
{
	if (scratch->held)
		lc_view_release(&scratch->view);
	scratch->held = false;
}

static void
free_scratch(void *arg)
{
	struct scratch *scratch = arg;

	let_go(scratch);
	lc__buf_free(&scratch->key);
	lc__buf_free(&scratch->transform);
	lc__buf_free(&scratch->boxes);
	free(scratch);
}

static struct scratch *
scratch_of(struct lc__samples *samples)
{
	struct scratch *scratch = pthread_getspecific(samples->scratch);

	if (scratch != NULL)
		return scratch;
	scratch = calloc(1, sizeof(*scratch));
	if (scratch != NULL && pthread_setspecific(samples->scratch, scratch) != 0) {
		free(scratch);
		scratch = NULL;
	}
	return scratch;
}

static bool
make_key(struct lc__samples *samples, uint64_t row, struct lc__frame *frame,
    struct lc__buf *key)
{
	lc__dataset_frame(samples->dataset, samples->rows[row].frame, frame);
	return lc__store_key(samples->store, frame->run, frame->name, key);
}

/* A record that was valid when it was put and is damaged now: delete it, so that the next
 * run computes the sample again. */
static lc_status
damaged(struct lc__samples *samples, const struct scratch *scratch)
{
	const char *key = (const char *)scratch->key.data;
	const lc_error error = *lc_last_error();

	if (scratch->from != samples->store->cache)
		return lc__error(LC_CORRUPT, 0, "%s; remove it there, then build again",
		    error.text);
	if (lc_delete(samples->store->cache, key, strlen(key)) != LC_OK)
		return lc__error_raise(&error);
	return lc__error(LC_CORRUPT, 0, "%s; it was deleted: build again", error.text);
}

/* Hold the record of sample @p i of a series. */
static lc_status
hold(struct lc__samples_series *group, uint64_t i, struct lc__frame *frame,
    struct scratch **out)
{
	struct lc__samples *samples = group->samples;
	struct scratch *scratch = scratch_of(samples);
	const char *key;
	lc_status status;

	if (scratch == NULL)
		return lc__no_memory("build");
	let_go(scratch);
	if (!make_key(samples, group->rows[i], frame, &scratch->key))
		return lc__no_memory("build");
	key = (const char *)scratch->key.data;
	status = lc__store_view(samples->store, key, &scratch->view, &scratch->from);
	if (status == LC_CORRUPT)
		return damaged(samples, scratch);
	return_if_error(status);
	scratch->held = true;
	*out = scratch;
	return LC_OK;
}

static lc_status
part(struct lc__samples *samples, struct scratch *scratch, const char *path,
    const lc_value **out)
{
	const lc_status status = lc_view_value(&scratch->view, path, out);

	return status == LC_CORRUPT ? damaged(samples, scratch) : status;
}

/* The record is not that of a sample. */
static lc_status
no_sample(struct lc__samples *samples, const struct scratch *scratch)
{
	(void)lc__error(LC_CORRUPT, 0, "key %s: not a sample",
	    lc__quote_id(scratch->key.data, scratch->key.size - 1));
	return damaged(samples, scratch);
}

/* Get a tensor of the record, which must have this type and shape. */
static lc_status
tensor(struct lc__samples *samples, struct scratch *scratch, const char *path,
    const lc_tensor *like, lc_tensor *out)
{
	const lc_value *value;

	return_if_error(part(samples, scratch, path, &value));
	if (lc_value_as_tensor(value, out) == LC_OK && out->dtype == like->dtype &&
	    out->ndim == like->ndim &&
	    memcmp(out->shape, like->shape, like->ndim * sizeof(like->shape[0])) == 0)
		return LC_OK;
	return no_sample(samples, scratch);
}

/* ---- the source --------------------------------------------------------------- */

static void
put_pair(struct lc__buf *out, const char *name, const double pair[2])
{
	lc__mpack_str(out, name);
	lc__mpack_array(out, 2);
	lc__mpack_float(out, pair[0]);
	lc__mpack_float(out, pair[1]);
}

static lc_status
source_row(void *ctx, uint64_t i, struct lc__twh1_row *out)
{
	struct lc__samples_series *group = ctx;
	struct lc__samples *samples = group->samples;
	const uint32_t most = samples->recipe->max_boxes;
	struct scratch *scratch;
	struct lc__buf *transform;
	const lc_value *about;
	struct lc__sample s;
	struct lc__frame frame;

	memset(out, 0, sizeof(*out));
	return_if_error(hold(group, i, &frame, &scratch));
	return_if_error(part(samples, scratch, LC__SAMPLE_ABOUT, &about));
	if (!lc__sample_read(about, &s) || s.reason != LC__REJECT_NONE)
		return no_sample(samples, scratch);
	out->cache_id = (lc_id){ scratch->key.data, scratch->key.size - 1 };
	out->run_id = *frame.run != '\0' ? frame.run : NULL;
	out->has_frame_id = s.has_frame_id;
	out->frame_id = s.frame_id;
	out->original_width = s.width;
	out->original_height = s.height;
	out->labels = s.extra;

	transform = &scratch->transform;
	transform->size = 0;
	lc__mpack_map(transform, 3);
	lc__mpack_str(transform, "orientation");
	lc__mpack_uint(transform, s.orientation);
	put_pair(transform, "scale", s.scale);
	put_pair(transform, "offset", s.offset);
	out->transform = (lc_id){ transform->data, transform->size };
	if (transform->failed)
		return lc__no_memory("build");

	if (s.n > 0) {
		const lc_tensor like = { .dtype = LC_I64, .ndim = 1, .shape = { s.n } };
		lc_tensor classes;

		return_if_error(
		    tensor(samples, scratch, LC__SAMPLE_CLASSES, &like, &classes));
		out->n_classes = s.n < most ? (uint32_t)s.n : most;
		out->class_ids = classes.data;
		for (uint32_t k = 0; k < out->n_classes; k++)
			out->has_classes |= out->class_ids[k] >= 0;
	}
	out->boxes_total = s.boxes_total != out->n_classes ? s.boxes_total : 0;
	return LC_OK;
}

/* The map is opened without read-ahead. */
static void
ask_ahead(struct lc__samples_series *group, uint64_t i)
{
	struct lc__samples *samples = group->samples;
	struct lc__buf keys[AHEAD] = { { NULL, 0, 0, false } };
	lc_id ids[AHEAD];
	struct lc__frame frame;
	lc_status status = LC_OK;
	size_t n = 0;

	while (n < AHEAD && i + n < group->source_samples &&
	    make_key(samples, group->rows[i + n], &frame, &keys[n])) {
		ids[n] = (lc_id){ keys[n].data, keys[n].size - 1 };
		n++;
	}
	/* A hint, also to modules without these records: it may fail. */
	if (samples->store->cache != NULL)
		status = lc_prefetch(samples->store->cache, n, ids);
	for (size_t k = 0; k < samples->store->n_others; k++)
		status = lc_prefetch(samples->store->others[k], n, ids);
	(void)status;
	for (size_t k = 0; k < AHEAD; k++)
		lc__buf_free(&keys[k]);
}

static lc_status
source_image(void *ctx, uint64_t i, void *room, const void **out)
{
	struct lc__samples_series *group = ctx;
	struct lc__samples *samples = group->samples;
	const lc_tensor like = {
		.dtype = lc__recipe_stored(samples->recipe),
		.ndim = 3,
		.shape = { 3, group->form.height, group->form.width },
	};
	struct scratch *scratch;
	struct lc__frame frame;
	lc_tensor pixels;

	(void)room;
	if (i % AHEAD == 0)
		ask_ahead(group, i + AHEAD);
	return_if_error(hold(group, i, &frame, &scratch));
	return_if_error(tensor(samples, scratch, LC__SAMPLE_PIXELS, &like, &pixels));
	*out = pixels.data;
	return LC_OK;
}

static lc_status
source_convert(void *ctx, const uint8_t *from, size_t n, void *to)
{
	const struct lc__samples_series *group = ctx;

	return lc__planes_convert(from, n, group->form.dtype, to);
}

static lc_status
source_boxes(void *ctx, uint64_t i, const void **boxes, const void **mask)
{
	struct lc__samples_series *group = ctx;
	struct lc__samples *samples = group->samples;
	const uint32_t n = samples->rows[group->rows[i]].boxes;
	const lc_tensor like = { .dtype = LC_F64, .ndim = 2, .shape = { n, 4 } };
	struct scratch *scratch;
	struct lc__frame frame;
	lc_tensor stored;

	return_if_error(hold(group, i, &frame, &scratch));
	return_if_error(tensor(samples, scratch, LC__SAMPLE_BOXES, &like, &stored));
	return_if_error(
	    lc__boxes_pad(stored.data, n, &group->form, &scratch->boxes, boxes, mask));
	let_go(scratch);
	return LC_OK;
}

static lc_status
source_hash(void *ctx, uint64_t i, uint64_t hash[2])
{
	const struct lc__samples_series *group = ctx;
	const struct lc__row *row = &group->samples->rows[group->rows[i]];

	memcpy(hash, row->content, sizeof(row->content));
	return LC_OK;
}

/* ---- the samples ------------------------------------------------------------------- */

lc_status
lc__samples_add(struct lc__samples *samples, uint64_t frame,
    const struct lc__sample *sample)
{
	const struct lc__recipe *recipe = samples->recipe;
	uint32_t series = 0;

	return_if_error(
	    lc__array_reserve(&samples->rows, &samples->room, samples->n + 1, "build"));
	for (size_t b = 0; b < recipe->n_buckets; b++)
		if (recipe->buckets[b].width == sample->target_width &&
		    recipe->buckets[b].height == sample->target_height) {
			series = (uint32_t)b;
			break;
		}
	samples->rows[samples->n++] = (struct lc__row){
		.frame = frame,
		.content = { sample->content[0], sample->content[1] },
		.boxes = (uint32_t)sample->n,
		.series = series,
	};
	return LC_OK;
}

static void
set_form(const struct lc__recipe *recipe, uint32_t width, uint32_t height,
    lc_shard_info *form)
{
	*form = (lc_shard_info){
		.version = recipe->shard_version,
		.dtype = recipe->dtype,
		.boxes_dtype = recipe->shard_version > 1 ? LC_F32 : recipe->dtype,
		.channels = 3,
		.height = height,
		.width = width,
		.max_boxes = recipe->max_boxes,
	};
}

uint64_t
lc__samples_bytes(const struct lc__recipe *recipe, uint32_t width, uint32_t height)
{
	lc_shard_info form;

	set_form(recipe, width, height, &form);
	return (uint64_t)3 * width * height * lc_dtype_size(form.dtype) +
	    (uint64_t)5 * form.max_boxes * lc_dtype_size(form.boxes_dtype);
}

static void
add_series(struct lc__samples *samples, size_t bucket, uint64_t first, uint64_t n)
{
	const struct lc__recipe *recipe = samples->recipe;
	struct lc__samples_series *group = &samples->groups[samples->n_series];
	lc_bucket size = { recipe->transform.width, recipe->transform.height };

	if (recipe->n_buckets > 0) {
		size = recipe->buckets[bucket];
		snprintf(group->path, sizeof(group->path), "%ux%u", size.width,
		    size.height);
	}
	group->samples = samples;
	group->rows = samples->order + first;
	group->source_samples = n;
	set_form(recipe, size.width, size.height, &group->form);
	group->source = (struct lc__shard_source){
		.ctx = group,
		.row = source_row,
		.image = source_image,
		.convert = group->form.dtype != lc__recipe_stored(recipe) ? source_convert
									  : NULL,
		.boxes = source_boxes,
		.hash = source_hash,
	};
	samples->series[samples->n_series++] = (struct lc__shard_series){ group->path,
		&group->form, &group->source, n };
}

lc_status
lc__samples_group(struct lc__samples *samples)
{
	const size_t buckets = samples->recipe->n_buckets > 0 ? samples->recipe->n_buckets
							      : 1;
	uint64_t at = 0;

	samples->order = malloc(samples->n * sizeof(*samples->order) + 1);
	samples->groups = calloc(buckets, sizeof(*samples->groups));
	samples->series = calloc(buckets, sizeof(*samples->series));
	if (samples->order == NULL || samples->groups == NULL || samples->series == NULL)
		return lc__no_memory("build");
	/* Each reading thread holds the record that it read last. */
	if (pthread_key_create(&samples->scratch, free_scratch) != 0)
		return lc__no_memory("build");
	samples->has_scratch = true;
	for (size_t b = 0; b < buckets; b++) {
		const uint64_t first = at;
		for (uint64_t i = 0; i < samples->n; i++)
			if (samples->rows[i].series == b)
				samples->order[at++] = i;
		if (at > first)
			add_series(samples, b, first, at - first);
	}
	return LC_OK;
}

void
lc__samples_free(struct lc__samples *samples)
{
	struct scratch *scratch;

	/* Those of other threads are freed when they end; this thread continues. */
	if (samples->has_scratch) {
		scratch = pthread_getspecific(samples->scratch);
		if (scratch != NULL)
			free_scratch(scratch);
		pthread_key_delete(samples->scratch);
	}
	free(samples->rows);
	free(samples->order);
	free(samples->groups);
	free(samples->series);
	*samples = (struct lc__samples){ .n = 0 };
}
