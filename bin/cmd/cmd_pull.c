/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cmd/stores.h"
#include "objects/url.h"
#include "publish/pull.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static uint64_t threads = 8;

static struct opt options[] = {
	{ "j", "threads", OPT_COUNT, &threads, .value = "N", .least = 1, .most = 1024,
	    .help = "shards at a time" },
	STORE_OPTIONS,
	{ .kind = OPT_END },
};

static void
show(const struct lc__pulled *p, const char *dir)
{
	struct json json = { stdout, false };
	char samples[SIZE_TEXT], shards[SIZE_TEXT], size[SIZE_TEXT], got[SIZE_TEXT];

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "directory", dir);
		jw_count(&json, "generation", p->generation);
		jw_count(&json, "samples", p->samples);
		jw_count(&json, "shards", p->shards);
		jw_count(&json, "bytes", p->bytes);
		jw_count(&json, "fetched", p->fetched);
		jw_count(&json, "fetched_bytes", p->fetched_bytes);
		jw_count(&json, "kept", p->kept);
		jw_count(&json, "removed", p->removed);
		jw_end_line(&json);
	} else if (!settings.quiet) {
		printf("generation %llu: %s in %s, %s; fetched %llu, %s\n",
		    (unsigned long long)p->generation,
		    count_human(p->samples, "sample", samples, sizeof(samples)),
		    count_human(p->shards, "shard", shards, sizeof(shards)),
		    size_human((double)p->bytes, size, sizeof(size)),
		    (unsigned long long)p->fetched,
		    size_human((double)p->fetched_bytes, got, sizeof(got)));
	}
}

static int
run_pull(int argc, char **argv)
{
	const lc_progress progress = { .step = progress_step };
	struct lc__pulled pulled;
	struct lc__objects *store;
	uint64_t generation = 0;
	lc_status status;
	char *url;

	(void)argc;
	if (lc__is_store_url(argv[1]))
		return report_usage("%s: pull fetches into a directory", argv[1]);
	url = store_generation_of(argv[0], &generation);
	if (url == NULL)
		return report_no_memory();
	status = store_open(url, true, &store);
	free(url);
	if (status == LC_NO_FILE)
		return report_library(EXIT_NO);
	if (status != LC_OK)
		return report_argument(status);
	interrupt_resume("complete shards stay; run the same command to continue");
	progress_begin("pull");
	status = lc__pull(store, generation, argv[1], (unsigned)threads, &progress,
	    &pulled);
	progress_end();
	lc__objects_close(store);
	if (status != LC_OK)
		return report_status(status);
	show(&pulled, argv[1]);
	return EXIT_DONE;
}

const struct command cmd_pull = {
	.name = "pull",
	.operands = "URL[@GENERATION] DIR",
	.summary = "fetch a generation of a store as a directory of shards",
	.text =
	    "Fetches the newest generation of the store URL, or the generation with the "
	    "number after the last @, into the directory DIR, for cachex read and cachex "
	    "shard verify. Every byte is compared with its SHA-256 before its file gets its "
	    "name. Shards in DIR are read, and kept if their SHA-256 is right; shards of "
	    "another generation are removed at the end. DIR/manifest.json is written last. "
	    "After an interruption, run the same command to fetch the missing shards.",
	.examples = "cachex pull file:///mnt/store shards\n"
		    "cachex pull /mnt/store@7 shards\n"
		    "cachex read shards --batch 256 --sum",
	.completes = "dd",
	.resume = INTERRUPT_AGAIN,
	.least = 2,
	.most = 2,
	.options = options,
	.run = run_pull,
};
