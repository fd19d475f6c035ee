/* SPDX-License-Identifier: BSD-2-Clause */
/* Permutations without a table: bijections of any size, that look drawn by lot. */
#include "run.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model_shares.h"
#include "model_shuffle.h"
#include "order/shares.h"
#include "order/shuffle.h"
#include "sample.h"

/* ---- bijections --------------------------------------------------------------- */

/* n numbers below n, none of them twice. */
static void
check_bijection(uint64_t n, uint64_t key, unsigned char *seen)
{
	struct lc__permutation permutation;

	lc__permutation_init(&permutation, n, key);
	memset(seen, 0, (size_t)(n / 8 + 1));
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t to = lc__permute(&permutation, i);
		const unsigned char bit = (unsigned char)(1u << to % 8);

		if (to >= n || seen[to / 8] & bit)
			ck_abort_msg("n %llu, key %llu: %llu goes to %llu",
			    (unsigned long long)n, (unsigned long long)key,
			    (unsigned long long)i, (unsigned long long)to);
		seen[to / 8] |= bit;
	}
}

START_TEST(all_small_sizes)
{
	uint64_t seed = run_seed();
	const unsigned keys = sample_times(4);
	unsigned char seen[5000 / 8 + 1];

	for (unsigned k = 0; k < keys; k++)
		for (uint64_t n = 1; n <= 5000; n++)
			check_bijection(n, run_random(&seed), seen);
}
END_TEST

/* Around the powers of 2, where the network is the best and the worst fit. */
START_TEST(powers_of_two)
{
	const unsigned most = getenv("T_SLOW") != NULL ? 16 : 24;
	unsigned char *seen = malloc((1u << 24) / 8 + 2);
	uint64_t seed = run_seed();

	ck_assert_ptr_nonnull(seen);
	for (unsigned k = 1; k <= most; k++)
		for (uint64_t n = (1u << k) - 1; n <= (1u << k) + 1; n++)
			check_bijection(n, run_random(&seed), seen);
	free(seen);
}
END_TEST

/* Too many to be counted: the walk stays below n, and the formula is the model's. */
START_TEST(huge_sizes)
{
	uint64_t seed = run_seed();

	for (unsigned i = 0; i < 20000; i++) {
		const uint64_t n = (run_random(&seed) >> (1 + run_random(&seed) % 62)) + 1;
		const uint64_t key = run_random(&seed), at = run_random(&seed) % n;
		struct lc__permutation permutation;

		lc__permutation_init(&permutation, n, key);
		ck_assert_uint_eq(lc__permute(&permutation, at),
		    model_permute(n, key, MODEL_ROUNDS, at));
	}
}
END_TEST

START_TEST(largest_sizes)
{
	static const uint64_t sizes[] = { INT64_MAX, UINT64_C(1) << 63,
	    (UINT64_C(1) << 62) + 1, UINT64_C(1) << 62 };
	const uint64_t n = sizes[_i];
	uint64_t seed = run_seed();

	for (unsigned i = 0; i < 2000; i++) {
		const uint64_t key = run_random(&seed);
		const uint64_t at = i == 0 ? n - 1 : run_random(&seed) % n;
		struct lc__permutation permutation;

		lc__permutation_init(&permutation, n, key);
		ck_assert_uint_lt(lc__permute(&permutation, at), n);
		ck_assert_uint_eq(lc__permute(&permutation, at),
		    model_permute(n, key, MODEL_ROUNDS, at));
	}
}
END_TEST

/* ---- as if by lot ------------------------------------------------------------- */

/* Ways to put 0..n-1 into an order, one for each @p number. */
typedef void draw_fn(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out);

/* What the shuffles in blocks below have for B and W. */
#define BLOCK 4
#define SPREAD 3

static void
by_permutation(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	struct lc__permutation permutation;

	lc__permutation_init(&permutation, n,
	    lc__key((uint64_t[]) { seed, number, LC__TAG_WHOLE, 0 }, 4));
	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint32_t)lc__permute(&permutation, i);
}

/* Fisher and Yates, from a generator that has nothing to do with keys. */
static void
by_lot(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	uint64_t state = seed ^ number * UINT64_C(0xD1342543DE82EF95);

	for (uint32_t i = 0; i < n; i++)
		out[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		const uint32_t j = (uint32_t)(((run_random(&state) >> 32) * i) >> 32);
		const uint32_t swap = out[i - 1];

		out[i - 1] = out[j];
		out[j] = swap;
	}
}

static void
by_two_rounds(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	const uint64_t key = lc__key((uint64_t[]) { seed, number, 1, 0 }, 4);

	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint32_t)model_permute(n, key, 2, i);
}

static void
by_block_shuffle(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	const struct lc__shuffle_rule rule = { .kind = LC_SHUFFLE_BLOCK,
	    .block = BLOCK, .spread = SPREAD, .seed = seed };
	struct lc__shuffle shuffle;

	lc__shuffle_init(&shuffle, &rule, n, number);
	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint32_t)lc__shuffle_at(&shuffle, i);
}

