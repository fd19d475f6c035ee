/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a module with inputs: of each input, of the fill, and of the order of chunks. */
#ifndef LC_STORE_INPUTS_H
#define LC_STORE_INPUTS_H

#include "order/round_robin.h"
#include "store/snapshot.h"

struct lc__change;

#define LC__INPUTS_MAX 65536

/** A row of the table `input`. Its pointers are borrowed. */
struct lc__input_row {
	uint64_t chunks;  /* number of committed chunks */
	uint64_t records; /* in those chunks */
	uint64_t length;  /* sum of the records' lengths */
	bool finished;
	bool merging; /* a merge has stored some of its chunks, and only a merge may
	              * continue: the cursor for them is not known */
	lc_id name, fingerprint, cursor;
};

bool lc__input_decode(const void *bytes, size_t size, uint32_t index,
    struct lc__input_row *out);

/** The row of an input, borrowed until the transaction writes. LC_NOT_FOUND, with an error;
 *  LC_CORRUPT. */
LC_CHECKED lc_status lc__input_get(struct lc__snapshot *snapshot, uint32_t index,
    struct lc__input_row *out);
LC_CHECKED lc_status lc__input_put(struct lc__change *change, uint32_t index,
    const struct lc__input_row *row);
bool lc__input_has_name(const struct lc__input_row *row, const char *name);
/** Find an input by name. LC_NOT_FOUND, without an error. */
LC_CHECKED lc_status lc__input_find(struct lc__snapshot *snapshot, const char *name,
    uint32_t *index, struct lc__input_row *out);

/* ---- the progress of the fill ---------------------------------------------------- */

/** The progress of the fill: the row `fill` of meta, which exactly the modules with
 *  inputs have. */
struct lc__fill_row {
	uint64_t inputs;      /* number declared */
	uint64_t finished;    /* inputs that are finished */
	uint64_t committed;   /* number of chunks */
	uint64_t published;   /* chunks with a position in the order */
	uint64_t records;     /* in published chunks */
	uint64_t length;      /* sum of these records' lengths */
	uint64_t prefix_hash; /* of the last published chunk, else 0 */
	struct lc__round_robin
	    rounds; /* position in the order after the last published chunk */
};

#define LC__FILL_ROW 80
bool lc__fill_decode(const void *bytes, size_t size, struct lc__fill_row *out);

/** Is the module filled by inputs? */
LC_CHECKED lc_status lc__has_inputs(struct lc__snapshot *snapshot, bool *out);

/** The fill row. LC_NOT_FOUND, without an error, for a module of plain puts. */
LC_CHECKED lc_status lc__fill_get(struct lc__snapshot *snapshot,
    struct lc__fill_row *out);
LC_CHECKED lc_status lc__fill_put(struct lc__change *change,
    const struct lc__fill_row *row);

/* ---- the order of the chunks --------------------------------------------- */

/** A chunk's position in the order. */
struct lc__order_row {
	uint64_t chunk;        /* id */
	uint32_t input;        /* index of the input */
	uint64_t ordinal;      /* number of the chunk in its input */
	uint64_t first_record; /* records in all chunks before this one */
	uint64_t records;      /* records in this one */
	uint64_t first_unit;   /* sum of the lengths of all chunks before this one */
	uint64_t length;       /* sum of the lengths in this one */
	uint64_t digest;       /* of its records, by lc__digest() */
	uint64_t prefix_hash;  /* hash over the order up to and including this chunk */
};

#define LC__ORDER_ROW 80
bool lc__order_decode(const void *bytes, size_t size, uint64_t key,
    struct lc__order_row *out);

/** Keys of the table `order` from here on belong to chunks that wait for their
 *  position. */
#define LC__ORDER_WAITING ((uint64_t)1 << 63)
/** Instead of the chunk's id, in a waiting row without records: recovery could not find
 *  the chunk, and the order continues without it. */
#define LC__ORDER_LOST 0
/** The row of a waiting chunk; LC_NOT_FOUND. */
LC_CHECKED lc_status lc__order_get_waiting(struct lc__snapshot *snapshot, uint32_t input,
    uint64_t ordinal, struct lc__order_row *out);

/** The row at @p position of the order. LC_NOT_FOUND after the last published chunk. */
LC_CHECKED lc_status lc__order_get(struct lc__snapshot *snapshot, uint64_t position,
    struct lc__order_row *out);

/** Store the row of a waiting chunk: its id, input, ordinal, records, length and
 *  digest. */
LC_CHECKED lc_status lc__order_wait(struct lc__change *change,
    const struct lc__order_row *row);

/** Store the row of the waiting chunk (input, ordinal) at its position in the order. */
LC_CHECKED lc_status lc__order_place(struct lc__change *change, uint64_t position,
    uint32_t input, uint64_t ordinal, const struct lc__order_row *row);

#endif
