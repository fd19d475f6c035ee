/* SPDX-License-Identifier: BSD-2-Clause */
/* Shuffles of an epoch against lists that are written out. */
#include "run.h"

#include <stdlib.h>

#include "model_shuffle.h"
#include "order/shuffle.h"
#include "sample.h"

/* Sizes of all kinds: none too large for a list. */
static uint64_t
any_size(uint64_t *seed, uint64_t most)
{
	return 1 + run_random(seed) % (1 + run_random(seed) % most);
}

static struct lc__shuffle_rule
any_rule(uint64_t *seed, lc_shuffle kind)
{
	struct lc__shuffle_rule rule = {
		.kind = kind,
		.block = any_size(seed, 40),
		.spread = any_size(seed, 12),
		.era_first = any_size(seed, 100),
		.seed = run_random(seed),
	};

	rule.era_max = rule.era_first + run_random(seed) % 400;
	return rule;
}

static lc_stream_options
options_of(const struct lc__shuffle_rule *rule)
{
	return (lc_stream_options) {
		.shuffle = rule->kind,
		.block = rule->block,
		.spread = rule->spread,
		.era_first = rule->era_first,
		.era_max = rule->era_max,
		.seed = rule->seed,
	};
}

/* In place of an assertion, which is too slow for so many. */
static void
must_equal(uint64_t got, uint64_t want, uint64_t i)
{
	if (got != want)
		ck_abort_msg("position %llu has %llu instead of %llu",
		    (unsigned long long)i, (unsigned long long)got,
		    (unsigned long long)want);
}

static void
check_against_list(const struct lc__shuffle_rule *rule, uint64_t n,
    uint64_t epoch, uint64_t *seed)
{
	const lc_stream_options options = options_of(rule);
	uint64_t *list = model_shuffle(&options, n, epoch);
	struct lc__shuffle_window near = { 0 };
	struct lc__shuffle shuffle;

	lc__shuffle_init(&shuffle, rule, n, epoch);
	for (uint64_t i = 0; i < n; i++) {
		const uint64_t any = run_random(seed) % n;

		must_equal(lc__shuffle_at(&shuffle, i), list[i], i);
		must_equal(lc__shuffle_near(&shuffle, &near, i), list[i], i);
		if (any % 8 == 0) /* now and then elsewhere */
			must_equal(lc__shuffle_near(&shuffle, &near, any), list[any], any);
	}
	free(list);
}

START_TEST(same_as_written_out)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(1000);

	for (unsigned k = 0; k < times; k++) {
		const struct lc__shuffle_rule rule = any_rule(&seed, (lc_shuffle)_i);

		check_against_list(&rule, any_size(&seed, 2000), run_random(&seed) % 3,
		    &seed);
	}
}
END_TEST

START_TEST(every_example_once)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(2000);

	for (unsigned k = 0; k < times; k++) {
		const struct lc__shuffle_rule rule = any_rule(&seed, (lc_shuffle)_i);
		const uint64_t n = any_size(&seed, 3000);
		unsigned char *seen = calloc(1, (size_t)n);
		struct lc__shuffle shuffle;

		lc__shuffle_init(&shuffle, &rule, n, k);
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t example = lc__shuffle_at(&shuffle, i);

			if (example >= n || seen[example]++)
				ck_abort_msg("position %llu of %llu has %llu",
				    (unsigned long long)i, (unsigned long long)n,
				    (unsigned long long)example);
		}
		free(seen);
	}
}
END_TEST

/* How many different blocks the examples at positions first to end - 1 are of. */
static uint64_t
blocks_between(const struct lc__shuffle *shuffle, uint64_t first, uint64_t end)
{
	const uint64_t all = shuffle->n / shuffle->rule.block + 1;
	unsigned char *seen = calloc(1, (size_t)all);
	uint64_t n = 0;

	for (uint64_t i = first; i < end; i++) {
		const uint64_t b = lc__shuffle_at(shuffle, i) / shuffle->rule.block;

		n += seen[b] == 0;
		seen[b] = 1;
	}
	free(seen);
	return n;
}

/* A window's examples are those of W blocks, W and the tail in the last one. */
START_TEST(blocks_stay_near)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(500);

	for (unsigned k = 0; k < times; k++) {
		const struct lc__shuffle_rule rule = any_rule(&seed, LC_SHUFFLE_BLOCK);
		const uint64_t n = any_size(&seed, 3000), full = n / rule.block;
		const uint64_t size = rule.block * rule.spread;
		struct lc__shuffle shuffle;

		lc__shuffle_init(&shuffle, &rule, n, k);
		for (uint64_t first = 0; first < n; first += size) {
			const bool last = first / rule.block + rule.spread >= full;
			const uint64_t end = last ? n : first + size;
			const uint64_t at_most = rule.spread + (n % rule.block > 0);

			ck_assert_uint_le(blocks_between(&shuffle, first, end),
			    last ? at_most : rule.spread);
			if (last)
				break;
		}
	}
}
END_TEST

