/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/stores.h"
#include "publish/collect.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static uint64_t keep = 3;
static const char *older = "7d";
static int dry_run;

static struct opt options[] = {
	{ "", "keep", OPT_COUNT, &keep, .value = "N", .least = 1,
	    .help = "keep the newest N generations; default 3" },
	{ "", "older", OPT_TEXT, &older, .value = "AGE",
	    .help = "remove only older objects: 30s, 15m, 12h or 7d; default 7d" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be removed, change nothing" },
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

/* "7d" in ms; false for anything else. */
static bool
parse_age(const char *text, uint64_t *ms)
{
	static const char units[] = "smhd";
	static const uint64_t seconds[] = { 1, 60, 3600, 86400 };
	char *end;
	const unsigned long long n = strtoull(text, &end, 10);
	const char *unit = *end != '\0' ? strchr(units, *end) : NULL;

	if (strspn(text, "0123456789") != (size_t)(end - text) || end == text ||
	    unit == NULL || end[1] != '\0' || n > 1000000000)
		return false;
	*ms = n * seconds[unit - units] * 1000;
	return true;
}

static void
show(const struct lc__collected *c)
{
	struct json json = { stdout, false };
	char g[SIZE_TEXT], r[SIZE_TEXT], p[SIZE_TEXT], s[SIZE_TEXT], u[SIZE_TEXT],
	    size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_count(&json, "generations", c->generations);
		jw_count(&json, "runs", c->runs);
		jw_count(&json, "manifests", c->parts);
		jw_count(&json, "shards", c->shards);
		jw_count(&json, "unfinished", c->unfinished);
		jw_count(&json, "bytes", c->bytes);
		jw_flag(&json, "dry_run", dry_run);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("%s %s, %s, %s of parts, %s, %s; %s\n",
		    dry_run ? "would remove" : "removed",
		    count_human(c->generations, "generation", g, sizeof(g)),
		    count_human(c->runs, "run", r, sizeof(r)),
		    count_human(c->parts, "manifest", p, sizeof(p)),
		    count_human(c->shards, "shard", s, sizeof(s)),
		    count_human(c->unfinished, "unfinished file", u, sizeof(u)),
		    size_human((double)c->bytes, size, sizeof(size)));
	}
}

static int
run_gc(int argc, char **argv)
{
	struct lc__collected collected;
	struct lc__objects *store;
	uint64_t older_ms;
	lc_status status;

	(void)argc;
	if (!parse_age(older, &older_ms))
		return report_usage(
		    "--older: %s is not an age, such as 30s, 15m, 12h or 7d", older);
	status = store_open(argv[0], true, &store);
	if (status == LC_NO_FILE)
		return report_library(EXIT_NO);
	if (status != LC_OK)
		return report_argument(status);
	status = lc__collect(store, keep, older_ms, dry_run, &collected);
	lc__objects_close(store);
	if (status != LC_OK)
		return report_status(status);
	show(&collected);
	return EXIT_DONE;
}

const struct command cmd_gc = {
	.name = "gc",
	.operands = "URL",
	.summary = "remove old generations and unused objects of a store",
	.text =
	    "Removes objects from the store URL that are older than --older: all generations "
	    "except the newest --keep, the receipts of runs that were published only as "
	    "removed generations, then shards and manifests that no remaining generation or receipt "
	    "names, and unfinished files of killed pushes. If an object that must stay is "
	    "missing or damaged, nothing is removed. Ages are by the store's clock; --older "
	    "must be longer than the longest push of one part takes.",
	.examples = "cachex gc file:///mnt/store -n\n"
		    "cachex gc /mnt/store --keep 1 --older 12h",
	.completes = "d",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_gc,
};
