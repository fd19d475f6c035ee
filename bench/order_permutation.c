/* SPDX-License-Identifier: BSD-2-Clause */
/* The permutation that every shuffle stands on. */
#include <stdint.h>

#include "order/shuffle.h"
#include "order_part.h"

#define CASE "lc__permute"
#define TARGET 60 /* ns */

/* 4^k + 1 is walked the longest. */
static const struct {
	const char *name;
	uint64_t n, calls;
} sizes[] = {
	{ "n = 10^6", 1000000, 1000000 },
	{ "n = 10^9", 1000000000, 1000000 },
	{ "n = 4^15 + 1", (UINT64_C(1) << 30) + 1, 1000000 },
};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* One after another, as an epoch is read. */
static uint64_t
in_turn(const struct lc__permutation *permutation, uint64_t calls)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < calls; i++)
		sum += lc__permute(permutation, i);
	return sum;
}

/* Each waits for the one before. */
static uint64_t
chained(const struct lc__permutation *permutation, uint64_t calls)
{
	uint64_t at = 0;

	for (uint64_t i = 0; i < calls; i++)
		at = lc__permute(permutation, at);
	return at;
}

static const struct {
	const char *metric;
	uint64_t (*run)(const struct lc__permutation *permutation, uint64_t calls);
} rows[] = { { "in turn", in_turn }, { "chained", chained } };
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static void
measure_size(struct bench *bench, unsigned row, unsigned size, uint64_t seed)
{
	struct lc__permutation permutation;
	volatile uint64_t result;
	double start;

	lc__permutation_init(&permutation, sizes[size].n, seed);
	start = bench_seconds();
	result = rows[row].run(&permutation, sizes[size].calls);
	bench_run(bench, CASE, sizes[size].name, rows[row].metric, "ns",
	    (bench_seconds() - start) / (double)sizes[size].calls * 1e9);
	(void)result;
}

static void
measure(struct bench *bench, const struct choice *choice, const char *root)
{
	(void)root;
	if (!choice_has(choice, CASE, true))
		return;
	for (unsigned round = 0; round < choice->rounds; round++)
		for (unsigned r = 0; r < ROWS; r++)
			for (unsigned s = 0; s < SIZES; s++)
				measure_size(bench, r, s, round);
	bench_print(bench, CASE);
}

static void
ratios(struct bench *bench)
{
	for (unsigned s = 0; s < SIZES; s++)
		bench_ratio(bench, bench_median(bench, CASE, sizes[s].name,
		    rows[0].metric), "<=", TARGET, CASE ": %s, %s, ns", sizes[s].name,
		    rows[0].metric);
}

const struct order_part order_permutation = { measure, ratios };
