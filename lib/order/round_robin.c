/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/round_robin.h"

static void
step(struct lc__round_robin *rounds, uint32_t n)
{
	if (++rounds->input == n) {
		rounds->input = 0;
		rounds->round++;
	}
}

enum lc__turn
lc__round_robin_next(struct lc__round_robin *rounds, uint32_t n,
    struct lc__round_input (*of)(void *ctx, uint32_t input), void *ctx, uint32_t *input,
    uint64_t *ordinal)
{
	/* If all inputs had a turn and none gave a chunk, all are exhausted. */
	for (uint32_t seen = 0; seen < n; seen++) {
		const struct lc__round_input turn = of(ctx, rounds->input);

		if (turn.chunks > rounds->round) {
			*input = rounds->input;
			*ordinal = rounds->round;
			step(rounds, n);
			return LC__TURN_CHUNK;
		}
		if (!turn.finished) {
			*input = rounds->input;
			return LC__TURN_WAIT;
		}
		step(rounds, n);
	}
	return LC__TURN_END;
}
