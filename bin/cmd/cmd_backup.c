/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static int compact;
static int dry_run;

static struct opt options[] = {
	{ "c", "compact", OPT_FLAG, &compact, .help = "leave out free pages; slower" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be copied, write nothing" },
	{ .kind = OPT_END },
};

static void
show_json(const char *module, const char *root)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_text(&json, "to_root", root);
	jw_flag(&json, "compact", compact);
	jw_flag(&json, "dry_run", dry_run);
	jw_end_line(&json);
}

static int
run_backup(int argc, char **argv)
{
	const char *module = argv[0], *root = argv[1];
	lc_status copied = LC_OK;
	lc_cache *cache;
	int status = module_open(module, &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	if (!dry_run)
		copied = lc_backup(cache, root, compact ? LC_BACKUP_COMPACT : 0);
	if (copied != LC_OK)
		status = report_argument(copied);
	else if (settings.json)
		show_json(module, root);
	else if (dry_run)
		report_note("would copy %s to %s/%s", module, root, module);
	return module_close(cache, status);
}

const struct command cmd_backup = {
	.name = "backup",
	.operands = "MODULE DIR",
	.summary = "copy a module while it is in use",
	.text = "Writes a consistent copy of the module's newest commit to "
		"DIR/MODULE, so that DIR is a root for --root. Readers and writers "
		"can work at the same time. An existing module is never replaced; an "
		"interrupted command leaves no copy.",
	.examples = "cachex backup faces /backup\n"
		    "cachex --root /backup verify faces",
	.completes = "md",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_backup,
};
