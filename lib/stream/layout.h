/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chunks of a source at one generation, in order: how many records and units
 * each has and where they begin. Never changes once it is made; shared and counted.
 * Used by many threads.
 */
#ifndef LC_STREAM_LAYOUT_H
#define LC_STREAM_LAYOUT_H

#include "lmdbcache.h"

struct lc__layout;

/** One chunk of it. */
struct lc__layout_row {
	uint64_t id;           /* of the chunk in the module, or number of the shard */
	uint64_t first_record; /* records before it */
	uint64_t records;      /* in it */
	uint64_t first_unit;   /* units before it */
	uint64_t units;        /* in it; without a length field, records */
	uint64_t prefix_hash;  /* of the order up to it, included */
	uint32_t series;       /* of shards: which size of image, from 0 */
	uint64_t ordinal;      /* of a module, as its ledger row has it: as long as it is the
	                          same, so are the records */
};

struct lc__layout *lc__layout_hold(struct lc__layout *layout);
/** NULL is harmless. */
void lc__layout_drop(struct lc__layout *layout);

/** Sums, and what the source said of itself then. */
const lc_source_info *lc__layout_info(const struct lc__layout *layout);

/** Row @p position, below info->chunks. May read the module. */
LC_CHECKED lc_status lc__layout_row(struct lc__layout *layout,
    uint64_t position, struct lc__layout_row *out);

/** Sizes of image that its chunks have, 1 where there are no images; those of one size
 *  follow one another. */
uint32_t lc__layout_series(const struct lc__layout *layout);

/** The chunks of one size of image alone, and how many chunks are before them. */
LC_CHECKED lc_status lc__layout_of_series(struct lc__layout *layout,
    uint32_t series, uint64_t *before, struct lc__layout **out);

/** The chunk that has record or unit @p i, below info->records or info->length;
 *  O(log chunks). */
LC_CHECKED lc_status lc__layout_find_record(struct lc__layout *layout,
    uint64_t i, uint64_t *position, struct lc__layout_row *out);
LC_CHECKED lc_status lc__layout_find_unit(struct lc__layout *layout,
    uint64_t i, uint64_t *position, struct lc__layout_row *out);

#endif
