/* SPDX-License-Identifier: BSD-2-Clause */
/* Round robin over inputs: which chunk of which input comes next. */
#ifndef LC_ORDER_ROUNDS_H
#define LC_ORDER_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

/** An input as far as the order asks. */
struct lc__round_input {
	uint64_t chunks; /* committed */
	bool finished;   /* there will be no more */
};

/** A place in the round. All zeros is the start. */
struct lc__rounds {
	uint64_t round; /* ordinal that is taken of each input */
	uint32_t input; /* whose turn it is */
};

enum lc__turn {
	LC__TURN_CHUNK, /* the chunk (input, ordinal) is next */
	LC__TURN_WAIT,  /* it depends on what this input will do */
	LC__TURN_END    /* all inputs are finished and exhausted */
};

/**
 * Step to the next chunk in the order. On LC__TURN_CHUNK *input and *ordinal name it
 * and the place is behind it; on LC__TURN_WAIT *input is the one that is waited for,
 * and the place only moved past inputs that are exhausted.
 * @param of  tells of an input; @p n of them
 */
enum lc__turn lc__rounds_next(struct lc__rounds *rounds, uint32_t n,
    struct lc__round_input (*of)(void *ctx, uint32_t input), void *ctx,
    uint32_t *input, uint64_t *ordinal);

#endif
