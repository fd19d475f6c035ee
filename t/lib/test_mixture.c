/* SPDX-License-Identifier: BSD-2-Clause */
/* Which source an example of a mixture comes from. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "fail_malloc.h"
#include "model_order.h"
#include "model_shuffle.h"
#include "order/mixture.h"
#include "sample.h"

#define SOURCES_MAX 20

/* Sources in whose streams each example says what it is: a chunk of one record each. */
static void
check_against_list(const uint64_t *weights, uint32_t n, uint64_t block,
    uint64_t seed, const struct lc__mixture *mixture)
{
	struct model_chunk chunks[300];
	struct model_source sources[SOURCES_MAX];
	const lc_stream_options options = { .weights = weights,
	    .mixture_block = block, .seed = seed };
	struct model_stream list;

	for (size_t c = 0; c < 300; c++)
		chunks[c] = (struct model_chunk) { 1, 1 };
	for (uint32_t s = 0; s < n; s++)
		sources[s] = (struct model_source) { chunks, 300 };
	list = model_stream(sources, n, &options, false, 300);
	ck_assert_uint_eq(list.n, 300);
	for (size_t i = 0; i < list.n; i++) {
		const struct model_unit *want = &list.examples[i].units[0];
		uint64_t index;
		uint32_t source;

		lc__mixture_at(mixture, i, &source, &index);
		ck_assert_uint_eq(source, want->source);
		ck_assert_uint_eq(index, want->epoch * 300 + want->chunk);
	}
	model_stream_free(&list);
}

/* A source that is due no slot makes it invalid; the others are as written out. */
START_TEST(same_as_written_out)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(1000);
	unsigned made = 0;

	for (unsigned k = 0; k < times; k++) {
		const uint32_t n = 2 + (uint32_t)(run_random(&seed) % (SOURCES_MAX - 1));
		const uint64_t block = 1 + run_random(&seed) % 100;
		const uint64_t most = 1 + run_random(&seed) % 50, key = run_random(&seed);
		uint64_t weights[SOURCES_MAX], sum = 0;
		struct lc__mixture *mixture = NULL;
		const bool alike = run_random(&seed) % 8 == 0;
		lc_status status;

		for (uint32_t s = 0; s < n; s++) {
			weights[s] = alike ? 1 : 1 + run_random(&seed) % most;
			sum += weights[s];
		}
		status = lc__mixture_new(alike ? NULL : weights, n, block, key, &mixture);
		if (status == LC_OK) {
			check_against_list(alike ? NULL : weights, n, block, key, mixture);
			made++;
		} else {
			/* A share of a whole one would have been given. */
			bool small = false;

			ck_assert_int_eq(status, LC_INVALID);
			ck_assert_ptr_null(mixture);
			for (uint32_t s = 0; s < n; s++)
				small |= weights[s] * block < sum;
			ck_assert(small);
		}
		lc__mixture_free(mixture);
	}
	ck_assert_uint_gt(made, 0);
}
END_TEST

/* In each block each source has its count, and its examples in whole blocks of them. */
START_TEST(exact_shares)
{
	const uint64_t weights[] = { 70, 20, 9, 1 };
	uint64_t index;
	uint32_t source;
	struct lc__mixture *mixture;

	ck_assert_int_eq(lc__mixture_new(weights, 4, 128, run_seed(), &mixture), LC_OK);
	for (uint64_t b = 0; b < 50; b++) {
		unsigned char seen[4][128] = { { 0 } };

		for (uint64_t i = 128 * b; i < 128 * (b + 1); i++) {
			lc__mixture_at(mixture, i, &source, &index);
			index -= b * lc__mixture_count(mixture, source);
			ck_assert_uint_lt(index, lc__mixture_count(mixture, source));
			ck_assert_uint_eq(seen[source][index]++, 0);
		}
	}
	ck_assert_uint_eq(lc__mixture_count(mixture, 0), 90); /* of 89.6 */
	ck_assert_uint_eq(lc__mixture_count(mixture, 1), 26); /* of 25.6 */
	ck_assert_uint_eq(lc__mixture_count(mixture, 2), 11); /* of 11.52 */
	ck_assert_uint_eq(lc__mixture_count(mixture, 3), 1);  /* of 1.28 */
	lc__mixture_free(mixture);
}
END_TEST

static const struct refusal {
	uint64_t weights[3];
	uint32_t n;
	uint64_t block;
	const char *text;
} refusals[] = {
	{ { 1, 1 }, 0, 8, "mixture: no sources" },
	{ { 1, 1 }, 2, 0, "mixture: no block of 0 examples" },
	{ { 1, 1 }, 2, UINT64_MAX, "mixture: no block of 18446744073709551615 examples" },
	{ { 0, 0 }, 2, 8, "mixture: all weights are 0" },
	{ { 1, UINT64_MAX }, 2, 8, "mixture: weights too large" },
	{ { 100, 1, 1 }, 3, 16,
	    "mixture: source 1 would never come: its share of 16 examples rounds to none" },
	{ { 1, 1, 0 }, 3, 16,
	    "mixture: source 2 would never come: its share of 16 examples rounds to none" },
	{ { 1, 1, 1 }, 3, 2,
	    "mixture: source 2 would never come: its share of 2 examples rounds to none" },
};

START_TEST(refused)
{
	const struct refusal *r = &refusals[_i];
	struct lc__mixture *mixture = NULL;

	ck_assert_int_eq(lc__mixture_new(r->weights, r->n, r->block, 1, &mixture),
	    LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, r->text);
	ck_assert_ptr_null(mixture);
}
END_TEST

/* Weights and blocks of all bits. */
START_TEST(large_numbers)
{
	const uint64_t block = INT64_MAX;
	const uint64_t weights[] = { UINT64_C(1) << 62, UINT64_C(1) << 62,
	    UINT64_C(1) << 63 };
	struct lc__mixture *mixture = NULL;
	uint64_t index;
	uint32_t source;

	ck_assert_int_eq(lc__mixture_new(weights, 3, block, 1, &mixture), LC_INVALID);
	ck_assert_int_eq(lc__mixture_new(weights + 1, 1, block, 1, &mixture), LC_OK);
	ck_assert_uint_eq(lc__mixture_count(mixture, 0), block);
	lc__mixture_at(mixture, 2 * block - 1, &source, &index);
	ck_assert_uint_eq(source, 0);
	ck_assert_uint_ge(index, block);
	ck_assert_uint_lt(index, 2 * block);
	lc__mixture_free(mixture);
	ck_assert_int_eq(lc__mixture_new((uint64_t[]) { INT64_MAX, INT64_MAX }, 2, block,
	    1, &mixture), LC_OK);
	ck_assert_uint_eq(lc__mixture_count(mixture, 0), block / 2 + 1);
	ck_assert_uint_eq(lc__mixture_count(mixture, 1), block / 2);
	lc__mixture_free(mixture);
}
END_TEST

/* The first allocation fails, then the second one. */
START_TEST(without_memory)
{
	struct lc__mixture *mixture = NULL;
	lc_status status;

	for (long n = 1; n <= 2; n++) {
		fail_malloc(n, false);
		status = lc__mixture_new(NULL, 3, 8, 1, &mixture);
		fail_malloc(0, false);
		ck_assert_int_eq(status, LC_NO_MEMORY);
		ck_assert_ptr_null(mixture);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("mixture");
	TCase *tc = tcase_create("mixture");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, same_as_written_out);
	tcase_add_test(tc, exact_shares);
	tcase_add_loop_test(tc, refused, 0,
	    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_test(tc, large_numbers);
	tcase_add_test(tc, without_memory);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
