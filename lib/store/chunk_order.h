/* SPDX-License-Identifier: BSD-2-Clause */
/* The published order of a module with inputs, as rows. */
#ifndef LC_STORE_CHUNK_ORDER_H
#define LC_STORE_CHUNK_ORDER_H

#include "order/rounds.h"
#include "store/snapshot.h"

struct lc__change;

/** A chunk's place in the order. */
struct lc__order_row {
	uint64_t chunk;        /* id */
	uint32_t input;        /* index */
	uint64_t ordinal;      /* in the input */
	uint64_t first_record; /* records in all chunks before it */
	uint64_t records;      /* in it */
	uint64_t first_unit;   /* sum of lengths of all chunks before it */
	uint64_t length;       /* of it */
	uint64_t digest;       /* of its records, by lc__digest() */
	uint64_t prefix_hash;  /* over the order up to this chunk, included */
};

#define LC__ORDER_ROW 80
bool lc__order_decode(const void *bytes, size_t size, uint64_t key,
    struct lc__order_row *out);

/** Keys of the table `order` from here on are of chunks that wait for their place. */
#define LC__ORDER_WAITING ((uint64_t)1 << 63)
/** Such a row, of a chunk that recovery could not find again: the order goes on
 *  without it. It has this in the place of its id, and no records. */
#define LC__ORDER_LOST 0
/** A chunk that waits; LC_NOT_FOUND. */
LC_CHECKED lc_status lc__order_get_waiting(struct lc__snapshot *snapshot,
    uint32_t input, uint64_t ordinal, struct lc__order_row *out);

/** How far a module is filled: the row `fill` of meta. There is one if and only if
 *  the module has inputs. */
struct lc__fill_row {
	uint64_t inputs;       /* declared */
	uint64_t finished;     /* of them */
	uint64_t committed;    /* chunks */
	uint64_t published;    /* of them */
	uint64_t records;      /* in published chunks */
	uint64_t length;       /* of them */
	uint64_t prefix_hash;  /* that of the last published chunk, else 0 */
	struct lc__rounds rounds; /* behind it */
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

/** Place @p position of the order. LC_NOT_FOUND behind the last published one. */
LC_CHECKED lc_status lc__order_get(struct lc__snapshot *snapshot,
    uint64_t position, struct lc__order_row *out);

/** A chunk waits for its place: its id, input, ordinal, records, length and digest. */
LC_CHECKED lc_status lc__order_wait(struct lc__change *change,
    const struct lc__order_row *row);

/** Give all chunks that wait their places, as far as those are settled. */
LC_CHECKED lc_status lc__order_publish(struct lc__change *change,
    struct lc__fill_row *fill);

/** The hash over an order that goes on with a chunk. */
uint64_t lc__order_chain(uint64_t prefix_hash, const struct lc__order_row *row);
/** The same of plain puts: of a chunk its id, its ledger row's live records and
 *  ordinal, and the units that the records count as. */
uint64_t lc__plain_chain(uint64_t prefix_hash, uint64_t chunk,
    const struct lc__ledger_row *row, uint64_t units);

/** How far it is; in O(1) but for held inputs, which are asked of the system. A module
 *  of plain puts has its ledger walked. */
LC_CHECKED lc_status lc__fill_load(struct lc__snapshot *snapshot, lc_fill *out);

#endif
