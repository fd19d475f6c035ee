/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a warehouse: its manifest, the checks before any shard is read, its shards. */
#include "warehouse/warehouse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fileio.h"
#include "format/summary.h"
#include "shard/outdir.h"
#include "warehouse/place.h"
#include "warehouse/sources.h"
#include "warehouse/tool.h"

#define LONGEST_MANIFEST ((uint64_t)1 << 30)
#define LONGEST_TEXT ((uint64_t)4 << 30) /* no list of a dataset is longer */
#define FEWEST_DIGITS 8                  /* of a version's beginning */
#define DIGITS 64

/* ---- its options --------------------------------------------------------------------- */

void
lc_warehouse_options_init(lc_warehouse_options *options)
{
	memset(options, 0, sizeof(*options));
	options->struct_size = sizeof(*options);
	options->verify = LC_VERIFY_ONCE;
}

static lc_status
check_options(const lc_warehouse_options *o)
{
	if (o->struct_size != sizeof(*o))
		return lc__error(LC_INVALID, 0,
		    "warehouse: options were not made by lc_warehouse_options_init()");
	if ((unsigned)o->mode > LC_WAREHOUSE_MEMORY)
		return lc__error(LC_INVALID, 0, "warehouse: no mode %d", (int)o->mode);
	if (lc_verify_mode_name(o->verify) == NULL)
		return lc__error(LC_INVALID, 0, "warehouse: no verify %d",
		    (int)o->verify);
	if ((unsigned)o->sources > LC_SOURCES_IGNORE)
		return lc__error(LC_INVALID, 0, "warehouse: no sources %d",
		    (int)o->sources);
	return LC_OK;
}

/* ---- its manifest ------------------------------------------------------------------ */

static lc_status
take_manifest(struct lc_warehouse *w, const void *text, size_t size, bool of_shards)
{
	return_if_error((of_shards ? lc__manifest_parse : lc__manifest_parse_any)(text,
	    size, w->manifest_path, &w->manifest));
	w->has_about = w->manifest.warehouse != NULL;
	return w->has_about ? lc__warehouse_about_parse(w->manifest.warehouse,
				  w->manifest_path, &w->about)
			    : LC_OK;
}

static lc_status
read_manifest(struct lc_warehouse *w, const char *path, bool of_shards)
{
	struct lc__buf text = { 0 };
	lc_status status;

	return_if_error(lc__version_find(path, &w->dir));
	w->manifest_path = lc__path_join(w->dir, LC__MANIFEST_NAME);
	if (w->manifest_path == NULL)
		return lc__no_memory(w->dir);
	status = lc__read_regular(w->manifest_path, LONGEST_MANIFEST, &text);
	if (status == LC_INVALID)
		status = lc__error(LC_CORRUPT, 0, "%s: too large for a manifest",
		    w->manifest_path);
	if (status == LC_OK)
		status = take_manifest(w, text.data, text.size, of_shards);
	lc__buf_free(&text);
	return status;
}

/* The same for a text in memory. */
static lc_status
take_text(struct lc_warehouse *w, const struct lc__warehouse_text *at)
{
	w->dir = strdup(at->dir);
	w->manifest_path = strdup(at->name);
	if (w->dir == NULL || w->manifest_path == NULL)
		return lc__no_memory(at->name);
	w->set.supplier = at->supplier;
	return take_manifest(w, at->text, at->size, false);
}

/* ---- conditions for opening it --------------------------------------------------- */

/* The last error with another status, prefixed with the directory. */
static lc_status
turn_into(lc_status status, const struct lc_warehouse *w)
{
	(void)lc__error_as(status);
	return lc__error_prefix("%s", w->dir);
}

lc_status
lc__admit_version(const struct lc_warehouse *w, const char *version)
{
	const size_t n = strlen(version);

	if (n < FEWEST_DIGITS || n > DIGITS ||
	    strspn(version, "0123456789abcdefABCDEF") != n)
		return lc__error(LC_INVALID, 0,
		    "%s: not a version key of 8 to 64 hex digits",
		    lc__quote_id(version, n));
	if (strncasecmp(version, w->manifest.version, n) != 0)
		return lc__error(LC_VERSION, 0, "%s: is version %s, not %s", w->dir,
		    w->manifest.version, version);
	return LC_OK;
}

