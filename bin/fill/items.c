/* SPDX-License-Identifier: BSD-2-Clause */
/* Items of a fill, the batches that they go in, and how they are counted. */
#include "fill/items.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/utf8.h"
#include "lmdbcache.h"

/* How much of a failure's text is kept: the size of a library error. */
#define WHY_MAX (sizeof(((lc_error *)0)->text) - 1)

struct lc__items *
lc__items_new(size_t count)
{
	struct lc__items *batch = calloc(1, sizeof(*batch));

	if (batch == NULL)
		return NULL;
	batch->items = calloc(count > 0 ? count : 1, sizeof(*batch->items));
	if (batch->items == NULL) {
		free(batch);
		return NULL;
	}
	batch->count = count;
	return batch;
}

void
lc__items_free(struct lc__items *batch)
{
	if (batch == NULL)
		return;
	for (size_t i = 0; i < batch->count; i++) {
		lc_value_free(batch->items[i].value);
		free(batch->items[i].why);
	}
	for (size_t i = 0; i < batch->n_frames; i++)
		lc__buf_free(&batch->frames[i]);
	lc__buf_free(&batch->standard_error);
	free(batch->frames);
	free(batch->items);
	free(batch->memory);
	free(batch);
}

/* In place: characters that end or garble a line become spaces, bytes that are not UTF-8
 * question marks. */
static void
make_line(char *text)
{
	size_t size = strlen(text), at = 0;

	while (at < size) {
		const size_t n = lc__utf8_length((unsigned char *)text + at, size - at);
		if (n == 0)
			text[at] = '?';
		else if ((unsigned char)text[at] < ' ' || text[at] == 0x7f)
			text[at] = ' ';
		at += n > 0 ? n : 1;
	}
	while (size > 0 && text[size - 1] == ' ')
		text[--size] = '\0';
}

lc_status
lc__item_fail(struct lc__item *item, const char *why, size_t size)
{
	item->why = strndup(why, size < WHY_MAX ? size : WHY_MAX);
	if (item->why == NULL)
		return lc__no_memory(NULL);
	make_line(item->why);
	item->outcome = LC__ITEM_FAILED;
	return LC_OK;
}

lc_status
lc__items_keep(struct lc__items *batch, struct lc__buf *frame)
{
	return_if_error(lc__array_reserve(&batch->frames, &batch->frames_room,
	    batch->n_frames + 1, NULL));
	batch->frames[batch->n_frames++] = *frame;
	memset(frame, 0, sizeof(*frame));
	return LC_OK;
}

lc_status
lc__items_stderr(struct lc__items *batch, const char *text, size_t size)
{
	batch->standard_error.size = 0;
	if (lc__buf_append(&batch->standard_error, text, size) == NULL)
		return lc__no_memory(NULL);
	return LC_OK;
}

/* ---- batches ----------------------------------------------------------------------- */

static struct lc__subbatch *
make(struct lc__items *batch, size_t count)
{
	struct lc__subbatch *subbatch = malloc(
	    sizeof(*subbatch) + count * sizeof(subbatch->item[0]));

	if (subbatch != NULL) {
		memset(subbatch, 0, sizeof(*subbatch));
		subbatch->batch = batch;
		subbatch->count = count;
	}
	return subbatch;
}

struct lc__subbatch *
lc__subbatch_of(struct lc__items *batch)
{
	struct lc__subbatch *subbatch = make(batch, batch->count);

	if (subbatch == NULL)
		return NULL;
	for (size_t i = 0; i < batch->count; i++)
		subbatch->item[i] = (uint32_t)i;
	lc__subbatch_prune(subbatch);
	return subbatch;
}

struct lc__subbatch *
lc__subbatch_halve(struct lc__subbatch *subbatch)
{
	const size_t kept = (subbatch->count + 1) / 2;
	struct lc__subbatch *half = make(subbatch->batch, subbatch->count - kept);

	if (half == NULL)
		return NULL;
	half->failures = subbatch->failures;
	subbatch->half = half->half = true;
	subbatch->twin_failed = false;
	subbatch->twin = half;
	half->twin = subbatch;
	memcpy(half->item, subbatch->item + kept, half->count * sizeof(half->item[0]));
	subbatch->count = kept;
	return half;
}

void
lc__subbatch_tell_twin(struct lc__subbatch *subbatch, bool failed)
{
	if (subbatch->twin == NULL)
		return;
	subbatch->twin->twin_failed = failed;
	subbatch->twin->twin = NULL;
	subbatch->twin = NULL;
}

void
lc__subbatch_free(struct lc__subbatch *subbatch)
{
	if (subbatch != NULL)
		lc__subbatch_tell_twin(subbatch, false);
	free(subbatch);
}

void
lc__subbatch_prune(struct lc__subbatch *subbatch)
{
	size_t kept = 0;

	for (size_t i = 0; i < subbatch->count; i++)
		if (lc__subbatch_item(subbatch, i)->outcome == LC__ITEM_OPEN)
			subbatch->item[kept++] = subbatch->item[i];
	subbatch->count = kept;
}

void
lc__subbatches_append(struct lc__subbatches *queue, struct lc__subbatch *subbatch)
{
	subbatch->next = NULL;
	if (queue->last != NULL)
		queue->last->next = subbatch;
	else
		queue->first = subbatch;
	queue->last = subbatch;
	queue->count++;
}

void
lc__subbatches_prepend(struct lc__subbatches *queue, struct lc__subbatch *subbatch)
{
	subbatch->next = queue->first;
	queue->first = subbatch;
	if (queue->last == NULL)
		queue->last = subbatch;
	queue->count++;
}

struct lc__subbatch *
lc__subbatches_take(struct lc__subbatches *queue)
{
	struct lc__subbatch *subbatch = queue->first;

	if (subbatch == NULL)
		return NULL;
	queue->first = subbatch->next;
	if (queue->first == NULL)
		queue->last = NULL;
	queue->count--;
	subbatch->next = NULL;
	return subbatch;
}

void
lc__subbatches_free(struct lc__subbatches *queue)
{
	struct lc__subbatch *subbatch;

	while ((subbatch = lc__subbatches_take(queue)) != NULL)
		lc__subbatch_free(subbatch);
}

/* ---- counts ------------------------------------------------------------------------ */

/* Values are LC_MAX_DEPTH deep at most. */
uint64_t
lc__item_bytes(const lc_value *value)
{
	uint64_t bytes = 0;
	lc_tensor tensor;

	if (lc_value_kind(value) == LC_TENSOR)
		return lc_value_as_tensor(value, &tensor) == LC_OK ? tensor.nbytes : 0;
	for (size_t i = 0; i < lc_value_count(value); i++)
		bytes += lc__item_bytes(lc_value_at(value, i));
	return bytes;
}

bool
lc__item_is_at_fault(lc_status status)
{
	return status == LC_SCHEMA || status == LC_INVALID || status == LC_EXISTS ||
	    status == LC_UNSUPPORTED;
}
