/* SPDX-License-Identifier: BSD-2-Clause */
/* The inputs of a module: their rows, and what a commit changes in them. */
#ifndef LC_STORE_INPUTS_H
#define LC_STORE_INPUTS_H

#include "store/cache.h"
#include "store/change.h"

#define LC__INPUTS_MAX 65536

/** A row of the table `input`. Its pointers are borrowed. */
struct lc__input_row {
	uint64_t chunks;   /* number of committed chunks */
	uint64_t records;  /* in those chunks */
	uint64_t length;   /* of those records */
	bool finished;
	lc_id name, fingerprint, cursor;
};

bool lc__input_decode(const void *bytes, size_t size, uint32_t index,
    struct lc__input_row *out);

/** The row of an input, borrowed until the transaction writes. LC_NOT_FOUND, with an error;
 *  LC_CORRUPT. */
LC_CHECKED lc_status lc__input_get(struct lc__snapshot *snapshot,
    uint32_t index, struct lc__input_row *out);
LC_CHECKED lc_status lc__input_put(struct lc__change *change, uint32_t index,
    const struct lc__input_row *row);
/** Find an input by name. LC_NOT_FOUND, without an error. */
LC_CHECKED lc_status lc__input_find(struct lc__snapshot *snapshot,
    const char *name, uint32_t *index, struct lc__input_row *out);

/** What a writer's commit changes in its input. */
struct lc__input_step {
	uint32_t index;
	const char *name;
	uint64_t chunks;   /* that were committed before, as the writer knows it */
	lc_id cursor;      /* to store */
	bool finish;
	uint64_t digest;   /* of the records */
	struct lc__input_row after; /* gets the counts that were stored; no pointers */
};

/** Is the input in the state that the writer knows? LC_BUSY or LC_INVALID if not. */
LC_CHECKED lc_status lc__input_check(struct lc__change *change,
    const struct lc__input_step *step);
/** Store the input's row, and publish the chunks whose place in the order is now settled.
 *  @param chunk, row the new chunk; 0 if there is none */
LC_CHECKED lc_status lc__input_advance(struct lc__change *change,
    struct lc__input_step *step, uint64_t chunk,
    const struct lc__ledger_row *row);

/** LC_INVALID for a module that is filled by inputs. Costs next to nothing for others. */
LC_CHECKED lc_status lc__check_plain(struct lc_cache *cache,
    const char *operation);
/** The same in a transaction, which knows for sure. */
LC_CHECKED lc_status lc__check_plain_now(struct lc__snapshot *snapshot,
    const char *operation);

#endif
