/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>

#include "ui/columns.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static int from_stdin;
static int null;

static struct opt options[] = {
	{ "", "stdin", OPT_FLAG, &from_stdin,
	    .help = "read more cache_ids from standard input, one per line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "items on standard input and output end with a NUL byte" },
	{ .kind = OPT_END },
};

static void
show(lc_id id, bool found)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_id(&json, id);
		jw_flag(&json, "found", found);
		jw_end_line(&json);
	} else if (settings.verbose && !found) {
		ident_item(id, null);
	}
}

static int
look_up(lc_cache *cache, const struct list *ids)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < ids->count; i++) {
		const lc_id id = ids->items[i];
		const lc_status found = lc_contains(cache, id.data, id.size);
		if (found == LC_OK || found == LC_NOT_FOUND)
			show(id, found == LC_OK);
		if (found == LC_NOT_FOUND)
			status = report_worse(status, EXIT_NO);
		else if (found != LC_OK)
			status = report_worse(status, report_status(found));
	}
	return status;
}

static int
run_has(int argc, char **argv)
{
	struct list ids = { 0 };
	bool list = from_stdin;
	lc_cache *cache;
	int status = list_ids(&ids, argc - 1, argv + 1, &list, null);

	if (status == EXIT_DONE)
		status = module_open(argv[0], &cache);
	if (status == EXIT_DONE)
		status = module_close(cache, look_up(cache, &ids));
	list_free(&ids);
	return status;
}

const struct command cmd_has = {
	.name = "has",
	.operands = "MODULE CACHE_ID...",
	.summary = "check whether cache_ids are stored",
	.text = "Exit status 0 means that every CACHE_ID is stored, 1 that at least "
		"one is not. With -v it prints the missing ones, one per line; with "
		"--json a line for every one. A single - for CACHE_ID is the same "
		"as --stdin.",
	.examples = "cachex has faces img-000001 && echo there\n"
		    "cachex has -v faces --stdin <wanted.txt >missing.txt",
	.completes = "mi",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_has,
};
