/* SPDX-License-Identifier: BSD-2-Clause */
/* Open addressing with linear probing, at most three quarters full. */
#include "base/idset.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"

#define LEAST 64 /* slots */

/* In 32-bit words, so that a slot takes only 20 bytes. */
struct lc__idset_slot {
	uint32_t hash[4];
	uint32_t mark; /* the id's number plus 1; 0 for a free slot */
};

static size_t
home_of(const struct lc__idset *set, const uint32_t hash[4])
{
	return ((size_t)hash[0] | (size_t)((uint64_t)hash[1] << 32)) & (set->room - 1);
}

/* The slot that holds the hash, or the free one where it would be. */
static struct lc__idset_slot *
find(const struct lc__idset *set, const uint32_t hash[4])
{
	size_t i = home_of(set, hash);

	while (set->slots[i].mark != 0 &&
	    memcmp(set->slots[i].hash, hash, sizeof(set->slots[i].hash)) != 0)
		i = (i + 1) & (set->room - 1);
	return &set->slots[i];
}

static void
hash_of(lc_id id, uint32_t words[4])
{
	uint64_t hash[2];

	lc__hash128(id.data, id.size, hash);
	memcpy(words, hash, sizeof(hash));
}

static lc_status
grow(struct lc__idset *set)
{
	struct lc__idset larger = {
		.room = set->room > 0 ? set->room * 2 : LEAST,
		.count = set->count,
	};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (larger.slots == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < set->room; i++)
		if (set->slots[i].mark != 0)
			*find(&larger, set->slots[i].hash) = set->slots[i];
	free(set->slots);
	*set = larger;
	return LC_OK;
}

lc_status
lc__idset_add(struct lc__idset *set, lc_id id, uint32_t number, bool *added,
    uint32_t *first)
{
	struct lc__idset_slot *slot;
	uint32_t hash[4];

	if (set->count >= set->room / 4 * 3)
		return_if_error(grow(set));
	hash_of(id, hash);
	slot = find(set, hash);
	*added = slot->mark == 0;
	if (*added) {
		memcpy(slot->hash, hash, sizeof(hash));
		slot->mark = number + 1;
		set->count++;
	} else if (first != NULL) {
		*first = slot->mark - 1;
	}
	return LC_OK;
}

bool
lc__idset_find(const struct lc__idset *set, lc_id id, uint32_t *number)
{
	const struct lc__idset_slot *slot;
	uint32_t hash[4];

	if (set->room == 0)
		return false;
	hash_of(id, hash);
	slot = find(set, hash);
	if (slot->mark != 0)
		*number = slot->mark - 1;
	return slot->mark != 0;
}

void
lc__idset_remove(struct lc__idset *set, lc_id id)
{
	const size_t mask = set->room - 1;
	struct lc__idset_slot *slot;
	uint32_t hash[4];
	size_t gap;

	if (set->room == 0)
		return;
	hash_of(id, hash);
	slot = find(set, hash);
	if (slot->mark == 0)
		return;
	slot->mark = 0;
	set->count--;

	/* A search ends at a free slot. So the slots after a freed one move up, but none
	 * before its home slot. */
	gap = (size_t)(slot - set->slots);
	for (size_t i = (gap + 1) & mask; set->slots[i].mark != 0; i = (i + 1) & mask) {
		const size_t home = home_of(set, set->slots[i].hash);

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		set->slots[gap] = set->slots[i];
		set->slots[i].mark = 0;
		gap = i;
	}
}

void
lc__idset_free(struct lc__idset *set)
{
	free(set->slots);
	memset(set, 0, sizeof(*set));
}
