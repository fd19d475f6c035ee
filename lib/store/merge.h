/* SPDX-License-Identifier: BSD-2-Clause */
/* When index runs are merged, and into what. */
#ifndef LC_STORE_MERGE_H
#define LC_STORE_MERGE_H

#include "store/snapshot.h"

/** Runs of one level that are merged into one of the next. */
#define LC__MERGE_FANOUT 8
/** Values larger than this are not merged any further: it bounds a commit. */
#define LC__MERGE_LIMIT ((uint64_t)64 << 20)
/** The level of runs that stay as they are. */
#define LC__LEVEL_FULL UINT32_MAX

/**
 * Merge while the newest runs of @p snapshot, which is of a write transaction,
 * ask for it. Updates snapshot->state; the caller stores it.
 */
LC_CHECKED lc_status lc__merge_runs(struct lc__snapshot *snapshot);

#endif
