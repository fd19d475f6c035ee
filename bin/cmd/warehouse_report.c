/* SPDX-License-Identifier: BSD-2-Clause */
/* cachex warehouse report: a page, tables or a database, and drift between two. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/warehouse.h"
#include "draw/picture.h"
#include "lmdbcache.h"
#include "report/charts.h"
#include "report/csv.h"
#include "report/drift.h"
#include "report/facts.h"
#include "report/html.h"
#include "report/parquet_tables.h"
#include "report/sqlite.h"
#include "report/survey.h"
#include "ui/columns.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/opt.h"
#include "ui/output.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/suggest.h"

struct warehouse_facts {
	struct warehouse_look opened;
	lc_warehouse *warehouse; /* the warehouse that `opened` holds */
	struct lc__facts facts;
	uint64_t thumbnails;   /* how many to draw */
	struct lc__sqlite *db; /* that gets every sample, or NULL; not owned */
	struct lc__parquet_tables *tables; /* the same */
};

static const char *page, *csv, *sqlite, *parquet;
static int picture_format;
static int spreadsheet;
static int force;
static int drift;
static uint64_t thumbnails = LC__FACTS_THUMBNAILS;
static double drift_threshold = 0.1; /* the limit of every metric */
static struct opt_list drift_limits; /* "NAME=LIMIT", for one each */

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &page, .value = "FILE",
	    .help =
		"write an HTML page, or a picture of the charts if FILE ends in .png, "
		".svg or .pdf; - is standard output" },
	{ "", "format", OPT_CHOICE, &picture_format,
	    .value = "auto|html|" LC__PICTURE_FORMATS,
	    .help = "the format of -o; auto is that of FILE's suffix, or html" },
	{ "", "thumbnails", OPT_COUNT, &thumbnails, .value = "N",
	    .most = LC__FACTS_THUMBNAILS, .help = "show N samples in it" },
	{ "", "csv", OPT_FILE, &csv, .value = "FILE",
	    .help = "write the counts of every run as CSV; - is standard output" },
	{ "", "spreadsheet", OPT_FLAG, &spreadsheet,
	    .help = "keep a spreadsheet from reading names in the CSV as formulas" },
	{ "", "sqlite", OPT_FILE, &sqlite, .value = "FILE",
	    .help = "write an SQLite database" },
	{ "", "parquet", OPT_TEXT, &parquet, .value = "DIR",
	    .help = "write runs, samples, boxes and rejected frames as Parquet files" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace existing files; a database or tables only if a report "
		    "wrote them" },
	{ "", "drift", OPT_FLAG, &drift,
	    .help = "compare two warehouses; exit status 1 if they differ" },
	{ "", "drift-threshold", OPT_RATIO, &drift_threshold, .value = "LIMIT",
	    .help = "the largest distance that does not count as drift, 0 to 1" },
	{ "", "drift-limit", OPT_LIST, &drift_limits, .value = "NAME=LIMIT",
	    .help = "the same for one metric" },
	STORE_LOOK_OPTIONS,
	{ .kind = OPT_END },
};

/* ---- a warehouse, and all that a report says of it --------------------------------- */

/* Open it and read the facts of the whole. A report shows also a warehouse that is stale
 * or exceeds its limits. Reports; an exit status. */
