/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "cmd/stores.h"
#include "objects/url.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static int deep;

static struct opt options[] = {
	{ "", "deep", OPT_FLAG, &deep,
	    .help = "for a store: read every shard, and compare it with its SHA-256" },
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

static void
show_damage(void *ctx, const char *line)
{
	finding_show(ctx, "damage", line);
}

static void
show_result(const char *module, const lc_verify_result *result, double seconds)
{
	struct json json = { stdout, false };
	char chunks[SIZE_TEXT], records[SIZE_TEXT], size[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "module", module);
		jw_flag(&json, "ok", result->damaged == 0);
		jw_count(&json, "chunks", result->chunks);
		jw_count(&json, "records", result->records);
		jw_count(&json, "live", result->live);
		jw_count(&json, "bytes", result->bytes);
		jw_count(&json, "damaged", result->damaged);
		jw_end_line(&json);
		return;
	}
	printf("%s: ", module);
	if (result->damaged == 0)
		printf("good");
	else
		printf("%llu damaged", (unsigned long long)result->damaged);
	printf("; %s, %s (%llu live), %s",
	    count_human(result->chunks, "chunk", chunks, sizeof(chunks)),
	    count_human(result->records, "record", records, sizeof(records)),
	    (unsigned long long)result->live,
	    size_human((double)result->bytes, size, sizeof(size)));
	if (seconds >= 1)
		printf(", %s/s",
		    size_human((double)result->bytes / seconds, size, sizeof(size)));
	putchar('\n');
}

static int
verify_module(const char *module)
{
	lc_progress progress = {
		.step = progress_step,
		.damage = show_damage,
		.phase = progress_phase,
	};
	lc_verify_result result = { 0 };
	lc_cache *cache;
	lc_status verified;
	double seconds;
	int status = module_open(module, &cache);

	if (status != EXIT_DONE)
		return status;
	/* One context serves both callbacks; only damage() looks at it. */
	progress.ctx = (void *)module;
	progress_begin("verify");
	verified = lc_verify(cache, &progress, &result);
	seconds = progress_end();
	if (verified == LC_OK || verified == LC_CORRUPT)
		show_result(module, &result, seconds);
	if (verified == LC_CORRUPT)
		status = EXIT_DATA;
	else if (verified != LC_OK)
		status = report_status(verified);
	return module_close(cache, status);
}

static int
verify_one(const char *name)
{
	return lc__is_store_url(name) ? store_verify(name, deep) : verify_module(name);
}

static int
run_verify(int argc, char **argv)
{
	struct list modules = { 0 };
	int status = module_list(&modules, argc, argv);

	for (size_t i = 0; i < modules.count; i++)
		status = report_worse(status,
		    interrupt_pending() ? interrupt_status()
					: verify_one(modules.items[i].data));
	list_free(&modules);
	return status;
}

const struct command cmd_verify = {
	.name = "verify",
	.operands = "[MODULE | URL...]",
	.summary = "read everything and report damage",
	.text =
	    "Reads all pages, records, indexes and counters of the modules, or of all "
	    "modules, compares them with their checksums and with one another, and prints "
	    "a line for each damage and one for each module. Nothing is changed. Exit "
	    "status 3 means that damage was found.\n"
	    "For a store, file:///DIR, it follows generations and receipts, and checks "
	    "that all their objects exist and have the right size; with --deep it reads "
	    "every shard, and compares it with its SHA-256.",
	.examples = "cachex verify\n"
		    "cachex verify faces || echo damaged\n"
		    "cachex verify file:///mnt/store --deep",
	.completes = "m",
	.resume = INTERRUPT_AGAIN,
	.least = 0,
	.most = -1,
	.options = options,
	.run = run_verify,
};
