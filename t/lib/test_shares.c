/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of shares against lists that are written out, and what it promises. */
#include "run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lmdbcache.h"
#include "model_shares.h"
#include "order/shares.h"
#include "order/split.h"
#include "sample.h"

#define MOST_CHUNKS 60

struct dealt {
	uint64_t sizes[MOST_CHUNKS], ends[MOST_CHUNKS];
	struct model_shares model;
	uint64_t n; /* examples */
	struct lc__shares *shares;
};

static uint64_t
below(uint64_t *seed, uint64_t n)
{
	return run_random(seed) % n;
}

/* Chunks of all sizes, some of them empty; shares that are more than chunks, or fewer. */
static void
deal_any(struct dealt *d, uint64_t *seed)
{
	struct lc__shares_rule rule = { .spread = 1 + below(seed, 1 + below(seed, 20)),
	    .seed = run_random(seed) };
	const uint64_t most = 1 + below(seed, 40), empty = below(seed, 4);

	d->n = 0;
	d->model.chunks = 1 + below(seed, MOST_CHUNKS);
	for (uint64_t c = 0; c < d->model.chunks; c++) {
		d->sizes[c] = empty > 0 && below(seed, 4) < empty ? 0 : below(seed, most);
		if (c + 1 == d->model.chunks && d->n == 0)
			d->sizes[c]++;
		d->n += d->sizes[c];
		d->ends[c] = d->n;
	}
	rule.shares = 1 + (uint32_t)below(seed, 1 + below(seed, d->n));
	d->model.sizes = d->sizes;
	d->model.shares = rule.shares;
	d->model.spread = rule.spread;
	d->model.seed = rule.seed;
	ck_assert_int_eq(lc__shares_new(&rule, d->ends, d->model.chunks, &d->shares), LC_OK);
	ck_assert_uint_eq(lc__shares_examples(d->shares), d->n);
}

static void
must_be(struct lc__shares_cursor *cursor, uint64_t x, uint64_t epoch,
    const struct model_place *want)
{
	struct lc__shares_place got;

	ck_assert_int_eq(lc__shares_at(cursor, x, &got), LC_OK);
	if (got.chunk != want->chunk || got.offset != want->offset || got.epoch != epoch)
		ck_abort_msg("number %llu is %llu/%llu of epoch %llu instead of %llu/%llu "
		    "of %llu", (unsigned long long)x, (unsigned long long)got.chunk,
		    (unsigned long long)got.offset, (unsigned long long)got.epoch,
		    (unsigned long long)want->chunk, (unsigned long long)want->offset,
		    (unsigned long long)epoch);
}

/* In order over two epochs, and here and there, back to the first one too. */
START_TEST(same_as_written_out)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(600);

	for (unsigned k = 0; k < times; k++) {
		struct model_place *epochs[2];
		struct lc__shares_cursor cursor;
		struct dealt d;
		uint64_t numbers;

		deal_any(&d, &seed);
		for (uint64_t e = 0; e < 2; e++)
			epochs[e] = model_shares(&d.model, e, &numbers);
		ck_assert_uint_eq(lc__shares_numbers(d.shares), numbers);
		cursor = (struct lc__shares_cursor) { .shares = d.shares };
		for (uint64_t x = 0; x < 2 * numbers; x++)
			must_be(&cursor, x, x / numbers, &epochs[x / numbers][x % numbers]);
		for (uint64_t i = 0; i < numbers; i++) {
			const uint64_t x = below(&seed, 2 * numbers);

			must_be(&cursor, x, x / numbers, &epochs[x / numbers][x % numbers]);
		}
		lc__shares_cursor_end(&cursor);
		free(epochs[0]);
		free(epochs[1]);
		lc__shares_free(d.shares);
	}
}
END_TEST

