/* SPDX-License-Identifier: BSD-2-Clause */
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static struct opt options[] = { { .kind = OPT_END } };

static int
run_rename(int argc, char **argv)
{
	const lc_status renamed = lc_rename(settings.root, argv[0], argv[1]);
	struct json json = { stdout, false };

	(void)argc;
	if (renamed == LC_NO_FILE)
		return module_missing(settings.root, argv[0]);
	if (renamed == LC_EXISTS)
		return report_usage(
		    "%s; cachex drop removes a module, cachex merge joins two",
		    lc_last_error()->text);
	if (renamed != LC_OK)
		return report_argument(renamed);
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "from", argv[0]);
		jw_text(&json, "to", argv[1]);
		jw_end_line(&json);
	}
	return EXIT_DONE;
}

const struct command cmd_rename = {
	.name = "rename",
	.operands = "MODULE NEW",
	.summary = "give a module another name",
	.text =
	    "Gives MODULE the name NEW in the same root, in one step and durably. An "
	    "existing NEW is not replaced, and no other process may have MODULE open. Its "
	    "uuid stays, so token files of cachex read are valid for the new name.",
	.examples = "cachex rename faces faces-2026",
	.completes = "mw",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_rename,
};
