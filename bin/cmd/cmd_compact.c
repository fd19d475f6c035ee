/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/module.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"
#include "ui/size.h"

static double live_ratio = 0.5;
static uint64_t chunk_bytes = UINT64_C(4) << 20;
static int recode;
static int level;
static int shrink;
static int dry_run;

static struct opt options[] = {
	{ "", "live-ratio", OPT_RATIO, &live_ratio, .value = "R",
	    .help = "rewrite chunks with a smaller share of live bytes; 1 means every "
		    "chunk with a dead record" },
	{ "", "chunk-bytes", OPT_SIZE, &chunk_bytes, .value = "SIZE",
	    .least = UINT64_C(64) << 10, .most = UINT64_C(64) << 20,
	    .help = "join adjacent chunks up to this size" },
	{ "", "recode", OPT_CHOICE, &recode, .value = "keep|" CODEC_WORDS,
	    .help = "encode all tensors again with this codec" },
	{ "", "level", OPT_NUMBER, &level, .value = "N",
	    .help = "level of --recode: 1 to 12 better, -1 to -65537 faster, 0 default" },
	{ "", "shrink", OPT_FLAG, &shrink,
	    .help = "at the end return free space to the file system; no other process "
		    "may have the module open" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "print what would be rewritten, change nothing" },
	{ .kind = OPT_END },
};

/* File sizes before and after --shrink. */
struct sizes {
	uint64_t before, after;
};

static void
show_json(const char *module, const lc_compact_result *result, const struct sizes *file)
{
	struct json json = { stdout, false };

	jw_open(&json, NULL, '{');
	jw_text(&json, "module", module);
	jw_count(&json, "chunks_before", result->chunks_before);
	jw_count(&json, "chunks_after", result->chunks_after);
	jw_count(&json, "rewritten", result->rewritten);
	jw_count(&json, "moved", result->moved);
	jw_count(&json, "dropped", result->dropped);
	jw_count(&json, "bytes_before", result->bytes_before);
	jw_count(&json, "bytes_after", result->bytes_after);
	jw_count(&json, "damaged", result->damaged);
	if (file != NULL) {
		jw_count(&json, "file_before", file->before);
		jw_count(&json, "file_after", file->after);
	}
	jw_end_line(&json);
}

/* "faces: 12 chunks became 3, 40 dead records dropped; 12.0 MiB, was 20.0 MiB" */
static void
show_text(const char *module, const lc_compact_result *result, const struct sizes *file)
{
	char before[SIZE_TEXT], after[SIZE_TEXT], chunks[SIZE_TEXT], dead[SIZE_TEXT];

	printf("%s: %s %s %llu, %s dropped; %s, was %s", module,
	    count_human(result->chunks_before, "chunk", chunks, sizeof(chunks)),
	    dry_run ? "would become" : "became", (unsigned long long)result->chunks_after,
	    count_human(result->dropped, "dead record", dead, sizeof(dead)),
	    size_human((double)result->bytes_after, after, sizeof(after)),
	    size_human((double)result->bytes_before, before, sizeof(before)));
	if (file != NULL)
		printf("; file %s, was %s",
		    size_human((double)file->after, after, sizeof(after)),
		    size_human((double)file->before, before, sizeof(before)));
	if (result->damaged > 0)
		printf("; %llu damaged left unchanged",
		    (unsigned long long)result->damaged);
	putchar('\n');
}

static void
show_damage(void *ctx, const char *line)
{
	(void)ctx;
	report_error(EXIT_DATA, "%s", line);
}

static int
compact(const char *module, lc_compact_result *result)
{
	lc_compact_options how;
	lc_cache *cache;
	lc_status done;
	int status = dry_run ? module_open(module, &cache)
			     : module_change(module, &cache);

	if (status != EXIT_DONE)
		return status;
	lc_compact_options_init(&how);
	how.live_ratio = live_ratio;
	how.chunk_bytes = chunk_bytes;
	how.recode = codec_of_choice(recode);
	how.level = level;
	how.dry_run = dry_run;
	how.progress.step = progress_step;
	how.progress.damage = show_damage;
	if (dry_run)
		interrupt_resume(INTERRUPT_AGAIN);
	progress_begin("compact");
	done = lc_compact(cache, &how, result);
	progress_end();
	if (done != LC_OK)
		status = report_argument(done);
	else if (result->damaged > 0)
		status = EXIT_DATA;
	return module_close(cache, status);
}

static int
run_compact(int argc, char **argv)
{
	lc_compact_result result = { 0 };
	struct sizes file = { 0, 0 };
	const bool sizes = shrink && !dry_run;
	lc_status shrunk = LC_OK;
	int status = codec_check_level(level);

	(void)argc;
	if (status != EXIT_DONE)
		return status;
	status = compact(argv[0], &result);
	if (status != EXIT_DONE && (status != EXIT_DATA || result.damaged == 0))
		return status;
	if (sizes) {
		/* A compaction cannot be stopped in the middle; if it is killed, the file
		 * stays as it was. */
		interrupt_resume(INTERRUPT_AGAIN);
		shrunk = lc_shrink(settings.root, argv[0], &file.before, &file.after);
	}
	if (settings.json)
		show_json(argv[0], &result, sizes && shrunk == LC_OK ? &file : NULL);
	else if (!settings.quiet)
		show_text(argv[0], &result, sizes && shrunk == LC_OK ? &file : NULL);
	return shrunk == LC_OK ? status : report_worse(status, report_status(shrunk));
}

const struct command cmd_compact = {
	.name = "compact",
	.operands = "MODULE",
	.summary = "remove dead records from a module",
	.text =
	    "Rewrites the chunks with less than a given share of live data, and joins small "
	    "adjacent chunks. Readers and writers can work at the same time; if it is "
	    "stopped, the finished work stays. The file keeps its size and later commits "
	    "use the free space; --shrink returns it to the file system, and needs that no "
	    "other process has the module open.\n"
	    "With --recode every tensor is encoded again with that codec; the values do not "
	    "change.",
	.examples = "cachex compact faces\n"
		    "cachex compact faces --live-ratio 1 --shrink\n"
		    "cachex compact faces --recode auto",
	.completes = "m",
	.resume = "rewritten chunks stay; run the same command to continue",
	.least = 1,
	.most = 1,
	.options = options,
	.run = run_compact,
};
