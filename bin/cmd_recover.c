/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "command.h"
#include "finding.h"
#include "json.h"
#include "progress.h"
#include "report.h"
#include "settings.h"
#include "size.h"

static int dry_run;

static struct opt options[] = {
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be rescued and lost, change nothing" },
	{ .kind = OPT_END }
};

static void
show_line(void *ctx, const char *line)
{
	finding_show(ctx, "found", line);
}

static void
show_json(const char *module, const lc_recover_result *result)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "records", result->records);
	jw_count(&json, "rescued", result->rescued);
	jw_count(&json, "lost", result->lost);
	jw_count(&json, "runs", result->runs);
	jw_count(&json, "rows", result->rows);
	jw_end_line(&json);
}

static void
show_text(const char *module, const lc_recover_result *result)
{
	char records[SIZE_TEXT];

	if (result->rescued + result->lost + result->runs + result->rows == 0) {
		printf("%s: no damage; %s\n", module, count_human(result->records,
		    "record", records, sizeof(records)));
		return;
	}
	printf("%s: %s%s, %llu rescued, %llu lost; %llu index runs and %llu rows "
	    "%srebuilt\n", module, dry_run ? "would have " : "",
	    count_human(result->records, "record", records, sizeof(records)),
	    (unsigned long long)result->rescued, (unsigned long long)result->lost,
	    (unsigned long long)result->runs, (unsigned long long)result->rows,
	    dry_run ? "to be " : "");
}

static int
run(int argc, char **argv)
{
	lc_progress progress = { progress_step, show_line, argv[0] };
	lc_recover_result result = { 0 };
	lc_status status;

	(void)argc;
	progress_begin("recover");
	status = lc_recover(settings.root, argv[0], dry_run, &progress, &result);
	progress_end();
	if (status == LC_NOT_FOUND) {
		report_error("there is no module %s in %s", argv[0], settings.root);
		return EXIT_NO;
	}
	if (status != LC_OK)
		return report_argument(status);
	if (settings.json)
		show_json(argv[0], &result);
	else
		show_text(argv[0], &result);
	return result.lost > 0 ? EXIT_NO : EXIT_DONE;
}

const struct command cmd_recover = {
	.name = "recover",
	.operands = "MODULE",
	.summary = "rebuild the index of a damaged module",
	.text =
	    "Rebuilds what finds the records from the records themselves, and prints "
	    "a line for each that is rescued and each that is lost. A key whose index "
	    "entry is damaged gets its newest record back, also if it had been "
	    "deleted. Damaged records are dropped, so that cachex verify is content "
	    "afterwards. A module without damage stays as it is. Nobody else may have "
	    "it open. Exit status 1 says that records are lost.",
	.examples =
	    "cachex recover -n faces\n"
	    "cachex backup faces /backup; cachex recover faces",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run
};
