/* SPDX-License-Identifier: BSD-2-Clause */
/* A set of cache_ids, kept as hashes of 128 bits: memory does not grow with their length. */
#ifndef CACHEX_FILL_IDSET_H
#define CACHEX_FILL_IDSET_H

#include <stdbool.h>

#include "lmdbcache.h"

/** Zero-initialised is empty. */
struct lc__idset {
	uint64_t (*slots)[2]; /* {0, 0} where none is */
	size_t room;          /* slots: 0 or a power of two */
	size_t count;
};

/** *added tells whether it was not there before. */
LC_CHECKED lc_status lc__idset_add(struct lc__idset *set, lc_id id, bool *added);
bool lc__idset_has(const struct lc__idset *set, lc_id id);
/** Harmless for one that is not there. */
void lc__idset_remove(struct lc__idset *set, lc_id id);
void lc__idset_free(struct lc__idset *set);

#endif