/* An epoch has every example once; one of them twice in the shares that are one short. */
START_TEST(every_example_once)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(2000);

	for (unsigned k = 0; k < times; k++) {
		struct lc__shares_cursor cursor;
		struct lc__shares_place place;
		struct dealt d;
		unsigned char *seen;
		uint64_t numbers, twice = 0, epoch = below(&seed, 1000);

		deal_any(&d, &seed);
		seen = calloc(1, (size_t)d.n);
		numbers = lc__shares_numbers(d.shares);
		cursor = (struct lc__shares_cursor) { .shares = d.shares };
		for (uint64_t i = 0; i < numbers; i++) {
			uint64_t at;

			ck_assert_int_eq(lc__shares_at(&cursor, epoch * numbers + i, &place),
			    LC_OK);
			ck_assert_uint_lt(place.chunk, d.model.chunks);
			ck_assert_uint_lt(place.offset, d.sizes[place.chunk]);
			at = d.ends[place.chunk] - d.sizes[place.chunk] + place.offset;
			ck_assert_msg(!seen[at] || i >= d.n, "number %llu of %llu: again %llu",
			    (unsigned long long)i, (unsigned long long)d.n,
			    (unsigned long long)at);
			twice += seen[at];
			seen[at] = 1;
		}
		ck_assert_uint_eq(twice, numbers - d.n);
		ck_assert_uint_lt(twice, d.model.shares);
		for (uint64_t i = 0; i < d.n; i++)
			ck_assert_int_eq(seen[i], 1);
		lc__shares_cursor_end(&cursor);
		lc__shares_free(d.shares);
		free(seen);
	}
}
END_TEST

/* The chunks that are listed for one of R readers are those that its shares have. */
static void
check_chunks(const struct dealt *d, const struct model_place *line, uint64_t *seed)
{
	uint32_t readers = 1 + (uint32_t)below(seed, d->model.shares), reader;
	bool has[MOST_CHUNKS] = { false };
	uint64_t *chunks, n, at = 0;

	while (d->model.shares % readers != 0)
		readers--;
	reader = (uint32_t)below(seed, readers);
	for (uint64_t c = reader; c < d->model.shares; c += readers)
		for (uint64_t i = model_shares_first(&d->model, c);
		    i < model_shares_first(&d->model, c + 1); i++)
			has[line[i].chunk] = true;
	ck_assert_int_eq(lc__shares_chunks(d->shares, reader, readers, &chunks, &n), LC_OK);
	for (uint64_t c = 0; c < d->model.chunks; c++)
		if (has[c]) {
			ck_assert_uint_lt(at, n);
			ck_assert_uint_eq(chunks[at++], c);
		}
	ck_assert_uint_eq(at, n);
	free(chunks);
}

/* A share has the same examples in each epoch, and they are those of its part of the line. */
START_TEST(shares_stay)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(500);

	for (unsigned k = 0; k < times; k++) {
		struct lc__shares_cursor cursor;
		struct lc__shares_place place;
		struct dealt d;
		uint64_t n, numbers, *share_of;
		struct model_place *line;

		deal_any(&d, &seed);
		line = model_shares_line(&d.model, &n);
		ck_assert_uint_eq(n, d.n);
		share_of = calloc(d.n, sizeof(*share_of));
		for (uint64_t c = 0; c < d.model.shares; c++)
			for (uint64_t i = model_shares_first(&d.model, c);
			    i < model_shares_first(&d.model, c + 1); i++)
				share_of[d.ends[line[i].chunk] - d.sizes[line[i].chunk] +
				    line[i].offset] = c;
		numbers = lc__shares_numbers(d.shares);
		cursor = (struct lc__shares_cursor) { .shares = d.shares };
		for (uint64_t x = 0; x < 3 * numbers; x++) {
			ck_assert_int_eq(lc__shares_at(&cursor, x, &place), LC_OK);
			ck_assert_uint_eq(share_of[d.ends[place.chunk] - d.sizes[place.chunk] +
			    place.offset], x % d.model.shares);
		}
		check_chunks(&d, line, &seed);
		lc__shares_cursor_end(&cursor);
		lc__shares_free(d.shares);
		free(share_of);
		free(line);
	}
}
END_TEST