static int
warehouse_facts_open(struct warehouse_facts *facts, const char *path)
{
	lc_status status = warehouse_look(path, LC_VERIFY_NEVER, &facts->opened);

	facts->warehouse = facts->opened.warehouse;
	if (status == LC_OK)
		status = lc__facts_read(facts->warehouse, &facts->facts);
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

static lc_status
take_sample(void *ctx, const struct lc__observation *observation, const lc_sample *sample)
{
	struct warehouse_facts *facts = ctx;
	const uint64_t n = facts->facts.info->samples;
	lc_status status = LC_OK;

	if (facts->facts.n_thumbnails < facts->thumbnails &&
	    lc__spread(observation->sample, n, facts->thumbnails))
		status = lc__thumbnail_add(&facts->facts, observation, sample);
	if (status == LC_OK && facts->db != NULL)
		status = lc__sqlite_sample(facts->db, observation);
	if (status == LC_OK && facts->tables != NULL)
		status = lc__parquet_tables_sample(facts->tables, observation);
	return status;
}

/* Few bytes of the shards are read; the progress counts all of them in proportion. */
static int
step(void *ctx, uint64_t done, uint64_t total)
{
	const uint64_t bytes = *(const uint64_t *)ctx;

	progress_items(done, total);
	return progress_step(NULL,
	    total == 0 ? 0 : (uint64_t)((double)bytes / (double)total * (double)done),
	    bytes);
}

/* Look at every sample. Reports; an exit status. */
static int
warehouse_facts_survey(struct warehouse_facts *facts)
{
	uint64_t bytes = facts->facts.info->bytes;
	const lc_progress progress = { .step = step, .ctx = &bytes };
	const struct lc__survey survey = {
		.lit = LC__SURVEY_LIT,
		.sample = take_sample,
		.ctx = facts,
		.progress = &progress,
	};
	lc_status status;

	progress_begin("report");
	status = lc__survey_run(facts->warehouse, &survey, &facts->facts.seen);
	progress_end();
	return status == LC_OK ? EXIT_DONE : report_status(status);
}

/* Harmless for one that is all zero. */
static void
warehouse_facts_close(struct warehouse_facts *facts)
{
	lc__facts_free(&facts->facts);
	warehouse_look_end(&facts->opened);
	memset(facts, 0, sizeof(*facts));
}

static bool
is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static int
end_page(struct output *output, lc_status written)
{
	return output_end(output, written == LC_OK ? EXIT_DONE : report_status(written));
}

/* ---- --drift: what two warehouses differ in ---------------------------------------- */

static int
read_limit(const char *text, double limits[LC__DRIFT_METRICS])
{
	const char *equals = strchr(text, '=');
	struct suggest suggest;
	char name[64], *end;
	size_t metric;
	double limit;

	if (equals == NULL || (size_t)(equals - text) >= sizeof(name))
		return report_usage("--drift-limit: not NAME=LIMIT: '%s'", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	metric = lc__drift_find(name);
	if (metric == LC__DRIFT_METRICS) {
		suggest_start(&suggest, name);
		for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
			suggest_word(&suggest, lc__drift_name(i));
		if (suggest_best(&suggest) == NULL)
			return report_usage("--drift-limit: no metric %s", name);
		return report_usage("--drift-limit: no metric %s; did you mean %s?", name,
		    suggest_best(&suggest));
	}
	limit = strtod(equals + 1, &end);
	if (!isdigit((unsigned char)equals[1]) || *end != '\0' ||
	    !(limit >= 0 && limit <= 1))
		return report_usage("--drift-limit: '%s' is not a limit from 0 to 1",
		    text);
	limits[metric] = limit;
	return EXIT_DONE;
}

static void __attribute__((format(printf, 2, 3)))
cell(struct columns *columns, const char *format, ...)
{
	char text[120];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	columns_text(columns, text);
}

static int
show_table(const struct lc__drift *found)
{
	static const char *const titles[] = { "OF", "DISTANCE", "CHANCE", "LIMIT",
		"VERDICT", "VALUES" };
	struct columns columns;

	columns_begin(&columns, "lrrrll");
	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
		columns_text(&columns, titles[i]);
	for (size_t i = 0; i < LC__DRIFT_METRICS; i++) {
		const struct lc__drift_row *row = &found->rows[i];

		columns_text(&columns, lc__drift_name(row->metric));
		cell(&columns, "%.3f", row->distance);
		cell(&columns, "%.3f", row->noise);
		cell(&columns, "%.3g", row->limit);
		columns_text(&columns,
		    !row->exceeded    ? "within"
			: row->chance ? "above, maybe by chance"
				      : "above");
		if (row->is_share)
			cell(&columns, "%.3g %% to %.3g %%", 100 * row->old_value,
			    100 * row->new_value);
		else
			cell(&columns, "%llu and %llu values",
			    (unsigned long long)row->old_n,
			    (unsigned long long)row->new_n);
	}
	return columns_end(&columns);
}

static void
show_row_json(const struct lc__drift_row *row)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "metric", lc__drift_name(row->metric));
	jw_real(&json, "distance", row->distance);
	jw_real(&json, "chance", row->noise);
	jw_real(&json, "limit", row->limit);
	jw_flag(&json, "exceeded", row->exceeded);
	if (row->is_share) {
		jw_real(&json, "old", row->old_value);
		jw_real(&json, "new", row->new_value);
	}
	jw_count(&json, "old_n", row->old_n);
	jw_count(&json, "new_n", row->new_n);
	jw_end_line(&json);
}

