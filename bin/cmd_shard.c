/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "extract.h"
#include "inspect.h"
#include "interrupt.h"
#include "json.h"
#include "progress.h"
#include "report.h"
#include "settings.h"
#include "suggest.h"

static const char *output;
static uint64_t sample = OPT_UNSET;
static uint64_t ids = 5;
static int format;
static int bits;
static int force;
static int dry_run;

static struct opt options[] = {
	{ "o", "output", OPT_DIR, &output, .value = "DIR",
	    .help = "extract: write the samples into this directory" },
	{ "", "sample", OPT_COUNT, &sample, .value = "N",
	    .help = "inspect, extract: only this sample, counted from 0" },
	{ "", "ids", OPT_COUNT, &ids, .value = "N",
	    .help = "inspect: show this many cache_ids" },
	{ "", "format", OPT_CHOICE, &format, .value = "npy|raw",
	    .help = "extract: what to write" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help = "extract: write bf16 and f8, which .npy cannot name, as raw "
	    "bits (V2, V1)" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "extract: replace files that exist" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "extract: name the files, write nothing" },
	{ .kind = OPT_END }
};

static int
inspect(const char *path)
{
	return inspect_shard(path, sample, ids);
}

/* Where damage was found, and how often. */
struct damage {
	const char *path;
	unsigned count;
};

static void
show_damage(void *ctx, const char *line)
{
	struct damage *damage = ctx;
	struct json json = { stdout, false };

	damage->count++;
	progress_clear();
	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", damage->path);
		jw_text(&json, "damage", line);
		jw_end_line(&json);
	} else {
		printf("%s\n", line);
	}
}

static void
show_verdict(const char *path, bool good, const char *note)
{
	struct json json = { stdout, false };

	if (settings.json) {
		jw_open(&json, NULL, '{');
		jw_text(&json, "file", path);
		jw_flag(&json, "ok", good);
		jw_end_line(&json);
	} else if (!settings.quiet || !good) {
		printf("%s: %s%s\n", path, good ? "good" : "damaged", note);
	}
}

static lc_status
verify_file(const char *path, const lc_progress *progress, const char **note)
{
	lc_shard *shard;
	lc_status status = lc_shard_open(path, &shard);

	if (status != LC_OK)
		return status;
	if (lc_shard_info_of(shard)->checksum_offset == 0)
		*note = " (no checksums in it; sizes and offsets fit)";
	status = lc_shard_verify(shard, progress);
	lc_shard_close(shard);
	return status == LC_UNSUPPORTED ? LC_OK : status;
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The exit status of a verification; what is no damage has not been told yet. */
static int
conclude(const char *path, bool directory, lc_status status, const char *note)
{
	if (status == LC_NOT_FOUND && directory) {
		report_error("%s: no manifest.json: no export, or one that has not "
		    "ended", path);
		return EXIT_NO;
	}
	if (status != LC_OK && status != LC_CORRUPT)
		return report_file(status);
	show_verdict(path, status == LC_OK, note);
	return status == LC_OK ? EXIT_DONE : EXIT_NO;
}

static int
verify(const char *path)
{
	struct damage damage = { path, 0 };
	lc_progress progress = { progress_step, show_damage, &damage };
	const bool directory = is_directory(path);
	const char *note = "";
	lc_status status;

	progress_begin("verify");
	if (directory)
		status = lc_manifest_verify(path, &progress);
	else
		status = verify_file(path, &progress, &note);
	progress_end();
	if (status == LC_CORRUPT && damage.count == 0)
		show_damage(&damage, lc_last_error()->text);
	return conclude(path, directory, status, note);
}

static int
extract(const char *path)
{
	const struct extract how = {
		.dir = output, .sample = sample, .raw = format == 1,
		.bits = bits, .force = force, .dry_run = dry_run
	};

	return extract_shard(path, &how);
}

static const struct {
	const char *word;
	int (*run)(const char *path);
} actions[] = {
	{ "inspect", inspect }, { "verify", verify }, { "extract", extract },
};
static const size_t n_actions = sizeof(actions) / sizeof(actions[0]);

static int
unknown(const char *word)
{
	struct suggest suggest;

	suggest_start(&suggest, word);
	for (size_t i = 0; i < n_actions; i++)
		suggest_word(&suggest, actions[i].word);
	if (suggest_best(&suggest) != NULL)
		return report_usage("unknown word %s; did you mean %s?", word,
		    suggest_best(&suggest));
	return report_usage("unknown word %s; there are inspect, verify and "
	    "extract", word);
}

static int
run(int argc, char **argv)
{
	int status = EXIT_DONE;
	size_t action = 0;

	while (action < n_actions && strcmp(actions[action].word, argv[0]) != 0)
		action++;
	if (action == n_actions)
		return unknown(argv[0]);
	if (actions[action].run == extract && output == NULL)
		return report_usage("extract needs -o DIR");
	for (int i = 1; i < argc && !interrupt_pending(); i++)
		status = report_worse(status, actions[action].run(argv[i]));
	return status;
}

const struct command cmd_shard = {
	.name = "shard",
	.operands = "inspect|verify|extract FILE...",
	.summary = "look into TWH1 shards",
	.text =
	    "inspect shows the header of each shard and its first cache_ids.\n"
	    "verify compares each shard with its checksums. A directory is "
	    "compared with its manifest.json: every shard, its size and its "
	    "SHA-256. Exit status 1 says that damage was found.\n"
	    "extract writes every sample to DIR as CACHE_ID.npy, or SHARD-"
	    "NUMBER.npy where there are no cache_ids; boxes and masks go to "
	    "NAME.boxes.npy and NAME.mask.npy. In file names, bytes other than "
	    "letters, digits, dot, minus and underscore are written as %XX.",
	.examples =
	    "cachex shard inspect shards/*.twh1\n"
	    "cachex shard verify shards\n"
	    "cachex shard extract shards/*.twh1 -o samples --sample 0",
	.completes = "sf",
	.least = 2,
	.most = -1,
	.options = options,
	.run = run
};