lc_status
lc__admit_recipe(const struct lc_warehouse *w)
{
	const char *recipe = w->manifest.version_recipe;
	char key[65];

	if (w->manifest.manifest_version == 0)
		return LC_OK;
	return_if_error(lc__sha256_of(recipe, strlen(recipe), key));
	if (strcmp(key, w->manifest.version) != 0)
		return lc__error(LC_CORRUPT, 0,
		    "%s: version is not the SHA-256 of version_recipe", w->manifest_path);
	return LC_OK;
}

lc_status
lc__admit_thresholds(const struct lc_warehouse *w)
{
	struct lc__thresholds limits;
	struct lc__summary summary;
	lc_status status;

	/* A manifest of parts has neither: they belong to a warehouse that was built as
	 * one. */
	if (w->manifest.manifest_version == LC__MANIFEST_OF_PARTS)
		return LC_OK;
	status = lc__thresholds_parse(w->manifest.thresholds, "thresholds", &limits);
	if (status == LC_OK && !limits.warn)
		status = lc__summary_parse(w->manifest.summary, "summary", &summary);
	if (status != LC_OK)
		return lc__error_prefix("%s", w->manifest_path);
	if (limits.warn)
		return LC_OK;
	status = lc__thresholds_check(&limits, &summary.totals);
	lc__summary_free(&summary);
	return status == LC_INVALID ? turn_into(LC_FAILED, w) : status;
}

/* Read a file next to the manifest, and compare it with its SHA-256 in the manifest. @p
 * out may be NULL. */
static lc_status
read_text(const struct lc_warehouse *w, const char *name, const char *sha256,
    struct lc__buf *out)
{
	char *path = lc__path_join(w->dir, name);
	struct lc__buf text = { 0 };
	char has[65];
	lc_status status;

	if (path == NULL)
		return lc__no_memory(w->dir);
	status = lc__read_regular(path, LONGEST_TEXT, &text);
	/* The manifest names it: if it is missing or not a file, the version is
	 * damaged. */
	if (status == LC_NO_FILE || status == LC_INVALID)
		status = lc__error_as(LC_CORRUPT);
	if (status == LC_OK)
		status = lc__sha256_of(text.data, text.size, has);
	if (status == LC_OK && strcmp(has, sha256) != 0)
		status = lc__error(LC_CORRUPT, 0, "%s: SHA-256 differs from the manifest",
		    path);
	if (status == LC_OK && out != NULL)
		*out = text;
	else
		lc__buf_free(&text);
	free(path);
	return status;
}

lc_status
lc__admit_sources(struct lc_warehouse *w, const lc_warehouse_options *options)
{
	const bool content = options->sources == LC_SOURCES_CONTENT;
	const char *root = options->dataset != NULL ? options->dataset
						    : w->about.sources_root;
	struct lc__sources sources = { 0 };
	struct lc__buf text = { 0 };
	lc_status status;

	if (options->sources == LC_SOURCES_IGNORE)
		return LC_OK;
	if (!w->has_about && content)
		return lc__error(LC_NOT_FOUND, 0, "%s: has no list of its sources",
		    w->dir);
	if (!w->has_about)
		return LC_OK;
	return_if_error(read_text(w, LC__SOURCES_NAME, w->about.sources_sha256, &text));
	status = lc__sources_parse(&text, LC__SOURCES_NAME, &sources);
	if (status == LC_OK) {
		status = lc__sources_compare(&sources, root,
		    content ? LC__LOOK_CONTENT : LC__LOOK_STAT, &options->progress);
		w->info.sources_seen = status == LC_OK;
		if (status == LC_INVALID)
			status = turn_into(LC_STALE, w);
		/* Without the dataset, its sources are not compared. */
		else if (status == LC_NO_FILE && !content)
			status = LC_OK;
	}
	lc__sources_free(&sources);
	return status;
}

