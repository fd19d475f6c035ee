/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static int force;
static int dry_run;

static struct opt options[] = {
	{ "f", "force", OPT_FLAG, &force, .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be dropped, change nothing" },
	{ .kind = OPT_END },
};

static int
drop(const char *module)
{
	struct json json = { stdout, false };
	lc_status dropped;
	int status;

	/* A damaged module can be dropped: it is not opened. */
	if (dry_run)
		status = module_must_exist(settings.root, module);
	else
		status = force ? EXIT_DONE
			       : ask("drop %s with all of its records?", module);
	if (status != EXIT_DONE)
		return status;
	dropped = dry_run ? LC_OK : lc_drop(settings.root, module);
	if (dropped == LC_NO_FILE)
		return module_missing(settings.root, module);
	if (dropped != LC_OK)
		return report_argument(dropped);
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
	} else if (dry_run || settings.verbose) {
		report_note("%s %s", dry_run ? "would drop" : "dropped", module);
	}
	return EXIT_DONE;
}

static int
run_drop(int argc, char **argv)
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		status = report_worse(status, drop(argv[i]));
	return status;
}

const struct command cmd_drop = {
	.name = "drop",
	.operands = "MODULE...",
	.summary = "remove modules",
	.text =
	    "Removes each MODULE: its directory with all files in it, in one step. No "
	    "other process may have it open. On a terminal it asks first; elsewhere it "
	    "needs -f. cachex clear deletes the records and keeps the module.",
	.examples = "cachex drop faces\n"
		    "cachex drop -f faces photos",
	.completes = "m",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_drop,
};
