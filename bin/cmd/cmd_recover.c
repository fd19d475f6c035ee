/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static int dry_run, salvage, stale;

static struct opt options[] = {
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be rescued and lost, change nothing" },
	{ "", "salvage", OPT_FLAG, &salvage,
	    .help = "read the pages of FROM without its trees into the new module TO" },
	{ "", "stale", OPT_FLAG, &stale,
	    .help = "with --salvage: take an old version if the newest is lost" },
	{ .kind = OPT_END },
};

static void
show_line(void *ctx, const char *line)
{
	finding_show(ctx, "found", line);
}

/* ---- recover -------------------------------------------------------------- */

static void
show_json(const char *module, const lc_recover_result *result)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "records", result->records);
	jw_count(&json, "rescued", result->rescued);
	jw_count(&json, "lost", result->lost);
	jw_count(&json, "unknown", result->unknown);
	jw_count(&json, "runs", result->runs);
	jw_count(&json, "rows", result->rows);
	jw_count(&json, "reset", result->reset);
	jw_count(&json, "kept", result->kept);
	jw_end_line(&json);
}

static void
show_text(const char *module, const lc_recover_result *result)
{
	char records[SIZE_TEXT];

	if (result->rescued + result->lost + result->unknown + result->runs +
		result->rows + result->kept ==
	    0) {
		printf("%s: no damage; %s\n", module,
		    count_human(result->records, "record", records, sizeof(records)));
		return;
	}
	printf("%s: %s%s, %llu rescued, %llu lost; %llu index runs and %llu rows "
	       "%srebuilt\n",
	    module, dry_run ? "would have " : "",
	    count_human(result->records, "record", records, sizeof(records)),
	    (unsigned long long)result->rescued, (unsigned long long)result->lost,
	    (unsigned long long)result->runs, (unsigned long long)result->rows,
	    dry_run ? "to be " : "");
	if (result->unknown > 0)
		printf("%s: %llu damaged places may have held more records\n", module,
		    (unsigned long long)result->unknown);
	if (result->kept > 0)
		printf("%s: the previous file is kept as data.mdb.damaged-%llu\n", module,
		    (unsigned long long)result->kept);
}

static int
recover_module(const char *module)
{
	lc_progress progress = {
		.step = progress_step,
		.damage = show_line,
		.ctx = (void *)(uintptr_t)module,
		.phase = progress_phase,
	};
	lc_recover_result result = { 0 };
	lc_status status;

	progress_begin("recover");
	status = lc_recover(settings.root, module, dry_run, &progress, &result);
	progress_end();
	if (status == LC_NO_FILE)
		return module_missing(settings.root, module);
	if (status != LC_OK)
		return report_argument(status);
	if (settings.json)
		show_json(module, &result);
	else
		show_text(module, &result);
	return result.lost + result.unknown + result.reset > 0 ? EXIT_DATA : EXIT_DONE;
}

/* ---- recover --salvage ---------------------------------------------------- */

static void
show_salvage_json(const char *module, const lc_salvage_result *result)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "records", result->records);
	jw_count(&json, "stale", result->stale);
	jw_count(&json, "undecided", result->undecided);
	jw_count(&json, "lost", result->lost);
	jw_count(&json, "damaged", result->damaged);
	jw_count(&json, "unreadable", result->unreadable);
	jw_count(&json, "schemas", result->schemas);
	jw_count(&json, "versions", result->versions);
	jw_count(&json, "left", result->left);
	jw_count(&json, "inputs", result->inputs);
	jw_flag(&json, "settings_lost", result->settings_lost != 0);
	jw_flag(&json, "uncertain", result->uncertain != 0);
	jw_end_line(&json);
}

static void
show_count(const char *what, uint64_t count)
{
	if (count > 0)
		printf("  %s: %llu\n", what, (unsigned long long)count);
}

