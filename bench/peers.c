/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine beside the stores that others would choose, and beside a flat file with a
 * hash table, which is the limit: durable puts, copies, batches, scans, space, opening.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "choice.h"
#include "contender.h"
#include "harness.h"
#include "load.h"
#include "measure.h"
#include "scratch.h"

static const struct contender *const contenders[] = {
	&contender_cachex,
	&contender_cachex_waiting,
	&contender_lmdb,
	&contender_leveldb,
	&contender_rocksdb,
	&contender_wiredtiger,
	&contender_tkrzw,
	&contender_kyoto,
	&contender_sqlite,
	&contender_flat,
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

/* Those that are no peers: this engine itself, and the limit. */
static bool
is_peer(const struct contender *contender)
{
	return contender != &contender_cachex && contender != &contender_cachex_waiting &&
	    contender != &contender_flat;
}

#define READS (1u << GET | 1u << COPY | 1u << BATCH_COPY | 1u << SCAN_KEYS | \
    1u << SCAN_KEYS_SUM | 1u << SCAN_COMMITS_SUM)
/* Copies of a hundred values of 3 MiB are no batch that anybody makes. */
#define READS_OF_HUGE (READS & ~(1u << BATCH_COPY))

static struct {
	struct load load;
	unsigned ways; /* as in struct round */
	bool longer;   /* only with -l; a contender at a time, as memory holds one */
} cases[] = {
	{ { .name = "2,048 B x 10k", .samples = 10000, .size = 2048, .commit = 1000,
	    .rounds = 5 }, READS, false },
	{ { .name = "2,048 B x 100k", .samples = 100000, .size = 2048, .commit = 1000,
	    .rounds = 3 }, READS, false },
	{ { .name = "2,048 B x 1M", .samples = 1000000, .size = 2048, .commit = 1000,
	    .rounds = 3 }, READS, true },
	{ { .name = "131,072 B x 2k", .samples = 2000, .size = 131072, .commit = 100,
	    .rounds = 3 }, READS, false },
	{ { .name = "3 MiB x 100", .samples = 100, .size = 3 << 20, .commit = 10,
	    .rounds = 3 }, READS_OF_HUGE, false },
	{ { .name = "2,048 B, commits of 1", .samples = 1000, .size = 2048, .commit = 1,
	    .rounds = 7 }, 0, false },
	{ { .name = "2,048 B, commits of 1 by 16 threads", .samples = 2000, .size = 2048,
	    .commit = 1, .threads = 16, .rounds = 7 }, 0, false },
	{ { .name = "2,048 B, commits of 10", .samples = 5000, .size = 2048, .commit = 10,
	    .rounds = 7 }, 0, false },
	{ { .name = "2,048 B, commits of 100", .samples = 20000, .size = 2048,
	    .commit = 100, .rounds = 7 }, 0, false },
	{ { .name = "2,048 B x 100k, commits of 1", .samples = 100000, .size = 2048,
	    .commit = 1, .rounds = 1 }, 1u << COPY, true },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))
enum { SMALL, MIDDLE, LARGE, WIDE, HUGE_VALUES, ONES, GROUPED, TENS, HUNDREDS, MANY_ONES };

static bool
is_chosen(const struct choice *choice, unsigned i)
{
	return (!cases[i].longer || choice->longer) &&
	    choice_has(choice, cases[i].load.name, i == SMALL || i == TENS);
}

static void
measure_case(struct bench *bench, unsigned which, const struct choice *choice,
    const char *root)
{
	struct load *load = &cases[which].load;
	struct round round = { .bench = bench, .load = load, .ways = cases[which].ways };
	const unsigned rounds = choice->rounds ? choice->rounds :
	    choice->quick ? 1 : load->rounds;

	load_make(load);
	for (unsigned c = 0; c < CONTENDERS; c++) {
		struct place *place = &round.place[round.n];
		if (contenders[c]->open == NULL ||
		    (load->threads > 1 && !contenders[c]->threads) ||
		    !choice_has_contender(choice, contenders[c]->name))
			continue;
		place->contender = contenders[c];
		place->load = load;
		snprintf(place->dir, sizeof(place->dir), "%s/%s", root,
		    contenders[c]->name);
		round.n++;
	}
	for (round.number = 0; round.number < rounds; round.number++)
		if (cases[which].longer)
			measure_round_apart(&round);
		else
			measure_round(&round);
	load_free(load);
	bench_print(bench, load->name);
}

/* Stores that take twice the payload: all at once, or one if they are measured apart. */
static uint64_t
room_needed(const struct choice *choice)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < CASES; i++) {
		const uint64_t payload = cases[i].load.samples * cases[i].load.size;
		const uint64_t room = payload * (cases[i].longer ? 4 : 2 * CONTENDERS);
		if (is_chosen(choice, i) && room > most)
			most = room;
	}
	return most;
}

/* ---- ratios ------------------------------------------------------------------ */

static double
median(const struct bench *bench, unsigned which, const char *contender,
    const char *metric)
{
	return bench_median(bench, cases[which].load.name, contender, metric);
}

/* The peer that has the best median of a metric; NULL if none was measured. */
static const struct contender *
best_peer(const struct bench *bench, unsigned which, const char *metric, bool least)
{
	const struct contender *best = NULL;
	double value = 0;

	for (unsigned c = 0; c < CONTENDERS; c++) {
		const double other = median(bench, which, contenders[c]->name, metric);
		if (is_peer(contenders[c]) && !isnan(other) &&
		    (best == NULL || (least ? other < value : other > value))) {
			best = contenders[c];
			value = other;
		}
	}
	return best;
}