/* Each epoch and each seed has an order of its own. */
START_TEST(orders_differ)
{
	const struct lc__shuffle_rule rule = { .kind = (lc_shuffle)_i, .block = 16,
	    .spread = 4, .era_first = 128, .era_max = 512, .seed = 1 };
	struct lc__shuffle_rule other = rule;
	struct lc__shuffle a, b, c;
	unsigned epochs = 0, seeds = 0;

	other.seed = 2;
	lc__shuffle_init(&a, &rule, 2000, 0);
	lc__shuffle_init(&b, &rule, 2000, 1);
	lc__shuffle_init(&c, &other, 2000, 0);
	for (uint64_t i = 0; i < 2000; i++) {
		epochs += lc__shuffle_at(&a, i) == lc__shuffle_at(&b, i);
		seeds += lc__shuffle_at(&a, i) == lc__shuffle_at(&c, i);
	}
	/* By lot one in 128 of an era stays where it is at most. */
	ck_assert_uint_lt(epochs, 100);
	ck_assert_uint_lt(seeds, 100);
}
END_TEST

/* Era after era, as far as they are complete. */
static uint64_t
settled_by_counting(const struct lc__shuffle_rule *rule, uint64_t known)
{
	uint64_t end = 0, left = rule->era_first, era = left;

	for (uint64_t i = 0; i < known; i++)
		if (--left == 0) {
			end = i + 1;
			era = 2 * era < rule->era_max ? 2 * era : rule->era_max;
			left = era;
		}
	return end;
}

START_TEST(settled_eras)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(5000);

	for (unsigned k = 0; k < times; k++) {
		struct lc__shuffle_rule rule = any_rule(&seed, LC_SHUFFLE_ERA);
		const uint64_t known = any_size(&seed, 4000) - 1;

		ck_assert_uint_eq(lc__shuffle_settled(&rule, known),
		    settled_by_counting(&rule, known));
		rule.kind = LC_SHUFFLE_NONE;
		ck_assert_uint_eq(lc__shuffle_settled(&rule, known), known);
		rule.kind = LC_SHUFFLE_FULL;
		ck_assert_uint_eq(lc__shuffle_settled(&rule, known), 0);
		rule.kind = LC_SHUFFLE_BLOCK;
		ck_assert_uint_eq(lc__shuffle_settled(&rule, known), 0);
	}
}
END_TEST

/* Of a position, the fewest examples that settle it. */
START_TEST(last_of_eras)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(5000);

	for (unsigned k = 0; k < times; k++) {
		struct lc__shuffle_rule rule = any_rule(&seed, LC_SHUFFLE_ERA);
		const uint64_t i = any_size(&seed, 4000) - 1;
		const uint64_t last = lc__shuffle_last_of(&rule, i);

		ck_assert_uint_ge(last, i);
		ck_assert_uint_gt(lc__shuffle_settled(&rule, last + 1), i);
		ck_assert_uint_le(lc__shuffle_settled(&rule, last), i);
		rule.kind = LC_SHUFFLE_BLOCK;
		ck_assert_uint_eq(lc__shuffle_last_of(&rule, i), i);
	}
}
END_TEST

/* What is settled is what it was when more examples have come. */
START_TEST(settled_stays)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(500);

	for (unsigned k = 0; k < times; k++) {
		const struct lc__shuffle_rule rule = any_rule(&seed, LC_SHUFFLE_ERA);
		const uint64_t known = any_size(&seed, 3000);
		const uint64_t later = known + run_random(&seed) % 1000;
		const uint64_t settled = lc__shuffle_settled(&rule, known);
		struct lc__shuffle then, now;

		lc__shuffle_init(&then, &rule, known, 0);
		lc__shuffle_init(&now, &rule, later, 0);
		for (uint64_t i = 0; i < settled; i++)
			must_equal(lc__shuffle_at(&now, i), lc__shuffle_at(&then, i), i);
	}
}
END_TEST

/* Numbers near the limits go through without overflow. */
START_TEST(limits)
{
	static const uint64_t big[] = { 1, 3, UINT64_C(1) << 32, INT64_MAX,
	    UINT64_C(1) << 63, UINT64_MAX };
	const uint64_t n = UINT64_C(1) << 63;
	uint64_t seed = run_seed();

	for (unsigned k = 0; k < 6 * 6 * 6; k++) {
		const struct lc__shuffle_rule rule = { .kind = (lc_shuffle)_i,
		    .block = big[k % 6], .spread = big[k / 6 % 6],
		    .era_first = big[k / 36], .era_max = UINT64_MAX, .seed = k };
		struct lc__shuffle shuffle;

		lc__shuffle_init(&shuffle, &rule, n, 0);
		ck_assert_uint_lt(lc__shuffle_at(&shuffle, n - 1), n);
		ck_assert_uint_ge(lc__shuffle_last_of(&rule, UINT64_MAX - k),
		    UINT64_MAX - k);
		for (unsigned i = 0; i < 20; i++)
			ck_assert_uint_lt(lc__shuffle_at(&shuffle,
			    run_random(&seed) % n), n);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("shuffle");
	TCase *tc = tcase_create("shuffle");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, same_as_written_out, 0, LC_SHUFFLE_ERA + 1);
	tcase_add_loop_test(tc, every_example_once, 0, LC_SHUFFLE_ERA + 1);
	tcase_add_test(tc, blocks_stay_near);
	tcase_add_loop_test(tc, orders_differ, LC_SHUFFLE_FULL, LC_SHUFFLE_ERA + 1);
	tcase_add_test(tc, settled_eras);
	tcase_add_test(tc, last_of_eras);
	tcase_add_test(tc, settled_stays);
	tcase_add_loop_test(tc, limits, 0, LC_SHUFFLE_ERA + 1);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
