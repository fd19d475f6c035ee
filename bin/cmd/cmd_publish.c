/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cmd/stores.h"
#include "publish/publish.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static const char *recipe;

static struct opt options[] = {
	{ "", "recipe", OPT_TEXT, &recipe, .value = "RUN",
	    .help = "the run, or its first digits; default: the only one" },
	STORE_OPTIONS,
	STORE_SINGLE_PUBLISHER,
	{ .kind = OPT_END },
};

static int
refuse(const struct lc__published *p)
{
	char names[1000] = "";

	for (uint64_t i = 0; i < p->missing && i < LC__MISSING_NAMED; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
		    i > 0 ? ", " : "", p->names[i] != NULL ? p->names[i] : "?");
	return report_error(EXIT_NO,
	    "%llu of %llu receipts are missing: %s%s; nothing was published",
	    (unsigned long long)p->missing, (unsigned long long)p->parts, names,
	    p->missing > LC__MISSING_NAMED ? ", …" : "");
}

static void
show(const struct lc__published *p)
{
	struct json json = { stdout, false };
	char parts[SIZE_TEXT], samples[SIZE_TEXT], shards[SIZE_TEXT], size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "run", p->run);
		jw_count(&json, "generation", p->generation);
		jw_flag(&json, "there", p->there);
		jw_count(&json, "parts", p->parts);
		jw_count(&json, "samples", p->samples);
		jw_count(&json, "shards", p->shards);
		jw_count(&json, "bytes", p->bytes);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("generation %llu%s: run %s, %s, %s in %s, %s\n",
		    (unsigned long long)p->generation, p->there ? " (there)" : "", p->run,
		    count_human(p->parts, "part", parts, sizeof(parts)),
		    count_human(p->samples, "sample", samples, sizeof(samples)),
		    count_human(p->shards, "shard", shards, sizeof(shards)),
		    size_human((double)p->bytes, size, sizeof(size)));
	}
}

static int
run_publish(int argc, char **argv)
{
	struct lc__published published = { .generation = 0 };
	struct lc__objects *store;
	char run[LC__RUN_ID];
	lc_status status = store_open(argv[0], true, &store);
	int ended = EXIT_DONE;

	(void)argc;
	if (status == LC_NO_FILE)
		return report_library(EXIT_NO);
	if (status != LC_OK)
		return report_argument(status);
	status = lc__run_find(store, recipe, run);
	if (status == LC_INVALID)
		ended = report_argument(status);
	else if (status == LC_OK)
		status = lc__publish_run(store, run, &published);
	if (ended == EXIT_DONE && published.missing > 0 && status == LC_NOT_FOUND)
		ended = refuse(&published);
	else if (ended == EXIT_DONE && status != LC_OK)
		ended = report_status(status);
	else if (ended == EXIT_DONE)
		show(&published);
	lc__published_free(&published);
	lc__objects_close(store);
	return ended;
}

const struct command cmd_publish = {
	.name = "publish",
	.operands = "URL",
	.summary = "publish the parts of a run as the next generation of a store",
	.text =
	    "Checks that every part of a run was pushed to the store URL, and then writes "
	    "the manifest that names them all: the next generation, which cachex pull "
	    "fetches. If parts are missing it prints how many and the first of them, "
	    "publishes nothing, and the exit status is 1. Any number of processes may "
	    "publish at the same time; the newest generation is not published again.",
	.examples = "cachex publish file:///mnt/store\n"
		    "cachex publish /mnt/store --recipe 8e3f",
	.completes = "d",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_publish,
};
