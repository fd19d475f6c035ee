/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex warehouse inspect, and how the sources are, which verify asks too. */
#include "cmd/warehouse.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/manifest.h"
#include "format/summary.h"
#include "lmdbcache.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"
#include "warehouse/about.h"
#include "warehouse/tool.h"

static const char *dataset;
static int sources;
static int shards;

static struct opt options[] = {
	{ "", "shards", OPT_FLAG, &shards, .help = "list the shards" },
	WAREHOUSE_SOURCES_OPTIONS(sources, dataset),
	STORE_LOOK_OPTIONS,
	{ .kind = OPT_END },
};

/* ---- the sources ------------------------------------------------------------------- */

lc_status
warehouse_sources_look(lc_warehouse *warehouse, const lc_warehouse_options *how,
    struct warehouse_sources *out)
{
	memset(out, 0, sizeof(*out));
	out->listed = lc__warehouse_about(warehouse) != NULL;
	out->found = lc__admit_sources(warehouse, how);
	out->seen = lc_warehouse_info_of(warehouse)->sources_seen ||
	    out->found == LC_STALE;
	if (out->found == LC_OK)
		return LC_OK;
	snprintf(out->text, sizeof(out->text), "%s", lc_last_error()->text);
	return out->found == LC_STALE || out->found == LC_NOT_FOUND ||
		out->found == LC_NO_FILE || out->found == LC_CORRUPT
	    ? LC_OK
	    : out->found;
}

/* "not changed", "changed", "not compared", "not listed" or "not known". */
static const char *
warehouse_sources_word(const struct warehouse_sources *seen)
{
	if (!seen->listed)
		return "not listed";
	if (seen->found == LC_STALE)
		return "changed";
	if (seen->found != LC_OK)
		return "not known";
	return seen->seen ? "not changed" : "not compared";
}

/* ---- the command ------------------------------------------------------------------- */

/* All that is shown of a warehouse. */
struct view {
	lc_warehouse *warehouse;
	const lc_warehouse_info *info;
	struct lc__manifest_shard *shards;       /* with --shards: all of them; or NULL */
	const struct lc__warehouse_about *about; /* NULL of an export */
	struct warehouse_sources sources;
	struct lc__summary summary;
	bool exceeded;      /* the thresholds, also where they only warn */
	char verdict[1100]; /* what is exceeded */
};

/* ---- text -------------------------------------------------------------------- */

static void
row(const char *label, const char *text)
{
	printf("  %-16s %s\n", label, text);
}

static void
show_counts(const struct lc__summary *s)
{
	const struct lc__counts *c = &s->totals;

	printf("  %-16s %llu: %llu with boxes, %llu without, %llu missing, %llu "
	       "invalid\n",
	    "frames", (unsigned long long)c->total, (unsigned long long)c->non_empty,
	    (unsigned long long)c->empty,
	    (unsigned long long)(c->missing_image + c->missing_file),
	    (unsigned long long)c->invalid);
	printf("  %-16s %llu: %llu clipped, %llu dropped, %llu above max_boxes", "boxes",
	    (unsigned long long)s->boxes, (unsigned long long)s->clipped,
	    (unsigned long long)s->dropped, (unsigned long long)s->overflow_boxes);
	if (s->filtered > 0)
		printf(", %llu of dropped classes", (unsigned long long)s->filtered);
	putchar('\n');
	for (size_t i = 0; i < s->n_reasons; i++)
		printf("  %-16s %llu %s\n", i == 0 ? "left out" : "",
		    (unsigned long long)s->reasons[i].count, s->reasons[i].name);
}

/* The first of the names; --json has all. */
static void
show_classes(const struct view *v)
{
	enum { shown = 20 };
	uint64_t named = 0;
	char line[200];

	for (uint64_t i = 0; i < v->info->classes; i++) {
		const char *name = lc_warehouse_class(v->warehouse, (int64_t)i);
		if (name == NULL || named++ >= shown)
			continue;
		snprintf(line, sizeof(line), "%llu %.150s", (unsigned long long)i, name);
		row(named == 1 ? "classes" : "", line);
	}
	if (named > shown) {
		snprintf(line, sizeof(line), "and %llu more",
		    (unsigned long long)(named - shown));
		row("", line);
	}
}

