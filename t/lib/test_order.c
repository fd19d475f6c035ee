/* SPDX-License-Identifier: BSD-2-Clause */
/* The worked examples of the deterministic order, all of them, to the last number. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "order/shuffle.h"
#include "order/mixture.h"
#include "order/round_robin.h"
#include "order/rstar.h"
#include "order/shares.h"
#include "order/split.h"
#include "order/window.h"
#include "vectors.h"

/* [number, its mix] */
static void
check_mix(const struct lc__json *row)
{
	ck_assert_uint_eq(vectors_count(row), 2);
	vectors_is(vectors_at_index(row, 1),
	    lc__mix(vectors_u64(vectors_at_index(row, 0))));
}

/* [[words], key] */
static void
check_key(const struct lc__json *row)
{
	const struct lc__json *list = vectors_at_index(row, 0);
	const size_t n = vectors_count(list);
	uint64_t words[16];

	ck_assert_uint_eq(vectors_count(row), 2);
	ck_assert(lc__json_is(list, LC__JSON_ARRAY) && n <= 16);
	for (size_t i = 0; i < n; i++)
		words[i] = vectors_u64(vectors_at_index(list, i));
	vectors_is(vectors_at_index(row, 1), lc__key(words, n));
}

/* What the three kinds of bijections have in common: numbers 0..n-1 as one list. */
struct positions {
	uint64_t n;
	uint64_t (*at)(const void *of, uint64_t i);
	const void *of;
};

/* "first", "last" and the hash, which need all numbers. */
static unsigned
check_all(const struct lc__json *row, const struct positions *p)
{
	const struct lc__json *first = lc__json_get(row, "first");
	const struct lc__json *last = lc__json_get(row, "last");
	const struct lc__json *hash = lc__json_get(row, "fnv1a64_of_u64le");
	uint64_t *all;

	if (first == NULL && last == NULL && hash == NULL)
		return 0;
	ck_assert_uint_lt(p->n, UINT64_C(1) << 28);
	all = malloc(p->n * sizeof(*all));
	ck_assert_ptr_nonnull(all);
	for (uint64_t i = 0; i < p->n; i++)
		all[i] = p->at(p->of, i);
	ck_assert_uint_le(vectors_count(first), p->n);
	ck_assert(first == NULL || vectors_count(first) > 0);
	if (first != NULL)
		vectors_equal(first, all, vectors_count(first));
	if (last != NULL)
		vectors_is(last, all[p->n - 1]);
	if (hash != NULL)
		vectors_is(hash, vectors_fnv1a(all, p->n));
	free(all);
	return 1;
}

/* "at": [[position, number], ...] */
static unsigned
check_some(const struct lc__json *row, const struct positions *p)
{
	const struct lc__json *at = lc__json_get(row, "at"), *pair;
	size_t i;

	if (at == NULL)
		return 0;
	ck_assert_uint_gt(vectors_count(at), 0);
	vectors_each(at, i, pair) {
		const uint64_t position = vectors_u64(vectors_at_index(pair, 0));

		ck_assert_uint_eq(vectors_count(pair), 2);
		ck_assert_uint_lt(position, p->n);
		vectors_is(vectors_at_index(pair, 1), p->at(p->of, position));
	}
	return 1;
}

static void
check_positions(const struct lc__json *row, const struct positions *p)
{
	ck_assert_uint_gt(check_all(row, p) + check_some(row, p), 0);
}

static uint64_t
permutation_at(const void *of, uint64_t i)
{
	return lc__permute(of, i);
}

static void
check_permutation(const struct lc__json *row)
{
	struct lc__permutation permutation;
	const uint64_t n = vectors_get_u64(row, "n");

	lc__permutation_init(&permutation, n, vectors_get_u64(row, "key"));
	check_positions(row,
	    &(struct positions) { n, permutation_at, &permutation });
}

static uint64_t
shuffle_at(const void *of, uint64_t i)
{
	return lc__shuffle_at(of, i);
}

static void
check_shuffle(const struct lc__json *row, struct lc__shuffle_rule *rule)
{
	const uint64_t n = vectors_get_u64(row, "n");
	struct lc__shuffle shuffle;

	rule->block = vectors_get_u64(row, "B");
	rule->spread = vectors_get_u64(row, "W");
	rule->seed = vectors_get_u64(row, "seed");
	lc__shuffle_init(&shuffle, rule, n, vectors_get_u64(row, "epoch"));
	check_positions(row, &(struct positions) { n, shuffle_at, &shuffle });
}

