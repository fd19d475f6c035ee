/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/report.h"
#include "ui/settings.h"

static int force;
static int dry_run;
static int from_stdin;
static int null;

static struct opt options[] = {
	{ "f", "force", OPT_FLAG, &force, .help = "do not ask" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be deleted, change nothing" },
	{ "", "stdin", OPT_FLAG, &from_stdin,
	    .help = "read more cache_ids from standard input, one per line" },
	{ "z", "null", OPT_FLAG, &null,
	    .help = "items on standard input end with a NUL byte" },
	{ .kind = OPT_END },
};

/* An exit status: EXIT_DONE to continue. */
static int
ask_first(const char *module, const struct list *ids, bool listed)
{
	if (force || dry_run)
		return EXIT_DONE;
	if (listed)
		return ask_impossible();
	if (ids->count == 1)
		return ask("delete %s of %s?",
		    lc__quote_id(ids->items[0].data, ids->items[0].size), module);
	return ask("delete %zu cache_ids of %s?", ids->count, module);
}

/* The result. */
struct tally {
	uint64_t forgotten; /* cache_ids that were there */
	uint64_t missing;   /* and that were not */
};

static void
show_json(const char *module, const struct tally *tally)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "forgotten", tally->forgotten);
	jw_count(&json, "missing", tally->missing);
	jw_flag(&json, "dry_run", dry_run);
	jw_end_line(&json);
}

static int
forget_all(lc_cache *cache, const char *module, const struct list *ids,
    struct tally *tally)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < ids->count; i++) {
		const lc_id id = ids->items[i];
		const lc_status found = dry_run ? lc_contains(cache, id.data, id.size)
						: lc_delete(cache, id.data, id.size);

		tally->forgotten += found == LC_OK;
		tally->missing += found == LC_NOT_FOUND;
		if (found == LC_NOT_FOUND) {
			status = report_worse(status,
			    report_error(EXIT_NO, "%s is not in %s",
				lc__quote_id(id.data, id.size), module));
		} else if (found != LC_OK) {
			return report_worse(status, report_status(found));
		} else if (dry_run || settings.verbose) {
			report_note("%s %s", dry_run ? "would delete" : "deleted",
			    lc__quote_id(id.data, id.size));
		}
	}
	return status;
}

static int
run_rm(int argc, char **argv)
{
	struct list ids = { 0 };
	struct tally tally = { 0, 0 };
	bool listed = from_stdin;
	lc_cache *cache;
	int status = list_ids(&ids, argc - 1, argv + 1, &listed, null);

	if (status == EXIT_DONE)
		status = ask_first(argv[0], &ids, listed);
	if (status == EXIT_DONE)
		status = dry_run ? module_open(argv[0], &cache)
				 : module_change(argv[0], &cache);
	if (status == EXIT_DONE) {
		status = module_close(cache, forget_all(cache, argv[0], &ids, &tally));
		if (status <= EXIT_NO && settings.json)
			show_json(argv[0], &tally);
	}
	list_free(&ids);
	return status;
}

const struct command cmd_rm = {
	.name = "rm",
	.operands = "MODULE CACHE_ID...",
	.summary = "delete cache_ids",
	.text = "Deletes the records under these cache_ids. On a terminal it asks "
		"first; elsewhere, and with a list on standard input, it needs -f. "
		"Exit status 1 means that one or more were not stored; the others are "
		"deleted. A single - for CACHE_ID is the same as --stdin.",
	.examples = "cachex rm faces img-000001\n"
		    "cachex ls faces tmp/ -z | cachex rm faces -f -z --stdin",
	.completes = "mi",
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_rm,
};
