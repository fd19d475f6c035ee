/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards read in the order of shares, beside the block shuffle. */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "module.h"
#include "order_part.h"
#include "order_set.h"
#include "order_stream.h"
#include "scratch.h"

#define CASE "shards"
#define MODULE "shares"
#define SHARDS 64
#define METRIC "1 reader, CPU"

/* 16 KiB each: 512 MiB, or 64. */
static struct load load = { .samples = 32768, .size = 16384, .commit = 2048 };
#define QUICK_SAMPLES 4096

static const struct {
	const char *name;
	uint32_t shares;
	bool wide; /* blocks as large as shards */
} ways[] = {
	{ "blocks", 0, false },
	{ "blocks of a shard", 0, true },
	{ "1 share", 1, false },
	{ "8 shares", 8, false },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static void
make_shards(const char *root, const char *dir)
{
	const lc_options options = module_options(load.commit);
	lc_cache *cache = module_open(root, MODULE, &options);
	lc_export_options how;

	load_make(&load);
	for (uint64_t i = 0; i < load.samples; i++) {
		const lc_tensor tensor = module_row(load_value(&load, i), load.size);

		module_must(lc_put(cache, load.keys[i], KEY_SIZE, &tensor));
	}
	lc_export_options_init(&how);
	how.shard_bytes = load.samples * load.size / SHARDS;
	module_must(lc_flush(cache));
	module_must(lc_export(cache, dir, &how, NULL));
	module_must(lc_close(cache));
	load_free(&load);
}

static void
open_way(struct order_stream *out, const char *dir, unsigned w)
{
	lc_stream_options options;

	*out = (struct order_stream){ 0 };
	module_must(lc_source_open_shards(dir, NULL, &out->source));
	lc_stream_options_init(&options);
	options.shuffle = LC_SHUFFLE_BLOCK;
	options.shares = ways[w].shares;
	if (ways[w].wide)
		options.block = load.samples / SHARDS;
	options.seed = ORDER_SEED;
	options.batch = ORDER_BATCH;
	order_stream_open(out, &options);
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	struct order_stream streams[WAYS];
	char dir[4200];

	if (!choice_has(choice, CASE, true))
		return;
	if (choice->quick)
		load.samples = QUICK_SAMPLES;
	snprintf(dir, sizeof(dir), "%s/shards", root);
	make_shards(root, dir);
	for (unsigned w = 0; w < WAYS; w++) {
		open_way(&streams[w], dir, w);
		order_epoch(&streams[w], load.samples); /* verifies all, and brings the files to memory */
	}
	for (unsigned round = 0; round < choice->rounds; round++)
		for (unsigned w = 0; w < WAYS; w++) {
			const unsigned turn = (w + round) % WAYS;

			bench_run(bench, CASE, ways[turn].name, METRIC, "records/s",
			    order_epoch(&streams[turn], load.samples));
		}
	bench_print(bench, CASE);
	for (unsigned w = 0; w < WAYS; w++) {
		lc_stream_close(streams[w].stream);
		lc_source_close(streams[w].source);
	}
	scratch_remove(dir);
	snprintf(dir, sizeof(dir), "%s/" MODULE, root);
	scratch_remove(dir);
}

static void
ratios(struct bench *bench)
{
	const double blocks = bench_median(bench, CASE, ways[0].name, METRIC);

	for (unsigned w = 2; w < WAYS; w++)
		bench_ratio(bench, bench_median(bench, CASE, ways[w].name, METRIC) / blocks,
		    ">=", 0.95, CASE ": %s over the block shuffle, records/s", ways[w].name);
}

const struct order_part order_shares = { measure, ratios };
