/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/page.h"
#include "report/plot.h"

const char *
lc__html_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- frames ------------------------------------------------------------------ */

static const char *const outcome_names[] = { "with boxes", "without a box",
	"no image named", "image file missing", "invalid" };

static void
write_outcomes(FILE *out, const struct lc__counts *counts)
{
	const uint64_t parts[] = { counts->non_empty, counts->empty,
		counts->missing_image, counts->missing_file, counts->invalid };

	fputs("<div class=\"share\">", out);
	for (int i = 0; i < 5; i++)
		if (parts[i] > 0)
			fprintf(out, "<i class=\"c%d\" style=\"flex:%llu\"></i>", i,
			    (unsigned long long)parts[i]);
	fputs("</div>\n", out);
	lc__page_table(out, "Frames|#Count|#Share");
	for (int i = 0; i < 5; i++) {
		fprintf(out, "<tr><td><i class=\"key c%d\"></i>%s</td>", i,
		    outcome_names[i]);
		lc__page_cell_count(out, parts[i]);
		lc__page_cell_share(out, parts[i], counts->total);
		fputs("</tr>\n", out);
	}
	fputs("<tr class=\"sum\"><td>all</td>", out);
	lc__page_cell_count(out, counts->total);
	fputs("<td></td></tr>\n", out);
	lc__page_table_end(out);
}

static void
write_boxes(FILE *out, const struct lc__summary *summary)
{
	const struct {
		const char *what;
		uint64_t count;
	} rows[] = {
		{ "in the samples", summary->boxes },
		{ "of them cut at the edge of the picture", summary->clipped },
		{ "dropped: too little of them was left", summary->dropped },
		{ "of classes that are not kept, also of frames that are left out",
		    summary->filtered },
		{ "left out: more than a sample takes", summary->overflow_boxes },
		{ "samples that had too many", summary->overflow_samples },
	};

	fputs("<h3>Boxes</h3>\n", out);
	lc__page_table(out, "Boxes|#Count");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fprintf(out, "<tr><td>%s</td>", rows[i].what);
		lc__page_cell_count(out, rows[i].count);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
}

/* The library judges the limit; @p alone has this limit and no other. */
static void
write_limit(FILE *out, const char *name, const struct lc__limit *limit,
    const struct lc__thresholds *alone, const struct lc__counts *counts, uint64_t n)
{
	const bool any = limit->has_count || limit->has_ratio;

	fprintf(out, "<tr><td>%s</td>", name);
	lc__page_cell_count(out, n);
	lc__page_cell_share(out, n, counts->total);
	fputs("<td class=\"n\">", out);
	if (limit->has_count)
		lc__page_count(out, limit->count);
	fputs("</td><td class=\"n\">", out);
	if (limit->has_ratio)
		fprintf(out, "%.6g %%", limit->ratio * 100);
	fputs("</td>", out);
	if (!any)
		fputs("<td class=\"dim\">no limit</td></tr>\n", out);
	else if (lc__thresholds_check(alone, counts) == LC_OK)
		fputs("<td class=\"good\">kept</td></tr>\n", out);
	else
		fputs("<td class=\"bad\">exceeded</td></tr>\n", out);
}

static void
write_limits(FILE *out, const struct lc__thresholds *limits,
    const struct lc__counts *counts)
{
	const struct lc__thresholds invalid = { .invalid = limits->invalid };
	const struct lc__thresholds missing = { .missing = limits->missing };
	const struct lc__thresholds empty = { .empty = limits->empty };

	fputs("<h3>Limits</h3>\n", out);
	lc__page_table(out, "Frames|#Count|#Share|#At most|#As a share|Verdict");
	write_limit(out, "invalid", &limits->invalid, &invalid, counts, counts->invalid);
	write_limit(out, "missing", &limits->missing, &missing, counts,
	    counts->missing_image + counts->missing_file);
	write_limit(out, "empty", &limits->empty, &empty, counts, counts->empty);
	lc__page_table_end(out);
	fprintf(out, "<p class=\"dim\">An exceeded limit %s.</p>\n",
	    limits->warn ? "is reported and stops nothing"
			 : "makes the build fail and readers refuse the warehouse");
}

