/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine beside raw liblmdb and SQLite: durable puts, random gets, scans,
 * commits, space, memory and the time of an open, at several sizes.
 */
#include "config.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contender.h"
#include "harness.h"
#include "load.h"
#include "memory.h"
#include "scratch.h"
#include "worker.h"

#define PASSES 3         /* of every way of reading, a round */
#define OPENS 15         /* a round */
#define MB 1e6
#define PENDING_BYTES ((uint64_t)32 << 20)
#define PENDING_FIXED ((uint64_t)4 << 20)

static const struct contender *const contenders[] = {
	&contender_lmdb,
	&contender_cachex,
#ifdef HAVE_SQLITE
	&contender_sqlite,
#endif
};
#define CONTENDERS (sizeof(contenders) / sizeof(contenders[0]))

static struct load loads[] = {
	{ .name = "f32[512] x 10k", .samples = 10000, .size = 2048, .commit = 1000,
	  .more = 64, .more_rounds = 7, .rounds = 7 },
	{ .name = "f32[512] x 100k", .samples = 100000, .size = 2048, .commit = 1000,
	  .rounds = 5 },
	{ .name = "f32[512] x 1M", .samples = 1000000, .size = 2048, .commit = 1000,
	  .more = 512, .more_rounds = 1, .rounds = 3 },
	{ .name = "131,072 B x 10k", .samples = 10000, .size = 131072, .commit = 100,
	  .rounds = 3 },
	{ .name = "3 MiB x 500", .samples = 500, .size = 3 << 20, .commit = 10,
	  .rounds = 3 },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))
enum { SMALL, MIDDLE, LARGE, WIDE, HUGE_VALUES };

/* How a way of reading is shown and counted. */
static const struct way_row {
	const char *metric;
	bool verified;  /* reads through the store that verifies */
	bool whole;     /* reads every byte of the value */
	bool untouched; /* reads no byte of it */
	bool all;       /* a scan */
} ways[WAYS] = {
	[GET_POINTER] = { "view get, not touched", .untouched = true },
	[GET] = { "view get", false },
	[GET_RENEWED] = { "view get, snapshot renewed", false },
	[GET_VERIFIED] = { "view get, verified", .verified = true, .whole = true },
	[COPY] = { "copy get", .whole = true },
	[COPY_VERIFIED] = { "copy get, verified", .verified = true, .whole = true },
	[BATCH] = { "batch get of 100", false },
	[BATCH_VERIFIED] = { "batch get of 100, verified", .verified = true,
	    .whole = true },
	[SCAN_KEYS] = { "scan by key", .all = true },
	[SCAN_KEYS_VERIFIED] = { "scan by key, verified", .verified = true,
	    .all = true },
	[SCAN_COMMITS] = { "scan by commit", .all = true },
	[SCAN_COMMITS_VERIFIED] = { "scan by commit, verified", .verified = true,
	    .all = true },
	[SCAN_COMMITS_LISTED] = { "scan by commit, not touched", .untouched = true,
	    .all = true },
};

/* What a measuring process knows; it fills in the stores itself. */
struct place {
	const struct contender *contender;
	const struct load *load;
	char dir[4200];
	void *store;    /* verifies, where the contender can */
	void *trusting; /* does not */
};

enum job_kind { OPEN, OPEN_BOTH, CLOSE, FILL, COMMITS, READ, OPEN_TIMED, PENDING };

/* ---- in the measuring processes ------------------------------------------ */

static void
open_stores(struct place *place, bool both)
{
	const struct contender *contender = place->contender;

	place->store = contender->open(place->load, place->dir, true);
	place->trusting = place->store;
	if (both && contender->verifies)
		place->trusting = contender->open(place->load, place->dir, false);
}

static void
close_stores(struct place *place)
{
	if (place->trusting != place->store)
		place->contender->close(place->trusting);
	place->contender->close(place->store);
}

