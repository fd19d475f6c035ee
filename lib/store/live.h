/* SPDX-License-Identifier: BSD-2-Clause */
/* The live records of chunks, which compaction moves and eviction deletes. */
#ifndef LC_STORE_LIVE_H
#define LC_STORE_LIVE_H

#include "store/snapshot.h"

/** A live record: the index names it. */
struct lc__live_record {
	uint64_t location;
	uint64_t hash;              /* of the cache_id */
	lc_id id;                   /* points into the record */
	const unsigned char *bytes; /* of the record, in the chunk */
	size_t size;                /* of the record */
};

struct lc__live_list {
	struct lc__live_record *records; /* malloc'ed; chunk by chunk, in order */
	uint32_t count;
	size_t room;    /* allocated */
	uint64_t bytes; /* bytes of all records */
};

/**
 * Add the live records of a chunk. Its ledger row and the index must agree on their number.
 * With @p intact the checksum of each is verified.
 * @return LC_OK; LC_CORRUPT with nothing added; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__live_add(struct lc__live_list *list,
    struct lc__snapshot *snapshot, uint64_t chunk, const struct lc__ledger_row *row,
    bool intact);

void lc__live_free(struct lc__live_list *list);

#endif
