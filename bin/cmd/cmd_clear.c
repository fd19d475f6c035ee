/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static int force;
static int dry_run;

static struct opt options[] = {
	{ "f", "force", OPT_FLAG, &force, .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be deleted, change nothing" },
	{ .kind = OPT_END },
};

static void
show_json(const char *module, uint64_t records)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "forgotten", records);
	jw_flag(&json, "dry_run", dry_run);
	jw_end_line(&json);
}

static int
clear(lc_cache *cache, const char *module)
{
	uint64_t records;
	char text[SIZE_TEXT];
	lc_status status = lc_count(cache, &records);
	int answer = EXIT_DONE;

	if (status != LC_OK)
		return report_status(status);
	count_human(records, "record", text, sizeof(text));
	if (!force && !dry_run)
		answer = ask("delete all %s of %s?", text, module);
	if (answer != EXIT_DONE)
		return answer;
	if (!dry_run)
		status = lc_clear(cache);
	if (status != LC_OK)
		return report_status(status);
	if (settings.json)
		show_json(module, records);
	else if (dry_run || settings.verbose)
		report_note("%s %s of %s", dry_run ? "would delete" : "deleted", text,
		    module);
	return EXIT_DONE;
}

static int
run_clear(int argc, char **argv)
{
	lc_cache *cache;
	const int status = dry_run ? module_open(argv[0], &cache)
				   : module_change(argv[0], &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	return module_close(cache, clear(cache, argv[0]));
}

const struct command cmd_clear = {
	.name = "clear",
	.operands = "MODULE",
	.summary = "delete all records of a module",
	.text =
	    "Deletes every record in one commit; the module stays, with its settings, "
	    "schemas and counters. On a terminal it asks first; elsewhere it needs -f. The "
	    "file keeps its size, and later records use the space; cachex compact "
	    "--shrink returns it to the file system.",
	.examples = "cachex clear faces\n"
		    "cachex clear -f faces && cachex compact --shrink faces",
	.completes = "m",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_clear,
};
