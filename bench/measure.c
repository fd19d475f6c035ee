/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include <err.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "memory.h"
#include "scratch.h"
#include "worker.h"

#define PASSES 3 /* of every way of reading, a round */
#define OPENS 15 /* a round */

/* How a way of reading is shown and counted. */
static const struct way_row {
	const char *metric;
	bool verified;  /* reads through the store that verifies */
	bool whole;     /* reads every byte of the value */
	bool untouched; /* reads no byte of it */
	bool all;       /* a scan */
} ways[WAYS] = {
	[GET_POINTER] = { .metric = "view get, not touched", .untouched = true },
	[GET] = { .metric = "view get" },
	[GET_RENEWED] = { .metric = "view get, snapshot renewed" },
	[GET_VERIFIED] = { .metric = "view get, verified", .verified = true,
	    .whole = true },
	[COPY] = { .metric = "copy get", .whole = true },
	[COPY_VERIFIED] = { .metric = "copy get, verified", .verified = true,
	    .whole = true },
	[BATCH] = { .metric = "batch get of 100" },
	[BATCH_VERIFIED] = { .metric = "batch get of 100, verified", .verified = true,
	    .whole = true },
	[SCAN_KEYS] = { .metric = "scan by key", .all = true },
	[SCAN_KEYS_VERIFIED] = { .metric = "scan by key, verified", .verified = true,
	    .all = true },
	[SCAN_COMMITS] = { .metric = "scan by commit", .all = true },
	[SCAN_COMMITS_VERIFIED] = { .metric = "scan by commit, verified",
	    .verified = true, .all = true },
	[SCAN_COMMITS_LISTED] = { .metric = "scan by commit, not touched",
	    .untouched = true, .all = true },
	[SCAN_KEYS_COPY] = { .metric = "copy scan by key", .all = true },
	[SCAN_COMMITS_COPY] = { .metric = "copy scan by commit", .all = true },
	[SCAN_COMMITS_COPY_VERIFIED] = { .metric = "copy scan by commit, verified",
	    .verified = true, .all = true },
};

const char *
way_metric(enum way way)
{
	return ways[way].metric;
}

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

/* Open and read one sample: seconds of the open, of both; private, mapped memory. */
static void
open_timed(struct place *place, struct reply *reply)
{
	const double private = memory_private(), mapped = memory_mapped();
	const double start = bench_seconds();

	place->store = place->contender->open(place->load, place->dir, true);
	reply->value[0] = bench_seconds() - start;
	place->contender->read[GET](place->store, 1);
	reply->value[1] = bench_seconds() - start;
	reply->value[2] = memory_private() - private;
	reply->value[3] = memory_mapped() - mapped;
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
	struct worker *workers[MOST_CONTENDERS];

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
			note(round, c, "mapped file pages after open and get", "MB",
			    reply.value[3] / MB);
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

	if (round->place[c].contender->pending == NULL || !round->load->pending)
		return;
	worker = worker_start(work, &round->place[c]);
	note(round, c, "private memory of 32 MiB pending", "MB",
	    worker_ask(worker, PENDING, PENDING_BYTES, 0).value[0] / MB);
	worker_stop(worker);
}

void
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
