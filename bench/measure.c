/* SPDX-License-Identifier: BSD-2-Clause */
#include "measure.h"

#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"
#include "scratch.h"
#include "worker.h"

#define PASSES 3 /* of every way of reading, a round */
#define SLICES 8 /* of a filling, at most; each of several commits */
#define SLICE_COMMITS 10
#define OPENS 15 /* a round */
#define OPENS_SECONDS 1 /* that a contender may spend in them, and the open it is at */

/* How a way of reading is shown and counted. */
static const struct way_row {
	const char *metric[CHECKS]; /* NULL where that is not measured */
	bool whole;     /* reads every byte of the value */
	bool untouched; /* reads no byte of it */
	bool sum;       /* adds up every word of it */
	bool all;       /* a scan */
} ways[WAYS] = {
	[GET_POINTER] = { .metric = { "view get, not touched" }, .untouched = true },
	[GET] = { .metric = { "view get", "view get, verified",
	    "view get, verified once" } },
	[GET_RENEWED] = { .metric = { "view get, snapshot renewed" } },
	[COPY] = { .metric = { "copy get", "copy get, verified",
	    "copy get, verified once" }, .whole = true },
	[BATCH] = { .metric = { "batch get of 100", "batch get of 100, verified" } },
	[BATCH_COPY] = { .metric = { "copy batch of 100", "copy batch of 100, verified",
	    "copy batch of 100, verified once" },
	    .whole = true },
	[SCAN_KEYS] = { .metric = { "scan by key", "scan by key, verified" }, .all = true },
	[SCAN_KEYS_COPY] = { .metric = { "copy scan by key" }, .all = true },
	[SCAN_KEYS_SUM] = { .metric = { "sum scan by key", "sum scan by key, verified",
	    "sum scan by key, verified once" },
	    .sum = true, .all = true },
	[SCAN_COMMITS] = { .metric = { "scan by commit", "scan by commit, verified" },
	    .all = true },
	[SCAN_COMMITS_LISTED] = { .metric = { "scan by commit, not touched" },
	    .untouched = true, .all = true },
	[SCAN_COMMITS_COPY] = { .metric = { "copy scan by commit",
	    "copy scan by commit, verified" }, .all = true },
	[SCAN_COMMITS_SUM] = { .metric = { "sum scan by commit",
	    "sum scan by commit, verified" }, .sum = true, .all = true },
};

const char *
way_metric(enum way way, enum check check)
{
	return ways[way].metric[check];
}

enum job_kind { OPEN, OPEN_ALL, CLOSE, FILL, COMMITS, WARM, READ, OPEN_TIMED, PENDING };

/* ---- in the measuring processes ------------------------------------------ */

static void
open_stores(struct place *place, bool all)
{
	const struct contender *contender = place->contender;
	void *store = contender->open(place->load, place->dir, CHECK_ALL);

	for (enum check check = 0; check < CHECKS; check++)
		place->store[check] = all && contender->verifies && check != CHECK_ALL ?
		    contender->open(place->load, place->dir, check) : store;
	place->cpu = bench_cpu_seconds();
}

/* Is the store of a check not that of another one, too? */
static bool
is_own(const struct place *place, enum check check)
{
	return check == CHECK_ALL || place->store[check] != place->store[CHECK_ALL];
}

static void
close_stores(struct place *place)
{
	for (enum check check = 0; check < CHECKS; check++)
		if (is_own(place, check))
			place->contender->close(place->store[check]);
}

struct part {
	const struct place *place;
	uint64_t from, to;
};

static void *
fill_part(void *arg)
{
	const struct part *part = arg;

	part->place->contender->fill(part->place->store[CHECK_ALL], part->from, part->to);
	return NULL;
}

