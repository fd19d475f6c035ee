/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/texts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

#define SLOTS ((size_t)4 * LC__TEXTS_MOST)

lc_status
lc__texts_add(struct lc__texts *texts, lc_id text, uint64_t bytes)
{
	struct lc__texts_row *row = NULL;
	size_t at;

	if (texts->slots == NULL)
		texts->slots = calloc(SLOTS, sizeof(*texts->slots));
	if (texts->slots == NULL)
		return lc__no_memory(NULL);
	at = lc__hash64(text.data, text.size) % SLOTS;
	for (; texts->slots[at] != 0; at = (at + 1) % SLOTS) {
		row = &texts->rows[texts->slots[at] - 1];
		if (row->text.size == text.size &&
		    memcmp(row->text.data, text.data, text.size) == 0)
			break;
		row = NULL;
	}
	if (row == NULL && texts->n < LC__TEXTS_MOST && text.size <= LC__TEXTS_BYTES) {
		char *copy;
		return_if_error(
		    lc__array_reserve(&texts->rows, &texts->room, texts->n + 1, NULL));
		copy = malloc(text.size + 1);
		if (copy == NULL)
			return lc__no_memory(NULL);
		memcpy(copy, text.data, text.size);
		row = &texts->rows[texts->n++];
		*row = (struct lc__texts_row){ .text = { copy, text.size } };
		texts->slots[at] = (uint16_t)texts->n;
	}
	texts->all++;
	if (row != NULL) {
		row->n++;
		row->bytes += bytes;
	} else {
		texts->others++;
		texts->others_bytes += bytes;
	}
	return LC_OK;
}

static int
by_count(const void *a, const void *b)
{
	const struct lc__texts_row *x = a, *y = b;
	const size_t n = x->text.size < y->text.size ? x->text.size : y->text.size;
	int order;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	order = memcmp(x->text.data, y->text.data, n);
	return order != 0 ? order
			  : (x->text.size > y->text.size) - (x->text.size < y->text.size);
}

void
lc__texts_sort(struct lc__texts *texts)
{
	if (texts->n > 0)
		qsort(texts->rows, texts->n, sizeof(*texts->rows), by_count);
}

void
lc__texts_free(struct lc__texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free((void *)texts->rows[i].text.data);
	free(texts->rows);
	free(texts->slots);
	memset(texts, 0, sizeof(*texts));
}
