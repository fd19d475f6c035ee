/* SPDX-License-Identifier: BSD-2-Clause */
/* The merged order of several index runs: newest first among equal cache_ids. */
#ifndef LC_INDEX_RUN_MERGE_H
#define LC_INDEX_RUN_MERGE_H

#include "lmdbcache.h"
#include "index/run.h"

struct lc__run_merge;

/**
 * Start at the first cache_id >= @p from (all, with NULL) of @p n runs, oldest
 * first. NULL without memory. The runs must outlive it.
 */
struct lc__run_merge *lc__run_merge_open(const struct lc__run *runs, uint32_t n,
    const void *from, size_t from_size);

/**
 * The newest entry of the next cache_id, tombstones included.
 * @return LC_OK; LC_END at the end; LC_CORRUPT when a run is damaged: it is
 * then left out of what follows.
 */
LC_CHECKED lc_status lc__run_merge_next(struct lc__run_merge *merge,
    struct lc__run_entry *out);

void lc__run_merge_close(struct lc__run_merge *merge);

#endif
