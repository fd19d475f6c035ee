/* SPDX-License-Identifier: BSD-2-Clause */
/* Modules of a million chunks, a record each: opening, resuming and seeking. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "module.h"
#include "order_locate.h"
#include "order_part.h"
#include "order_set.h"
#include "order_stream.h"
#include "scratch.h"
#include "unsynced.h"
#include "worker.h"

#define CASE "seek, 1M chunks"
#define QUICK_CASE "seek, 10k chunks"
#define CHUNKS 1000000
#define QUICK_CHUNKS 10000
#define INPUTS 4
#define FLOATS 4   /* of a record */
#define PLACES 200 /* that are gone to */
#define MB 1e6
#define TARGET 1 /* ms */

static const char *const inputs[INPUTS] = { "a", "b", "c", "d" };

static uint64_t
random_at(uint64_t i)
{
	return (i + 1) * 0x9E3779B97F4A7C15u >> 20;
}

/* ---- filling ------------------------------------------------------------------------- */

static lc_tensor
record(const float *values)
{
	return module_row(values, FLOATS * sizeof(*values));
}

static void
fill_by_puts(lc_cache *cache, uint64_t chunks)
{
	const float values[FLOATS] = { 0 };
	const lc_tensor tensor = record(values);

	for (uint64_t i = 0; i < chunks; i++)
		module_must(lc_put(cache, &i, sizeof(i), &tensor));
}

static void
fill_by_inputs(lc_cache *cache, uint64_t chunks)
{
	const float values[FLOATS] = { 0 };
	const lc_tensor tensor = record(values);
	lc_writer *writers[INPUTS];
	lc_input declared[INPUTS];

	for (unsigned i = 0; i < INPUTS; i++)
		declared[i] = (lc_input){ .name = inputs[i] };
	module_must(lc_inputs_declare(cache, INPUTS, declared));
	for (unsigned i = 0; i < INPUTS; i++)
		module_must(lc_writer_open(cache, inputs[i], &writers[i]));
	for (uint64_t i = 0; i < chunks; i++) {
		lc_writer *writer = writers[i % INPUTS];
		module_must(lc_writer_put(writer, NULL, 0, &tensor));
		module_must(lc_writer_commit(writer, NULL, 0));
	}
	for (unsigned i = 0; i < INPUTS; i++) {
		module_must(lc_writer_finish(writers[i], NULL, 0));
		lc_writer_close(writers[i]);
	}
}

