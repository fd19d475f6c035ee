/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a cache of chunks does over the visits of a reader: which visits find their chunk in
 * it, and how many bytes are fetched. A chunk stays during a visit to it; of the
 * others one is evicted when room is needed.
 */
#ifndef LC_STREAM_CACHE_MODEL_H
#define LC_STREAM_CACHE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "stream/visits.h"

enum lc__evict {
	LC__EVICT_OLDEST,  /* whose last visit began first (LRU) */
	LC__EVICT_FARTHEST /* whose next visit is last (Belady) */
};

struct lc__cache_model;

/** What happened so far. */
struct lc__cache_counts {
	uint64_t visits;
	uint64_t fetches, bytes; /* of chunks that were not there */
	uint64_t evictions;
	uint64_t
	    too_large; /* of the fetches: of chunks for which there was no room, as all
	                       others were in use. They are not kept. */
};

/** Counters of an empty cache of @p room bytes, for chunks of @p sizes[i] bytes, which must
 *  stay. Memory as many chunks as are visited take. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__cache_model_new(enum lc__evict evict, uint64_t room,
    const uint64_t *sizes, struct lc__cache_model **out);
/** NULL is harmless. */
void lc__cache_model_free(struct lc__cache_model *model);

/** Visit @p k, in their order. *fetched: the chunk was not there. O(log chunks).
 *  LC_NO_MEMORY. */
LC_CHECKED lc_status lc__cache_model_visit(struct lc__cache_model *model, uint64_t k,
    const struct lc__visit *visit, bool *fetched);

const struct lc__cache_counts *lc__cache_model_counts(
    const struct lc__cache_model *model);

#endif
