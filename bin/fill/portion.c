/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/portion.h"

#include <stdlib.h>
#include <string.h>

static struct lc__portion *
make(struct lc__items *batch, size_t count)
{
	struct lc__portion *portion = malloc(sizeof(*portion) +
	    count * sizeof(portion->item[0]));

	if (portion != NULL) {
		memset(portion, 0, sizeof(*portion));
		portion->batch = batch;
		portion->count = count;
	}
	return portion;
}

struct lc__portion *
lc__portion_of(struct lc__items *batch)
{
	struct lc__portion *portion = make(batch, batch->count);

	if (portion == NULL)
		return NULL;
	for (size_t i = 0; i < batch->count; i++)
		portion->item[i] = (uint32_t)i;
	lc__portion_prune(portion);
	return portion;
}

struct lc__portion *
lc__portion_halve(struct lc__portion *portion)
{
	const size_t kept = (portion->count + 1) / 2;
	struct lc__portion *half = make(portion->batch, portion->count - kept);

	if (half == NULL)
		return NULL;
	half->failures = portion->failures;
	portion->half = half->half = true;
	portion->twin_failed = false;
	portion->twin = half;
	half->twin = portion;
	memcpy(half->item, portion->item + kept, half->count * sizeof(half->item[0]));
	portion->count = kept;
	return half;
}

void
lc__portion_tell_twin(struct lc__portion *portion, bool failed)
{
	if (portion->twin == NULL)
		return;
	portion->twin->twin_failed = failed;
	portion->twin->twin = NULL;
	portion->twin = NULL;
}

void
lc__portion_free(struct lc__portion *portion)
{
	if (portion != NULL)
		lc__portion_tell_twin(portion, false);
	free(portion);
}

void
lc__portion_prune(struct lc__portion *portion)
{
	size_t kept = 0;

	for (size_t i = 0; i < portion->count; i++)
		if (lc__portion_item(portion, i)->outcome == LC__ITEM_OPEN)
			portion->item[kept++] = portion->item[i];
	portion->count = kept;
}

void
lc__portions_append(struct lc__portions *queue, struct lc__portion *portion)
{
	portion->next = NULL;
	if (queue->last != NULL)
		queue->last->next = portion;
	else
		queue->first = portion;
	queue->last = portion;
	queue->count++;
}

void
lc__portions_prepend(struct lc__portions *queue, struct lc__portion *portion)
{
	portion->next = queue->first;
	queue->first = portion;
	if (queue->last == NULL)
		queue->last = portion;
	queue->count++;
}

struct lc__portion *
lc__portions_take(struct lc__portions *queue)
{
	struct lc__portion *portion = queue->first;

	if (portion == NULL)
		return NULL;
	queue->first = portion->next;
	if (queue->first == NULL)
		queue->last = NULL;
	queue->count--;
	portion->next = NULL;
	return portion;
}

void
lc__portions_free(struct lc__portions *queue)
{
	struct lc__portion *portion;

	while ((portion = lc__portions_take(queue)) != NULL)
		lc__portion_free(portion);
}
