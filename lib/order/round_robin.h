/* SPDX-License-Identifier: BSD-2-Clause */
/* Round robin over inputs: which chunk of which input comes next. */
#ifndef LC_ORDER_ROUND_ROBIN_H
#define LC_ORDER_ROUND_ROBIN_H

#include <stdbool.h>
#include <stdint.h>

/** The state of an input that the order depends on. */
struct lc__round_input {
	uint64_t chunks; /* committed */
	bool finished;   /* no chunk will follow */
};

/** A position in the order. All zero is the start. */
struct lc__round_robin {
	uint64_t round; /* ordinal of the chunk that each input supplies in this round */
	uint32_t input; /* the input whose turn it is */
};

enum lc__turn {
	LC__TURN_CHUNK, /* the chunk (input, ordinal) is next */
	LC__TURN_WAIT,  /* the next chunk depends on whether this input gets one */
	LC__TURN_END    /* all inputs are finished and exhausted */
};

/**
 * Find the next chunk in the order. On LC__TURN_CHUNK *input and *ordinal identify it,
 * and the position is after it. On LC__TURN_WAIT the order waits for *input, and the
 * position has only moved past exhausted inputs.
 * @param n   number of inputs
 * @param of  describes an input
 */
static inline enum lc__turn
lc__round_robin_next(struct lc__round_robin *rounds, uint32_t n,
    struct lc__round_input (*of)(void *ctx, uint32_t input), void *ctx, uint32_t *input,
    uint64_t *ordinal)
{
	/* If all inputs had a turn and none supplied a chunk, all are exhausted. */
	for (uint32_t seen = 0; seen < n; seen++) {
		const uint32_t at = rounds->input;
		const struct lc__round_input turn = of(ctx, at);
		const bool has_chunk = turn.chunks > rounds->round;

		if (!has_chunk && !turn.finished) {
			*input = at;
			return LC__TURN_WAIT;
		}
		if (has_chunk) {
			*input = at;
			*ordinal = rounds->round;
		}
		if (++rounds->input == n) {
			rounds->input = 0;
			rounds->round++;
		}
		if (has_chunk)
			return LC__TURN_CHUNK;
	}
	return LC__TURN_END;
}

#endif
