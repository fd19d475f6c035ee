/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine beside raw liblmdb and SQLite: durable puts, random gets, scans,
 * commits, space, memory and the time of an open, at several sizes.
 */
#include "config.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "choice.h"
#include "contender.h"
#include "harness.h"
#include "load.h"
#include "measure.h"
#include "scratch.h"

#define PENDING_FIXED ((uint64_t)4 << 20)
#define SQLITE_LARGEST 2048
/* bench/peers measures the others. */
#define STORE_WAYS (~(1u << BATCH_COPY | 1u << SCAN_KEYS_SUM | 1u << SCAN_COMMITS_SUM))

static const struct contender *const contenders[] = {
	&contender_lmdb,
	&contender_cachex,
	&contender_sqlite,
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static struct load loads[] = {
	{ .name = "f32[512] x 10k", .samples = 10000, .size = 2048, .commit = 1000,
	  .more = 64, .more_rounds = 7, .rounds = 7 },
	{ .name = "f32[512] x 100k", .samples = 100000, .size = 2048, .commit = 1000,
	  .pending = true, .rounds = 5 },
	{ .name = "f32[512] x 1M", .samples = 1000000, .size = 2048, .commit = 1000,
	  .more = 512, .more_rounds = 1, .rounds = 3 },
	{ .name = "131,072 B x 10k", .samples = 10000, .size = 131072, .commit = 100,
	  .rounds = 3 },
	{ .name = "3 MiB x 500", .samples = 500, .size = 3 << 20, .commit = 10,
	  .rounds = 3 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))
enum { SMALL, MIDDLE, LARGE, WIDE, HUGE_VALUES };

static void
measure_load(struct bench *bench, struct load *load, const struct choice *choice,
    const char *root)
{
	struct round round = { .bench = bench, .load = load, .ways = STORE_WAYS };
	const unsigned rounds = choice->rounds ? choice->rounds : load->rounds;

	load_make(load);
	for (unsigned c = 0; c < CONTENDERS; c++) {
		struct place *place = &round.place[round.n];
		if ((contenders[c] == &contender_sqlite && load->size > SQLITE_LARGEST) ||
		    !choice_has_contender(choice, contenders[c]->name))
			continue;
		place->contender = contenders[c];
		place->load = load;
		snprintf(place->dir, sizeof(place->dir), "%s/%s", root,
		    contenders[c]->name);
		round.n++;
	}
	for (round.number = 0; round.number < rounds; round.number++)
		measure_round(&round);
	load_free(load);
	bench_print(bench, load->name);
}

/* Room for the largest case of three stores that take twice the payload. */
static uint64_t
room_needed(const struct choice *choice)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < LOADS; i++) {
		const uint64_t n = loads[i].samples + loads[i].more * loads[i].commit;
		if (choice_has(choice, loads[i].name, i == SMALL) && n * loads[i].size > most)
			most = n * loads[i].size;
	}
	return most * 6;
}

/* ---- ratios ------------------------------------------------------------------ */

/* Rate of this engine over that of another contender, each in its own way. */
static double
rate_ratio(const struct bench *bench, const struct load *load, const char *metric,
    const char *other, const char *other_metric)
{
	return bench_median(bench, load->name, "cachex", metric) /
	    bench_median(bench, load->name, other, other_metric);
}

static void
state_put_ratios(struct bench *bench)
{
	static const double targets[LOADS] = { 1.5, 1.5, 2.5, 1.2, 1.2 };

	for (unsigned i = 0; i < LOADS; i++)
		bench_ratio(bench, rate_ratio(bench, &loads[i], "durable puts", "lmdb",
		    "durable puts"), ">=", targets[i], "%s: durable puts over lmdb",
		    loads[i].name);
	bench_ratio(bench, rate_ratio(bench, &loads[LARGE], "durable puts", "sqlite",
	    "durable puts"), ">=", 4, "%s: durable puts over sqlite",
	    loads[LARGE].name);
}

