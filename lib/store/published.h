/* SPDX-License-Identifier: BSD-2-Clause */
/* The published order of a module with inputs, as rows. */
#ifndef LC_STORE_PUBLISHED_H
#define LC_STORE_PUBLISHED_H

#include "store/snapshot.h"

/** A chunk's place in the order. */
struct lc__order_row {
	uint64_t chunk;        /* id */
	uint32_t input;        /* index */
	uint64_t ordinal;      /* in the input */
	uint64_t first_record; /* records in all chunks before it */
	uint64_t records;      /* in it */
	uint64_t first_unit;   /* sum of lengths of all chunks before it */
	uint64_t length;       /* of it */
	uint64_t prefix_hash;  /* over the order up to this chunk, included */
};

/** Is the module filled by inputs? */
LC_CHECKED lc_status lc__has_inputs(struct lc__snapshot *snapshot, bool *out);

/** Place @p position of the order. LC_NOT_FOUND behind the last published one. */
LC_CHECKED lc_status lc__order_get(struct lc__snapshot *snapshot,
    uint64_t position, struct lc__order_row *out);

/** How far it is; in O(1) but for held inputs, which are asked of the system. */
LC_CHECKED lc_status lc__fill_load(struct lc__snapshot *snapshot, lc_fill *out);

#endif
