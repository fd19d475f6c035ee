/* SPDX-License-Identifier: BSD-2-Clause */
/* The order in which the chunks of inputs are published, and the effect of a commit on
 * its input. */
#ifndef LC_STORE_CHUNK_ORDER_H
#define LC_STORE_CHUNK_ORDER_H

#include "store/inputs.h"

/** The change that a writer's commit makes to its input. */
struct lc__input_step {
	uint32_t index;
	const char *name;
	uint64_t chunks; /* committed before, as far as the writer knows */
	lc_id cursor;    /* to store */
	bool finish;
	uint64_t digest;            /* of the records */
	struct lc__input_row after; /* the counts that were stored; no pointers */
};

/** Is the input in the state that the writer expects? If not, LC_BUSY or LC_INVALID. */
LC_CHECKED lc_status lc__input_check(struct lc__change *change,
    const struct lc__input_step *step);
/** Store the input's row, and publish the chunks whose position in the order is now
 *  settled.
 *  @param chunk, row  the new chunk; 0 if there is none */
LC_CHECKED lc_status lc__input_advance(struct lc__change *change,
    struct lc__input_step *step, uint64_t chunk, const struct lc__ledger_row *row);

/** Give waiting chunks their positions, as far as the order is settled. */
LC_CHECKED lc_status lc__order_publish(struct lc__change *change,
    struct lc__fill_row *fill);

/** The hash over an order after one more chunk. */
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
	uint64_t records; /* number of records in the chunk */
	uint64_t length;  /* sum of the records' lengths */
	uint64_t digest;  /* digest of the records */
};

/**
 * List the chunks of a module with inputs: in the published order, followed by those that
 * wait for their position, input by input; or all of them input by input. Equal inputs
 * give an equal list, apart from the ids, no matter how and by which processes they were
 * written; if chunks wait, their number must be equal.
 * @param only  for each input, whether its chunks are wanted; NULL: those of all
 * @param out   a list to free(), with @p n elements
 */
LC_CHECKED lc_status lc__order_list(struct lc__snapshot *snapshot, bool by_input,
    const bool *only, struct lc__placed_chunk **out, size_t *n);

/** The progress of a module's fill. O(1), except that the system is asked for held
 *  inputs, and that the ledger of a module of plain puts is walked. */
LC_CHECKED lc_status lc__fill_load(struct lc__snapshot *snapshot, lc_fill *out);

#endif
