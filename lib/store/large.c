/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/large.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/populate.h"

/* Records of a module usually have one size: if this many do not fit, further search is
 * in vain. */
#define LOOK_AT 16

struct lc__large *
lc__large_take(struct lc__large_pool *pool, size_t size)
{
	struct lc__large **link = &pool->first;

	for (int i = 0; i < LOOK_AT && *link != NULL; i++, link = &(*link)->next) {
		struct lc__large *large = *link;

		/* Do not use the memory of a large record for a small one. */
		if (large->room < size || large->room / 2 > size)
			continue;
		*link = large->next;
		pool->bytes -= large->room;
		return large;
	}
	return NULL;
}

void
lc__large_give(struct lc__large_pool *pool, struct lc__large *large, size_t most)
{
	large->rest = NULL;
	if (large->room > most || pool->bytes > most - large->room) {
		lc__large_free(large);
		return;
	}
	large->next = pool->first;
	pool->first = large;
	pool->bytes += large->room;
}

void
lc__large_pool_empty(struct lc__large_pool *pool)
{
	while (pool->first != NULL) {
		struct lc__large *large = pool->first;

		pool->first = large->next;
		lc__large_free(large);
	}
	pool->bytes = 0;
}

lc_status
lc__large_new(size_t size, struct lc__large **out)
{
	const size_t room = size < LC__HUGE_PAGE ? size
						 : lc__round_up(size, LC__HUGE_PAGE);
	struct lc__large *large = malloc(sizeof(*large));
	void *bytes;

	if (large == NULL)
		return lc__no_memory("put");
	bytes = mmap(NULL, room, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bytes == MAP_FAILED) {
		free(large);
		return lc__error(LC_NO_MEMORY, 0, "put: %zu bytes: out of memory", size);
	}
	*large = (struct lc__large){ .bytes = bytes, .room = room };
	*out = large;
	return LC_OK;
}

void
lc__large_free(struct lc__large *large)
{
	if (large == NULL)
		return;
	munmap(large->bytes, large->room);
	free(large);
}