static void
write_frames(FILE *out, const struct lc__facts *facts)
{
	lc__page_section(out, "Frames");
	write_outcomes(out, &facts->summary.totals);
	fputs("<div class=\"beside\">\n<div>\n", out);
	write_limits(out, &facts->thresholds, &facts->summary.totals);
	fputs("</div>\n<div>\n", out);
	write_boxes(out, &facts->summary);
	fputs("</div>\n</div>\n", out);
	lc__page_section_end(out);
}

static void
write_head(FILE *out, const struct lc__facts *facts)
{
	const lc_warehouse_info *info = facts->info;

	fputs("<header>\n<p class=\"dim\">Tensor warehouse</p>\n<h1>", out);
	lc__page_str(out, info->dataset_root);
	fputs("</h1>\n<p>Built ", out);
	lc__page_time(out, info->created_at_ms);
	fputs(" as <code>", out);
	lc__page_str(out, lc__html_name(info->path));
	fputs("</code></p>\n</header>\n", out);
}

static void
write_strip(FILE *out, const struct lc__facts *facts)
{
	const lc_series_info *first = facts->series;
	char size[40], what[40];

	if (facts->info->series == 1)
		snprintf(size, sizeof(size), "%u \xc3\x97 %u", first->width,
		    first->height);
	else
		snprintf(size, sizeof(size), "%u sizes", facts->info->series);
	snprintf(what, sizeof(what), "pixels, %s", lc_dtype_name(facts->info->dtype));
	lc__page_strip(out);
	lc__page_tile_count(out, facts->summary.totals.total, "frames");
	lc__page_tile_count(out, facts->info->samples, "samples");
	lc__page_tile_count(out, facts->seen.boxes, "boxes");
	lc__page_tile_count(out, facts->summary.n_runs, "runs");
	lc__page_tile_count(out, facts->info->shards, "shards");
	lc__page_tile_bytes(out, facts->info->bytes, "of shards");
	lc__page_tile(out, size, what);
	lc__page_tile_count(out, facts->info->max_boxes, "boxes a sample at most");
	lc__page_strip_end(out);
}

/* ---- frames that were left out ------------------------------------------------ */

static void
cell_of(FILE *out, const struct lc__fields *fields, const char *name)
{
	const char *text = lc__fields_find(fields, name);

	lc__page_cell_id(out, text ? text : "");
}

static void
write_rejects(FILE *out, const struct lc__facts *facts, uint64_t all)
{
	fputs("<h3>The first of them</h3>\n", out);
	lc__page_table(out, "Run|Frame|Reason|Detail");
	for (size_t i = 0; i < facts->n_rejects; i++) {
		const struct lc__fields *row = &facts->rejects[i];
		const char *detail = lc__fields_find(row, "detail");
		fputs("<tr>", out);
		cell_of(out, row, "run");
		cell_of(out, row, "name");
		cell_of(out, row, "reason");
		lc__page_cell_str(out, detail ? detail : "");
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, facts->n_rejects, all, "in rejected.jsonl");
}

static void
write_reasons(FILE *out, const struct lc__facts *facts)
{
	const struct lc__summary *summary = &facts->summary;
	uint64_t all = 0;

	lc__page_section(out, "Rejected");
	if (summary->n_reasons == 0)
		fprintf(out, "<p>%s</p>\n",
		    facts->n_rejects > 0 || summary->written < summary->totals.total
			? "The summary gives no reasons."
			: "Every frame became a sample.");
	else
		lc__page_table(out, "Reason|#Frames|#Share of all");
	for (size_t i = 0; i < summary->n_reasons; i++) {
		fputs("<tr>", out);
		lc__page_cell_id(out, summary->reasons[i].name);
		lc__page_cell_count(out, summary->reasons[i].count);
		lc__page_cell_share(out, summary->reasons[i].count,
		    summary->totals.total);
		fputs("</tr>\n", out);
		all += summary->reasons[i].count;
	}
	if (summary->n_reasons > 0)
		lc__page_table_end(out);
	if (facts->n_rejects > 0)
		write_rejects(out, facts, all);
	lc__page_section_end(out);
}

