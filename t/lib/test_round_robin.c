/* SPDX-License-Identifier: BSD-2-Clause */
/* Round robin over inputs that grow, against the order that they end with. */
#include "run.h"

#include <stdlib.h>

#include "order/round_robin.h"
#include "sample.h"

#define INPUTS_MAX 12
#define CHUNKS_MAX 9

/* Inputs as they are now, and as they will be. */
struct inputs {
	uint32_t n;
	struct lc__round_input now[INPUTS_MAX];
	uint64_t chunks[INPUTS_MAX]; /* in the end */
	unsigned asked;
};

static struct lc__round_input
input_of(void *ctx, uint32_t input)
{
	struct inputs *inputs = ctx;

	ck_assert_uint_lt(input, inputs->n);
	inputs->asked++;
	return inputs->now[input];
}

struct place {
	uint32_t input;
	uint64_t ordinal;
};

/* First all chunks 0, then all chunks 1. */
static size_t
write_out(const struct inputs *inputs, struct place *out)
{
	size_t n = 0;

	for (uint64_t ordinal = 0; ordinal < CHUNKS_MAX; ordinal++)
		for (uint32_t input = 0; input < inputs->n; input++)
			if (ordinal < inputs->chunks[input])
				out[n++] = (struct place) { input, ordinal };
	return n;
}

/* Is the place of @p at settled by what is there? Each chunk before it and itself must
 * be, and each input that could come between must be known not to. */
static bool
is_settled(const struct inputs *inputs, const struct place *at)
{
	for (uint32_t input = 0; input < inputs->n; input++) {
		const uint64_t needed = at->ordinal + (input <= at->input);

		if (inputs->now[input].chunks < needed && !inputs->now[input].finished)
			return false;
	}
	return inputs->now[at->input].chunks > at->ordinal;
}

/* Take all chunks that can be taken; they are those that are settled. */
static size_t
take(struct inputs *inputs, struct lc__round_robin *rounds, const struct place *order,
    size_t taken, size_t n)
{
	uint64_t ordinal;
	uint32_t input;
	enum lc__turn turn;

	for (;; taken++) {
		turn = lc__round_robin_next(rounds, inputs->n, input_of, inputs, &input,
		    &ordinal);
		if (turn != LC__TURN_CHUNK)
			break;
		ck_assert_uint_lt(taken, n);
		ck_assert_uint_eq(input, order[taken].input);
		ck_assert_uint_eq(ordinal, order[taken].ordinal);
		ck_assert(is_settled(inputs, &order[taken]));
	}
	if (taken < n)
		ck_assert(!is_settled(inputs, &order[taken]));
	if (turn == LC__TURN_WAIT)
		ck_assert(!inputs->now[input].finished);
	return taken;
}

/* One input gets a chunk, or is finished if it has all. False if all are. */
static bool
grow(struct inputs *inputs, uint64_t *seed)
{
	const uint32_t first = (uint32_t)(run_random(seed) % inputs->n);

	for (uint32_t k = 0; k < inputs->n; k++) {
		const uint32_t i = (first + k) % inputs->n;

		if (inputs->now[i].finished)
			continue;
		if (inputs->now[i].chunks < inputs->chunks[i])
			inputs->now[i].chunks++;
		else
			inputs->now[i].finished = true;
		return true;
	}
	return false;
}

START_TEST(same_as_written_out)
{
	uint64_t seed = run_seed();
	const unsigned times = sample_times(2000);

	for (unsigned k = 0; k < times; k++) {
		struct place order[INPUTS_MAX * CHUNKS_MAX];
		struct inputs inputs = { .n = 1 + (uint32_t)(run_random(&seed) %
		    INPUTS_MAX) };
		struct lc__round_robin rounds = { 0 };
		size_t n, taken = 0;

		for (uint32_t i = 0; i < inputs.n; i++)
			inputs.chunks[i] = run_random(&seed) % (CHUNKS_MAX + 1);
		n = write_out(&inputs, order);
		do
			if (run_random(&seed) % 3 == 0)
				taken = take(&inputs, &rounds, order, taken, n);
		while (grow(&inputs, &seed));
		ck_assert_uint_eq(take(&inputs, &rounds, order, taken, n), n);
	}
}
END_TEST

START_TEST(which_one_is_waited_for)
{
	struct inputs inputs = { .n = 3, .now = { { 1, true }, { 1, false }, { 2, false } } };
	struct lc__round_robin rounds = { 0 };
	uint64_t ordinal;
	uint32_t input;

	for (unsigned i = 0; i < 3; i++)
		ck_assert_int_eq(lc__round_robin_next(&rounds, 3, input_of, &inputs, &input,
		    &ordinal), LC__TURN_CHUNK);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(lc__round_robin_next(&rounds, 3, input_of, &inputs, &input,
		    &ordinal), LC__TURN_WAIT);
		ck_assert_uint_eq(input, 1);
		ck_assert_uint_eq(rounds.round, 1);
	}
	inputs.now[1].finished = true;
	ck_assert_int_eq(lc__round_robin_next(&rounds, 3, input_of, &inputs, &input, &ordinal),
	    LC__TURN_CHUNK);
	ck_assert_uint_eq(input, 2);
	ck_assert_uint_eq(ordinal, 1);
	inputs.now[2].finished = true;
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(lc__round_robin_next(&rounds, 3, input_of, &inputs, &input,
		    &ordinal), LC__TURN_END);
	ck_assert_int_eq(lc__round_robin_next(&(struct lc__round_robin) { 0 }, 0, input_of, &inputs,
	    &input, &ordinal), LC__TURN_END);
}
END_TEST

/* Each chunk is a question; a round with exhausted inputs asks each of them once. */
START_TEST(few_questions)
{
	struct inputs inputs = { .n = INPUTS_MAX };
	struct lc__round_robin rounds = { 0 };
	uint64_t ordinal;
	uint32_t input;
	unsigned chunks = 0;

	for (uint32_t i = 0; i < inputs.n; i++)
		inputs.now[i] = (struct lc__round_input) { 100, true };
	while (lc__round_robin_next(&rounds, inputs.n, input_of, &inputs, &input, &ordinal) ==
	    LC__TURN_CHUNK)
		chunks++;
	ck_assert_uint_eq(chunks, 100 * INPUTS_MAX);
	ck_assert_uint_eq(inputs.asked, 101 * INPUTS_MAX);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("rounds");
	TCase *tc = tcase_create("rounds");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, same_as_written_out);
	tcase_add_test(tc, which_one_is_waited_for);
	tcase_add_test(tc, few_questions);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
