/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/items.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"

/* Bytes of a failure's text that are kept: what an error of the library holds. */
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

/* In place: a space for what ends or garbles a line, a question mark for what is no
 * UTF-8. */
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
