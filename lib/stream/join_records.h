/* SPDX-License-Identifier: BSD-2-Clause */
/* The partners' records of a join as values, for an export that writes all of them. */
#ifndef LC_STREAM_JOIN_RECORDS_H
#define LC_STREAM_JOIN_RECORDS_H

#include <stdbool.h>

#include "lmdbcache.h"

struct lc__join_records;

/**
 * Of the source that lc_source_open_join() gave. @p partners are the handles of the
 * modules after the first, n of them. All of these must outlive it. LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__join_records_new(lc_source *join, lc_cache *const *partners,
    size_t n, struct lc__join_records **out);

/**
 * The record of partner @p i under this cache_id, in the snapshot of the join.
 * @param listed  tensors have no data, and no checksum is compared
 * @param out     valid until lc__join_records_end()
 * @return LC_OK; LC_NOT_FOUND; LC_CORRUPT, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__join_records_read(struct lc__join_records *records, size_t i,
    lc_id id, bool listed, const lc_value **out);

/** Release the values that were read. */
void lc__join_records_end(struct lc__join_records *records);
/** NULL is harmless. */
void lc__join_records_free(struct lc__join_records *records);

#endif
