/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of cache_ids or other names, each with a number. It keeps a 128-bit hash of each
 * name (base/hash.h), so that its memory, 27 to 54 bytes a name, does not depend on the
 * length of the names. Two different names count as equal with a probability of 2^-128.
 */
#ifndef LC_BASE_IDSET_H
#define LC_BASE_IDSET_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

/** All zero is an empty set. One thread uses it at a time. */
struct lc__idset {
	struct lc__idset_slot *slots;
	size_t room;  /* slots: 0 or a power of two */
	size_t count; /* ids in it */
};

/**
 * Add an id with a number below UINT32_MAX. *@p added is set to whether it is new; an id
 * that was there keeps its number, which is put into *@p first. @p first may be NULL.
 * @return LC_OK, or LC_NO_MEMORY: then the set is unchanged.
 */
LC_CHECKED lc_status lc__idset_add(struct lc__idset *set, lc_id id, uint32_t number,
    bool *added, uint32_t *first);

/** Is the id there? Then its number. */
bool lc__idset_find(const struct lc__idset *set, lc_id id, uint32_t *number);

/** Does nothing for an id that is not in the set. */
void lc__idset_remove(struct lc__idset *set, lc_id id);

void lc__idset_free(struct lc__idset *set);

#endif