/* Blocks by lot; inside a window by lot too, or as they stand. */
static void
blocks_by_lot(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out,
    bool inside)
{
	const uint32_t blocks = n / BLOCK;
	uint32_t order[256], window[BLOCK * (SPREAD + 1)], laid[1024];

	by_lot(~seed, number, blocks, order);
	for (uint32_t i = 0; i < n; i++)
		laid[i] = i / BLOCK < blocks ? order[i / BLOCK] * BLOCK + i % BLOCK : i;
	for (uint32_t first = 0, w = 0, end; first < n; first = end, w++) {
		end = (w + 1) * SPREAD < blocks ? first + BLOCK * SPREAD : n;
		by_lot(seed + w, number, end - first, window);
		for (uint32_t i = first; i < end; i++)
			out[i] = laid[inside ? first + window[i - first] : i];
	}
}

static void
by_blocks_by_lot(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	blocks_by_lot(seed, number, n, out, true);
}

static void
by_blocks_alone(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	blocks_by_lot(seed, number, n, out, false);
}

/* Three shares of chunks of three and five examples, which are dealt alike to both ways of
 * shuffling them. */
#define SHARES 3
#define DEALT_CHUNKS 30
#define DEALT 120
#define DEAL_SEED 1

static struct model_shares
dealt_chunks(uint64_t sizes[DEALT_CHUNKS])
{
	for (uint32_t i = 0; i < DEALT_CHUNKS; i++)
		sizes[i] = i % 2 == 0 ? 3 : 5;
	return (struct model_shares) { SHARES, SPREAD, DEAL_SEED, sizes, DEALT_CHUNKS };
}

/* An example's number in the order of chunks. */
static uint32_t
dealt_example(uint64_t chunk, uint64_t offset)
{
	return (uint32_t)(chunk / 2 * 8 + (chunk % 2 == 0 ? 0 : 3) + offset);
}

static void
by_shares(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	const struct lc__shares_rule rule = { SHARES, SPREAD, DEAL_SEED };
	uint64_t sizes[DEALT_CHUNKS], end = 0;
	struct lc__shares_cursor cursor = { 0 };
	struct lc__shares_place place = { 0 };
	struct lc__shares *shares;

	dealt_chunks(sizes);
	for (uint32_t i = 0; i < DEALT_CHUNKS; i++)
		sizes[i] = end += sizes[i];
	ck_assert_int_eq(lc__shares_new(&rule, sizes, DEALT_CHUNKS, &shares), LC_OK);
	cursor.shares = shares;
	for (uint32_t i = 0; i < n; i++) {
		ck_assert_int_eq(lc__shares_at(&cursor, (seed % 1000000 + number) * n + i,
		    &place), LC_OK);
		out[i] = dealt_example(place.chunk, place.offset);
	}
	lc__shares_cursor_end(&cursor);
	lc__shares_free(shares);
}

/* The pieces of each share by lot, and what is in each window of them. */
static void
by_shares_by_lot(uint64_t seed, uint64_t number, uint32_t n, uint32_t *out)
{
	uint64_t sizes[DEALT_CHUNKS], all;
	const struct model_shares of = dealt_chunks(sizes);
	struct model_place *line = model_shares_line(&of, &all);

	for (uint32_t c = 0; c < SHARES; c++) {
		const struct model_place *own = line + c * (n / SHARES);
		uint32_t begins[DEALT_CHUNKS + 1], pieces = 0, order[DEALT_CHUNKS];
		uint32_t laid[DEALT], window[DEALT], at = 0, first = 0;

		for (uint32_t i = 0; i < n / SHARES; i++)
			if (i == 0 || own[i].chunk != own[i - 1].chunk)
				begins[pieces++] = i;
		begins[pieces] = n / SHARES;
		by_lot(seed + c, number, pieces, order);
		for (uint32_t p = 0; p < pieces; p++) {
			for (uint32_t i = begins[order[p]]; i < begins[order[p] + 1]; i++)
				laid[at++] = dealt_example(own[i].chunk, own[i].offset);
			if ((p + 1) % SPREAD != 0 && p + 1 < pieces)
				continue;
			by_lot(seed + 1000 + c * 100 + p, number, at - first, window);
			for (uint32_t i = first; i < at; i++)
				out[i * SHARES + c] = laid[first + window[i - first]];
			first = at;
		}
	}
	free(line);
}

#define N_MAX 1024

/* What is counted of many orders; a bin for each number below n. */
enum statistic {
	DIFFERENCE, /* from one position to the next, modulo n */
	PLACE_FIRST, PLACE_MIDDLE, PLACE_LAST, /* where an element stands */
	CHANGE,     /* of what stands at a position from one order to the next */
	STATISTICS
};
static const char *const statistic_names[] = { "differences", "first", "middle",
    "last", "changes" };
typedef uint64_t counts[STATISTICS][N_MAX];