static void
fill_by_threads(const struct place *place, uint64_t from, uint64_t to)
{
	const unsigned n = place->load->threads;
	struct part parts[MOST_THREADS];
	pthread_t threads[MOST_THREADS];

	for (unsigned i = 0; i < n; i++) {
		parts[i] = (struct part){ place, from + (to - from) * i / n,
			from + (to - from) * (i + 1) / n };
		if (pthread_create(&threads[i], NULL, fill_part, &parts[i]) != 0)
			errx(1, "no thread");
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* Seconds that it took, and of processors, those included that threads of the store have
 * spent since it was opened or filled. */
static void
fill(struct place *place, uint64_t from, uint64_t to, struct reply *reply)
{
	const double start = bench_seconds(), cpu = place->cpu;

	if (place->load->threads > 1)
		fill_by_threads(place, from, to);
	else
		place->contender->fill(place->store[CHECK_ALL], from, to);
	reply->value[0] = bench_seconds() - start;
	place->cpu = bench_cpu_seconds();
	reply->value[1] = place->cpu - cpu;
}

/* n commits from sample `from` on, each waited for: mean, median, longest. */
static void
commits(struct place *place, uint64_t from, uint64_t n, struct reply *reply)
{
	const uint64_t step = place->load->commit;
	double *seconds = calloc(n, sizeof(*seconds)), sum = 0;

	for (uint64_t i = 0; i < n; i++, from += step) {
		const double start = bench_seconds();
		place->contender->fill(place->store[CHECK_ALL], from, from + step);
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
	for (uint64_t i = 0; i < n; i++) {
		const unsigned char *value = load_value(load,
		    load->order[i % load->samples]);
		sum += way->sum ? load_sum(value, load->size) : head_of(value);
	}
	return sum;
}

/* Enough reads to be timed, not so many that large values take minutes: some stores copy
 * what they give in place. */
static uint64_t
reads_of(const struct load *load, const struct way_row *way, enum check check)
{
	const uint64_t bytes = way->whole || check != CHECK_NONE ? 2 : 8; /* GiB */
	const uint64_t most = (bytes << 30) / load->size;
	uint64_t n = load->samples;

	if (way->all)
		return n;
	n = n < 100000 ? 100000 : n > 200000 ? 200000 : n;
	return n < most ? n : most;
}

static void
read_some(struct place *place, enum way which, enum check check, struct reply *reply)
{
	const struct way_row *way = &ways[which];
	const uint64_t n = reads_of(place->load, way, check);
	const double start = bench_seconds(), cpu = bench_cpu_seconds();
	const uint64_t sum = place->contender->read[which](place->store[check], n);

	reply->value[0] = (double)n / (bench_seconds() - start);
	reply->value[1] = (bench_cpu_seconds() - cpu) / (double)n;
	if (sum != expected(place->load, way, n))
		errx(1, "%s: %s: wrong data", place->contender->name, way->metric[check]);
}

/* Open and read one sample: seconds of the open, of both; private, mapped memory; seconds
 * of processors for the open. */
static void
open_timed(struct place *place, struct reply *reply)
{
	const struct contender *contender = place->contender;
	read_fn *get = contender->read[GET] != NULL ? contender->read[GET] :
	    contender->read[COPY];
	const double private = memory_private(), mapped = memory_mapped();
	const double start = bench_seconds(), cpu = bench_cpu_seconds();
	void *store = contender->open(place->load, place->dir, CHECK_ALL);

	reply->value[0] = bench_seconds() - start;
	reply->value[4] = bench_cpu_seconds() - cpu;
	get(store, 1);
	reply->value[1] = bench_seconds() - start;
	reply->value[2] = memory_private() - private;
	reply->value[3] = memory_mapped() - mapped;
	contender->close(store);
}

static void
work(void *ctx, const struct job *job, struct reply *reply)
{
	struct place *place = ctx;

	switch ((enum job_kind)job->what) {
	case OPEN:
	case OPEN_ALL:
		open_stores(place, job->what == OPEN_ALL);
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
	case WARM:
		/* Maps every page of the data and of the index. */
		for (enum check check = 0; check < CHECKS; check++)
			if (is_own(place, check))
				place->contender->read[COPY](place->store[check],
				    place->load->samples);
		break;
	case READ:
		read_some(place, (enum way)job->a, (enum check)job->b, reply);
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

/* What was done so often a second, and the processors' time for each. */
static void
note_rate(const struct round *round, unsigned c, const char *metric,
    const struct reply *reply)
{
	char cpu[80];

	snprintf(cpu, sizeof(cpu), "%s, CPU time", metric);
	note(round, c, metric, "1/s", reply->value[0]);
	note(round, c, cpu, "us", reply->value[1] * 1e6);
}

/* The contenders of a round in another order each time that they take turns. */
static void
shuffle(struct round *round, unsigned *turns)
{
	unsigned short state[3] = { (unsigned short)round->number,
	    (unsigned short)round->shuffled++, 1 };

	for (unsigned i = 0; i < round->n; i++) {
		const unsigned j = (unsigned)nrand48(state) % (i + 1);
		turns[i] = turns[j];
		turns[j] = i;
	}
}

/*
 * Who comes first pays neither for memory that a host has taken back from an idle
 * machine nor for what others left to be written.
 */
static void
settle(const char *dir, uint64_t payload)
{
	const double wanted = 3 * (double)payload, most = memory_total() / 4;
	const size_t size = (size_t)(wanted < most ? wanted : most);
	const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "%zu bytes", size);
	munmap(memory, size);
	if (fd < 0 || syncfs(fd) != 0)
		err(1, "%s", dir);
	close(fd);
}

/* Fill every store, a slice by each contender in turn. */
static void
fill_stores(struct round *round, struct worker **workers, struct reply *filled)
{
	const struct load *load = round->load;
	const uint64_t commits = load->samples / load->commit;
	const uint64_t most = commits / SLICE_COMMITS;
	const uint64_t slices = most < 1 ? 1 : most < SLICES ? most : SLICES;
	unsigned turns[MOST_CONTENDERS];

	for (uint64_t slice = 0; slice < slices; slice++) {
		const uint64_t from = commits * slice / slices * load->commit;
		const uint64_t to = commits * (slice + 1) / slices * load->commit;
		shuffle(round, turns);
		for (unsigned i = 0; i < round->n; i++) {
			const unsigned c = turns[i];
			struct reply reply;
			settle(round->place[c].dir, (to - from) * load->size);
			reply = worker_ask(workers[c], FILL, from, to);
			filled[c].value[0] += reply.value[0];
			filled[c].value[1] += reply.value[1];
		}
	}
}

/* Rows are made in the order of the contenders, which becomes that of the columns. */
static void
measure_fills(struct round *round)
{
	const double samples = (double)round->load->samples;
	struct worker *workers[MOST_CONTENDERS];
	struct reply filled[MOST_CONTENDERS] = { 0 };

	for (unsigned c = 0; c < round->n; c++) {
		if (mkdir(round->place[c].dir, 0777) != 0)
			err(1, "%s", round->place[c].dir);
		workers[c] = worker_start(work, &round->place[c]);
		worker_ask(workers[c], OPEN, 0, 0);
	}
	fill_stores(round, workers, filled);
	for (unsigned c = 0; c < round->n; c++) {
		const char *dir = round->place[c].dir;
		worker_ask(workers[c], CLOSE, 0, 0);
		note(round, c, "durable puts", "1/s", samples / filled[c].value[0]);
		note(round, c, "durable puts, CPU time", "us", filled[c].value[1] / samples * 1e6);
		note(round, c, "peak private memory of puts", "MB",
		    worker_stop(workers[c]) / MB);
		note(round, c, "disk a sample", "B", scratch_allocated(dir) / samples);
		note(round, c, "file size a sample", "B", scratch_size(dir) / samples);
	}
}

static bool
reads(const struct round *round, unsigned c)
{
	return round->place[c].contender->read[COPY] != NULL;
}

/* One way of reading by all contenders in turn. */
static void
measure_way(struct round *round, struct worker **workers, enum way way, enum check check)
{
	unsigned turns[MOST_CONTENDERS];

	for (unsigned pass = 0; pass < PASSES; pass++) {
		shuffle(round, turns);
		for (unsigned i = 0; i < round->n; i++) {
			const unsigned c = turns[i];
			const struct contender *contender = round->place[c].contender;
			struct reply reply;
			if (contender->read[way] == NULL ||
			    (check != CHECK_NONE && !contender->verifies))
				continue;
			reply = worker_ask(workers[c], READ, way, check);
			note_rate(round, c, way_metric(way, check), &reply);
		}
	}
}

static void
measure_reads(struct round *round)
{
	struct worker *workers[MOST_CONTENDERS];

	for (unsigned c = 0; c < round->n; c++) {
		if (!reads(round, c))
			continue;
		workers[c] = worker_start(work, &round->place[c]);
		worker_ask(workers[c], OPEN_ALL, 0, 0);
		worker_ask(workers[c], WARM, 0, 0);
	}
	for (enum way way = 0; way < WAYS; way++)
		for (enum check check = 0; check < CHECKS; check++)
			if ((round->ways & 1u << way) && way_metric(way, check) != NULL)
				measure_way(round, workers, way, check);
	for (unsigned c = 0; c < round->n; c++) {
		if (!reads(round, c))
			continue;
		worker_ask(workers[c], CLOSE, 0, 0);
		note(round, c, "peak private memory of reads", "MB",
		    worker_stop(workers[c]) / MB);
	}
}

/* Returns the seconds that it took. */
static double
measure_open(struct round *round, unsigned c)
{
	struct worker *worker = worker_start(work, &round->place[c]);
	const struct reply reply = worker_ask(worker, OPEN_TIMED, 0, 0);

	worker_stop(worker);
	note(round, c, "open", "ms", reply.value[0] * 1e3);
	note(round, c, "open, CPU time", "ms", reply.value[4] * 1e3);
	note(round, c, "open and first get", "ms", reply.value[1] * 1e3);
	note(round, c, "private memory after open and get", "MB", reply.value[2] / MB);
	note(round, c, "mapped file pages after open and get", "MB", reply.value[3] / MB);
	return reply.value[1];
}

static void
measure_opens(struct round *round)
{
	double spent[MOST_CONTENDERS] = { 0 };
	unsigned turns[MOST_CONTENDERS];

	for (unsigned i = 0; i < OPENS; i++) {
		shuffle(round, turns);
		for (unsigned k = 0; k < round->n; k++)
			if (reads(round, turns[k]) && spent[turns[k]] < OPENS_SECONDS)
				spent[turns[k]] += measure_open(round, turns[k]);
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
	measure_fills(round);
	if (round->ways != 0) {
		measure_reads(round);
		measure_opens(round);
	}
	for (unsigned c = 0; c < round->n; c++) {
		measure_pending(round, c);
		measure_commits(round, c);
	}
	for (unsigned c = 0; c < round->n; c++)
		scratch_remove(round->place[c].dir);
}

void
measure_round_apart(struct round *round)
{
	unsigned turns[MOST_CONTENDERS];

	shuffle(round, turns);
	for (unsigned i = 0; i < round->n; i++) {
		struct round alone = *round;
		alone.place[0] = round->place[turns[i]];
		alone.n = 1;
		measure_round(&alone);
	}
}