/*
 * Checking a large value reads all of it, where raw LMDB touches one byte: these
 * ratios are stated for the small values only.
 */
static void
state_read_ratios(struct bench *bench)
{
	static const struct {
		enum way ours;
		enum check check;
		enum way theirs;
		double target;
		bool small;
	} wanted[] = {
		{ GET, CHECK_NONE, GET, 0.9, false },
		{ GET_POINTER, CHECK_NONE, GET_POINTER, 0.9, false },
		{ GET, CHECK_ALL, GET, 0.6, true },
		{ BATCH, CHECK_NONE, BATCH, 1.5, false },
		{ BATCH, CHECK_ALL, BATCH, 1.5, true },
		{ SCAN_COMMITS, CHECK_NONE, SCAN_KEYS, 3, true },
		{ SCAN_COMMITS, CHECK_ALL, SCAN_KEYS, 3, true },
		{ SCAN_KEYS, CHECK_NONE, SCAN_KEYS, 3, true },
		{ SCAN_COMMITS_COPY, CHECK_NONE, SCAN_KEYS_COPY, 3, true },
		{ SCAN_COMMITS_COPY, CHECK_ALL, SCAN_KEYS_COPY, 3, true },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		for (unsigned i = 0; i < LOADS; i++) {
			const char *ours = way_metric(wanted[w].ours, wanted[w].check);
			const char *theirs = way_metric(wanted[w].theirs, CHECK_NONE);
			if (wanted[w].small && loads[i].size > 4096)
				continue;
			bench_ratio(bench, rate_ratio(bench, &loads[i], ours, "lmdb", theirs),
			    ">=", wanted[w].target, "%s: %s over lmdb's %s", loads[i].name,
			    ours, wanted[w].theirs == BATCH ? "loop of gets" : theirs);
		}
}

static void
state_size_ratios(struct bench *bench)
{
	const char *small = loads[SMALL].name, *large = loads[LARGE].name;
	static const char *const kinds[] = { "mean", "median" };

	for (unsigned i = SMALL; i <= LARGE; i++)
		bench_ratio(bench, bench_median(bench, loads[i].name, "cachex",
		    "disk a sample") / (double)loads[i].size, "<=", 1.10,
		    "%s: disk over payload", loads[i].name);
	for (unsigned k = 0; k < 2; k++) {
		char metric[64];
		snprintf(metric, sizeof(metric), "commit of 1,000, %s", kinds[k]);
		bench_ratio(bench, bench_median(bench, large, "cachex", metric) /
		    bench_median(bench, small, "cachex", metric), "<=", 1.5,
		    "%s, at 1M over at 10k", metric);
	}
	bench_ratio(bench, bench_median(bench, large, "cachex", "open"), "<=", 5,
	    "%s: open, ms", large);
	bench_ratio(bench, bench_median(bench, large, "cachex",
	    "private memory after open and get"), "<=", 10,
	    "%s: private memory after open and get, MB", large);
	bench_ratio(bench, (bench_median(bench, loads[MIDDLE].name, "cachex",
	    "private memory of 32 MiB pending") * MB - (double)PENDING_FIXED) /
	    (double)PENDING_BYTES, "<=", 1.1,
	    "pending memory, less 4 MiB, over its payload of 32 MiB");
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse_contenders(argc, argv, 0);
	struct bench *bench = bench_start("store", choice.results);
	const char *root = scratch_make(room_needed(&choice));

	printf("data on %s; commits of 1,000 samples (131,072 B: 100, 3 MiB: 10), all "
	    "durable\n", scratch_filesystem());
	for (unsigned i = 0; i < LOADS; i++)
		if (choice_has(&choice, loads[i].name, i == SMALL))
			measure_load(bench, &loads[i], &choice, root);
	state_put_ratios(bench);
	state_read_ratios(bench);
	state_size_ratios(bench);
	bench_finish(bench);
	scratch_end();
	return 0;
}
