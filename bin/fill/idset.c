/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/idset.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash128.h"

#define LEAST 64 /* slots */

static void
hash_of(lc_id id, uint64_t hash[2])
{
	lc__hash128(id.data, id.size, hash);
	/* Both zero is an empty slot. */
	hash[1] |= hash[0] == 0 && hash[1] == 0;
}

static bool
is_empty(const uint64_t slot[2])
{
	return slot[0] == 0 && slot[1] == 0;
}

/* Where it is, or where it would be. */
static size_t
find(const struct lc__idset *set, const uint64_t hash[2])
{
	size_t i = (size_t)hash[1] & (set->room - 1);

	while (!is_empty(set->slots[i]) && (set->slots[i][0] != hash[0] ||
	    set->slots[i][1] != hash[1]))
		i = (i + 1) & (set->room - 1);
	return i;
}

static lc_status
grow(struct lc__idset *set)
{
	struct lc__idset larger = {
		.room = set->room > 0 ? set->room * 2 : LEAST, .count = set->count
	};

	larger.slots = calloc(larger.room, sizeof(*larger.slots));
	if (larger.slots == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < set->room; i++)
		if (!is_empty(set->slots[i]))
			memcpy(larger.slots[find(&larger, set->slots[i])],
			    set->slots[i], sizeof(set->slots[i]));
	free(set->slots);
	*set = larger;
	return LC_OK;
}

lc_status
lc__idset_add(struct lc__idset *set, lc_id id, bool *added)
{
	uint64_t hash[2];
	size_t at;

	if (set->count >= set->room / 2)
		return_if_error(grow(set));
	hash_of(id, hash);
	at = find(set, hash);
	*added = is_empty(set->slots[at]);
	memcpy(set->slots[at], hash, sizeof(hash));
	set->count += *added;
	return LC_OK;
}

bool
lc__idset_has(const struct lc__idset *set, lc_id id)
{
	uint64_t hash[2];

	if (set->room == 0)
		return false;
	hash_of(id, hash);
	return !is_empty(set->slots[find(set, hash)]);
}

/* What stands behind a slot that becomes empty moves up, unless it would stand before
 * the slot that its search begins with. */
static void
close_gap(struct lc__idset *set, size_t gap)
{
	const size_t mask = set->room - 1;

	for (size_t i = (gap + 1) & mask; !is_empty(set->slots[i]);
	    i = (i + 1) & mask) {
		const size_t home = (size_t)set->slots[i][1] & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		memcpy(set->slots[gap], set->slots[i], sizeof(set->slots[i]));
		memset(set->slots[i], 0, sizeof(set->slots[i]));
		gap = i;
	}
}

void
lc__idset_remove(struct lc__idset *set, lc_id id)
{
	uint64_t hash[2];
	size_t at;

	if (set->room == 0)
		return;
	hash_of(id, hash);
	at = find(set, hash);
	if (is_empty(set->slots[at]))
		return;
	memset(set->slots[at], 0, sizeof(set->slots[at]));
	set->count--;
	close_gap(set, at);
}

void
lc__idset_free(struct lc__idset *set)
{
	free(set->slots);
	memset(set, 0, sizeof(*set));
}
