/* SPDX-License-Identifier: BSD-2-Clause */
/* Eviction: removes whole chunks from a module that exceeds its budget. */
#ifndef LC_STORE_EVICT_H
#define LC_STORE_EVICT_H

#include "store/change.h"

/** What was evicted. */
struct lc__evicted {
	uint64_t chunks;
	uint64_t records; /* number of live records */
	uint64_t bytes;   /* bytes of the live records */
};

/**
 * Drop chunks, but never the newest one, while all records together have more than @p
 * max_bytes bytes. The last step of a change, after its run and its dead records. A
 * change drops at most 64 chunks, and at most 64 MiB or the size of the newest chunk;
 * later changes drop the rest. Damaged chunks stay. Snapshots taken before, and so all
 * views, keep their content.
 * @param out  the counts are added to it
 */
LC_CHECKED lc_status lc__evict(struct lc__change *change, uint64_t max_bytes,
    lc_evict how, struct lc__evicted *out);

/** Record in the ledger that these chunks were read; chunks that no longer exist are
 *  ignored. */
LC_CHECKED lc_status lc__evict_note_reads(struct lc__change *change,
    const uint64_t *chunks, size_t n, uint64_t now_ms);

#endif