static void
show_side_json(struct json *json, const char *key, const struct lc__facts *facts)
{
	const struct lc__summary *summary = &facts->summary;

	jw_open(json, key, '{');
	jw_text(json, "path", facts->info->path);
	jw_text(json, "version", facts->info->version);
	jw_text(json, "fingerprint", facts->info->fingerprint);
	jw_count(json, "frames", summary->totals.total);
	jw_count(json, "samples", summary->written);
	jw_count(json, "boxes", facts->seen.boxes);
	jw_count(json, "runs", summary->n_runs);
	jw_close(json, '}');
}

static void
show_drift_json(const struct lc__facts *old, const struct lc__facts *new,
    const struct lc__drift *found)
{
	struct json json = { stdout, false };

	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		show_row_json(&found->rows[i]);
	jw_open(&json, NULL, '{');
	show_side_json(&json, "old", old);
	show_side_json(&json, "new", new);
	jw_count(&json, "exceeded", found->exceeded);
	jw_count(&json, "chance", found->chance);
	jw_flag(&json, "drift", found->exceeded > 0);
	jw_end_line(&json);
}

static int
compare_facts(struct warehouse_facts *old, struct warehouse_facts *new)
{
	const struct lc__drift_side sides[2] = {
		{ &old->facts.summary, &old->facts.seen },
		{ &new->facts.summary, &new->facts.seen },
	};
	double limits[LC__DRIFT_METRICS];
	struct lc__drift found;
	struct output output;
	int status = EXIT_DONE;

	for (size_t i = 0; i < LC__DRIFT_METRICS; i++)
		limits[i] = drift_threshold;
	for (size_t i = 0; i < drift_limits.count && status == EXIT_DONE; i++)
		status = read_limit(drift_limits.items[i], limits);
	if (status == EXIT_DONE)
		status = warehouse_facts_survey(old);
	if (status == EXIT_DONE)
		status = warehouse_facts_survey(new);
	if (status != EXIT_DONE)
		return status;
	lc__drift_compare(&sides[0], &sides[1], limits, &found);

	if (page != NULL)
		status = output_open(&output, page, force);
	if (page != NULL && status == EXIT_DONE)
		status = end_page(&output,
		    lc__html_drift(output.stream, &old->facts, &new->facts, &found));
	if (status == EXIT_DONE && !is_stdout(page)) {
		if (settings.json)
			show_drift_json(&old->facts, &new->facts, &found);
		else if (!settings.quiet)
			status = show_table(&found);
	}
	if (status == EXIT_DONE && found.exceeded > 0)
		return EXIT_NO;
	return status;
}

/* Reports; an exit status, EXIT_NO if there is drift. */
static int
report_drift(const char *old, const char *new)
{
	static struct warehouse_facts sides[2];
	int status = warehouse_facts_open(&sides[0], old);

	if (status == EXIT_DONE)
		status = warehouse_facts_open(&sides[1], new);
	if (status == EXIT_DONE)
		status = compare_facts(&sides[0], &sides[1]);
	warehouse_facts_close(&sides[0]);
	warehouse_facts_close(&sides[1]);
	return status;
}