lc_status
lc__admit_texts(const struct lc_warehouse *w, const lc_warehouse_options *options)
{
	if (!w->has_about)
		return LC_OK;
	if (options->sources == LC_SOURCES_IGNORE)
		return_if_error(
		    read_text(w, LC__SOURCES_NAME, w->about.sources_sha256, NULL));
	return read_text(w, LC__WAREHOUSE_REJECTED, w->about.rejected_sha256, NULL);
}

/* ---- its series and its info ------------------------------------------------------- */

/* All boxes and all images have one tensor type, as the API promises. Parts are compared
 * with the layout when they are read. */
static lc_status
check_forms(const struct lc_warehouse *w)
{
	const struct lc__manifest *m = &w->manifest;

	for (size_t i = 1; i < m->n; i++) {
		const struct lc__manifest_shard *a = &m->shards[0], *b = &m->shards[i];
		const char *what = NULL;

		if (a->dtype != b->dtype)
			what = "dtype";
		else if (a->max_boxes != b->max_boxes)
			what = "max_boxes";
		else if (a->max_boxes > 0 && a->boxes_dtype != b->boxes_dtype)
			what = "boxes_dtype";
		if (what != NULL)
			return lc__error(LC_CORRUPT, 0,
			    "%s/%s: its %s differs from that of %s/%s", w->dir,
			    b->relative_path, what, w->dir, a->relative_path);
	}
	return LC_OK;
}

/* Consecutive shards of one size form a series. */
static lc_status
group(struct lc_warehouse *w)
{
	const struct lc__setparts *said = &w->set.said;
	size_t room = 0;

	for (size_t i = 0; i < w->set.n; i++) {
		const struct lc__manifest_layout shard = lc__setparts_layout(said, i);
		const uint64_t samples = lc__setparts_samples(said, i);
		lc_series_info *s;

		return_if_error(
		    lc__array_reserve(&w->series, &room, w->info.series + 1, w->dir));
		s = &w->series[w->info.series];
		if (w->info.series > 0 && s[-1].channels == shard.channels &&
		    s[-1].height == shard.height && s[-1].width == shard.width) {
			s[-1].samples += samples;
			continue;
		}
		*s = (lc_series_info){ shard.channels, shard.height, shard.width,
			said->first[i], samples };
		w->info.series++;
	}
	return LC_OK;
}

/* The series are those in the member `warehouse` of the manifest. */
static lc_status
check_about(const struct lc_warehouse *w)
{
	bool same = w->about.n_series == w->info.series;

	for (size_t i = 0; same && i < w->about.n_series; i++)
		same = w->about.series[i].width == w->series[i].width &&
		    w->about.series[i].height == w->series[i].height &&
		    w->about.series[i].samples == w->series[i].samples;
	if (!same)
		return lc__error(LC_CORRUPT, 0, "%s: its series do not match its shards",
		    w->manifest_path);
	return LC_OK;
}

static void
fill_info(struct lc_warehouse *w)
{
	const struct lc__manifest *m = &w->manifest;
	lc_warehouse_info *info = &w->info;

	info->path = w->set.supplier != NULL ? w->set.supplier->url : w->dir;
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
	for (size_t p = 0; p < m->n_parts; p++)
		info->bytes += m->parts[p].bytes;
	for (size_t i = 0; i < w->set.n && m->n_parts == 0; i++)
		info->bytes += lc__shardset_bytes(&w->set, i);
	if (w->set.n > 0) {
		const struct lc__manifest_layout layout =
		    lc__setparts_layout(&w->set.said, 0);

		info->max_boxes = layout.max_boxes;
		info->dtype = layout.dtype;
		/* Without boxes, a shard states the dtype of images. */
		info->boxes_dtype = layout.max_boxes > 0 ? layout.boxes_dtype
							 : layout.dtype;
	}
}

/* ---- opening ----------------------------------------------------------------------- */

/* If findings can be reported, everything is checked before it is refused. */
struct refusal {
	const lc_progress *progress;
	lc_error first; /* of the findings */
};

static bool
ends_opening(lc_status status)
{
	return status == LC_NO_MEMORY || status == LC_IO || status == LC_PERMISSION ||
	    status == LC_CANCELLED;
}

