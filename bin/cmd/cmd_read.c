/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "cmd/read.h"
#include "cmd/stores.h"
#include "ui/command.h"
#include "ui/interrupt.h"
#include "ui/report.h"
#include "ui/size.h"

static struct stream_order order = STREAM_ORDER_DEFAULT(256);
static struct read_options opts = READ_OPTIONS_DEFAULT(2);
static const char *reader;
static int share;
static const char *batches;
static int follow;

static struct opt options[] = {
	{ "r", "reader", OPT_TEXT, &reader, .value = "r/R",
	    .help = "read the share of reader r of R, counted from 0; default 0/1" },
	{ "", "share", OPT_CHOICE, &share, .value = "strided|contiguous",
	    .help = "how readers divide a batch: in turn, or one contiguous part each" },
	STREAM_ORDER_OPTIONS(order),
	STREAM_SHARES_OPTIONS(order),
	STREAM_JOIN_OPTIONS(order),
	STREAM_PART_OPTIONS(order),
	STREAM_MIX_OPTIONS(order),
	STREAM_WAREHOUSE_OPTIONS(order),
	STORE_FETCH_OPTIONS,
	STORE_CACHE_SIZE,
	STORE_OPTIONS,
	{ "", "batches", OPT_TEXT, &batches, .value = "FIRST-[LAST]|COUNT",
	    .help = "read only these batches, counted from 0, or at most COUNT" },
	READ_FORM_OPTIONS(opts),
	{ "", "shared", OPT_COUNT, &opts.shared, .value = "FD",
	    .help = "with --frames, write the tensors into the file of this descriptor" },
	{ "", "npy", OPT_DIR, &opts.npy, .value = "DIR",
	    .help = "write each batch to .npy files in DIR" },
	{ "", "bits", OPT_FLAG, &opts.bits,
	    .help =
		"write dtypes that .npy cannot name, such as bf16, as raw bits (V2)" },
	{ "", "follow", OPT_FLAG, &follow,
	    .help = "continue while SOURCE grows, until it is final" },
	READ_READER_OPTIONS(opts),
	{ .kind = OPT_END },
};

/* "1/4": the second of four. */
static int
read_share(struct read_job *out)
{
	char first[24] = "";
	const char *slash = strchr(reader, '/');
	uint64_t r, readers;

	if (slash != NULL && (size_t)(slash - reader) < sizeof(first))
		memcpy(first, reader, (size_t)(slash - reader));
	if (slash == NULL || !count_parse(first, &r) || !count_parse(slash + 1, &readers))
		return report_usage("--reader: '%s' is not r/R, such as 0/4", reader);
	if (r >= readers || readers > UINT32_MAX)
		return report_usage("--reader: '%s': readers of %s are numbered "
				    "from 0",
		    reader, slash + 1);
	out->reader = (uint32_t)r;
	out->readers = (uint32_t)readers;
	return EXIT_DONE;
}

/* "3-7", "3-", "5": some, all from one on, so many. */
static int
read_batches(struct read_job *out)
{
	char first[24] = "";
	const char *dash = strchr(batches, '-');
	bool good;

	if (dash == NULL) {
		good = count_parse(batches, &out->count);
	} else {
		if ((size_t)(dash - batches) < sizeof(first))
			memcpy(first, batches, (size_t)(dash - batches));
		good = count_parse(first, &out->first) && out->first < UINT64_MAX &&
		    (dash[1] == '\0' ||
			(count_parse(dash + 1, &out->last) && out->last >= out->first &&
			    out->last < UINT64_MAX));
	}
	if (!good)
		return report_usage(
		    "--batches: '%s' is neither FIRST-LAST nor FIRST- nor a COUNT",
		    batches);
	if (dash != NULL && opts.token_file != NULL)
		return report_usage("--batches FIRST- and --token-file both give the "
				    "first batch; use one of them");
	return EXIT_DONE;
}

static int
run_read(int argc, char **argv)
{
	static char frame_buffer[1 << 16]; /* standard output keeps it */
	struct read_job job = {
		.opts = &opts,
		.order = &order,
		.readers = 1,
		.split = (lc_split)share,
		.follow = follow,
		.first = UINT64_MAX,
		.last = UINT64_MAX,
		.count = UINT64_MAX,
	};
	struct stream_sources sources;
	int status = EXIT_DONE;

	if (reader != NULL)
		status = read_share(&job);
	if (opts.token_file != NULL)
		interrupt_resume(
		    "the token file has the position; run the same command to continue");
	else if (opts.npy != NULL && !opts.force)
		interrupt_resume("run the same command with -f to start again");
	if (status == EXIT_DONE && batches != NULL)
		status = read_batches(&job);
	/* Most frames without tensors fit: one write, and one wakeup of their reader. */
	if (opts.frames)
		(void)setvbuf(stdout, frame_buffer, _IOFBF, sizeof(frame_buffer));
	if (status == EXIT_DONE && opts.frames && opts.shared != OPT_UNSET)
		status = read_shared_open(opts.shared, &job.shared);
	if (status == EXIT_DONE)
		status = stream_sources_open(&sources, argv, (size_t)argc, &order,
		    (lc_verify_mode)opts.verify);
	if (status == EXIT_DONE) {
		job.source = sources.all[0].name;
		status = stream_sources_close(&sources, read_run(&job, &sources));
	}
	read_shared_close(job.shared);
	return status;
}

const struct command cmd_read = {
	.name = "read",
	.operands = "SOURCE...",
	.summary = "read batches in a reproducible order",
	.text =
	    "Reads the examples of SOURCE, batch by batch, in an order that depends only "
	    "on the content and the options: R readers together read the same batches as "
	    "a single one. SOURCE is a module, or a path (with a slash) of a shard, of a "
	    "directory of shards or of a warehouse, or the URL of a store. a+b+c is a join: "
	    "each record of module a with the records of b and c that have the same "
	    "cache_id. Several sources are a list: one source with the records of the "
	    "first, then those of the second, and so on. An example is a record, or with "
	    "--window a fixed number of units of the concatenation of all records.\n"
	    "It prints one line per example: batch, example, epoch, with --window the "
	    "length, with --mix the source, and the cache_id. --npy writes the tensors "
	    "to files, --frames to a pipe, --sum prints a hash of each batch.\n"
	    "With --token-file it continues where it stopped. The token is written after "
	    "the batch that it covers, and is the same for any number of readers.",
	.examples =
	    "cachex read faces --shuffle block --seed 7 --batch 64\n"
	    "cachex read faces --reader 1/4 --npy batches\n"
	    "cachex read tokens --window 1024 --frames --token-file t.token | train\n"
	    "cachex read warehouse/current/ --batches 0-9 --json\n"
	    "cachex read dinov3+vae_latents+t5_hidden --frames | train\n"
	    "cachex read faces ./shards2025/ ./shards2026/ --shuffle full",
	.completes = "s",
	.resume = INTERRUPT_AGAIN,
	.least = 1,
	.most = -1,
	.options = options,
	.run = run_read,
};
