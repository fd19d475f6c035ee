/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"
#include "report.h"

static uint64_t shard_size = 192ull << 20;
static int shard_version;
static int metadata = 1;
static uint64_t threads = 0;
static int order;
static const char *dataset_root;
static int dry_run;

static struct opt options[] = {
	{ "", "shard-size", OPT_SIZE, &shard_size, .value = "SIZE", .least = 1,
	    .help = "target size of a shard" },
	{ "", "shard-version", OPT_CHOICE, &shard_version, .value = "auto|1|2",
	    .help = "auto: 1 for f16 and f32 without metadata, else 2" },
	{ "", "metadata", OPT_FLAG, &metadata,
	    .help = "leave out cache_ids and block checksums" },
	{ "j", "threads", OPT_COUNT, &threads, .value = "N",
	    .help = "shards written at once; 0 for the number of processors" },
	{ "", "order", OPT_CHOICE, &order, .value = "commit|key",
	    .help = "order of the samples: as they were written, or by cache_id" },
	{ "", "dataset-root", OPT_TEXT, &dataset_root, .value = "TEXT",
	    .help = "dataset_root in the manifest; default MODULE" },
	{ "n", "dry-run", OPT_FLAG, &dry_run,
	    .help = "plan and report, write nothing" },
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

const struct command cmd_export = {
	.name = "export",
	.operands = "MODULE DIR",
	.summary = "write TWH1 shards and their manifest",
	.text =
	    "Writes the records of MODULE, which must all have one dtype and "
	    "shape, as TWH1 shards into DIR, and manifest.json last. The same "
	    "records and options give the same bytes. An export that was "
	    "interrupted goes on where it was. twh1(5) describes the files.",
	.examples =
	    "cachex export photos shards\n"
	    "cachex export faces shards --shard-version 1 --no-metadata --order key\n"
	    "cachex shard verify shards",
	.completes = "md",
	.least = 2,
	.most = 2,
	.options = options,
	.run = run
};
