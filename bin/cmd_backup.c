/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "command.h"
#include "module.h"
#include "report.h"

static int compact;
static int dry_run;

static struct opt options[] = {
	{ "c", "compact", OPT_FLAG, &compact,
	    .help = "leave out free pages; slower" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "say what would be copied, write nothing" },
	{ .kind = OPT_END }
};

static int
run(int argc, char **argv)
{
	const char *module = argv[0], *root = argv[1];
	lc_status copied = LC_OK;
	lc_cache *cache;
	int status = module_open(module, &cache);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	if (dry_run)
		report_note("would copy %s to %s/%s", module, root, module);
	else
		copied = lc_backup(cache, root, compact ? LC_BACKUP_COMPACT : 0);
	if (copied != LC_OK)
		status = copied == LC_INVALID ? report_argument(copied) :
		    report_file(copied);
	return module_close(cache, status);
}

const struct command cmd_backup = {
	.name = "backup",
	.operands = "MODULE DIR",
	.summary = "copy a module while it is in use",
	.text =
	    "Writes a consistent copy of the module's newest commit to "
	    "DIR/MODULE, so that DIR is a root for --root. Readers and writers "
	    "go on meanwhile. A module that stands there is never replaced; a "
	    "copy that was interrupted is not there.",
	.examples =
	    "cachex backup faces /backup\n"
	    "cachex --root /backup verify faces",
	.completes = "md",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
