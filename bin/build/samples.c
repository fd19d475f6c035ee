/* SPDX-License-Identifier: BSD-2-Clause */
#include "build/samples.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "build/samples_source.h"

static uint32_t
series_of(const struct lc__recipe *recipe, const struct lc__sample *sample)
{
	for (size_t b = 0; b < recipe->n_buckets; b++)
		if (recipe->buckets[b].width == sample->target_width &&
		    recipe->buckets[b].height == sample->target_height)
			return (uint32_t)b;
	return 0;
}

lc_status
lc__samples_add(struct lc__samples *samples, uint64_t frame,
    const struct lc__sample *sample)
{
	return_if_error(lc__array_reserve(&samples->rows, &samples->room, samples->n + 1, "build"));
	samples->rows[samples->n++] = (struct lc__row){ .frame = frame,
		.content = { sample->content[0], sample->content[1] },
		.boxes = (uint32_t)sample->n,
		.series = series_of(samples->recipe, sample) };
	return LC_OK;
}

static void
set_form(const struct lc__recipe *recipe, uint32_t width, uint32_t height,
    lc_shard_info *form)
{
	*form = (lc_shard_info){ .version = recipe->shard_version,
		.dtype = recipe->dtype,
		.boxes_dtype = recipe->shard_version > 1 ? LC_F32 : recipe->dtype,
		.channels = 3, .height = height, .width = width,
		.max_boxes = recipe->max_boxes };
}

uint64_t
lc__samples_bytes(const struct lc__recipe *recipe, uint32_t width,
    uint32_t height)
{
	lc_shard_info form;

	set_form(recipe, width, height, &form);
	return (uint64_t)3 * width * height * lc_dtype_size(form.dtype) +
	    (uint64_t)5 * form.max_boxes * lc_dtype_size(form.boxes_dtype);
}

static void
add_series(struct lc__samples *samples, size_t bucket, uint64_t first,
    uint64_t n)
{
	const struct lc__recipe *recipe = samples->recipe;
	struct lc__samples_series *group = &samples->groups[samples->n_series];
	lc_bucket size = { recipe->transform.width,
		recipe->transform.height };

	if (recipe->n_buckets > 0) {
		size = recipe->buckets[bucket];
		snprintf(group->path, sizeof(group->path), "%ux%u", size.width,
		    size.height);
	}
	group->samples = samples;
	group->rows = samples->order + first;
	group->source_samples = n;
	set_form(recipe, size.width, size.height, &group->form);
	lc__samples_source(group);
	samples->series[samples->n_series++] = (struct lc__shard_series){ group->path,
		&group->form, &group->source, n };
}

lc_status
lc__samples_group(struct lc__samples *samples)
{
	const size_t buckets = samples->recipe->n_buckets > 0 ?
	    samples->recipe->n_buckets : 1;
	uint64_t at = 0;

	samples->order = malloc(samples->n * sizeof(*samples->order) + 1);
	samples->groups = calloc(buckets, sizeof(*samples->groups));
	samples->series = calloc(buckets, sizeof(*samples->series));
	if (samples->order == NULL || samples->groups == NULL ||
	    samples->series == NULL)
		return lc__no_memory("build");
	return_if_error(lc__samples_reading(samples));
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
	lc__samples_reading_end(samples);
	free(samples->rows);
	free(samples->order);
	free(samples->groups);
	free(samples->series);
	*samples = (struct lc__samples){ .n = 0 };
}