static void
check_block_shuffle(const struct lc__json *row)
{
	check_shuffle(row, &(struct lc__shuffle_rule) { .kind = LC_SHUFFLE_BLOCK });
}

static void
check_era_shuffle(const struct lc__json *row)
{
	check_shuffle(row, &(struct lc__shuffle_rule) {
	    .kind = LC_SHUFFLE_ERA,
	    .era_first = vectors_get_u64(row, "E0"),
	    .era_max = vectors_get_u64(row, "Emax"),
	});
}

static struct lc__round_input
input_of(void *ctx, uint32_t input)
{
	return ((const struct lc__round_input *)ctx)[input];
}

static void
check_chunk_order(const struct lc__json *row)
{
	size_t n, total, step;
	uint64_t *chunks = vectors_get_u64s(row, "chunks_per_source", &n), ordinal;
	const struct lc__json *list = vectors_get_list(row, "order_source_ordinal", &total);
	const struct lc__json *pair;
	struct lc__round_input *inputs = calloc(n + 1, sizeof(*inputs));
	struct lc__round_robin rounds = { 0 };
	uint32_t input;

	for (size_t i = 0; i < n; i++)
		inputs[i] = (struct lc__round_input) { chunks[i], true };
	vectors_each(list, step, pair) {
		ck_assert_int_eq(lc__round_robin_next(&rounds, (uint32_t)n, input_of, inputs,
		    &input, &ordinal), LC__TURN_CHUNK);
		vectors_equal(pair, (uint64_t[]) { input, ordinal }, 2);
	}
	ck_assert_int_eq(lc__round_robin_next(&rounds, (uint32_t)n, input_of, inputs,
	    &input, &ordinal), LC__TURN_END);
	free(inputs);
	free(chunks);
}

static void
check_stable_prefix(const struct lc__json *row)
{
	size_t n, n_finished;
	uint64_t *committed = vectors_get_u64s(row, "committed", &n);
	uint64_t *finished = vectors_get_u64s(row, "finished", &n_finished);
	struct lc__round_input *inputs = calloc(n + 1, sizeof(*inputs));
	struct lc__round_robin rounds = { 0 };
	uint64_t published = 0, ordinal;
	uint32_t input;

	ck_assert_uint_eq(n, n_finished);
	for (size_t i = 0; i < n; i++)
		inputs[i] = (struct lc__round_input) { committed[i], finished[i] != 0 };
	while (lc__round_robin_next(&rounds, (uint32_t)n, input_of, inputs, &input,
	    &ordinal) == LC__TURN_CHUNK)
		published++;
	vectors_is(vectors_get(row, "published"), published);
	free(inputs);
	free(finished);
	free(committed);
}

/* Units in chunks 0..i. */
static uint64_t *
ends_of(const uint64_t *lengths, size_t n)
{
	uint64_t *ends = calloc(n + 1, sizeof(*ends)), end = 0;

	ck_assert_ptr_nonnull(ends);
	for (size_t i = 0; i < n; i++)
		ends[i] = end += lengths[i];
	return ends;
}

static bool
has_data(const uint64_t *lengths, size_t n, uint64_t readers, uint64_t r)
{
	for (size_t step = 0; step < n; step++)
		if (lengths[(r + step * readers) % n] > 0)
			return true;
	return false;
}

/* A reader beside one without data: the only one of the chunks that it comes by. */
static void
check_seek_alone(const uint64_t *lengths, size_t n, uint64_t readers,
    const struct lc__json *seek)
{
	const uint64_t r = vectors_get_u64(seek, "stream");
	const struct lc__json *want = vectors_get(seek, "step_chunk_offset");
	uint64_t *its = calloc(n + 1, sizeof(*its)), *ends;
	struct lc__rstar_place place;
	struct lc__rstar *rstar;

	for (size_t step = 0; step < n; step++)
		its[step] = lengths[(r + step * readers) % n];
	ends = ends_of(its, n);
	if (lc__json_is(want, LC__JSON_NULL)) {
		ck_assert_int_eq(lc__rstar_new(1, ends, n, true, &rstar), LC_INVALID);
	} else {
		ck_assert_int_eq(lc__rstar_new(1, ends, n, true, &rstar), LC_OK);
		lc__rstar_seek(rstar, 0, vectors_get_u64(seek, "unit"), &place);
		vectors_equal(want, (uint64_t[]) { place.step,
		    (r + place.step % n * readers) % n, place.offset }, 3);
		lc__rstar_free(rstar);
	}
	free(ends);
	free(its);
}

