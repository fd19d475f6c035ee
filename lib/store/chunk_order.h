/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which the chunks of inputs are published, and what a commit of an input does. */
#ifndef LC_STORE_CHUNK_ORDER_H
#define LC_STORE_CHUNK_ORDER_H

#include "store/inputs.h"

/** What a writer's commit changes in its input. */
struct lc__input_step {
	uint32_t index;
	const char *name;
	uint64_t chunks; /* that were committed before, as the writer knows it */
	lc_id cursor;    /* to store */
	bool finish;
	uint64_t digest;            /* of the records */
	struct lc__input_row after; /* gets the counts that were stored; no pointers */
};

/** Is the input in the state that the writer knows? LC_BUSY or LC_INVALID if not. */
LC_CHECKED lc_status lc__input_check(struct lc__change *change,
    const struct lc__input_step *step);
/** Store the input's row, and publish the chunks whose place in the order is now settled.
 *  @param chunk, row the new chunk; 0 if there is none */
LC_CHECKED lc_status lc__input_advance(struct lc__change *change,
    struct lc__input_step *step, uint64_t chunk, const struct lc__ledger_row *row);

/** Give waiting chunks their places, as far as the order is settled. */
LC_CHECKED lc_status lc__order_publish(struct lc__change *change,
    struct lc__fill_row *fill);

/** The hash over an order, after one more chunk. */
uint64_t lc__order_chain(uint64_t prefix_hash, const struct lc__order_row *row);
/** The same for plain puts: over a chunk's id, the live records and the ordinal of its
 *  ledger row, and the units that its records count as. */
uint64_t lc__plain_chain(uint64_t prefix_hash, uint64_t chunk,
    const struct lc__ledger_row *row, uint64_t units);

/** A chunk of an input. */
struct lc__placed_chunk {
	uint64_t chunk;   /* id */
	uint32_t input;   /* index */
	uint64_t ordinal; /* number of the chunk in its input */
	uint64_t records; /* in it */
	uint64_t length;  /* sum of their lengths */
	uint64_t digest;  /* of them */
};

/**
 * The chunks of a module with inputs: in the published order, and after them, input by
 * input, those that wait for their place; or input by input from the start. Equal inputs
 * give an equal list, but for the ids, however and by whom they were written; with chunks
 * that wait, if as many were.
 * @param only  of each input, whether its chunks are wanted; NULL: those of all
 * @param out  gets a list to free(), of @p n
 */
LC_CHECKED lc_status lc__order_list(struct lc__snapshot *snapshot, bool by_input,
    const bool *only, struct lc__placed_chunk **out, size_t *n);

/** How far a module is filled. Takes O(1), except that the system is asked for held inputs,
 *  and that a module of plain puts has its ledger walked. */
LC_CHECKED lc_status lc__fill_load(struct lc__snapshot *snapshot, lc_fill *out);

#endif
