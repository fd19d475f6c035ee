/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches of a stream beside a file, a map and liblmdb, warm and cold. */
#include <stdio.h>

#include "cold.h"
#include "order_locate.h"
#include "order_part.h"
#include "order_stream.h"
#include "order_way.h"

#define RECORDS 524288
#define QUICK_RECORDS 32768
#define COLD_ROUNDS 3 /* at most: the disk is slow */

/* Before those that are compared with it. */
static const struct order_way *const ways[] = {
	&order_mapped, &order_pread, &order_lmdb_in_place, &order_lmdb_copied,
	&order_copies, &order_copies_verified, &order_views, &order_views_verified,
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static const struct reads_case {
	const char *name;
	enum order_kind kind;
	uint64_t cold; /* batches that are read when nothing is in memory, an eighth of them
	                  in a quick run; 0: warm, all */
} cases[] = {
	{ "in order, warm", IN_ORDER, 0 },
	{ "block-shuffled, warm", BLOCK_SHUFFLED, 0 },
	{ "fully shuffled, warm", FULLY_SHUFFLED, 0 },
	{ "in order, cold", IN_ORDER, 512 },
	{ "block-shuffled, cold", BLOCK_SHUFFLED, 128 },
	{ "fully shuffled, cold", FULLY_SHUFFLED, 32 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

/* Plain ways take part where there are no threads. */
static const struct row {
	const char *metric, *batches;
	unsigned readers, threads;
	bool sums, cold; /* whether it is measured on a cold file, too */
} rows[] = {
	{ "1 reader", "1 reader, batches", 1, 0, true, true },
	{ "1 reader, 1 thread", "1 reader, 1 thread, batches", 1, 1, true, false },
	{ "1 reader, 2 threads", "1 reader, 2 threads, batches", 1, 2, true, true },
	{ "2 readers", "2 readers, batches", 2, 0, true, true },
	{ "2 readers, 2 threads each", "2 readers, 2 threads each, batches", 2, 2, true,
	  true },
	{ "3 readers", "3 readers, batches", 3, 0, true, true },
	{ "3 readers, 2 threads each", "3 readers, 2 threads each, batches", 3, 2, true,
	  true },
	{ "4 readers", "4 readers, batches", 4, 0, true, true },
	{ "4 readers, 2 threads each", "4 readers, 2 threads each, batches", 4, 2, true,
	  true },
	{ "1 reader, not summed", "1 reader, not summed, batches", 1, 0, false, false },
	{ "1 reader, 2 threads, not summed", "1 reader, 2 threads, not summed, batches",
	  1, 2, false, false },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct stand {
	struct bench *bench;
	const struct choice *choice;
	const struct reads_case *c;
	struct order_run run;
	uint64_t expected; /* sum */
};

/* ---- measuring ------------------------------------------------------------------- */

static bool
takes_part(const struct stand *stand, const struct order_way *way,
    const struct row *row)
{
	return choice_has_contender(stand->choice, way->name) &&
	    (row->threads == 0 || way->ahead) && (row->sums || way->unsummed) &&
	    (stand->c->cold == 0 || (row->cold && way != &order_lmdb_copied));
}

static double
seconds_of(struct stand *stand, const struct order_way *way, void *state,
    const struct row *row)
{
	stand->run.readers = row->readers;
	stand->run.threads = row->threads;
	stand->run.sums = row->sums;
	return order_seconds(way, state, &stand->run, row->sums ? stand->expected :
	    stand->run.examples);
}

static void
note(const struct stand *stand, const struct order_way *way, const struct row *row,
    double seconds)
{
	const double n = (double)stand->run.examples;

	bench_run(stand->bench, stand->c->name, way->name, row->metric, "GB/s",
	    n * ORDER_RECORD / seconds / 1e9);
	bench_run(stand->bench, stand->c->name, way->name, row->batches, "1/s",
	    n / ORDER_BATCH / seconds);
}

/* One that stays open, with all pages in its map. */
static void *
open_warm(struct stand *stand, const struct order_way *way)
{
	void *state = way->open(&stand->run);

	(void)seconds_of(stand, way, state, &rows[0]);
	return state;
}

static void
measure_warm(struct stand *stand)
{
	void *state[WAYS] = { NULL };

	for (unsigned w = 0; w < WAYS; w++)
		if (choice_has_contender(stand->choice, ways[w]->name))
			state[w] = open_warm(stand, ways[w]);
	for (unsigned round = 0; round < stand->choice->rounds; round++)
		for (unsigned r = 0; r < ROWS; r++)
			for (unsigned i = 0; i < WAYS; i++) {
				const unsigned w = (i + round) % WAYS;
				if (takes_part(stand, ways[w], &rows[r]))
					note(stand, ways[w], &rows[r], seconds_of(stand,
					    ways[w], state[w], &rows[r]));
			}
	for (unsigned w = 0; w < WAYS; w++)
		if (state[w] != NULL)
			ways[w]->close(state[w]);
}

static void
measure_once_cold(struct stand *stand, const struct order_way *way,
    const struct row *row)
{
	void *state;

	cold_drop(way->file(stand->run.set));
	state = way->open(&stand->run);
	note(stand, way, row, seconds_of(stand, way, state, row));
	way->close(state);
}

static void
measure_cold(struct stand *stand)
{
	for (unsigned round = 0; round < stand->choice->rounds && round < COLD_ROUNDS;
	    round++)
		for (unsigned r = 0; r < ROWS; r++)
			for (unsigned i = 0; i < WAYS; i++) {
				const unsigned w = (i + round) % WAYS;
				if (takes_part(stand, ways[w], &rows[r]))
					measure_once_cold(stand, ways[w], &rows[r]);
			}
}

static void
measure_case(struct bench *bench, const struct choice *choice,
    const struct order_set *set, const struct reads_case *c)
{
	struct stand stand = { .bench = bench, .choice = choice, .c = c,
		.run = { .set = set, .kind = c->kind, .examples = set->load.samples } };

	if (c->cold != 0)
		stand.run.examples = c->cold * ORDER_BATCH / (choice->quick ? 8 : 1);
	stand.expected = order_expected(set, c->kind, stand.run.examples);
	if (c->cold != 0)
		measure_cold(&stand);
	else
		measure_warm(&stand);
	bench_print(bench, c->name);
}

#define LOCATE "lc_stream_locate, 2,048 records a chunk"

static void
measure_locate(struct bench *bench, const struct choice *choice, const char *root)
{
	struct order_stream stream;

	order_module_source(&stream, root, ORDER_MODULE, true);
	order_locate(bench, LOCATE, stream.source, choice->rounds);
	order_stream_close(&stream);
	bench_print(bench, LOCATE);
}

static bool
wanted(const struct choice *choice)
{
	bool any = choice_has(choice, LOCATE, true);

	for (unsigned i = 0; i < CASES; i++)
		any |= choice_has(choice, cases[i].name, true);
	return any;
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	struct order_set set;

	if (!wanted(choice))
		return;
	order_set_make(&set, root, choice->quick ? QUICK_RECORDS : RECORDS);
	printf("%ju records of f32[512], batches of %d, commits of %ju\n",
	    (uintmax_t)set.load.samples, ORDER_BATCH, (uintmax_t)set.load.commit);
	for (unsigned i = 0; i < CASES; i++)
		if (choice_has(choice, cases[i].name, true))
			measure_case(bench, choice, &set, &cases[i]);
	if (choice_has(choice, LOCATE, true))
		measure_locate(bench, choice, root);
	order_set_free(&set);
}

/* ---- ratios ------------------------------------------------------------------------ */

#define ALONE "1 reader"
#define AHEAD "1 reader, 2 threads"
#define PAIR "2 readers"
#define ALONE_UNSUMMED "1 reader, not summed"
#define AHEAD_UNSUMMED "1 reader, 2 threads, not summed"

/* One way's rate in a row over another's in another. */
struct wanted {
	const struct order_way *ours;
	const char *row;
	const struct order_way *theirs;
	const char *their_row;
	double target;
};

static const struct wanted wanted_in_order[] = {
	{ &order_copies, AHEAD, &order_mapped, ALONE, 0.8 },
	{ &order_copies_verified, AHEAD, &order_mapped, ALONE, 0.8 },
	{ &order_views, AHEAD, &order_mapped, ALONE, 0.8 },
	{ &order_views_verified, AHEAD, &order_mapped, ALONE, 0.8 },
	{ &order_views, ALONE, &order_mapped, ALONE, 0.8 },
	{ &order_copies, ALONE_UNSUMMED, &order_mapped, ALONE, 0.8 },
	{ &order_copies, AHEAD_UNSUMMED, &order_mapped, ALONE, 0.8 },
	{ &order_copies_verified, AHEAD_UNSUMMED, &order_mapped, ALONE, 0.8 },
};

static const struct wanted wanted_warm[] = {
	{ &order_copies, ALONE, &order_pread, ALONE, 1 },
	{ &order_copies, PAIR, &order_pread, PAIR, 1 },
	{ &order_copies, ALONE, &order_lmdb_copied, ALONE, 1 },
	{ &order_views, ALONE, &order_lmdb_in_place, ALONE, 1 },
};

static const struct wanted wanted_cold[] = {
	{ &order_copies, AHEAD, &order_pread, ALONE, 1 },
	{ &order_copies, AHEAD, &order_lmdb_in_place, ALONE, 1 },
};

static void
state_all(struct bench *bench, const char *name, const struct wanted *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bench_ratio(bench, bench_median(bench, name, wanted[i].ours->name,
		    wanted[i].row) / bench_median(bench, name, wanted[i].theirs->name,
		    wanted[i].their_row), ">=", wanted[i].target,
		    "%s: %s, %s, over %s, %s", name, wanted[i].ours->name,
		    wanted[i].row, wanted[i].theirs->name, wanted[i].their_row);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
ratios(struct bench *bench)
{
	state_all(bench, cases[0].name, wanted_in_order, COUNT(wanted_in_order));
	for (unsigned i = 0; i < CASES; i++)
		if (cases[i].cold != 0)
			state_all(bench, cases[i].name, wanted_cold, COUNT(wanted_cold));
		else
			state_all(bench, cases[i].name, wanted_warm, COUNT(wanted_warm));
}

const struct order_part order_reads = { measure, ratios };
