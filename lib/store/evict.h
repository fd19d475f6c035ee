/* SPDX-License-Identifier: BSD-2-Clause */
/* Eviction: whole chunks leave a module that is above its budget. */
#ifndef LC_STORE_EVICT_H
#define LC_STORE_EVICT_H

#include "store/change.h"

/** What an eviction took. */
struct lc__evicted {
	uint64_t chunks;
	uint64_t records; /* live ones */
	uint64_t bytes;   /* of the live ones */
};

/**
 * Drop chunks while the bytes of all records are above @p max_bytes, never the
 * newest one. The last step of a change, after its run and its dead records.
 * One change drops 64 chunks at most, and 64 MiB or as much as the newest chunk
 * has: what is left, later ones drop. Damaged chunks stay. Snapshots that were
 * taken before, and so all views, keep what they show.
 * @param out  counts are added
 */
LC_CHECKED lc_status lc__evict(struct lc__change *change, uint64_t max_bytes,
    lc_evict how, struct lc__evicted *out);

/** Note in the ledger that these chunks were read; those that are gone are passed
 *  over. */
LC_CHECKED lc_status lc__evict_note_reads(struct lc__change *change,
    const uint64_t *chunks, size_t n, uint64_t now_ms);

#endif