static void
write_run(FILE *out, const struct lc__summary *summary, const char *run_id,
    const struct lc__counts *counts)
{
	const uint64_t numbers[] = { counts->total, counts->non_empty, counts->empty,
		counts->missing_image, counts->missing_file, counts->invalid,
		lc__summary_written(summary, counts) };

	fputs(run_id ? "<tr>" : "<tr class=\"sum\"><td>all</td>", out);
	if (run_id != NULL && *run_id == '\0')
		fputs("<td class=\"dim\">(no run)</td>", out);
	else if (run_id != NULL)
		lc__page_cell_id(out, run_id);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		lc__page_cell_count(out, numbers[i]);
	lc__page_cell_share(out, counts->total - numbers[6], counts->total);
	fputs("</tr>\n", out);
}

static void
write_runs(FILE *out, const struct lc__summary *summary)
{
	const size_t rows = summary->n_runs < LC__HTML_ROWS ? summary->n_runs
							    : LC__HTML_ROWS;

	if (summary->n_runs == 0)
		return;
	lc__page_section(out, "Runs");
	lc__page_table(out,
	    "Run|#Frames|#With boxes|#Without|#No image named|"
	    "#File missing|#Invalid|#Samples|#Rejected");
	for (size_t i = 0; i < rows; i++)
		write_run(out, summary, summary->runs[i].run_id,
		    &summary->runs[i].counts);
	write_run(out, summary, NULL, &summary->totals);
	lc__page_table_end(out);
	lc__page_more(out, rows, summary->n_runs, "runs");
	lc__page_section_end(out);
}

/* ---- samples ---------------------------------------------------------------- */

