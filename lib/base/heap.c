/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/heap.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"

static bool
before(const struct lc__heap_item *a, const struct lc__heap_item *b)
{
	return a->key != b->key ? a->key < b->key : a->value < b->value;
}

lc_status
lc__heap_push(struct lc__heap *heap, uint64_t key, uint64_t value)
{
	const struct lc__heap_item item = { key, value };
	size_t at = heap->n;

	return_if_error(lc__array_reserve(&heap->item, &heap->room, heap->n + 1, "heap"));
	for (heap->n++; at > 0 && before(&item, &heap->item[(at - 1) / 2]);
	     at = (at - 1) / 2)
		heap->item[at] = heap->item[(at - 1) / 2];
	heap->item[at] = item;
	return LC_OK;
}

struct lc__heap_item
lc__heap_pop(struct lc__heap *heap)
{
	const struct lc__heap_item first = heap->item[0];
	const struct lc__heap_item moved = heap->item[--heap->n];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < heap->n) {
		if (child + 1 < heap->n &&
		    before(&heap->item[child + 1], &heap->item[child]))
			child++;
		if (!before(&heap->item[child], &moved))
			break;
		heap->item[at] = heap->item[child];
		at = child;
	}
	if (heap->n > 0)
		heap->item[at] = moved;
	return first;
}

void
lc__heap_free(struct lc__heap *heap)
{
	free(heap->item);
	*heap = (struct lc__heap){ 0 };
}
