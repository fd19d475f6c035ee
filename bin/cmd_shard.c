/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static const char *output;
static uint64_t sample = OPT_UNSET;
static uint64_t ids = 5;
static int format;
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
	{ "f", "force", OPT_FLAG, &force,
	    .help = "extract: replace files that exist" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "extract: name the files, write nothing" },
	{ .kind = OPT_END }
};

/*BODY*/
static int
run(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return EXIT_USAGE;
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
	    "extract writes every sample to DIR as CACHE_ID.npy, or SHARD- "
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
