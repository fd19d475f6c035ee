/* SPDX-License-Identifier: BSD-2-Clause */
#include "warehouse/series.h"

#include <stdlib.h>

#include "base/error.h"

static lc_status
mixed(const struct lc_warehouse *w, size_t i, const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: its %s is not that of %s",
	    w->set.shards[i].path, what, w->set.shards[0].path);
}

/* One tensor type for all boxes and images, as the API promises. */
static lc_status
check_forms(const struct lc_warehouse *w)
{
	const struct lc__shardset *set = &w->set;

	for (size_t i = 1; i < set->n; i++) {
		const lc_shard_info *a = &set->shards[0].twh1.info;
		const lc_shard_info *b = &set->shards[i].twh1.info;

		if (a->dtype != b->dtype)
			return mixed(w, i, "dtype");
		if (a->max_boxes != b->max_boxes)
			return mixed(w, i, "max_boxes");
		if (a->max_boxes > 0 && a->boxes_dtype != b->boxes_dtype)
			return mixed(w, i, "boxes_dtype");
	}
	return LC_OK;
}

static bool
same_size(const lc_series_info *series, const lc_shard_info *info)
{
	return series->channels == info->channels &&
	    series->height == info->height && series->width == info->width;
}

/* Shards of one size that follow each other are a series. */
static lc_status
group(struct lc_warehouse *w)
{
	const struct lc__shardset *set = &w->set;

	w->series = calloc(set->n ? set->n : 1, sizeof(*w->series));
	if (w->series == NULL)
		return lc__no_memory(w->dir);
	for (size_t i = 0; i < set->n; i++) {
		const lc_shard_info *info = &set->shards[i].twh1.info;
		lc_series_info *s = &w->series[w->info.series];

		if (w->info.series > 0 && same_size(s - 1, info)) {
			s[-1].samples += info->samples;
			continue;
		}
		*s = (lc_series_info){ info->channels, info->height, info->width,
			set->shards[i].first, info->samples };
		w->info.series++;
	}
	return LC_OK;
}

static lc_status
check_about(const struct lc_warehouse *w)
{
	bool same = w->about.n_series == w->info.series;

	for (size_t i = 0; same && i < w->about.n_series; i++)
		same = w->about.series[i].width == w->series[i].width &&
		    w->about.series[i].height == w->series[i].height &&
		    w->about.series[i].samples == w->series[i].samples;
	if (!same)
		return lc__error(LC_CORRUPT, 0,
		    "%s: its series are not those of its shards", w->manifest_path);
	return LC_OK;
}

static void
fill_info(struct lc_warehouse *w)
{
	const struct lc__manifest *m = &w->manifest;
	lc_warehouse_info *info = &w->info;

	info->path = w->dir;
	info->version = m->version;
	info->recipe = m->version_recipe;
	info->fingerprint = w->has_about ? w->about.fingerprint : "";
	info->classes = w->about.n_classes;
	info->dataset_root = m->dataset_root;
	info->summary = m->summary;
	info->thresholds = m->thresholds;
	info->transform = m->transform;
	info->created_at_ms = m->created_at_ms;
	info->samples = w->set.samples;
	info->shards = w->set.n;
	info->dtype = info->boxes_dtype = m->default_dtype;
	for (size_t i = 0; i < w->set.n; i++)
		info->bytes += w->set.shards[i].twh1.info.file_size;
	if (w->set.n > 0) {
		info->max_boxes = w->set.shards[0].twh1.info.max_boxes;
		info->dtype = w->set.shards[0].twh1.info.dtype;
		info->boxes_dtype = w->set.shards[0].twh1.info.boxes_dtype;
	}
}

lc_status
lc__warehouse_describe(struct lc_warehouse *w)
{
	return_if_error(check_forms(w));
	return_if_error(group(w));
	if (w->has_about)
		return_if_error(check_about(w));
	fill_info(w);
	return LC_OK;
}