static void
show_salvage_text(const char *module, const lc_salvage_result *result)
{
	char records[SIZE_TEXT];

	printf("%s: %s%s rescued\n", module, dry_run ? "would have " : "",
	    count_human(result->records, "record", records, sizeof(records)));
	show_count("may have been deleted or replaced", result->undecided);
	show_count("old versions", result->stale);
	show_count("keys lost", result->lost);
	show_count("damaged records", result->damaged);
	show_count("records without their structure", result->unreadable);
	show_count("structures missing", result->schemas);
	show_count("keys with more than one version", result->versions);
	show_count("keys left out, with old versions alone", result->left);
	if (result->inputs > 0)
		printf("  the order of %llu inputs is lost: plain records\n",
		    (unsigned long long)result->inputs);
	if (result->settings_lost)
		printf("  settings lost: now the defaults\n");
	if (result->uncertain)
		printf("  a part of the index or of the last commits is missing\n");
}

/* Is all of the newest commit known and still there? */
static bool
is_everything(const lc_salvage_result *result)
{
	return result->stale + result->undecided + result->lost + result->unreadable +
		result->schemas + result->inputs ==
	    0 &&
	    !result->settings_lost && !result->uncertain;
}

/* A name with a slash is a file or a directory; any other is a module. */
static char *
source_path(const char *name)
{
	const size_t size = strlen(settings.root) + strlen(name) + 2;
	char *path;

	if (strchr(name, '/') != NULL)
		return strdup(name);
	path = malloc(size);
	if (path != NULL)
		snprintf(path, size, "%s/%s", settings.root, name);
	return path;
}

static int
salvage_module(const char *from, const char *to)
{
	lc_salvage_options how;
	lc_salvage_result result = { 0 };
	char *path = source_path(from);
	lc_status status;

	if (path == NULL)
		return report_no_memory();
	lc_salvage_options_init(&how);
	how.dry_run = dry_run;
	how.stale = stale;
	how.progress = (lc_progress){
		.step = progress_step,
		.damage = show_line,
		.ctx = (void *)(uintptr_t)from,
	};
	progress_begin("salvage");
	status = lc_salvage(path, settings.root, to, &how, &result);
	progress_end();
	free(path);
	if (status != LC_OK)
		return status == LC_NO_FILE ? report_library(EXIT_NO)
					    : report_argument(status);
	if (settings.json)
		show_salvage_json(to, &result);
	else
		show_salvage_text(to, &result);
	return is_everything(&result) ? EXIT_DONE : EXIT_DATA;
}

static int
run_recover(int argc, char **argv)
{
	if (!salvage && stale)
		return report_usage("--stale needs --salvage");
	if (!salvage)
		return argc == 1 ? recover_module(argv[0])
				 : report_usage("too many operands: %s", argv[1]);
	return argc == 2 ? salvage_module(argv[0], argv[1])
			 : report_usage("--salvage needs the name of a new module");
}

const struct command cmd_recover = {
	.name = "recover",
	.operands = "MODULE | --salvage FROM TO",
	.summary = "rebuild the index of a damaged module",
	.text =
	    "Rebuilds the index from the records, and prints a line for each record that is "
	    "rescued and each that is lost. A key with a damaged index entry gets its newest "
	    "record back, even if it was deleted. Damaged records are dropped. This is done "
	    "in a copy; only if cachex verify passes the copy, it replaces data.mdb, and the "
	    "previous file is kept as data.mdb.damaged-N. A module without damage does not "
	    "change. No other process may have it open. Exit status 3 means that records or "
	    "settings are lost, or may be.\n"
	    "With --salvage, the pages of the data file of FROM are read one after the "
	    "other, without its trees, and every intact record that is the newest of its key "
	    "goes into the new module TO. FROM is a module, a directory or a data file, the "
	    "last two with a slash in their names; it is never written to. Exit status 3 "
	    "means that data is lost, or may be.",
	.examples = "cachex recover -n faces\n"
		    "cachex backup faces /backup; cachex recover faces\n"
		    "cachex recover --salvage faces faces-2",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = 2,
	.options = options,
	.run = run_recover,
};
