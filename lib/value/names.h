/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash index of the names in one map, so that big maps are not searched one by one. */
#ifndef LC_VALUE_NAMES_H
#define LC_VALUE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Up to so many names are faster searched one by one. */
#define LC__NAMES_FEW 16

/** Not a position. */
#define LC__NO_NAME UINT32_MAX

struct lc__name_slot {
	uint32_t hash; /* of the name */
	uint32_t at;   /* its position; LC__NO_NAME in a free slot */
};

/** Zero-initialised: no index. */
struct lc__names {
	struct lc__name_slot *slot;
	size_t room; /* slots, a power of two, at least half of them free */
};

/** The name at a position. */
typedef const char *lc__name_at(const void *owner, uint32_t at);

/** Slots for so many names. */
size_t lc__names_room(size_t count);

/** An empty index in the memory of @p room slots. */
void lc__names_init(struct lc__names *names, struct lc__name_slot *slot, size_t room);

/** Take up a name that is not in yet; there must be room. */
void lc__names_add(struct lc__names *names, const char *name, uint32_t at);

/** The position of a name of @p size bytes, or LC__NO_NAME. */
uint32_t lc__names_find(const struct lc__names *names, const char *name, size_t size,
    lc__name_at *name_at, const void *owner);

#endif
