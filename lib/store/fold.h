/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small chunks of commits share rows of the table of chunks, so that a page holds many of
 * them instead of one each. lib/store/chunk.h has the bytes of such a row.
 */
#ifndef LC_STORE_FOLD_H
#define LC_STORE_FOLD_H

#include "store/change.h"

/** Fold small neighbours in the block before @p chunk, which is new, if it is the first
 *  one of its block. Chunks looked up before must be looked up again afterwards. */
LC_CHECKED lc_status lc__fold(struct lc__change *change, uint64_t chunk);

/** Delete a chunk from the table: at once, or, if it shares its row, at the next
 *  lc__fold_settle(). */
LC_CHECKED lc_status lc__fold_delete(struct lc__change *change, uint64_t chunk);

/** May a row of several chunks with key @p first be rewritten: is its list intact, and
 *  does it begin with the key? */
bool lc__fold_sound(uint64_t first, const struct lc__slice *row);

/** Rewrite the rows from which lc__fold_delete() deleted chunks. */
LC_CHECKED lc_status lc__fold_settle(struct lc__change *change);

/** Make room for a separate row for chunk @p chunk, which has been deleted: rows with
 *  chunks before and after it are split. */
LC_CHECKED lc_status lc__fold_make_room(struct lc__change *change, uint64_t chunk);

#endif