/* Keep a finding that was reported already. A status other than LC_OK ends the
 * opening. */
static lc_status
keep(struct refusal *r, lc_status status)
{
	if (status == LC_OK)
		return LC_OK;
	if (r->first.status == LC_OK)
		r->first = *lc_last_error();
	return ends_opening(status) || r->progress->damage == NULL ? status : LC_OK;
}

/* The same, and report it first. */
static lc_status
tell(struct refusal *r, lc_status status)
{
	if (status != LC_OK && !ends_opening(status) && r->progress->damage != NULL)
		r->progress->damage(r->progress->ctx, lc_last_error()->text);
	return keep(r, status);
}

/* Its manifest is read from its file, or is @p text if that is not NULL. */
static lc_status
open_version(struct lc_warehouse *w, const char *path,
    const struct lc__warehouse_text *text, const lc_warehouse_options *o)
{
	struct refusal r = { .progress = &o->progress };
	uint64_t start;
	lc_status status;

	w->set.mode = o->mode;
	w->set.verify = o->verify;
	w->set.verify_files = o->verify_files != 0;
	w->set.limit = o->open_shards;
	return_if_error(
	    text != NULL ? take_text(w, text) : read_manifest(w, path, false));
	if (o->version != NULL)
		return_if_error(lc__admit_version(w, o->version));
	return_if_error(tell(&r, lc__admit_recipe(w)));
	if (!o->ignore_thresholds)
		return_if_error(tell(&r, lc__admit_thresholds(w)));
	start = lc__clock_ns();
	status = lc__admit_sources(w, o);
	w->sources_ns = lc__clock_ns() - start;
	return_if_error(status == LC_STALE ? keep(&r, status) : tell(&r, status));
	if (o->verify_files)
		return_if_error(tell(&r, lc__admit_texts(w, o)));
	return_if_error(
	    keep(&r, lc__shardset_open(&w->set, w->dir, &w->manifest, &o->progress)));
	if (r.first.status != LC_OK)
		return lc__error_raise(&r.first);
	return_if_error(check_forms(w));
	return_if_error(group(w));
	if (w->has_about)
		return_if_error(check_about(w));
	fill_info(w);
	return LC_OK;
}

static lc_status
open_new(const char *path, const struct lc__warehouse_text *text,
    const lc_warehouse_options *options, lc_warehouse **out)
{
	const uint64_t start = lc__clock_ns();
	lc_warehouse_options defaults;
	struct lc_warehouse *w;
	lc_status status;

	lc_warehouse_options_init(&defaults);
	if (options == NULL)
		options = &defaults;
	return_if_error(check_options(options));
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return lc__no_memory(path);
	status = open_version(w, path, text, options);
	if (status != LC_OK) {
		lc_warehouse_close(w);
		return status;
	}
	w->open_ns = lc__clock_ns() - start;
	*out = w;
	return LC_OK;
}

lc_status
lc_warehouse_open(const char *path, const lc_warehouse_options *options,
    lc_warehouse **out)
{
	return open_new(path, NULL, options, out);
}

lc_status
lc__warehouse_open_text(const struct lc__warehouse_text *text,
    const lc_warehouse_options *options, lc_warehouse **out)
{
	if (options->mode != LC_WAREHOUSE_MAP)
		return lc__error(LC_INVALID, 0,
		    "%s: shards of a store can only be mapped", text->name);
	return open_new(text->name, text, options, out);
}

lc_status
lc__warehouse_read(const char *path, lc_warehouse **out)
{
	struct lc_warehouse *w = calloc(1, sizeof(*w));
	lc_status status;

	if (w == NULL)
		return lc__no_memory(path);
	status = read_manifest(w, path, true);
	if (status == LC_OK)
		*out = w;
	else
		lc_warehouse_close(w);
	return status;
}

void
lc_warehouse_close(lc_warehouse *w)
{
	if (w == NULL)
		return;
	lc__stream_close(&w->stream);
	lc__shardset_close(&w->set);
	free(w->series);
	lc__warehouse_about_free(&w->about);
	lc__manifest_free(&w->manifest);
	free(w->manifest_path);
	free(w->dir);
	free(w);
}

