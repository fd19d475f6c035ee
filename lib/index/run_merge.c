/* SPDX-License-Identifier: BSD-2-Clause */
#include "index/run_merge.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A run on its way through the merge. */
struct source {
	struct lc__run_cursor cursor;
	uint64_t prefix; /* first 8 bytes of the cache_id, big-endian: decides most
	                    comparisons without touching the id */
	uint32_t age;    /* position among the runs: higher is newer */
};

struct lc__run_merge {
	struct source *sources; /* malloc'ed */
	struct source **heap;   /* malloc'ed; the next entry on top */
	uint32_t used;          /* of the heap */
	uint64_t damaged;       /* id + 1 of a run found damaged and not yet reported */
	struct lc__run_entry last; /* what was returned last; id NULL before */
};

static void
load_prefix(struct source *source)
{
	const struct lc__run_entry *entry = &source->cursor.entry;
	uint64_t prefix = 0;

	memcpy(&prefix, entry->id, entry->id_size < 8 ? entry->id_size : 8);
	source->prefix = be64toh(prefix);
}

/* Order by cache_id, then newest first. */
static bool
before(const struct source *a, const struct source *b)
{
	const struct lc__run_entry *x = &a->cursor.entry, *y = &b->cursor.entry;
	int order;

	if (a->prefix != b->prefix)
		return a->prefix < b->prefix;
	order = lc__id_compare(x->id, x->id_size, y->id, y->id_size);
	return order != 0 ? order < 0 : a->age > b->age;
}

/* Restore the heap below position i. */
static void
sift_down(struct source **heap, uint32_t n, uint32_t i)
{
	struct source *moved = heap[i];

	for (;;) {
		uint32_t child = 2 * i + 1;
		if (child >= n)
			break;
		if (child + 1 < n && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

/* Step the top of the heap, or take it off at its end. */
static void
advance(struct lc__run_merge *merge)
{
	struct source *top = merge->heap[0];

	if (lc__run_next(&top->cursor)) {
		load_prefix(top);
	} else {
		if (top->cursor.damaged)
			merge->damaged = top->cursor.run->id + 1;
		merge->heap[0] = merge->heap[--merge->used];
	}
	if (merge->used > 0)
		sift_down(merge->heap, merge->used, 0);
}

struct lc__run_merge *
lc__run_merge_open(const struct lc__run *runs, uint32_t n, const void *from,
    size_t from_size)
{
	struct lc__run_merge *merge = calloc(1, sizeof(*merge));

	if (merge == NULL)
		return NULL;
	merge->sources = calloc(n + 1, sizeof(*merge->sources));
	merge->heap = calloc(n + 1, sizeof(struct source *));
	if (merge->sources == NULL || merge->heap == NULL) {
		lc__run_merge_close(merge);
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct source *source = &merge->sources[i];

		source->age = i;
		if (lc__run_seek(&source->cursor, &runs[i], from, from_size)) {
			load_prefix(source);
			merge->heap[merge->used++] = source;
		} else if (source->cursor.damaged) {
			merge->damaged = runs[i].id + 1;
		}
	}
	for (uint32_t i = merge->used / 2; i-- > 0;)
		sift_down(merge->heap, merge->used, i);
	return merge;
}

lc_status
lc__run_merge_next(struct lc__run_merge *merge, struct lc__run_entry *out)
{
	for (;;) {
		struct lc__run_entry entry;

		if (merge->damaged != 0) {
			const uint64_t run = merge->damaged - 1;
			merge->damaged = 0;
			return lc__error(LC_CORRUPT, 0,
			    "index run %llu is damaged", (unsigned long long)run);
		}
		if (merge->used == 0)
			return LC_END;
		entry = merge->heap[0]->cursor.entry;
		advance(merge);
		if (merge->last.id != NULL && lc__id_compare(merge->last.id,
		    merge->last.id_size, entry.id, entry.id_size) == 0)
			continue;
		merge->last = entry;
		*out = entry;
		return LC_OK;
	}
}

void
lc__run_merge_close(struct lc__run_merge *merge)
{
	if (merge == NULL)
		return;
	free(merge->sources);
	free(merge->heap);
	free(merge);
}
