/* SPDX-License-Identifier: BSD-2-Clause */
/* A source read through and compared with what a walk over the module gives. */
#ifndef T_SOURCE_WALK_H
#define T_SOURCE_WALK_H

#include "lmdbcache.h"
#include "stream/cursor.h"
#include "stream/source.h"

/** A cursor over what the source stands on. */
struct lc__cursor *walk_cursor(lc_source *source);

/** What a source says of itself. */
lc_source_info walk_info(const lc_source *source);

/** The names of all tensors of a record; freed with walk_free_names(). */
char **walk_names(struct lc__cursor *cursor, uint64_t record, size_t *n);
void walk_free_names(char **names, size_t n);

/**
 * Every record of the source is the one that lc_iter_next() gives by commit: cache_id,
 * and every tensor of it by its path. The sums of the layout are right.
 */
void walk_expect_same(lc_cache *cache, lc_source *source);

/** lc__cursor_read() of the one tensor of a record. */
lc_status walk_read_one(struct lc__cursor *cursor, uint64_t record,
    lc_tensor *tensor, lc_id *id);

#endif
