/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "ui/command.h"
#include "cmd/extract.h"
#include "cmd/inspect.h"
#include "ui/interrupt.h"
#include "ui/json.h"
#include "ui/progress.h"
#include "ui/report.h"
#include "ui/settings.h"

/* ---- inspect --------------------------------------------------------------- */

static uint64_t inspect_sample = OPT_UNSET;
static uint64_t ids = 5;

static struct opt inspect_options[] = {
	{ "", "sample", OPT_COUNT, &inspect_sample, .value = "N",
	    .help = "only this sample, counted from 0" },
	{ "", "ids", OPT_COUNT, &ids, .value = "N",
	    .help = "show this many cache_ids" },
	{ .kind = OPT_END }
};

/* Do something with each file, whatever became of the others. */
static int
each_file(int argc, char **argv, int (*look)(const char *path))
{
	int status = EXIT_DONE;

	for (int i = 0; i < argc; i++)
		if (strcmp(argv[i], "-") == 0)
			return report_usage("-: a shard is a file that is mapped, "
			    "standard input is none; ./- is the file of that name");
	for (int i = 0; i < argc; i++)
		status = report_worse(status, interrupt_pending() ? interrupt_status() :
		    look(argv[i]));
	return status;
}

static int
inspect(const char *path)
{
	return inspect_shard(path, inspect_sample, ids);
}

static int
run_inspect(int argc, char **argv)
{
	return each_file(argc, argv, inspect);
}

static const struct command shard_inspect = {
	.name = "shard inspect",
	.operands = "FILE...",
	.summary = "show the header and the first cache_ids",
	.text =
	    "Shows the header of each shard and its first cache_ids.",
	.examples =
	    "cachex shard inspect shards/*.twh1",
	.completes = "f",
	.least = 1,
	.most = -1,
	.options = inspect_options,
	.run = run_inspect
};

/* ---- verify ---------------------------------------------------------------- */

static struct opt no_options[] = { { .kind = OPT_END } };

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
	if (status == LC_NO_FILE && directory)
		return report_error(EXIT_NO, "%s: no manifest.json: no export, or one that has not "
		    "ended", path);
	if (status != LC_OK && status != LC_CORRUPT)
		return report_status(status);
	show_verdict(path, status == LC_OK, note);
	return status == LC_OK ? EXIT_DONE : EXIT_DATA;
}

static int
verify(const char *path)
{
	struct damage damage = { path, 0 };
	lc_progress progress = { .step = progress_step, .damage = show_damage, .ctx = &damage };
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
run_verify(int argc, char **argv)
{
	return each_file(argc, argv, verify);
}

static const struct command shard_verify = {
	.name = "shard verify",
	.operands = "FILE...",
	.summary = "compare with checksums",
	.text =
	    "Compares each shard with its checksums. A directory is compared with "
	    "its manifest.json: every shard, its size and its SHA-256. Exit status "
	    "3 says that damage was found.",
	.examples =
	    "cachex shard verify shards",
	.completes = "f",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = no_options,
	.run = run_verify
};

/* ---- extract --------------------------------------------------------------- */

static const char *output;
static uint64_t extract_sample = OPT_UNSET;
static int format;
static int bits;
static int force;
static int dry_run;

static struct opt extract_options[] = {
	{ "o", "output", OPT_DIR, &output, .value = "DIR",
	    .help = "write the samples into this directory" },
	{ "", "sample", OPT_COUNT, &extract_sample, .value = "N",
	    .help = "only this sample, counted from 0" },
	{ "", "format", OPT_CHOICE, &format, .value = "npy|raw",
	    .help = "what to write" },
	{ "", "bits", OPT_FLAG, &bits,
	    .help = "write bf16 and f8, which .npy cannot name, as raw bits (V2, "
	    "V1)" },
	{ "f", "force", OPT_FLAG, &force,
	    .help = "replace files that exist" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "name the files, write nothing" },
	{ .kind = OPT_END }
};

static int
extract(const char *path)
{
	const struct extract how = {
		.dir = output, .sample = extract_sample, .raw = format == 1,
		.bits = bits, .force = force, .dry_run = dry_run
	};

	return extract_shard(path, &how);
}

static int
run_extract(int argc, char **argv)
{
	if (output == NULL)
		return report_usage("extract needs -o DIR");
	return each_file(argc, argv, extract);
}

static const struct command shard_extract = {
	.name = "shard extract",
	.operands = "FILE... -o DIR",
	.summary = "write every sample to a file",
	.text =
	    "Writes every sample to DIR as CACHE_ID.npy, or SHARD-NUMBER.npy where "
	    "there are no cache_ids; boxes and masks go to NAME.boxes.npy and "
	    "NAME.mask.npy. In file names, bytes other than letters, digits, dot, "
	    "minus and underscore are written as %XX.",
	.examples =
	    "cachex shard extract shards/*.twh1 -o samples --sample 0",
	.completes = "f",
	.resume = "what it wrote stays; with -f the same command begins again",
	.least = 1,
	.most = -1,
	.options = extract_options,
	.run = run_extract
};

/* ---- the command ----------------------------------------------------------- */

static const struct command *const subcommands[] = {
	&shard_inspect, &shard_verify, &shard_extract, NULL
};

const struct command cmd_shard = {
	.name = "shard",
	.operands = "inspect|verify|extract FILE...",
	.summary = "look into TWH1 shards",
	.text =
	    "Nothing in a shard is trusted, and no module is needed.",
	.examples =
	    "cachex shard inspect shards/*.twh1\n"
	    "cachex shard verify shards\n"
	    "cachex shard extract shards/*.twh1 -o samples --sample 0",
	.completes = "",
	.least = 1,
	.most = -1,
	.subcommands = subcommands,
	.options = no_options,
};