static void
fill(struct place *place, uint64_t from, uint64_t to, struct reply *reply)
{
	const double start = bench_seconds();

	place->contender->fill(place->store, from, to);
	reply->value[0] = (double)(to - from) / (bench_seconds() - start);
}

/* n commits from sample `from` on, each waited for: mean, median, longest. */
static void
commits(struct place *place, uint64_t from, uint64_t n, struct reply *reply)
{
	const uint64_t step = place->load->commit;
	double *seconds = calloc(n, sizeof(*seconds)), sum = 0;

	for (uint64_t i = 0; i < n; i++, from += step) {
		const double start = bench_seconds();
		place->contender->fill(place->store, from, from + step);
		sum += seconds[i] = bench_seconds() - start;
	}
	reply->value[0] = sum / (double)n;
	reply->value[1] = bench_middle(seconds, (unsigned)n);
	reply->value[2] = seconds[n - 1];
	free(seconds);
}

static uint64_t
expected(const struct load *load, const struct way_row *way, uint64_t n)
{
	uint64_t sum = 0;

	if (way->untouched)
		return n * load->size;
	for (uint64_t i = 0; i < n; i++)
		sum += load_value(load, load->order[i % load->samples])[0];
	return sum;
}

static void
read_some(struct place *place, enum way which, uint64_t n, struct reply *reply)
{
	const struct way_row *way = &ways[which];
	void *store = way->verified ? place->store : place->trusting;
	const double start = bench_seconds();
	const uint64_t sum = place->contender->read[which](store, n);

	reply->value[0] = (double)n / (bench_seconds() - start);
	if (sum != expected(place->load, way, n))
		errx(1, "%s: %s: wrong data", place->contender->name, way->metric);
}

/* Open and read one sample: seconds of the open, of both, private memory gained. */
static void
open_timed(struct place *place, struct reply *reply)
{
	const double memory = memory_private(), start = bench_seconds();

	place->store = place->contender->open(place->load, place->dir, true);
	reply->value[0] = bench_seconds() - start;
	place->contender->read[GET](place->store, 1);
	reply->value[1] = bench_seconds() - start;
	reply->value[2] = memory_private() - memory;
	place->contender->close(place->store);
}

static void
work(void *ctx, const struct job *job, struct reply *reply)
{
	struct place *place = ctx;

	switch ((enum job_kind)job->what) {
	case OPEN:
	case OPEN_BOTH:
		open_stores(place, job->what == OPEN_BOTH);
		break;
	case CLOSE:
		close_stores(place);
		break;
	case FILL:
		fill(place, job->a, job->b, reply);
		break;
	case COMMITS:
		commits(place, job->a, job->b, reply);
		break;
	case READ:
		read_some(place, (enum way)job->a, job->b, reply);
		break;
	case OPEN_TIMED:
		open_timed(place, reply);
		break;
	case PENDING:
		reply->value[0] = place->contender->pending(place->load, place->dir,
		    job->a);
		break;
	}
}

/* ---- in the parent --------------------------------------------------------- */

struct round {
	struct bench *bench;
	const struct load *load;
	struct place place[CONTENDERS]; /* of those that take part */
	unsigned n;
	unsigned number; /* of the round, from 0 */
};

static void
note(const struct round *round, unsigned c, const char *metric, const char *unit,
    double value)
{
	bench_run(round->bench, round->load->name, round->place[c].contender->name,
	    metric, unit, value);
}

static void
measure_fill(struct round *round, unsigned c)
{
	struct worker *worker = worker_start(work, &round->place[c]);
	const char *dir = round->place[c].dir;
	const double samples = (double)round->load->samples;
	struct reply reply;

	worker_ask(worker, OPEN, 0, 0);
	reply = worker_ask(worker, FILL, 0, round->load->samples);
	worker_ask(worker, CLOSE, 0, 0);
	note(round, c, "durable puts", "1/s", reply.value[0]);
	note(round, c, "peak private memory of puts", "MB", worker_stop(worker) / MB);
	note(round, c, "disk a sample", "B", scratch_allocated(dir) / samples);
	note(round, c, "file size a sample", "B", scratch_size(dir) / samples);
}