static void
show_text(const struct view *v)
{
	const lc_warehouse_info *info = v->info;
	lc_series_info series;
	char date[DATE_TEXT], size[SIZE_TEXT], number[SIZE_TEXT], line[200];

	printf("%s%s%s\n", report_bold(stdout), info->path, report_plain(stdout));
	row("version", info->version);
	row("recipe", info->recipe);
	if (*info->fingerprint != '\0')
		row("fingerprint", info->fingerprint);
	if (info->created_at_ms > 0)
		row("created", date_text(info->created_at_ms, date));
	row("dataset_root", info->dataset_root);
	row("transform", info->transform);
	if (v->about != NULL) {
		row("layout", v->about->layout);
		row("sources_root", v->about->sources_root);
	}
	snprintf(line, sizeof(line), "%llu in %s, %s", (unsigned long long)info->samples,
	    count_human(info->shards, "shard", number, sizeof(number)),
	    size_human((double)info->bytes, size, sizeof(size)));
	row("samples", line);
	for (uint32_t s = 0; s < info->series; s++) {
		if (lc_warehouse_series(v->warehouse, s, &series) != LC_OK)
			break;
		printf("  %-16s %s[%u,%u,%u]  %llu from %llu on\n", "series",
		    lc_dtype_name(info->dtype), series.channels, series.height,
		    series.width, (unsigned long long)series.samples,
		    (unsigned long long)series.first);
	}
	snprintf(line, sizeof(line), "%u of %s", info->max_boxes,
	    lc_dtype_name(info->boxes_dtype));
	row("max_boxes", line);
	show_classes(v);
	if (v->about != NULL)
		show_counts(&v->summary);
	for (uint64_t i = 0; v->shards != NULL && i < info->shards; i++)
		printf("  %-16s %s  %llu samples  %s\n", i == 0 ? "shards" : "",
		    v->shards[i].relative_path, (unsigned long long)v->shards[i].samples,
		    size_human((double)v->shards[i].bytes, size, sizeof(size)));
	row("thresholds", info->thresholds);
	row("", v->exceeded ? v->verdict : "hold");
	row("sources", warehouse_sources_word(&v->sources));
	if (v->sources.found != LC_OK)
		row("", v->sources.text);
}

/* ---- JSON -------------------------------------------------------------------- */

/* A member that is JSON already. */
static void
raw(struct json *json, const char *key, const char *text)
{
	jw_key(json, key);
	fputs(text, json->out);
}

static void
json_series(struct json *json, const struct view *v)
{
	lc_series_info series;

	jw_open(json, "series", '[');
	for (uint32_t s = 0; s < v->info->series; s++) {
		if (lc_warehouse_series(v->warehouse, s, &series) != LC_OK)
			break;
		jw_open(json, NULL, '{');
		jw_count(json, "channels", series.channels);
		jw_count(json, "height", series.height);
		jw_count(json, "width", series.width);
		jw_count(json, "first", series.first);
		jw_count(json, "samples", series.samples);
		jw_close(json, '}');
	}
	jw_close(json, ']');
}

static void
show_json(const struct view *v)
{
	const lc_warehouse_info *info = v->info;
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "path", info->path);
	jw_text(&json, "version", info->version);
	jw_text(&json, "recipe", info->recipe);
	jw_text(&json, "fingerprint", info->fingerprint);
	jw_count(&json, "created_at_ms", info->created_at_ms);
	jw_text(&json, "dataset_root", info->dataset_root);
	raw(&json, "transform", info->transform);
	if (v->about != NULL) {
		jw_text(&json, "layout", v->about->layout);
		jw_text(&json, "sources_root", v->about->sources_root);
	}
	jw_count(&json, "samples", info->samples);
	jw_count(&json, "shards", info->shards);
	jw_count(&json, "bytes", info->bytes);
	jw_text(&json, "dtype", lc_dtype_name(info->dtype));
	jw_text(&json, "boxes_dtype", lc_dtype_name(info->boxes_dtype));
	jw_count(&json, "max_boxes", info->max_boxes);
	if (info->classes > 0) {
		jw_open(&json, "classes", '[');
		for (uint64_t i = 0; i < info->classes; i++) {
			const char *name = lc_warehouse_class(v->warehouse, (int64_t)i);
			if (name != NULL)
				jw_text(&json, NULL, name);
			else
				jw_null(&json, NULL);
		}
		jw_close(&json, ']');
	}
	json_series(&json, v);
	if (v->shards != NULL) {
		jw_open(&json, "files", '[');
		for (uint64_t i = 0; i < info->shards; i++) {
			jw_open(&json, NULL, '{');
			jw_text(&json, "path", v->shards[i].relative_path);
			jw_count(&json, "samples", v->shards[i].samples);
			jw_count(&json, "bytes", v->shards[i].bytes);
			jw_close(&json, '}');
		}
		jw_close(&json, ']');
	}
	raw(&json, "summary", info->summary);
	raw(&json, "thresholds", info->thresholds);
	jw_flag(&json, "thresholds_hold", !v->exceeded);
	jw_text(&json, "sources", warehouse_sources_word(&v->sources));
	jw_end_line(&json);
}