static void
check_seek(const struct lc__rstar *rstar, const struct lc__json *seek)
{
	struct lc__rstar_place place;

	lc__rstar_seek(rstar, (uint32_t)vectors_get_u64(seek, "stream"),
	    vectors_get_u64(seek, "unit"), &place);
	vectors_equal(vectors_get(seek, "step_chunk_offset"),
	    (uint64_t[]) { place.step, place.chunk, place.offset }, 3);
}

static void
check_rstar(const struct lc__json *row)
{
	const uint32_t readers = (uint32_t)vectors_get_u64(row, "readers_idealised");
	size_t n, n_seeks, i;
	uint64_t *lengths = vectors_get_u64s(row, "chunk_lengths", &n);
	uint64_t *ends = ends_of(lengths, n);
	const struct lc__json *seeks = vectors_get_list(row, "seeks", &n_seeks), *seek;
	struct lc__rstar *rstar = NULL;
	bool data = true;

	ck_assert_uint_gt(n_seeks, 0);
	for (uint32_t r = 0; r < readers; r++)
		data = data && has_data(lengths, n, readers, r);
	ck_assert_int_eq(lc__rstar_new(readers, ends, n, true, &rstar),
	    data ? LC_OK : LC_INVALID);
	vectors_each(seeks, i, seek)
		if (data)
			check_seek(rstar, seek);
		else
			check_seek_alone(lengths, n, readers, seek);
	lc__rstar_free(rstar);
	free(ends);
	free(lengths);
}

/* [length, window, stride, full windows, padded windows] */
static void
check_windows(const struct lc__json *row)
{
	struct lc__windows windows;
	uint64_t v[3];

	ck_assert_uint_eq(vectors_count(row), 5);
	for (size_t i = 0; i < 3; i++)
		v[i] = vectors_u64(vectors_at_index(row, i));
	windows = (struct lc__windows) { .size = v[1], .stride = v[2] };
	vectors_is(vectors_at_index(row, 3), lc__windows_full(&windows, v[0]));
	vectors_is(vectors_at_index(row, 4), lc__windows_padded(&windows, v[0]));
}

/* A reader's share of the batch that begins with example @p first; null is padding. */
static void
check_share(const struct lc__share *share, uint64_t first, uint64_t n,
    const struct lc__json *list)
{
	const struct lc__json *want;
	size_t i;

	ck_assert(lc__json_is(list, LC__JSON_ARRAY));
	ck_assert_uint_eq(lc__share_rows(share), vectors_count(list));
	vectors_each(list, i, want) {
		const uint64_t x = first + lc__share_at(share, i);

		ck_assert_int_eq(lc__json_is(want, LC__JSON_NULL), x >= n);
		if (x < n)
			vectors_is(want, x);
	}
}

static void
check_batches(const struct lc__json *row)
{
	const uint64_t n = vectors_get_u64(row, "n");
	const struct lc__json *shares, *list;
	struct lc__share share = {
		.batch = vectors_get_u64(row, "batch"),
		.readers = (uint32_t)vectors_get_u64(row, "readers"),
	};
	size_t n_batches, b, r;
	const struct lc__json *batches = vectors_get_list(row, "batches", &n_batches);

	ck_assert_uint_eq(n_batches, (n + share.batch - 1) / share.batch);
	vectors_each(batches, b, shares) {
		ck_assert_uint_eq(vectors_count(shares), share.readers);
		vectors_each(shares, r, list) {
			share.reader = (uint32_t)r;
			check_share(&share, b * share.batch, n, list);
		}
	}
}