/* ---- information ----------------------------------------------------------------- */

const lc_warehouse_info *
lc_warehouse_info_of(const lc_warehouse *w)
{
	return &w->info;
}

lc_status
lc_warehouse_series(const lc_warehouse *w, uint32_t s, lc_series_info *out)
{
	if (s >= w->info.series)
		return lc__error(LC_NOT_FOUND, 0, "%s: no series %u; there are %u",
		    w->dir, s, w->info.series);
	*out = w->series[s];
	return LC_OK;
}

const char *
lc_warehouse_class(const lc_warehouse *w, int64_t class_id)
{
	if (class_id < 0 || (uint64_t)class_id >= w->about.n_classes)
		return NULL;
	return w->about.classes[class_id];
}

lc_status
lc_warehouse_stat(const lc_warehouse *w, lc_warehouse_stats *out)
{
	const struct lc__cost *cost = &w->set.cost;
	lc_warehouse_stats stats = {
		.struct_size = sizeof(stats),
		.open_ns = w->open_ns,
		.sources_ns = w->sources_ns,
	};

	if (out->struct_size != sizeof(*out))
		return lc__error(LC_INVALID, 0,
		    "warehouse: struct_size of the statistics is not set");
	stats.verify_ns = lc__cost_sum(cost, LC__COST_VERIFY_NS);
	stats.shards_open = w->set.n;
	stats.bytes_mapped = w->info.bytes;
	if (w->set.shards == NULL) {
		stats.shards_open = atomic_load(&w->set.n_open);
		stats.bytes_mapped = atomic_load(&w->set.bytes_open);
	}
	if (w->set.mode != LC_WAREHOUSE_MAP)
		stats.bytes_mapped = 0;
	stats.bytes_read = lc__cost_sum(cost, LC__COST_BYTES_READ);
	stats.bytes_verified = lc__cost_sum(cost, LC__COST_BYTES_VERIFIED);
	stats.samples_read = lc__cost_sum(cost, LC__COST_SAMPLES);
	for (size_t i = 0; w->set.shards != NULL && i < w->set.n; i++) {
		const struct lc__wshard *shard = &w->set.shards[i];

		if (i > 0 && shard->open_ns <= stats.slowest_shard_ns)
			continue;
		stats.slowest_shard_ns = shard->open_ns;
		stats.slowest_shard = shard->path;
	}
	*out = stats;
	return LC_OK;
}

/* ---- for the tool ------------------------------------------------------------------ */

const char *
lc__warehouse_dir(const lc_warehouse *w)
{
	return w->dir;
}

const char *
lc__warehouse_manifest_path(const lc_warehouse *w)
{
	return w->manifest_path;
}

const struct lc__manifest *
lc__warehouse_manifest(const lc_warehouse *w)
{
	return &w->manifest;
}

const struct lc__warehouse_about *
lc__warehouse_about(const lc_warehouse *w)
{
	return w->has_about ? &w->about : NULL;
}

uint64_t
lc__warehouse_shard_bytes(const lc_warehouse *w, size_t i)
{
	return lc__shardset_bytes(&w->set, i);
}

lc_status
lc__warehouse_shard(const lc_warehouse *w, size_t i, struct lc__manifest_shard *out)
{
	struct lc__said said;
	char *path;

	return_if_error(lc__setparts_said(&w->set.said, i, &said));
	path = w->set.supplier != NULL || w->set.said.parts == NULL
	    ? strdup(said.shard.relative_path)
	    : lc__path_join(said.dir, said.shard.relative_path);
	if (path == NULL)
		return lc__no_memory(w->dir);
	*out = said.shard;
	out->id = NULL;
	out->relative_path = path;
	return LC_OK;
}

lc_status
lc__warehouse_shard_info(lc_warehouse *w, size_t i, lc_shard_info *out)
{
	struct lc__wshard *shard;

	return_if_error(lc__shardset_take(&w->set, i, &shard));
	*out = shard->twh1.info;
	lc__shardset_give(&w->set, shard);
	return LC_OK;
}
