/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/cache_model.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/heap.h"

/* A chunk that was visited. */
struct kept {
	uint64_t size; /* bytes */
	uint64_t end;  /* of its visits so far, a batch */
	uint64_t rank; /* among those that can be evicted, the lowest first */
	bool there, in_use;
};

struct lc__cache_model {
	enum lc__evict evict;
	uint64_t room, used; /* bytes */
	const uint64_t *sizes;
	struct kept *kept; /* of each chunk that was visited, by its place */
	size_t n, kept_room;
	struct lc__heap
	    busy; /* by the end of a visit; and those that were visited again */
	struct lc__heap idle; /* by rank; and those that were visited again or evicted */
	struct lc__cache_counts counts;
};

lc_status
lc__cache_model_new(enum lc__evict evict, uint64_t room, const uint64_t *sizes,
    struct lc__cache_model **out)
{
	struct lc__cache_model *model = calloc(1, sizeof(*model));

	if (model == NULL)
		return lc__no_memory("cache");
	*model = (struct lc__cache_model){
		.evict = evict,
		.room = room,
		.sizes = sizes,
	};
	*out = model;
	return LC_OK;
}

void
lc__cache_model_free(struct lc__cache_model *model)
{
	if (model == NULL)
		return;
	lc__heap_free(&model->busy);
	lc__heap_free(&model->idle);
	free(model->kept);
	free(model);
}

/* Visits that have ended by a batch leave their chunks to be evicted. */
static lc_status
end_visits(struct lc__cache_model *model, uint64_t batch)
{
	while (model->busy.n > 0 && model->busy.item[0].key <= batch) {
		const struct lc__heap_item ended = lc__heap_pop(&model->busy);
		struct kept *kept = &model->kept[ended.value];

		if (!kept->in_use || kept->end != ended.key)
			continue;
		kept->in_use = false;
		return_if_error(lc__heap_push(&model->idle, kept->rank, ended.value));
	}
	return LC_OK;
}

static void
make_room(struct lc__cache_model *model, uint64_t size)
{
	while (model->idle.n > 0 && size <= model->room &&
	    model->used > model->room - size) {
		const struct lc__heap_item first = lc__heap_pop(&model->idle);
		struct kept *kept = &model->kept[first.value];

		if (!kept->there || kept->in_use || kept->rank != first.key)
			continue;
		kept->there = false;
		model->used -= kept->size;
		model->counts.evictions++;
	}
}

/* Room for a place; those before it have theirs. */
static lc_status
add_place(struct lc__cache_model *model, uint32_t place)
{
	if (place < model->n)
		return LC_OK;
	return_if_error(lc__array_reserve(&model->kept, &model->kept_room,
	    (size_t)place + 1, "cache"));
	while (model->n <= place)
		model->kept[model->n++] = (struct kept){ .there = false };
	return LC_OK;
}

lc_status
lc__cache_model_visit(struct lc__cache_model *model, uint64_t k,
    const struct lc__visit *visit, bool *fetched)
{
	const uint64_t size = model->sizes[visit->chunk];
	struct kept *kept;

	return_if_error(add_place(model, visit->place));
	kept = &model->kept[visit->place];
	return_if_error(end_visits(model, visit->first));
	model->counts.visits++;
	*fetched = !kept->there;
	if (*fetched) {
		model->counts.fetches++;
		model->counts.bytes += size;
		make_room(model, size);
		if (size > model->room || model->used > model->room - size) {
			model->counts.too_large++;
			return LC_OK;
		}
		model->used += size;
		*kept = (struct kept){ .size = size, .there = true };
	}
	if (visit->end > kept->end)
		kept->end = visit->end;
	kept->rank = model->evict == LC__EVICT_FARTHEST ? UINT64_MAX - visit->again : k;
	kept->in_use = true;
	return lc__heap_push(&model->busy, kept->end, visit->place);
}

const struct lc__cache_counts *
lc__cache_model_counts(const struct lc__cache_model *model)
{
	return &model->counts;
}