static void
write_series(FILE *out, const struct lc__facts *facts)
{
	if (facts->info->series < 2)
		return;
	lc__page_section(out, "Sizes of image");
	lc__page_table(out, "#Width|#Height|#Samples|#Share");
	for (uint32_t s = 0; s < facts->info->series; s++) {
		fputs("<tr>", out);
		lc__page_cell_count(out, facts->series[s].width);
		lc__page_cell_count(out, facts->series[s].height);
		lc__page_cell_count(out, facts->series[s].samples);
		lc__page_cell_share(out, facts->series[s].samples, facts->info->samples);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_section_end(out);
}

static void
write_plots(FILE *out, const struct lc__distributions *seen)
{
	lc__page_section(out, "Distributions");
	fputs("<div class=\"plots\">\n", out);
	for (int i = 0; i < LC__METRICS; i++) {
		const struct lc__plotted what = lc__plotted_of(&lc__metrics[i]);
		if (seen->histograms[i].n > 0)
			lc__plot(out, &what, &seen->histograms[i]);
	}
	fputs("</div>\n<p class=\"dim\">Boxes are those of the samples, as shares of "
	      "the stored image. Brightness and contrast are of ",
	    out);
	lc__page_count(out, seen->histograms[LC__METRIC_BRIGHTNESS].n);
	fputs(" samples, spread evenly, padding included.</p>\n", out);
	lc__page_section_end(out);
}

static int
by_boxes(const void *a, const void *b)
{
	const struct lc__class_count *x = a, *y = b;

	if (x->boxes != y->boxes)
		return x->boxes < y->boxes ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static lc_status
write_classes(FILE *out, const struct lc__facts *facts)
{
	const struct lc__classes *classes = &facts->seen.classes;
	const size_t shown = classes->n < LC__HTML_CLASSES ? classes->n
							   : LC__HTML_CLASSES;
	struct lc__class_count *rows;

	if (classes->n == 0)
		return LC_OK;
	rows = malloc(classes->n * sizeof(*rows));
	if (rows == NULL)
		return lc__no_memory(NULL);
	memcpy(rows, classes->rows, classes->n * sizeof(*rows));
	qsort(rows, classes->n, sizeof(*rows), by_boxes);
	lc__page_section(out, "Classes");
	lc__page_table(out, "#Class id|Name|#Boxes|#Share|");
	for (size_t i = 0; i < shown; i++) {
		const char *name = lc__facts_class(facts, rows[i].id);
		if (rows[i].id == -1)
			fputs("<tr><td class=\"n dim\">none</td>", out);
		else
			fprintf(out, "<tr><td class=\"n\">%lld</td>",
			    (long long)rows[i].id);
		lc__page_cell_str(out, name != NULL ? name : "");
		lc__page_cell_count(out, rows[i].boxes);
		lc__page_cell_share(out, rows[i].boxes, classes->boxes);
		lc__page_cell_meter(out, (double)rows[i].boxes / (double)rows[0].boxes);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, shown, classes->n, "classes");
	lc__page_more(out, classes->boxes - classes->others.boxes, classes->boxes,
	    "boxes of still other classes");
	lc__page_section_end(out);
	free(rows);
	return LC_OK;
}

/* The cache_id without the prefix that all samples share, "0123456789ab/". */
static lc_id
short_id(const struct lc__thumbnail *thumbnail)
{
	const size_t key = thumbnail->id_size > 13 && thumbnail->id[12] == '/' &&
		strspn(thumbnail->id, "0123456789abcdef") == 12
	    ? 13
	    : 0;
	const lc_id id = { thumbnail->id + key, thumbnail->id_size - key };

	return id;
}

static void
write_thumbnail(FILE *out, const struct lc__thumbnail *thumbnail)
{
	char alt[40];

	snprintf(alt, sizeof(alt), "sample %llu", (unsigned long long)thumbnail->sample);
	fputs("<figure>", out);
	lc__page_png(out, &thumbnail->png, thumbnail->width, thumbnail->height, alt);
	fputs("<figcaption>", out);
	if (thumbnail->id != NULL)
		lc__page_id(out, short_id(thumbnail).data, short_id(thumbnail).size);
	fputs("<span>sample ", out);
	lc__page_count(out, thumbnail->sample);
	fprintf(out, ", %llu box%s</span></figcaption></figure>\n",
	    (unsigned long long)thumbnail->boxes, thumbnail->boxes == 1 ? "" : "es");
}

static void
write_thumbnails(FILE *out, const struct lc__facts *facts)
{
	if (facts->n_thumbnails == 0)
		return;
	lc__page_section(out, "Samples");
	fputs("<div class=\"thumbs\">\n", out);
	for (size_t i = 0; i < facts->n_thumbnails; i++)
		write_thumbnail(out, &facts->thumbnails[i]);
	fputs("</div>\n", out);
	lc__page_more(out, facts->n_thumbnails, facts->info->samples,
	    "samples; these are spread evenly");
	lc__page_section_end(out);
}

/* ---- the warehouse itself ---------------------------------------------------- */

static void
write_recipe(FILE *out, const struct lc__facts *facts)
{
	lc__page_section(out, "Recipe");
	lc__page_table(out, "Field|Value");
	for (size_t i = 0; i < facts->recipe.n; i++)
		lc__page_row(out, facts->recipe.rows[i].name,
		    facts->recipe.rows[i].value != NULL ? facts->recipe.rows[i].value
							: "null");
	lc__page_table_end(out);
	lc__page_table(out, "Identity|");
	lc__page_row(out, "version key", facts->info->version);
	lc__page_row(out, "fingerprint of the sources", facts->info->fingerprint);
	lc__page_table_end(out);
	lc__page_section_end(out);
}

static void
write_shards(FILE *out, const struct lc__facts *facts)
{
	const size_t n = facts->n_shards;
	const size_t rows = n < LC__HTML_ROWS ? n : LC__HTML_ROWS;

	lc__page_section(out, "Shards");
	lc__page_table(out, "File|#Samples|#Image|#Bytes|SHA-256");
	for (size_t i = 0; i < rows; i++) {
		const struct lc__manifest_shard *shard = &facts->shards[i];
		fputs("<tr>", out);
		lc__page_cell_id(out, shard->relative_path);
		lc__page_cell_count(out, shard->samples);
		fprintf(out, "<td class=\"n\">%u \xc3\x97 %u</td><td class=\"n\">",
		    shard->width, shard->height);
		if (shard->has_bytes)
			lc__page_count(out, shard->bytes);
		fputs("</td>", out);
		lc__page_cell_id(out, shard->sha256);
		fputs("</tr>\n", out);
	}
	lc__page_table_end(out);
	lc__page_more(out, rows, n, "shards");
	lc__page_section_end(out);
}

lc_status
lc__html_write(FILE *out, const struct lc__facts *facts)
{
	lc__page_begin(out, facts->info->dataset_root);
	write_head(out, facts);
	write_strip(out, facts);
	write_frames(out, facts);
	write_thumbnails(out, facts);
	write_plots(out, &facts->seen);
	return_if_error(write_classes(out, facts));
	write_reasons(out, facts);
	write_runs(out, &facts->summary);
	write_series(out, facts);
	write_recipe(out, facts);
	write_shards(out, facts);
	lc__page_end(out);
	return LC_OK;
}