static void
count_order(const uint32_t *order, const uint32_t *before, uint64_t number,
    uint32_t n, counts out)
{
	/* Few of one order, so that they are as good as independent. */
	const uint32_t differences = 1 + n / 50;
	const uint32_t elements[] = { 0, n / 2, n - 1 };

	for (uint32_t d = 0; d < differences; d++) {
		const uint32_t i = (uint32_t)((number + d * 47) % (n - 1));

		out[DIFFERENCE][(order[i + 1] + n - order[i]) % n]++;
	}
	for (uint32_t i = 0; i < n; i++)
		for (int e = 0; e < 3; e++)
			out[PLACE_FIRST + e][i] += order[i] == elements[e];
	/* Every other pair of neighbours: no order counts twice. */
	if (number % 2 == 1)
		out[CHANGE][(order[number % n] + n - before[number % n]) % n]++;
}

static void
count_orders(draw_fn *draw, uint64_t seed, uint32_t n, unsigned orders, counts out)
{
	uint32_t order[2][N_MAX] = { { 0 } };

	memset(out, 0, sizeof(counts));
	for (unsigned k = 0; k < orders; k++) {
		draw(seed, k, n, order[k % 2]);
		count_order(order[k % 2], order[1 - k % 2], k, n, out);
	}
}

/*
 * How many standard deviations two histograms of as many things each are further apart
 * than two of the same distribution: chi-square of two samples, made normal by Wilson
 * and Hilferty. Neighbouring bins are joined until each has enough for that.
 */
static double
distance(const uint64_t *a, const uint64_t *b, uint32_t n)
{
	double chi = 0, bins = 0, x = 0, y = 0;

	for (uint32_t i = 0; i < n; i++) {
		x += (double)a[i];
		y += (double)b[i];
		if (x + y < 20)
			continue;
		chi += (x - y) * (x - y) / (x + y);
		bins++;
		x = y = 0;
	}
	if (bins < 2)
		return 0;
	bins--; /* degrees of freedom */
	return (cbrt(chi / bins) - (1 - 2 / (9 * bins))) / sqrt(2 / (9 * bins));
}

/* With 6 deviations for each of 50 comparisons, a right one fails one time in 10^7. The
 * broken ones are to be told apart without doubt. */
#define ALIKE 6.0
#define APART 20.0

static const struct comparison {
	const char *what;
	draw_fn *draw, *reference;
	uint32_t n;
	unsigned orders;
	bool alike;
} comparisons[] = {
	{ "lot against lot", by_lot, by_lot, 100, 50000, true },
	{ "10", by_permutation, by_lot, 10, 200000, true },
	{ "33", by_permutation, by_lot, 33, 100000, true },
	{ "64", by_permutation, by_lot, 64, 50000, true },
	{ "100", by_permutation, by_lot, 100, 50000, true },
	{ "1000", by_permutation, by_lot, 1000, 10000, true },
	{ "blocks", by_block_shuffle, by_blocks_by_lot, 102, 50000, true },
	{ "shares", by_shares, by_shares_by_lot, DEALT, 50000, true },
	{ "2 rounds of 64", by_two_rounds, by_lot, 64, 50000, false },
	{ "2 rounds of 1000", by_two_rounds, by_lot, 1000, 10000, false },
	{ "blocks alone", by_blocks_alone, by_blocks_by_lot, 102, 50000, false },
	{ "blocks, not all", by_block_shuffle, by_lot, 102, 50000, false },
	{ "shares, not all", by_shares, by_lot, DEALT, 50000, false },
};
#define COMPARISONS ((int)(sizeof(comparisons) / sizeof(comparisons[0])))

START_TEST(as_if_by_lot)
{
	static counts a, b;
	const struct comparison *c = &comparisons[_i];
	uint64_t seed = run_seed();
	/* Those that must differ need as many as it takes to see it. */
	const unsigned orders = c->alike ? sample_times(c->orders) : c->orders;
	double furthest = -100;

	count_orders(c->draw, run_random(&seed), c->n, orders, a);
	count_orders(c->reference, run_random(&seed), c->n, orders, b);
	printf("# %s:", c->what);
	for (int s = 0; s < STATISTICS; s++) {
		const double z = distance(a[s], b[s], c->n);

		printf(" %s %.1f", statistic_names[s], z);
		furthest = z > furthest ? z : furthest;
	}
	printf("\n");
	ck_assert_msg(c->alike ? furthest < ALIKE : furthest > APART,
	    "%s: %.1f standard deviations", c->what, furthest);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("permute");
	TCase *tc = tcase_create("bijection");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, all_small_sizes);
	tcase_add_test(tc, powers_of_two);
	tcase_add_test(tc, huge_sizes);
	tcase_add_loop_test(tc, largest_sizes, 0, 4);
	suite_add_tcase(suite, tc);
	tc = tcase_create("lot");
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, as_if_by_lot, 0, COMPARISONS);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