/* ---- the report of one ------------------------------------------------------------- */

/* Tables that exist are refused like every other output. */
static int
report_tables(lc_status failed)
{
	return failed == LC_EXISTS ? report_usage("%s", lc_last_error()->text)
				   : report_status(failed);
}

/* Is -o a picture? */
static bool
is_picture(enum lc__picture_format *out)
{
	if (picture_format > 1) {
		*out = (enum lc__picture_format)(picture_format - 2);
		return true;
	}
	return picture_format == 0 && page != NULL && lc__picture_format_of(page, out);
}

static int
write_picture(const struct lc__facts *facts, enum lc__picture_format as)
{
	struct lc__buf bytes = { 0 };
	struct lc__picture *picture;
	struct output output;
	lc_status drawn = lc__picture_new(as, &picture);
	int status;

	if (drawn != LC_OK)
		return report_status(drawn);
	drawn = lc__charts_draw(picture, facts);
	if (drawn == LC_OK)
		drawn = lc__picture_finish(picture, &bytes);
	lc__picture_free(picture);
	status = drawn == LC_OK ? output_open(&output, page, force)
				: report_status(drawn);
	if (status == EXIT_DONE) {
		fwrite(bytes.data, 1, bytes.size, output.stream);
		output_failed(&output);
		status = output_end(&output, EXIT_DONE);
	}
	lc__buf_free(&bytes);
	return status;
}

/* Read the samples if an output needs them. */
static int
survey(struct warehouse_facts *facts)
{
	struct output output = { 0 };
	lc_status written = LC_OK;
	int status = EXIT_DONE;

	if (sqlite != NULL) {
		written = lc__sqlite_may_replace(sqlite);
		status = written == LC_OK || written == LC_NO_FILE
		    ? output_open(&output, sqlite, force)
		    : report_status(written);
	}
	/* A database is written by its name: into the temporary file of the output. */
	if (sqlite != NULL && status == EXIT_DONE) {
		written = lc__sqlite_begin(output.temporary, &facts->db);
		status = written == LC_OK ? EXIT_DONE : report_status(written);
	}
	if (status == EXIT_DONE && parquet != NULL) {
		written = lc__parquet_tables_begin(parquet, force, facts->warehouse,
		    &facts->tables);
		status = written == LC_OK ? EXIT_DONE : report_tables(written);
	}
	if (status == EXIT_DONE && (sqlite != NULL || page != NULL || parquet != NULL))
		status = warehouse_facts_survey(facts);
	if (status == EXIT_DONE && facts->tables != NULL) {
		written = lc__parquet_tables_end(facts->tables, &facts->facts);
		facts->tables = NULL;
		status = written == LC_OK ? EXIT_DONE : report_tables(written);
	}
	lc__parquet_tables_discard(facts->tables);
	if (status == EXIT_DONE && facts->db != NULL) {
		written = lc__sqlite_end(facts->db, &facts->facts);
		facts->db = NULL;
		status = written == LC_OK ? EXIT_DONE : report_status(written);
	}
	lc__sqlite_discard(facts->db);
	return output.stream != NULL ? output_end(&output, status) : status;
}

