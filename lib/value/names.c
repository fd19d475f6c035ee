/* SPDX-License-Identifier: BSD-2-Clause */
#include "value/names.h"

#include <string.h>

#include "base/hash.h"

size_t
lc__names_room(size_t count)
{
	size_t room = 2 * LC__NAMES_FEW;

	while (room < 2 * count)
		room *= 2;
	return room;
}

void
lc__names_init(struct lc__names *names, struct lc__name_slot *slot, size_t room)
{
	names->slot = slot;
	names->room = room;
	memset(slot, 0xff, room * sizeof(*slot));
}

void
lc__names_add(struct lc__names *names, const char *name, uint32_t at)
{
	const uint32_t hash = (uint32_t)lc__hash64(name, strlen(name));
	size_t i = hash & (names->room - 1);

	while (names->slot[i].at != LC__NO_NAME)
		i = (i + 1) & (names->room - 1);
	names->slot[i].hash = hash;
	names->slot[i].at = at;
}

uint32_t
lc__names_find(const struct lc__names *names, const char *name, size_t size,
    lc__name_at *name_at, const void *owner)
{
	const uint32_t hash = (uint32_t)lc__hash64(name, size);
	size_t i = hash & (names->room - 1);

	for (; names->slot[i].at != LC__NO_NAME; i = (i + 1) & (names->room - 1)) {
		const struct lc__name_slot *slot = &names->slot[i];
		const char *other = slot->hash == hash ? name_at(owner, slot->at) : NULL;
		if (other != NULL && strncmp(other, name, size) == 0 &&
		    other[size] == '\0')
			return slot->at;
	}
	return LC__NO_NAME;
}