/* At any time a share is within W pieces: once it has begun with piece W + 1, it is done
 * with those before. A reader of k shares has kW open. */
START_TEST(windows_stay_near)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(1000);

	for (unsigned k = 0; k < times; k++) {
		struct lc__shares_cursor cursor;
		struct lc__shares_place place;
		struct dealt d;
		uint64_t first[MOST_CHUNKS], last[MOST_CHUNKS], numbers;

		deal_any(&d, &seed);
		numbers = lc__shares_numbers(d.shares);
		cursor = (struct lc__shares_cursor) { .shares = d.shares };
		for (uint64_t c = 0; c < d.model.shares; c++) {
			memset(first, 0xff, sizeof(first));
			for (uint64_t x = c; x < numbers; x += d.model.shares) {
				ck_assert_int_eq(lc__shares_at(&cursor, x, &place), LC_OK);
				if (first[place.chunk] == UINT64_MAX)
					first[place.chunk] = x;
				last[place.chunk] = x;
			}
			for (uint64_t x = c; x < numbers; x += d.model.shares) {
				uint64_t open = 0;

				for (uint64_t p = 0; p < d.model.chunks; p++)
					open += first[p] <= x && last[p] >= x;
				ck_assert_uint_le(open, d.model.spread);
			}
		}
		lc__shares_cursor_end(&cursor);
		lc__shares_free(d.shares);
	}
}
END_TEST

/* Any R that divides C: a reader has whole shares, the same in every batch. */
START_TEST(readers_have_shares)
{
	uint64_t seed = run_seed();

	for (unsigned k = 0; k < 2000; k++) {
		const uint32_t each = 1 + (uint32_t)below(&seed, 8);
		struct lc__share share = { .split = LC_SPLIT_STRIDED,
		    .readers = 1 + (uint32_t)below(&seed, 8) };
		const uint64_t shares = (uint64_t)each * share.readers;
		const uint64_t b = below(&seed, 1000);

		share.batch = shares * (1 + below(&seed, 5));
		share.reader = (uint32_t)below(&seed, share.readers);
		ck_assert_uint_eq(lc__share_rows(&share), share.batch / share.readers);
		for (uint64_t row = 0; row < lc__share_rows(&share); row++)
			ck_assert_uint_eq((b * share.batch + lc__share_at(&share, row)) %
			    shares % share.readers, share.reader);
	}
}
END_TEST

START_TEST(too_few)
{
	const struct lc__shares_rule rule = { .shares = 8, .spread = 1 };
	const uint64_t ends[] = { 3, 3, 7 };
	struct lc__shares *shares;

	ck_assert_int_eq(lc__shares_new(&rule, ends, 3, &shares), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "7 examples are too few for 8 shares");
	ck_assert_int_eq(lc__shares_new(&rule, ends, 0, &shares), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "0 examples are too few for 8 shares");
}
END_TEST

/* 400,000 chunks of 2^40 examples, windows without end: nothing overflows, and a number far
 * away is found at once. */
START_TEST(limits)
{
	static const uint64_t spreads[] = { 1, 16, INT64_MAX };
	const struct lc__shares_rule rule = { .shares = 1024, .spread = spreads[_i],
	    .seed = 3 };
	const uint64_t chunks = 400000, size = UINT64_C(1) << 40;
	uint64_t *ends = malloc(chunks * sizeof(*ends)), seed = run_seed();
	struct lc__shares_cursor cursor = { 0 };
	struct lc__shares_place place;
	struct lc__shares *shares;

	for (uint64_t i = 0; i < chunks; i++)
		ends[i] = (i + 1) * size;
	ck_assert_int_eq(lc__shares_new(&rule, ends, chunks, &shares), LC_OK);
	cursor.shares = shares;
	for (unsigned k = 0; k < 200; k++) {
		const uint64_t x = k == 0 ? UINT64_MAX : run_random(&seed);

		ck_assert_int_eq(lc__shares_at(&cursor, x, &place), LC_OK);
		ck_assert_uint_lt(place.chunk, chunks);
		ck_assert_uint_lt(place.offset, size);
		ck_assert_uint_eq(place.epoch, x / lc__shares_numbers(shares));
	}
	lc__shares_cursor_end(&cursor);
	lc__shares_free(shares);
	free(ends);
}
END_TEST