/* Enough reads to be timed, not so many that large values take minutes. */
static uint64_t
reads_of(const struct load *load, const struct way_row *way)
{
	const uint64_t most = ((uint64_t)2 << 30) / load->size;
	uint64_t n = load->samples;

	if (way->all)
		return n;
	n = n < 100000 ? 100000 : n > 200000 ? 200000 : n;
	return way->whole && n > most ? most : n;
}

/* One way of reading by all contenders in turn. */
static void
measure_way(struct round *round, struct worker **workers, enum way which)
{
	const struct way_row *way = &ways[which];
	const uint64_t n = reads_of(round->load, way);

	for (unsigned pass = 0; pass < PASSES; pass++)
		for (unsigned c = 0; c < round->n; c++)
			if (round->place[c].contender->read[which] != NULL)
				note(round, c, way->metric, "1/s",
				    worker_ask(workers[c], READ, which, n).value[0]);
}

static void
measure_reads(struct round *round)
{
	struct worker *workers[CONTENDERS];

	for (unsigned c = 0; c < round->n; c++) {
		workers[c] = worker_start(work, &round->place[c]);
		worker_ask(workers[c], OPEN_BOTH, 0, 0);
		/* Maps every page of the data and of the index. */
		worker_ask(workers[c], READ, COPY, round->load->samples);
	}
	for (enum way which = 0; which < WAYS; which++)
		measure_way(round, workers, which);
	for (unsigned c = 0; c < round->n; c++) {
		worker_ask(workers[c], CLOSE, 0, 0);
		note(round, c, "peak private memory of reads", "MB",
		    worker_stop(workers[c]) / MB);
	}
}

static void
measure_opens(struct round *round)
{
	for (unsigned i = 0; i < OPENS; i++)
		for (unsigned c = 0; c < round->n; c++) {
			struct worker *worker = worker_start(work, &round->place[c]);
			const struct reply reply = worker_ask(worker, OPEN_TIMED, 0, 0);
			worker_stop(worker);
			note(round, c, "open", "ms", reply.value[0] * 1e3);
			note(round, c, "open and first get", "ms", reply.value[1] * 1e3);
			note(round, c, "private memory after open and get", "MB",
			    reply.value[2] / MB);
		}
}

static void
measure_commits(struct round *round, unsigned c)
{
	struct worker *worker;
	struct reply reply;

	if (!round->place[c].contender->steps ||
	    round->number >= round->load->more_rounds)
		return;
	worker = worker_start(work, &round->place[c]);
	worker_ask(worker, OPEN, 0, 0);
	reply = worker_ask(worker, COMMITS, round->load->samples, round->load->more);
	worker_ask(worker, CLOSE, 0, 0);
	worker_stop(worker);
	note(round, c, "commit of 1,000, mean", "ms", reply.value[0] * 1e3);
	note(round, c, "commit of 1,000, median", "ms", reply.value[1] * 1e3);
	note(round, c, "commit of 1,000, longest", "ms", reply.value[2] * 1e3);
}

/* Pending puts, in a module that is already there. */
static void
measure_pending(struct round *round, unsigned c)
{
	struct worker *worker;

	if (round->place[c].contender->pending == NULL || round->load != &loads[MIDDLE])
		return;
	worker = worker_start(work, &round->place[c]);
	note(round, c, "private memory of 32 MiB pending", "MB",
	    worker_ask(worker, PENDING, PENDING_BYTES, 0).value[0] / MB);
	worker_stop(worker);
}

static void
measure_round(struct round *round)
{
	/* Each begins in turn: the machine may need warming up. */
	for (unsigned i = 0; i < round->n; i++) {
		const unsigned c = (round->number + i) % round->n;
		if (mkdir(round->place[c].dir, 0777) != 0)
			err(1, "%s", round->place[c].dir);
		measure_fill(round, c);
	}
	measure_reads(round);
	measure_opens(round);
	for (unsigned c = 0; c < round->n; c++) {
		measure_pending(round, c);
		measure_commits(round, c);
	}
	for (unsigned c = 0; c < round->n; c++)
		scratch_remove(round->place[c].dir);
}

