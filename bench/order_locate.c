/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_locate.h"

#include "module.h"
#include "order_set.h"

#define CALLS 100000
#define MOST_PIECES 16

/* Orders, each one stream; R* has no shuffle. */
static const struct {
	const char *name;
	lc_shuffle shuffle;
	uint32_t idealised;
} orders[] = {
	{ "none", LC_SHUFFLE_NONE, 0 },
	{ "block", LC_SHUFFLE_BLOCK, 0 },
	{ "era", LC_SHUFFLE_ERA, 0 },
	{ "full", LC_SHUFFLE_FULL, 0 },
	{ "R* = 8", LC_SHUFFLE_NONE, 8 },
};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static const struct {
	const char *metric;
	uint64_t window; /* records */
} rows[] = { { "a record", 0 }, { "a window of 7 records", 7 } };
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static lc_stream *
open_stream(lc_source *source, unsigned order, uint64_t window)
{
	lc_stream_options options;
	lc_stream *stream;

	lc_stream_options_init(&options);
	options.shuffle = orders[order].shuffle;
	options.idealised = orders[order].idealised;
	options.epochs = 0;
	options.window = window;
	options.seed = ORDER_SEED;
	module_must(lc_stream_open(&source, 1, &options, &stream));
	return stream;
}

/* One example after another. */
static double
nanoseconds(lc_stream *stream)
{
	const double start = bench_seconds();
	lc_piece pieces[MOST_PIECES];

	for (uint64_t x = 0; x < CALLS; x++) {
		size_t n;
		module_must(lc_stream_locate(stream, x, pieces, MOST_PIECES, &n));
	}
	return (bench_seconds() - start) / CALLS * 1e9;
}

void
order_locate(struct bench *bench, const char *case_name, lc_source *source,
    unsigned rounds)
{
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned r = 0; r < ROWS; r++)
			for (unsigned o = 0; o < ORDERS; o++) {
				lc_stream *stream = open_stream(source, o,
				    rows[r].window);
				bench_run(bench, case_name, orders[o].name,
				    rows[r].metric, "ns", nanoseconds(stream));
				lc_stream_close(stream);
			}
}
