/* SPDX-License-Identifier: BSD-2-Clause */
#include "formats/seen.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash128.h"

/* Words of 32 bits, so that a slot takes no more than it must. */
struct lc__seen_slot {
	uint32_t hash[4];
	uint32_t number; /* plus 1; 0 for a free slot, which limits numbers to 2^32 - 2 */
};

#define LEAST 1024 /* slots, a power of two as later ones */

static struct lc__seen_slot *
find(const struct lc__seen_names *seen, const uint32_t hash[4])
{
	const size_t mask = seen->room - 1;
	size_t i = ((size_t)hash[0] | (size_t)hash[1] << 32) & mask;

	while (seen->slots[i].number != 0 &&
	    memcmp(seen->slots[i].hash, hash, sizeof(seen->slots[i].hash)) != 0)
		i = (i + 1) & mask;
	return &seen->slots[i];
}

static lc_status
grow(struct lc__seen_names *seen)
{
	struct lc__seen_names bigger = { .room = seen->room ? seen->room * 2 : LEAST,
	    .count = seen->count };

	bigger.slots = calloc(bigger.room, sizeof(*bigger.slots));
	if (bigger.slots == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < seen->room; i++)
		if (seen->slots[i].number != 0)
			*find(&bigger, seen->slots[i].hash) = seen->slots[i];
	free(seen->slots);
	*seen = bigger;
	return LC_OK;
}

lc_status
lc__seen_add(struct lc__seen_names *seen, const void *name, size_t size, uint32_t number,
    uint32_t *first)
{
	struct lc__seen_slot *slot;
	uint64_t hash[2];
	uint32_t words[4];

	if (seen->count >= seen->room / 4 * 3)
		return_if_error(grow(seen));
	lc__hash128(name, size, hash);
	memcpy(words, hash, sizeof(words));
	slot = find(seen, words);
	if (slot->number != 0) {
		*first = slot->number - 1;
		return LC_EXISTS;
	}
	memcpy(slot->hash, words, sizeof(words));
	slot->number = number + 1;
	seen->count++;
	return LC_OK;
}

void
lc__seen_free(struct lc__seen_names *seen)
{
	free(seen->slots);
	memset(seen, 0, sizeof(*seen));
}
