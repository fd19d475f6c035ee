/* SPDX-License-Identifier: BSD-2-Clause */
/* A commit's share of compaction, which limits the size of a module that keeps
 * changing. */
#ifndef LC_STORE_RECLAIM_H
#define LC_STORE_RECLAIM_H

#include "store/change.h"

/**
 * While more than half of all records' bytes, and more than 1 MiB, are dead: rewrite the
 * chunks with the smallest share of live data among some, without their dead records. A
 * chunk keeps its number, its ordinal and the order of its records, so walks and streams
 * are not affected; chunks of inputs and damaged ones are left alone. The work is limited
 * by that of the change itself: it examines 256 chunks and one more for each dead record,
 * and moves 256 KiB and as many bytes as died; but one chunk is rewritten whatever its
 * size. In the same way the index is merged once most of its entries are superseded:
 * lc__merge_superseded(). Called after lc__change_bury().
 * @param dead  the records that this change makes dead
 */
LC_CHECKED lc_status lc__reclaim(struct lc__change *change, const struct lc__dead *dead,
    uint32_t n);

#endif
