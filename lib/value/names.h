/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash index of the names in one map, so that large maps are not searched linearly. */
#ifndef LC_VALUE_NAMES_H
#define LC_VALUE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Up to this many names, a linear search is faster. */
#define LC__NAMES_FEW 16

/** Not a position. */
#define LC__NO_NAME UINT32_MAX

struct lc__name_slot {
	uint32_t hash; /* of the name */
	uint32_t at;   /* its position; LC__NO_NAME in a free slot */
};

/** All zero: no index. */
struct lc__names {
	struct lc__name_slot *slot;
	size_t room; /* slots, a power of two, at least half of them free */
};

/** The name at a position. */
typedef const char *lc__name_at(const void *owner, uint32_t at);

/** The number of slots for so many names. */
size_t lc__names_room(size_t count);

/** Make an empty index in memory for @p room slots. */
void lc__names_init(struct lc__names *names, struct lc__name_slot *slot, size_t room);

/** Add a name that is not in the index; there must be room. */
void lc__names_add(struct lc__names *names, const char *name, uint32_t at);

/** The position of a name of @p size bytes, or LC__NO_NAME. */
uint32_t lc__names_find(const struct lc__names *names, const char *name, size_t size,
    lc__name_at *name_at, const void *owner);

#endif
