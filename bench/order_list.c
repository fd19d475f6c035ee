/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of modules beside one module that has the same records. */
#include <stdio.h>
#include <string.h>

#include "load.h"
#include "module.h"
#include "order_part.h"
#include "order_set.h"
#include "order_stream.h"
#include "scratch.h"

#define CASE "lists"
#define WHOLE "whole"
#define MEMBERS 4

/* 512 bytes each: 256 MiB, or 32. */
static struct load load = { .samples = 524288, .size = 512, .commit = 2048 };
#define QUICK_SAMPLES 65536

static const lc_shuffle shuffles[] = { LC_SHUFFLE_NONE, LC_SHUFFLE_BLOCK, LC_SHUFFLE_FULL };
#define SHUFFLES (sizeof(shuffles) / sizeof(shuffles[0]))

static const char *const contenders[] = { "a module", "a list of 4" };
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static void
put_part(const char *root, const char *name, uint64_t first, uint64_t n)
{
	const lc_options options = module_options(load.commit);
	lc_cache *cache = module_open(root, name, &options);

	for (uint64_t i = first; i < first + n; i++) {
		const lc_tensor tensor = module_row(load_value(&load, i), load.size);

		module_must(lc_put(cache, load.keys[i], KEY_SIZE, &tensor));
	}
	module_must(lc_flush(cache));
	module_must(lc_close(cache));
}

static void
name_member(char name[16], unsigned member)
{
	snprintf(name, 16, "part%u", member);
}

static void
make_modules(const char *root)
{
	const uint64_t each = load.samples / MEMBERS;

	load_make(&load);
	put_part(root, WHOLE, 0, load.samples);
	for (unsigned i = 0; i < MEMBERS; i++) {
		char name[16];

		name_member(name, i);
		put_part(root, name, i * each, each);
	}
	load_free(&load);
}

/* The handles are closed, as the sources keep what they need. */
static lc_source *
open_list(const char *root)
{
	lc_source *members[MEMBERS], *list;

	for (unsigned i = 0; i < MEMBERS; i++) {
		struct order_stream part = { 0 };
		char name[16];

		name_member(name, i);
		order_module_source(&part, root, name, true);
		module_must(lc_close(part.cache));
		members[i] = part.source;
	}
	module_must(lc_source_open_list(members, MEMBERS, &list));
	for (unsigned i = 0; i < MEMBERS; i++)
		lc_source_close(members[i]);
	return list;
}

static void
measure_shuffle(struct bench *bench, struct order_stream *streams, unsigned rounds,
    lc_shuffle shuffle)
{
	lc_stream_options options;

	lc_stream_options_init(&options);
	options.shuffle = shuffle;
	options.seed = ORDER_SEED;
	options.batch = ORDER_BATCH;
	for (unsigned c = 0; c < CONTENDERS; c++) {
		order_stream_open(&streams[c], &options);
		order_epoch(&streams[c], load.samples); /* verifies all, and brings the files to memory */
	}
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned c = 0; c < CONTENDERS; c++) {
			const unsigned turn = (c + round) % CONTENDERS;

			bench_run(bench, CASE, contenders[turn],
			    lc_shuffle_name(shuffle), "records/s",
			    order_epoch(&streams[turn], load.samples));
		}
	for (unsigned c = 0; c < CONTENDERS; c++)
		order_stream_end(&streams[c]);
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	struct order_stream streams[CONTENDERS] = { { 0 }, { 0 } };
	char dir[4200];

	if (!choice_has(choice, CASE, true))
		return;
	if (choice->quick)
		load.samples = QUICK_SAMPLES;
	make_modules(root);
	order_module_source(&streams[0], root, WHOLE, true);
	streams[1].source = open_list(root);
	for (unsigned s = 0; s < SHUFFLES; s++)
		measure_shuffle(bench, streams, choice->rounds, shuffles[s]);
	bench_print(bench, CASE);
	order_stream_close(&streams[0]);
	lc_source_close(streams[1].source);
	snprintf(dir, sizeof(dir), "%s/" WHOLE, root);
	scratch_remove(dir);
	for (unsigned i = 0; i < MEMBERS; i++) {
		char name[16];

		name_member(name, i);
		snprintf(dir, sizeof(dir), "%s/%s", root, name);
		scratch_remove(dir);
	}
}

static void
ratios(struct bench *bench)
{
	for (unsigned s = 0; s < SHUFFLES; s++) {
		const char *metric = lc_shuffle_name(shuffles[s]);

		bench_ratio(bench,
		    bench_median(bench, CASE, contenders[1], metric) /
			bench_median(bench, CASE, contenders[0], metric),
		    ">=", 0.95, CASE ": a list over a module, records/s, shuffle %s", metric);
	}
}

const struct order_part order_lists = { measure, ratios };