/* ---- what is measured -------------------------------------------------------- */

/* The command line. */
struct choice {
	bool quick;          /* only the smallest case */
	const char *names;   /* contenders, "lmdb,cachex"; NULL for all */
	const char *cases;   /* part of the case's name; NULL for all */
	unsigned rounds;     /* 0: as the case says */
	const char *results; /* file */
};

static bool
chosen(const struct choice *choice, const struct load *load)
{
	if (choice->cases != NULL)
		return strstr(load->name, choice->cases) != NULL;
	return !choice->quick || load == &loads[SMALL];
}

static void
measure_load(struct bench *bench, struct load *load, const struct choice *choice,
    const char *root)
{
	struct round round = { .bench = bench, .load = load };
	const unsigned rounds = choice->rounds ? choice->rounds : load->rounds;

	load_make(load);
	for (unsigned c = 0; c < CONTENDERS; c++) {
		struct place *place = &round.place[round.n];
		if (load->size > contenders[c]->largest || (choice->names != NULL &&
		    strstr(choice->names, contenders[c]->name) == NULL))
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
		if (chosen(choice, &loads[i]) && n * loads[i].size > most)
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
		enum way ours, theirs;
		double target;
		bool small;
	} wanted[] = {
		{ GET, GET, 0.9, false },
		{ GET_POINTER, GET_POINTER, 0.9, false },
		{ GET_VERIFIED, GET, 0.6, true },
		{ BATCH, BATCH, 1.5, false },
		{ BATCH_VERIFIED, BATCH, 1.5, true },
		{ SCAN_COMMITS, SCAN_KEYS, 3, true },
		{ SCAN_COMMITS_VERIFIED, SCAN_KEYS, 3, true },
		{ SCAN_KEYS, SCAN_KEYS, 3, true },
	};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++)
		for (unsigned i = 0; i < LOADS; i++) {
			const char *ours = ways[wanted[w].ours].metric;
			const char *theirs = ways[wanted[w].theirs].metric;
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

static struct choice
parse(int argc, char **argv)
{
	const char *quick = getenv("BENCH_QUICK");
	struct choice choice = { .results = "bench-results.json" };
	int option;

	choice.quick = quick != NULL && *quick != '\0' && strcmp(quick, "0") != 0;
	while ((option = getopt(argc, argv, "c:k:o:qr:")) != -1)
		switch (option) {
		case 'c':
			choice.cases = optarg;
			break;
		case 'k':
			choice.names = optarg;
			break;
		case 'o':
			choice.results = optarg;
			break;
		case 'q':
			choice.quick = true;
			break;
		case 'r':
			choice.rounds = (unsigned)strtoul(optarg, NULL, 10);
			break;
		default:
			fprintf(stderr, "usage: store [-q] [-c CASE] [-k CONTENDER,...] "
			    "[-r ROUNDS] [-o RESULTS]\n");
			exit(2);
		}
	return choice;
}

int
main(int argc, char **argv)
{
	const struct choice choice = parse(argc, argv);
	struct bench *bench = bench_start("store");
	const char *root = scratch_make(room_needed(&choice));

	printf("data on %s; commits of 1,000 samples (131,072 B: 100, 3 MiB: 10), all "
	    "durable\n", scratch_filesystem());
#ifndef HAVE_SQLITE
	printf("sqlite: left out, built without libsqlite3\n");
#endif
	for (unsigned i = 0; i < LOADS; i++)
		if (chosen(&choice, &loads[i]))
			measure_load(bench, &loads[i], &choice, root);
	state_put_ratios(bench);
	state_read_ratios(bench);
	state_size_ratios(bench);
	bench_finish(bench, choice.results);
	scratch_end();
	return 0;
}
