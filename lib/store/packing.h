/* SPDX-License-Identifier: BSD-2-Clause */
/* Packing the live records of chunks into one chunk, without the dead ones. */
#ifndef LC_STORE_PACKING_H
#define LC_STORE_PACKING_H

#include "store/change.h"
#include "store/live.h"

/** Zero-initialised except for change. */
struct lc__packing {
	struct lc__change *change;
	struct lc__live_list live;            /* the records; added by the caller */
	struct lc__ledger_row row;            /* ledger row of the new chunk */
	struct lc__directory_build directory; /* directory of the new chunk */
};

/**
 * Count the records in the new chunk's row and directory. The row keeps the source,
 * ordinal and times of chunk @p first. Damage is found here, before anything is changed.
 * @return LC_OK; LC_CORRUPT; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__packing_lay_out(struct lc__packing *packing,
    const struct lc__ledger_row *first);

/**
 * Write the records, at least one, as chunk @p id, which the change has dropped, as it
 * has dropped the other chunks that they are from. Then the caller stores the row.
 * @param entries  room for as many as there are records; entries of records that move are
 *                 added after the first *n
 */
LC_CHECKED lc_status lc__packing_write(struct lc__packing *packing, uint64_t id,
    struct lc__new_entry *entries, uint32_t *n);

void lc__packing_free(struct lc__packing *packing);

#endif
