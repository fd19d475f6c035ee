/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of cache_ids or other names, each with a number. It keeps 128 bits of hash of each
 * (base/hash.h), so that its memory, 27 to 54 bytes an id, does not depend on their
 * length. Two different ids count as the same with a probability of 2^-128.
 */
#ifndef LC_BASE_IDSET_H
#define LC_BASE_IDSET_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

/** Zero-initialised is empty. One thread uses it at a time. */
struct lc__idset {
	struct lc__idset_slot *slots;
	size_t room;  /* slots: 0 or a power of two */
	size_t count; /* ids in it */
};

/**
 * Add an id with a number below UINT32_MAX. *@p added tells whether it was not there
 * before; if it was, it keeps its number, which *@p first gets. @p first may be NULL.
 * @return LC_OK, or LC_NO_MEMORY: then the set is as it was.
 */
LC_CHECKED lc_status lc__idset_add(struct lc__idset *set, lc_id id, uint32_t number,
    bool *added, uint32_t *first);

/** Harmless for one that is not there. */
void lc__idset_remove(struct lc__idset *set, lc_id id);

void lc__idset_free(struct lc__idset *set);

#endif