static void
check_mixture(const struct lc__json *row)
{
	size_t sources, n, i;
	uint64_t *weights = vectors_get_u64s(row, "weights", &sources);
	uint64_t *counts = vectors_get_u64s(row, "counts", &i), index;
	const struct lc__json *list = vectors_get_list(row, "dataset_index", &n), *pair;
	struct lc__mixture *mixture;
	uint32_t source;

	ck_assert_uint_eq(sources, i);
	ck_assert_uint_gt(n, 0);
	ck_assert_int_eq(lc__mixture_new(weights, (uint32_t)sources,
	    vectors_get_u64(row, "block"), vectors_get_u64(row, "seed"), &mixture),
	    LC_OK);
	for (uint32_t s = 0; s < sources; s++)
		ck_assert_uint_eq(lc__mixture_count(mixture, s), counts[s]);
	vectors_each(list, i, pair) {
		lc__mixture_at(mixture, i, &source, &index);
		vectors_equal(pair, (uint64_t[]) { source, index }, 2);
	}
	lc__mixture_free(mixture);
	free(counts);
	free(weights);
}

/* Chunk and offset of each number, one after the other. */
static void
check_shares(const struct lc__json *row)
{
	const struct lc__shares_rule rule = {
		.shares = (uint32_t)vectors_get_u64(row, "C"),
		.spread = vectors_get_u64(row, "W"),
		.seed = vectors_get_u64(row, "seed"),
	};
	const uint64_t numbers = vectors_get_u64(row, "numbers");
	size_t n, listed, x;
	uint64_t *sizes = vectors_get_u64s(row, "chunk_sizes", &n), *ends = ends_of(sizes, n);
	uint64_t *all = calloc(2 * numbers, sizeof(*all));
	const struct lc__json *list = vectors_get_list(row, "first_chunk_offset", &listed);
	const struct lc__json *pair;
	struct lc__shares_cursor cursor = { 0 };
	struct lc__shares *shares;

	ck_assert_int_eq(lc__shares_new(&rule, ends, n, &shares), LC_OK);
	ck_assert_uint_eq(lc__shares_numbers(shares), numbers);
	ck_assert(listed > 0 && listed <= numbers);
	cursor.shares = shares;
	for (x = 0; x < numbers; x++) {
		struct lc__shares_place place;

		ck_assert_int_eq(lc__shares_at(&cursor,
		    vectors_get_u64(row, "epoch") * numbers + x, &place), LC_OK);
		all[2 * x] = place.chunk;
		all[2 * x + 1] = place.offset;
	}
	vectors_each(list, x, pair)
		vectors_equal(pair, all + 2 * x, 2);
	vectors_is(vectors_get(row, "fnv1a64_of_u64le"), vectors_fnv1a(all, 2 * numbers));
	lc__shares_cursor_end(&cursor);
	lc__shares_free(shares);
	free(all);
	free(ends);
	free(sizes);
}

static const struct section {
	const char *name;
	void (*check)(const struct lc__json *row);
} sections[] = {
	{ "mix", check_mix },
	{ "key", check_key },
	{ "permutation", check_permutation },
	{ "block_shuffle", check_block_shuffle },
	{ "era_shuffle", check_era_shuffle },
	{ "chunk_order", check_chunk_order },
	{ "stable_prefix", check_stable_prefix },
	{ "rstar", check_rstar },
	{ "windows", check_windows },
	{ "batches", check_batches },
	{ "mixture", check_mixture },
	{ "shares", check_shares },
};
#define SECTIONS ((int)(sizeof(sections) / sizeof(sections[0])))

static const struct lc__json *root;

static void
load(void)
{
	root = vectors_load("CACHEX_ORDER_VECTORS", "t/support/order.json");
}

START_TEST(section)
{
	const struct section *s = &sections[_i];
	const struct lc__json *cases, *row;
	size_t i, n;

	vectors_at(s->name, 0);
	cases = vectors_get_list(vectors_get(root, s->name), "cases", &n);
	ck_assert_msg(n > 0, "%s: no cases", s->name);
	vectors_each(cases, i, row) {
		vectors_at(s->name, i);
		s->check(row);
	}
	printf("# %s: %zu cases\n", s->name, n);
}
END_TEST

/* Else vectors of something that this program does not know would pass. */
START_TEST(nothing_else)
{
	const struct lc__json *value;

	lc__json_each(value, root) {
		const char *name = value->name;
		bool known = strcmp(name, "about") == 0;

		for (int i = 0; i < SECTIONS; i++)
			known = known || strcmp(name, sections[i].name) == 0;
		ck_assert_msg(known, "unknown section '%s'", name);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("order");
	TCase *tc = tcase_create("vectors");

	tcase_add_checked_fixture(tc, load, NULL);
	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, section, 0, SECTIONS);
	tcase_add_test(tc, nothing_else);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