/* ---- looking ----------------------------------------------------------------- */

/* Limits that only warn are compared as well. */
static lc_status
look_at_limits(struct view *v)
{
	struct lc__thresholds limits;
	lc_status status = lc__summary_parse(v->info->summary, v->info->path,
	    &v->summary);

	if (status == LC_OK)
		status = lc__thresholds_parse(v->info->thresholds, v->info->path,
		    &limits);
	if (status != LC_OK)
		return status;
	v->exceeded = lc__thresholds_check(&limits, &v->summary.totals) != LC_OK;
	if (v->exceeded)
		snprintf(v->verdict, sizeof(v->verdict), "exceeded%s: %s",
		    limits.warn ? ", a warning" : "", lc_last_error()->text);
	return LC_OK;
}

/* What is said of all shards; of those of parts, that reads the manifests of these. */
static lc_status
list_shards(struct view *v)
{
	v->shards = calloc((size_t)v->info->shards + 1, sizeof(*v->shards));
	if (v->shards == NULL)
		return lc__no_memory(v->info->path);
	for (uint64_t i = 0; i < v->info->shards; i++) {
		return_if_error(lc__warehouse_shard(v->warehouse, i, &v->shards[i]));
		if (!v->shards[i].has_bytes)
			v->shards[i].bytes = lc__warehouse_shard_bytes(v->warehouse, i);
	}
	return LC_OK;
}

static lc_status
look(struct view *v)
{
	lc_warehouse_options how;
	lc_status status;

	lc_warehouse_options_init(&how);
	how.dataset = dataset;
	how.sources = (lc_warehouse_sources)sources;
	v->info = lc_warehouse_info_of(v->warehouse);
	v->about = lc__warehouse_about(v->warehouse);
	status = look_at_limits(v);
	if (status == LC_OK && shards)
		status = list_shards(v);
	if (status == LC_OK)
		status = warehouse_sources_look(v->warehouse, &how, &v->sources);
	return status;
}

static int
inspect(const char *path)
{
	struct warehouse_look opened = { .warehouse = NULL };
	struct view v = { 0 };
	lc_status status = warehouse_look(path, LC_VERIFY_NEVER, &opened);

	v.warehouse = opened.warehouse;
	if (status == LC_OK)
		status = look(&v);
	if (status == LC_OK && settings.json)
		show_json(&v);
	else if (status == LC_OK)
		show_text(&v);
	for (uint64_t i = 0; v.shards != NULL && i < v.info->shards; i++)
		free(v.shards[i].relative_path);
	free(v.shards);
	lc__summary_free(&v.summary);
	warehouse_look_end(&opened);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static int
run_warehouse_inspect(int argc, char **argv)
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		status = report_worse(status, inspect(argv[i]));
	return status;
}

const struct command warehouse_inspect = {
	.name = "warehouse inspect",
	.operands = "WAREHOUSE...",
	.summary = "print the facts of a warehouse",
	.text =
	    "Prints the version, recipe and fingerprint, the samples, series and "
	    "shards, the summary, the thresholds and whether they are exceeded, and whether "
	    "the sources have changed. Sizes and headers of the shards are compared "
	    "with the manifest; use verify to read their bytes. For a store no shard "
	    "is opened.",
	.examples = "cachex warehouse inspect warehouse\n"
		    "cachex warehouse inspect warehouse --json | jq .samples",
	.completes = "d",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_warehouse_inspect,
};