static const struct kind {
	const char *name; /* of the contender and of the module */
	const char *module;
	void (*fill)(lc_cache *cache, uint64_t chunks);
} kinds[] = {
	{ "4 inputs", "inputs", fill_by_inputs },
	{ "plain puts", "puts", fill_by_puts },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---- what a fresh process does ---------------------------------------------------- */

struct place {
	const char *root;
	const struct kind *kind;
	uint64_t chunks;
	struct order_stream stream;
	unsigned char tokens[PLACES][LC_TOKEN_SIZE];
	double times[PLACES];
	double memory;  /* before anything was opened */
	uint64_t turn; /* so that no place is gone to twice */
};

enum { OPEN, RESUME, SEEK };

static lc_stream_options
stream_options(uint64_t batch, const void *token)
{
	lc_stream_options options;

	lc_stream_options_init(&options);
	options.shuffle = LC_SHUFFLE_BLOCK;
	options.seed = ORDER_SEED;
	options.batch = batch;
	options.token = token;
	return options;
}

static void
open_all(struct place *place, struct reply *reply)
{
	double start;

	place->memory = memory_private();
	start = bench_seconds();
	order_module_open(&place->stream, place->root, place->kind->module);
	reply->value[0] = (bench_seconds() - start) * 1e3;
	start = bench_seconds();
	order_source_open(&place->stream, true);
	reply->value[1] = (bench_seconds() - start) * 1e3;
	reply->value[2] = (memory_private() - place->memory) / MB;
}

static void
read_next(lc_reader *reader)
{
	const lc_batch *batch;

	module_must(lc_reader_next(reader, &batch));
	lc_batch_release(batch);
}

/* The first, the median, and the same with the batch that the token stands for. */
static void
resume(struct place *place, struct reply *reply)
{
	double with_batch[PLACES];

	for (unsigned i = 0; i < PLACES; i++) {
		const lc_stream_options options = stream_options(ORDER_BATCH,
		    place->tokens[i]);
		const double start = bench_seconds();
		lc_reader *reader;
		order_stream_open(&place->stream, &options);
		place->times[i] = (bench_seconds() - start) * 1e3;
		reader = order_reader(&place->stream, 0);
		read_next(reader);
		with_batch[i] = (bench_seconds() - start) * 1e3;
		lc_reader_close(reader);
		order_stream_end(&place->stream);
	}
	reply->value[0] = place->times[0];
	reply->value[1] = bench_middle(place->times, PLACES);
	reply->value[2] = bench_middle(with_batch, PLACES);
}

/* The first, the median, and what memory it takes in the end. */
static void
seek(struct place *place, uint64_t size, struct reply *reply)
{
	const lc_stream_options options = stream_options(size, NULL);
	lc_reader *reader;

	order_stream_open(&place->stream, &options);
	reader = order_reader(&place->stream, 0);
	for (unsigned i = 0; i < PLACES; i++) {
		const uint64_t to = random_at(place->turn++) % (place->chunks / size);
		const double start = bench_seconds();
		module_must(lc_reader_seek(reader, to));
		read_next(reader);
		place->times[i] = (bench_seconds() - start) * 1e3;
	}
	reply->value[0] = place->times[0];
	reply->value[1] = bench_middle(place->times, PLACES);
	reply->value[2] = (memory_private() - place->memory) / MB;
	lc_reader_close(reader);
	order_stream_end(&place->stream);
}

static void
work(void *ctx, const struct job *job, struct reply *reply)
{
	struct place *place = ctx;

	if (job->what == OPEN)
		open_all(place, reply);
	else if (job->what == RESUME)
		resume(place, reply);
	else
		seek(place, job->a, reply);
}

/* ---- measuring ------------------------------------------------------------------- */

struct stand {
	struct bench *bench;
	const char *name; /* of the case */
	struct place place[KINDS];
};

static void
note(const struct stand *stand, const struct place *place, const char *metric,
    const char *unit, double value)
{
	bench_run(stand->bench, stand->name, place->kind->name, metric, unit, value);
}

static void
make_tokens(struct place *place)
{
	const lc_stream_options options = stream_options(ORDER_BATCH, NULL);

	order_module_source(&place->stream, place->root, place->kind->module, true);
	order_stream_open(&place->stream, &options);
	for (unsigned i = 0; i < PLACES; i++)
		module_must(lc_stream_token(place->stream.stream,
		    random_at(i) % (place->chunks / ORDER_BATCH), place->tokens[i]));
	order_stream_close(&place->stream);
}

static void
make(const struct stand *stand, struct place *place)
{
	lc_options options = module_options(1);
	lc_cache *cache;
	double start;

	options.durability = LC_DURABLE_RELAXED; /* meta pages are not synced either */
	cache = module_open(place->root, place->kind->module, &options);
	unsynced_begin();
	start = bench_seconds();
	place->kind->fill(cache, place->chunks);
	note(stand, place, "commits, not synced", "1/s", (double)place->chunks /
	    (bench_seconds() - start));
	module_must(lc_close(cache));
	unsynced_end();
	make_tokens(place);
}

static void
measure_fresh(const struct stand *stand, struct place *place)
{
	struct worker *worker = worker_start(work, place);
	struct reply reply = worker_ask(worker, OPEN, 0, 0);

	note(stand, place, "open the module", "ms", reply.value[0]);
	note(stand, place, "open the source", "ms", reply.value[1]);
	note(stand, place, "memory of both", "MB", reply.value[2]);
	reply = worker_ask(worker, RESUME, 0, 0);
	note(stand, place, "resume, first", "ms", reply.value[0]);
	note(stand, place, "resume", "ms", reply.value[1]);
	note(stand, place, "resume and read 256", "ms", reply.value[2]);
	reply = worker_ask(worker, SEEK, 1, 0);
	note(stand, place, "seek and read 1, first", "ms", reply.value[0]);
	note(stand, place, "seek and read 1", "ms", reply.value[1]);
	reply = worker_ask(worker, SEEK, ORDER_BATCH, 0);
	note(stand, place, "seek and read 256", "ms", reply.value[1]);
	note(stand, place, "memory with a reader", "MB", reply.value[2]);
	worker_stop(worker);
}

static void
measure_locate(const struct stand *stand, struct place *place, unsigned rounds)
{
	static const char *const names[KINDS] = {
		"lc_stream_locate, 1 record a chunk, 4 inputs",
		"lc_stream_locate, 1 record a chunk, plain puts",
	};
	const char *name = names[place->kind - kinds];

	order_module_source(&place->stream, place->root, place->kind->module, true);
	order_locate(stand->bench, name, place->stream.source, rounds);
	order_stream_close(&place->stream);
	bench_print(stand->bench, name);
}

static void
remove_module(const struct place *place)
{
	char dir[4200];

	snprintf(dir, sizeof(dir), "%s/%s", place->root, place->kind->module);
	scratch_remove(dir);
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	struct stand stand = { .bench = bench,
		.name = choice->quick ? QUICK_CASE : CASE };

	if (!choice_has(choice, stand.name, true))
		return;
	for (unsigned k = 0; k < KINDS; k++) {
		stand.place[k] = (struct place){ .root = root, .kind = &kinds[k],
			.chunks = choice->quick ? QUICK_CHUNKS : CHUNKS };
		make(&stand, &stand.place[k]);
	}
	for (unsigned round = 0; round < choice->rounds; round++)
		for (unsigned k = 0; k < KINDS; k++)
			measure_fresh(&stand, &stand.place[k]);
	bench_print(bench, stand.name);
	for (unsigned k = 0; k < KINDS; k++) {
		measure_locate(&stand, &stand.place[k], choice->rounds);
		remove_module(&stand.place[k]);
	}
}

static void
state(struct bench *bench, const char *name)
{
	static const char *const metrics[] = {
		"resume, first", "resume", "seek and read 1, first", "seek and read 1",
	};

	for (unsigned k = 0; k < KINDS; k++)
		for (unsigned m = 0; m < sizeof(metrics) / sizeof(metrics[0]); m++)
			bench_ratio(bench, bench_median(bench, name, kinds[k].name,
			    metrics[m]), "<=", TARGET, "%s: %s, %s, ms", name,
			    kinds[k].name, metrics[m]);
}

static void
ratios(struct bench *bench)
{
	state(bench, CASE);
	state(bench, QUICK_CASE);
}

const struct order_part order_chunks = { measure, ratios };
