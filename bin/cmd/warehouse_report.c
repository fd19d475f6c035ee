/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/output.h"
#include "ui/report.h"
#include "report/csv.h"
#include "report/html.h"
#include "ui/settings.h"
#include "cmd/warehouse.h"
#include "cmd/warehouse_drift.h"
#include "cmd/warehouse_facts.h"

static const char *page, *csv, *sqlite, *parquet;
static int spreadsheet;
static int force;
static int drift;
static uint64_t thumbnails = LC__FACTS_THUMBNAILS;
static struct warehouse_drift compared = { .threshold = 0.1 };

static struct opt options[] = {
	{ "o", "output", OPT_FILE, &page, .value = "FILE",
	    .help = "write an HTML page; - is standard output" },
	{ "", "thumbnails", OPT_COUNT, &thumbnails, .value = "N",
	    .most = LC__FACTS_THUMBNAILS,
	    .help = "show so many samples in it" },
	{ "", "csv", OPT_FILE, &csv, .value = "FILE",
	    .help = "write the counts of every run as CSV; - is standard output" },
	{ "", "spreadsheet", OPT_FLAG, &spreadsheet,
	    .help = "keep a spreadsheet from taking names in the CSV for formulas" },
	{ "", "sqlite", OPT_FILE, &sqlite, .value = "FILE",
	    .help = "write an SQLite database" },
	{ "", "parquet", OPT_TEXT, &parquet, .value = "DIR",
	    .help = "write runs, samples, boxes and rejected frames as Parquet files" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace files that exist; a database or tables only if a report could "
	    "have made them" },
	{ "", "drift", OPT_FLAG, &drift,
	    .help = "compare two warehouses; exit status 1 if they differ" },
	{ "", "drift-threshold", OPT_RATIO, &compared.threshold, .value = "LIMIT",
	    .help = "the distance that is still no drift, 0 to 1" },
	{ "", "drift-limit", OPT_LIST, &compared.limits, .value = "NAME=LIMIT",
	    .help = "the same for one metric" },
	{ .kind = OPT_END }
};

static bool
is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static int
write_page(const struct lc__facts *facts)
{
	struct output output;
	lc_status written;
	int status = output_open(&output, page, force);

	if (status != EXIT_DONE)
		return status;
	written = lc__html_write(output.stream, facts);
	return output_end(&output, written == LC_OK ? EXIT_DONE :
	    report_status(written));
}

static int
write_csv(const struct lc__facts *facts)
{
	struct output output;
	const int status = output_open(&output, csv, force);

	if (status != EXIT_DONE)
		return status;
	lc__csv_write(output.stream, &facts->summary, spreadsheet);
	return output_end(&output, EXIT_DONE);
}

/* A database is written by its name: into the temporary file of the output. */
static int
open_database(struct output *output, struct lc__sqlite **db)
{
	lc_status found = lc__sqlite_may_replace(sqlite);
	int status;

	if (found != LC_OK && found != LC_NO_FILE)
		return report_status(found);
	status = output_open(output, sqlite, force);
	if (status != EXIT_DONE)
		return status;
	found = lc__sqlite_begin(output->temporary, db);
	return found == LC_OK ? EXIT_DONE : report_status(found);
}

/* One that exists is refused like every other output. */
static int
report_tables(lc_status failed)
{
	return failed == LC_EXISTS ? report_usage("%s", lc_last_error()->text) :
	    report_status(failed);
}

static int
open_tables(const lc_warehouse *warehouse, struct lc__parquet_tables **tables)
{
	const lc_status begun = lc__parquet_tables_begin(parquet, force,
	    warehouse, tables);

	return begun == LC_OK ? EXIT_DONE : report_tables(begun);
}

/* Look at the samples, if what is wanted needs them. */
static int
survey(struct warehouse_facts *facts)
{
	struct output output = { 0 };
	lc_status written;
	int status = EXIT_DONE;

	if (sqlite != NULL)
		status = open_database(&output, &facts->db);
	if (status == EXIT_DONE && parquet != NULL)
		status = open_tables(facts->warehouse, &facts->tables);
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

static void
show_path(struct json *json, const char *key, const char *path)
{
	if (path != NULL)
		jw_text(json, key, path);
}

static void
show_json(const struct lc__facts *facts, const char *path)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "warehouse", path);
	jw_count(&json, "samples", facts->info->samples);
	show_path(&json, "page", page);
	show_path(&json, "csv", csv);
	show_path(&json, "sqlite", sqlite);
	show_path(&json, "parquet", parquet);
	jw_end_line(&json);
}

static int
report_one(const char *path)
{
	static struct warehouse_facts facts;
	int status;

	facts.thumbnails = page ? thumbnails : 0;
	status = warehouse_facts_open(&facts, path);
	if (status == EXIT_DONE)
		status = survey(&facts);
	if (status == EXIT_DONE && page != NULL)
		status = write_page(&facts.facts);
	if (status == EXIT_DONE && csv != NULL)
		status = write_csv(&facts.facts);
	if (status == EXIT_DONE && settings.json)
		show_json(&facts.facts, path);
	warehouse_facts_close(&facts);
	return status;
}

static int
run(int argc, char **argv)
{
	compared.output = page;
	compared.force = force;
	if (drift && (csv != NULL || sqlite != NULL || parquet != NULL))
		return report_usage("--drift goes with none of --csv, --sqlite, --parquet");
	if (drift && argc != 2)
		return report_usage("--drift needs two warehouses, OLD NEW");
	if (drift)
		return warehouse_drift(&compared, argv[0], argv[1]);
	if (argc != 1)
		return report_usage("one warehouse only; --drift compares two");
	if (page == NULL && csv == NULL && sqlite == NULL && parquet == NULL)
		return report_usage("what to write? -o FILE, --csv FILE, --sqlite FILE or "
		    "--parquet DIR");
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
	.summary = "a page, tables or a database about a warehouse; drift",
	.text =
	    "-o writes one HTML page that needs nothing else: counts, limits, what "
	    "was passed over and why, samples with their boxes, histograms, classes, "
	    "runs, recipe and shards. --csv writes the counts of every run, "
	    "--sqlite everything but the pixels as a database, --parquet runs, samples, "
	    "boxes and rejected frames as Parquet files for DuckDB, Polars and others.\n"
	    "A stale warehouse, or one whose limits are exceeded, is reported on "
	    "all the same; checksums are not compared.\n"
	    "--drift compares two warehouses: what became of their frames, and the "
	    "distributions of boxes, classes and images. A distance is 0 if both "
	    "are the same and 1 if they have nothing in common; beside it stands "
	    "the distance that chance alone would make. Exit status 1 says that a "
	    "distance is above its limit.",
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
	.run = run
};
