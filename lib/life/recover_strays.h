/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of a damaged module that are under another key than their own. A B-tree has no
 * checksums: a flipped bit in a key takes a whole row away from where it is looked for.
 * The headers of chunks and index runs say their ids; the checksum of any other row is
 * right for its own key alone.
 */
#ifndef LC_LIFE_RECOVER_STRAYS_H
#define LC_LIFE_RECOVER_STRAYS_H

#include "life/recovery.h"

/** Rows of meta; those that nobody knows go. */
LC_CHECKED lc_status lc__recovery_put_back_meta(struct lc__recovery *r);

/** Tables that hold each other's rows, as these say themselves. */
LC_CHECKED lc_status lc__recovery_put_back_tables(struct lc__recovery *r);

/** Chunks and index runs, whose headers say their ids. With state_lost, or a state that
 *  was read. A chunk without a header keeps its key only if that may have been given
 *  out. */
LC_CHECKED lc_status lc__recovery_put_back_values(struct lc__recovery *r);

/** Schemas and rows of ledger and inputs; the chunks are where they belong, and the
 *  state is known, or made up. */
LC_CHECKED lc_status lc__recovery_put_back_rows(struct lc__recovery *r);

/** How many schemas the records name: 1 more than the largest one of a whole record. */
LC_CHECKED lc_status lc__recovery_count_schemas(struct lc__recovery *r,
    uint32_t *out);

#endif