static int
report_one(const char *path)
{
	static struct warehouse_facts facts;
	struct json json = { stdout, false };
	enum lc__picture_format as = LC__PICTURE_PNG;
	const bool picture = is_picture(&as);
	struct output output;
	int status;

	facts.thumbnails = page != NULL && !picture ? thumbnails : 0;
	status = warehouse_facts_open(&facts, path);
	if (status == EXIT_DONE)
		status = survey(&facts);
	if (status == EXIT_DONE && picture)
		status = write_picture(&facts.facts, as);
	if (status == EXIT_DONE && page != NULL && !picture) {
		status = output_open(&output, page, force);
		if (status == EXIT_DONE)
			status = end_page(&output,
			    lc__html_write(output.stream, &facts.facts));
	}
	if (status == EXIT_DONE && csv != NULL) {
		status = output_open(&output, csv, force);
		if (status == EXIT_DONE) {
			lc__csv_write(output.stream, &facts.facts.summary, spreadsheet);
			status = output_end(&output, EXIT_DONE);
		}
	}
	if (status == EXIT_DONE && settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "warehouse", path);
		jw_count(&json, "samples", facts.facts.info->samples);
		if (page != NULL)
			jw_text(&json, "page", page);
		if (csv != NULL)
			jw_text(&json, "csv", csv);
		if (sqlite != NULL)
			jw_text(&json, "sqlite", sqlite);
		if (parquet != NULL)
			jw_text(&json, "parquet", parquet);
		jw_end_line(&json);
	}
	warehouse_facts_close(&facts);
	return status;
}

static int
run_warehouse_report(int argc, char **argv)
{
	enum lc__picture_format as;

	if (drift && (csv != NULL || sqlite != NULL || parquet != NULL))
		return report_usage("--drift excludes --csv, --sqlite and --parquet");
	if (drift && is_picture(&as))
		return report_usage("--drift writes an HTML page, not a picture");
	if (picture_format != 0 && page == NULL)
		return report_usage("--format is for -o FILE");
	if (drift && argc != 2)
		return report_usage("--drift needs two warehouses, OLD NEW");
	if (drift)
		return report_drift(argv[0], argv[1]);
	if (argc != 1)
		return report_usage(
		    "only one warehouse may be given; --drift compares two");
	if (page == NULL && csv == NULL && sqlite == NULL && parquet == NULL)
		return report_usage(
		    "give an output: -o FILE, --csv FILE, --sqlite FILE or --parquet DIR");
	if (is_stdout(page) && is_stdout(csv))
		return report_usage("-o and --csv cannot both go to standard output");
	if (settings.json && (is_stdout(page) || is_stdout(csv)))
		return report_usage("--json and the report would both go to standard "
				    "output; name a file");
	if (is_stdout(sqlite))
		return report_usage("--sqlite needs the name of a file");
	if (is_stdout(parquet))
		return report_usage("--parquet needs the name of a directory");
	return report_one(argv[0]);
}

const struct command warehouse_report = {
	.name = "warehouse report",
	.operands = "[--drift OLD] WAREHOUSE",
	.summary = "write a page, tables or a database about a warehouse; drift",
	.text =
	    "-o writes one HTML page that needs nothing else: counts, limits, what "
	    "was rejected and why, samples with their boxes, histograms, classes, "
	    "runs, recipe and shards; or the histograms and classes alone as a PNG, SVG or "
	    "PDF picture. --csv writes the counts of every run, "
	    "--sqlite everything but the pixels as a database, --parquet runs, samples, "
	    "boxes and rejected frames as Parquet files for DuckDB, Polars and others.\n"
	    "It also reports on a stale warehouse, and on one that exceeds its limits; "
	    "checksums are not compared.\n"
	    "--drift compares two warehouses: the outcomes of their frames, and the "
	    "distributions of boxes, classes and images. A distance is 0 if both are "
	    "equal and 1 if they have nothing in common; next to it is the distance "
	    "expected by chance. Exit status 1 means that a distance is above its limit.",
	.examples =
	    "cachex warehouse report warehouse -o report.html\n"
	    "cachex warehouse report warehouse --csv runs.csv --sqlite report.db\n"
	    "cachex warehouse report warehouse --parquet tables\n"
	    "cachex warehouse report --drift warehouse/v20261101-0123456789ab "
	    "warehouse --drift-limit brightness=0.3",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 2,
	.options = options,
	.run = run_warehouse_report,
};
