/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bytes of a record to tensors and values: verified, decoded, rebuilt. */
#ifndef LC_STORE_READING_H
#define LC_STORE_READING_H

#include "store/cache.h"
#include "store/lru.h"

/** A record that values are read out of. */
struct lc__reading {
	struct lc_cache *cache;    /* whose LRU and options count */
	const struct lc__schema *schema;
	struct lc__record record;  /* fits the schema; its head is verified */
	uint64_t location;         /* 0 for one that is not committed */
	bool verify;               /* check the parts */
	bool listed;               /* leave tensors alone: they have no data */
	struct lc__read_value *values; /* made so far */
};

/**
 * Start with reading->record, which is one of a snapshot: its head is verified if
 * @p verify, and compared with its schema. End with lc__reading_end().
 */
LC_CHECKED lc_status lc__reading_committed(struct lc__reading *reading,
    struct lc_cache *cache, struct lc__snapshot *snapshot, uint64_t location,
    bool verify);

/** The tensor of a record without parts, verified if @p verify, in place. */
LC_CHECKED lc_status lc__reading_alone(const struct lc_cache *cache,
    struct lc__snapshot *snapshot, const struct lc__record *record, bool verify,
    lc_tensor *out);

/** Does the LRU hold the first tensor of a committed record, decoded? */
bool lc__reading_kept(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location);

/** Start with reading->record, which stands in this process's memory. */
LC_CHECKED lc_status lc__reading_memory(struct lc__reading *reading,
    struct lc_cache *cache, const struct lc__schema *schema);

/**
 * The tensor of a record that is nothing else, verified.
 * @param block  gets what holds the data if it had to be decoded, to be dropped;
 *               else NULL
 */
LC_CHECKED lc_status lc__reading_tensor(struct lc__reading *reading,
    lc_tensor *out, struct lc__block **block);

/** As lc_view_value(); valid until lc__reading_end(). */
LC_CHECKED lc_status lc__reading_value(struct lc__reading *reading,
    const char *path, const lc_value **out);

/** Free the values that were read. */
void lc__reading_end(struct lc__reading *reading);

#endif
