/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of numbered items. The item with the lowest key comes first; of equal keys, the
 * lowest number. All zero is an empty heap. */
#ifndef LC_BASE_HEAP_H
#define LC_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

struct lc__heap_item {
	uint64_t key;
	uint64_t value;
};

struct lc__heap {
	struct lc__heap_item *item; /* malloc'ed; the first item has the lowest key */
	size_t n, room;
};

/** O(log n). LC_NO_MEMORY. */
LC_CHECKED lc_status lc__heap_push(struct lc__heap *heap, uint64_t key, uint64_t value);
/** Remove the first item; the heap must not be empty. O(log n). */
struct lc__heap_item lc__heap_pop(struct lc__heap *heap);
void lc__heap_free(struct lc__heap *heap);

#endif