/* ---- what a cache fetches ------------------------------------------------------------ */

#define EPOCHS 8
#define PIECES 400

/* Misses of a cache of @p room chunks over the chunks of a share, W = 1. The chunk goes that
 * was used longest ago, or whose next use is furthest away. */
static unsigned
misses(uint64_t order[EPOCHS][PIECES], unsigned room, bool belady)
{
	uint64_t worth[PIECES] = { 0 };
	bool there[PIECES] = { false };
	unsigned n = 0, count = 0;

	for (uint64_t t = 0; t < EPOCHS * PIECES; t++) {
		const uint64_t chunk = order[t / PIECES][t % PIECES];
		uint64_t next = (t / PIECES + 1) * PIECES, worst = chunk;

		while (next < EPOCHS * PIECES && order[next / PIECES][next % PIECES] != chunk)
			next++;
		count += !there[chunk];
		n += !there[chunk];
		there[chunk] = true;
		worth[chunk] = belady ? UINT64_MAX - next : t;
		if (n <= room)
			continue;
		for (uint64_t c = 0; c < PIECES; c++)
			if (there[c] && worth[c] < worth[worst])
				worst = c;
		there[worst] = false;
		n--;
	}
	return count;
}

/* The formulas of lmdbcache_stream(3), within 4 percent of what the order makes. */
START_TEST(cache_formulas)
{
	static uint64_t order[EPOCHS][PIECES];
	const struct lc__shares_rule rule = { .shares = 1, .spread = 1, .seed = 11 };
	struct lc__shares_cursor cursor = { 0 };
	struct lc__shares_place place;
	uint64_t ends[PIECES];
	struct lc__shares *shares;

	for (unsigned i = 0; i < PIECES; i++)
		ends[i] = i + 1;
	ck_assert_int_eq(lc__shares_new(&rule, ends, PIECES, &shares), LC_OK);
	cursor.shares = shares;
	for (uint64_t x = 0; x < EPOCHS * PIECES; x++) {
		ck_assert_int_eq(lc__shares_at(&cursor, x, &place), LC_OK);
		order[x / PIECES][x % PIECES] = place.chunk;
	}
	for (unsigned room = PIECES / 8; room <= PIECES; room += PIECES / 8) {
		const double c = (double)room / PIECES, more = EPOCHS - 1;
		const double lru = c == 1 ? 1 : 1 + more * (1 - c - (1 - c) * log(1 - c));
		const double belady = 1 + more * (1 - c);
		const double got_lru = (double)misses(order, room, false) / PIECES;
		const double got_belady = (double)misses(order, room, true) / PIECES;

		printf("# cache %.3f: LRU %.3f, formula %.3f; Belady %.3f, formula %.3f\n", c,
		    got_lru, lru, got_belady, belady);
		ck_assert_double_le(fabs(got_lru / lru - 1), 0.04);
		ck_assert_double_le(fabs(got_belady / belady - 1), 0.04);
	}
	lc__shares_cursor_end(&cursor);
	lc__shares_free(shares);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shares");
	TCase *tc = tcase_create("shares");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, same_as_written_out);
	tcase_add_test(tc, every_example_once);
	tcase_add_test(tc, shares_stay);
	tcase_add_test(tc, windows_stay_near);
	tcase_add_test(tc, readers_have_shares);
	tcase_add_test(tc, too_few);
	tcase_add_loop_test(tc, limits, 0, 3);
	tcase_add_test(tc, cache_formulas);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