/* Durable puts by wall time; @p other is NULL for the best peer. */
static void
state_puts(struct bench *bench, unsigned which, const struct contender *other,
    double target)
{
	const bool best = other == NULL;

	if (best)
		other = best_peer(bench, which, "durable puts", false);
	if (other != NULL)
		bench_ratio(bench, median(bench, which, "cachex-w", "durable puts") /
		    median(bench, which, other->name, "durable puts"), ">=", target,
		    "%s: durable puts of cachex-w over %s%s",
		    cases[which].load.name, other->name, best ? ", the best" : "");
}

/* Our way over another contender's, in reads a second of the processor. */
static void
state_read(struct bench *bench, unsigned which, const char *ours,
    const struct contender *other, const char *theirs, double target)
{
	const bool best = other == NULL;
	char our_cpu[80], their_cpu[80];

	snprintf(our_cpu, sizeof(our_cpu), "%s, CPU time", ours);
	snprintf(their_cpu, sizeof(their_cpu), "%s, CPU time", theirs);
	if (best)
		other = best_peer(bench, which, their_cpu, true);
	if (other != NULL)
		bench_ratio(bench, median(bench, which, other->name, their_cpu) /
		    median(bench, which, "cachex", our_cpu), ">=", target,
		    "%s: %s over %s%s, by CPU", cases[which].load.name, ours, other->name,
		    best ? ", the best" : "");
}

static void
state_put_ratios(struct bench *bench)
{
	static const struct {
		unsigned which;
		const struct contender *other;
		double target;
	} wanted[] = {
		{ ONES, &contender_lmdb, 1.3 },
		{ TENS, &contender_lmdb, 1.8 },
		{ WIDE, &contender_lmdb, 1.1 },
		{ WIDE, &contender_flat, 0.8 },
		{ HUGE_VALUES, &contender_lmdb, 1.1 },
		{ HUGE_VALUES, &contender_flat, 0.8 },
	};

	for (unsigned i = 0; i < CASES; i++)
		state_puts(bench, i, NULL, 1);
	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		state_puts(bench, wanted[w].which, wanted[w].other, wanted[w].target);
	bench_ratio(bench, median(bench, GROUPED, "cachex-w", "durable puts") /
	    median(bench, ONES, "cachex-w", "durable puts"), ">=", 6,
	    "%s: durable puts of cachex-w over those of one", cases[GROUPED].load.name);
	bench_ratio(bench, median(bench, ONES, "cachex-w", "durable puts, CPU time"), "<=", 80,
	    "%s: CPU of a commit, us", cases[ONES].load.name);
	bench_ratio(bench, median(bench, MANY_ONES, "cachex-w", "disk a sample"), "<=",
	    1.3 * 2048 + 100, "%s: disk a sample, B", cases[MANY_ONES].load.name);
}

static void
state_read_ratios(struct bench *bench)
{
	const char *scan = way_metric(SCAN_KEYS_SUM, CHECK_NONE);
	const char *verified = way_metric(SCAN_KEYS_SUM, CHECK_ALL);
	const char *file = way_metric(SCAN_COMMITS_SUM, CHECK_NONE);

	for (unsigned i = SMALL; i <= HUGE_VALUES; i++) {
		state_read(bench, i, way_metric(COPY, CHECK_ALL), NULL,
		    way_metric(COPY, CHECK_NONE), 1);
		state_read(bench, i, way_metric(BATCH_COPY, CHECK_ALL), NULL,
		    way_metric(BATCH_COPY, CHECK_NONE), 1);
	}
	for (unsigned i = WIDE; i <= HUGE_VALUES; i++)
		state_read(bench, i, way_metric(COPY, CHECK_ALL), &contender_lmdb,
		    way_metric(COPY, CHECK_NONE), 0.9);
	for (unsigned i = SMALL; i <= HUGE_VALUES; i++)
		state_read(bench, i, way_metric(GET, CHECK_ONCE), &contender_cachex,
		    way_metric(GET, CHECK_NONE), i < WIDE ? 0.8 : 0.9);
	for (unsigned i = SMALL; i <= LARGE; i++) {
		state_read(bench, i, verified, &contender_leveldb, scan, 1.3);
		state_read(bench, i, verified, &contender_wiredtiger, scan, 1.3);
		state_read(bench, i, verified, &contender_flat, file, 0.6);
		state_read(bench, i, scan, &contender_flat, file, 0.9);
	}
}

static void
state_open_and_size_ratios(struct bench *bench)
{
	for (unsigned i = 0; i < CASES; i++)
		bench_ratio(bench, median(bench, i, "cachex", "open, CPU time"), "<=", 1,
		    "%s: CPU of an open, ms", cases[i].load.name);
	for (unsigned i = SMALL; i <= HUGE_VALUES; i++)
		bench_ratio(bench, median(bench, i, "cachex", "disk a sample") /
		    (double)cases[i].load.size, "<=", 1.08, "%s: disk over payload",
		    cases[i].load.name);
}

int
main(int argc, char **argv)
{
	const struct choice choice = choice_parse_contenders(argc, argv, 0);
	struct bench *bench = bench_start("peers", choice.results);
	const char *root = scratch_make(room_needed(&choice));

	printf("data on %s; commits of 1,000 samples (131,072 B: 100, 3 MiB: 10), all "
	    "durable\n", scratch_filesystem());
	for (unsigned c = 0; c < CONTENDERS; c++)
		if (contenders[c]->open == NULL)
			printf("without %s: configure did not find its library\n",
			    contenders[c]->name);
	for (unsigned i = 0; i < CASES; i++)
		if (is_chosen(&choice, i))
			measure_case(bench, i, &choice, root);
	state_put_ratios(bench);
	state_read_ratios(bench);
	state_open_and_size_ratios(bench);
	bench_finish(bench);
	scratch_end();
	return 0;
}
