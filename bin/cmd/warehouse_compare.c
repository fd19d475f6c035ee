/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "ui/ident.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/jsonfields.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "cmd/warehouse.h"
#include "cmd/warehouse_samples.h"

static int list;

static struct opt options[] = {
	{ "l", "list", OPT_FLAG, &list,
	    .help = "name every sample that differs" },
	{ .kind = OPT_END }
};

/* What was found so far. */
struct comparison {
	const char *part;   /* whose fields are compared: "recipe" */
	uint64_t fields;    /* that differ */
	uint64_t samples[SAMPLE_CHANGES];
};

static const char *const words[SAMPLE_CHANGES] = {
	"same", "changed", "added", "removed"
};

/* ---- fields -------------------------------------------------------------------- */

static void
value(struct json *json, const char *key, const char *text)
{
	if (text == NULL)
		return;
	jw_key(json, key);
	fputs(text, json->out);
}

static void
show_field(void *ctx, const char *path, const char *old, const char *new)
{
	struct comparison *c = ctx;
	struct json json = { stdout, false };

	c->fields++;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "part", c->part);
		jw_text(&json, "field", path);
		value(&json, "old", old);
		value(&json, "new", new);
		jw_end_line(&json);
		return;
	}
	printf("%s%s%s: %s -> %s\n", c->part, *path ? "." : "", path,
	    old ? old : "nothing", new ? new : "nothing");
}

static int
compare_fields(struct comparison *c, const char *part, const char *old,
    const char *new)
{
	c->part = part;
	return jsonfields_compare(old, new, show_field, c);
}

/* Text as it is, where it is no JSON. */
static int
compare_text(struct comparison *c, const char *part, const char *old,
    const char *new)
{
	return strcmp(old, new) == 0 ? EXIT_DONE :
	    compare_fields(c, part, old, new);
}

static int
compare_manifests(struct comparison *c, const lc_warehouse_info *old,
    const lc_warehouse_info *new)
{
	int status = compare_fields(c, "recipe", old->recipe, new->recipe);

	status = report_worse(status, compare_fields(c, "transform",
	    old->transform, new->transform));
	status = report_worse(status, compare_text(c, "fingerprint",
	    old->fingerprint, new->fingerprint));
	status = report_worse(status, compare_fields(c, "summary", old->summary,
	    new->summary));
	return report_worse(status, compare_fields(c, "thresholds",
	    old->thresholds, new->thresholds));
}

/* ---- samples ------------------------------------------------------------------- */

static void
show_sample(void *ctx, lc_id name, enum sample_change change)
{
	struct comparison *c = ctx;
	struct json json = { stdout, false };

	c->samples[change]++;
	if (!list || change == SAMPLE_SAME)
		return;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "sample", words[change]);
		jw_id(&json, name);
		jw_end_line(&json);
		return;
	}
	printf("%s: ", words[change]);
	ident_print(stdout, name);
	putchar('\n');
}

static void
show_result(const struct comparison *c, bool same)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_flag(&json, "same", same);
		jw_count(&json, "fields", c->fields);
		jw_count(&json, "unchanged", c->samples[SAMPLE_SAME]);
		for (int i = SAMPLE_CHANGED; i < SAMPLE_CHANGES; i++)
			jw_count(&json, words[i], c->samples[i]);
		jw_end_line(&json);
		return;
	}
	if (settings.quiet)
		return;
	printf("samples: %llu added, %llu removed, %llu changed, %llu same\n",
	    (unsigned long long)c->samples[SAMPLE_ADDED],
	    (unsigned long long)c->samples[SAMPLE_REMOVED],
	    (unsigned long long)c->samples[SAMPLE_CHANGED],
	    (unsigned long long)c->samples[SAMPLE_SAME]);
}

/* ---- the command ---------------------------------------------------------------- */

static lc_status
open_one(const char *path, lc_warehouse **out)
{
	lc_warehouse_options how;

	lc_warehouse_options_init(&how);
	how.sources = LC_SOURCES_IGNORE;
	how.ignore_thresholds = 1;
	return lc_warehouse_open(path, &how, out);
}

static int
compare(lc_warehouse *old, lc_warehouse *new)
{
	const lc_progress progress = { .step = progress_step };
	struct comparison c = { 0 };
	lc_status compared;
	int status = compare_manifests(&c, lc_warehouse_info_of(old),
	    lc_warehouse_info_of(new));
	bool same;

	progress_begin("compare");
	compared = warehouse_samples_compare(old, new, &progress, show_sample, &c);
	progress_end();
	if (compared != LC_OK)
		return report_status(compared);
	same = c.fields == 0 && c.samples[SAMPLE_ADDED] == 0 &&
	    c.samples[SAMPLE_REMOVED] == 0 && c.samples[SAMPLE_CHANGED] == 0;
	show_result(&c, same);
	return report_worse(status, same ? EXIT_DONE : EXIT_NO);
}

static int
run(int argc, char **argv)
{
	lc_warehouse *old = NULL, *new = NULL;
	lc_status opened = open_one(argv[0], &old);
	int status;

	(void)argc;
	if (opened == LC_OK)
		opened = open_one(argv[1], &new);
	status = opened == LC_OK ? compare(old, new) : report_status(opened);
	lc_warehouse_close(new);
	lc_warehouse_close(old);
	return status;
}

const struct command warehouse_compare = {
	.name = "warehouse compare",
	.operands = "OLD NEW",
	.summary = "show what two warehouses differ in",
	.text =
	    "Compares the recipes, transforms, summaries and thresholds field by field, the "
	    "fingerprints of the sources, and the samples: by their cache_ids, "
	    "without the recipe's key in them, and by a hash of image, boxes and "
	    "mask. Exit status 1 says that something differs, 0 that nothing does. "
	    "cachex warehouse report --drift compares what the samples are like.",
	.examples =
	    "cachex warehouse compare warehouse/v20261101-0123456789ab warehouse\n"
	    "cachex warehouse compare -l old new --json | jq -r 'select(.sample == "
	    "\"added\").id'",
	.completes = "d",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
