/* SPDX-License-Identifier: BSD-2-Clause */
#include "flat_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "need.h"
#include "run.h"

/* ---- the list ------------------------------------------------------------------ */

void
flat_delete(struct flat_list *list, uint32_t key)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->records[i].key == key) {
			memmove(&list->records[i], &list->records[i + 1],
			    (list->n - i - 1) * sizeof(*list->records));
			list->n--;
			return;
		}
}

void
flat_put(struct flat_list *list, uint32_t key, uint32_t version)
{
	flat_delete(list, key);
	if (list->n == list->room) {
		list->room = list->room * 2 + 64;
		list->records = realloc(list->records,
		    list->room * sizeof(*list->records));
		need(list->records != NULL);
	}
	list->records[list->n++] = (struct flat_record){ key, version };
}

void
flat_copy(struct flat_list *to, const struct flat_list *from)
{
	to->n = to->room = from->n;
	to->records = malloc((from->n + 1) * sizeof(*to->records));
	need(to->records != NULL);
	if (from->n > 0)
		memcpy(to->records, from->records, from->n * sizeof(*to->records));
}

void
flat_free(struct flat_list *list)
{
	free(list->records);
	memset(list, 0, sizeof(*list));
}

/* ---- records --------------------------------------------------------------------- */

uint32_t
flat_word(uint32_t key, uint32_t version, uint64_t i)
{
	uint64_t state = (uint64_t)key << 32 ^ (uint64_t)version << 24 ^ i;

	return (uint32_t)run_random(&state) | 1; /* never 0, which is padding */
}

uint64_t
flat_length(uint32_t key, uint32_t version)
{
	return 1 + flat_word(key, version, FLAT_LENGTH_MAX) % FLAT_LENGTH_MAX;
}

static int
name(char id[32], uint32_t key)
{
	return snprintf(id, 32, "k%u", key);
}

uint32_t
flat_key(lc_id id)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)id.size, (const char *)id.data);
	return (uint32_t)strtoul(text + 1, NULL, 10);
}

lc_status
flat_store(lc_cache *cache, uint32_t key, uint32_t version)
{
	const uint64_t length = flat_length(key, version);
	uint32_t words[FLAT_LENGTH_MAX];
	lc_tensor tensor;
	char id[32];
	const int size = name(id, key);

	for (uint64_t i = 0; i < length; i++)
		words[i] = flat_word(key, version, i);
	need_ok(lc_tensor_init(&tensor, LC_U32, 1, &length, words));
	return lc_put(cache, id, (size_t)size, &tensor);
}

lc_status
flat_remove(lc_cache *cache, uint32_t key)
{
	char id[32];
	const int size = name(id, key);

	return lc_delete(cache, id, (size_t)size);
}

/* ---- batches ------------------------------------------------------------------------ */

static const char *
differs(const char *what, uint64_t at, const struct flat_record *record)
{
	static _Thread_local char text[128];

	snprintf(text, sizeof(text), "%s of %llu, which is key %u, version %u", what,
	    (unsigned long long)at, record->key, record->version);
	return text;
}

/* The words of a row, of even and ragged fields and of views. */
static const uint32_t *
row_words(const lc_batch *batch, size_t row, uint64_t *n)
{
	const lc_batch_field *field = &batch->fields[0];

	if (field->offsets != NULL)
		*n = field->offsets[row + 1] - field->offsets[row];
	else
		*n = field->shape[1];
	if (field->rows != NULL)
		return field->rows[row];
	return (const uint32_t *)field->data +
	    (field->offsets != NULL ? field->offsets[row] : row * *n);
}

const char *
flat_differs(const struct flat_list *list, uint64_t first, const lc_batch *batch)
{
	const uint64_t left = first < list->n ? list->n - first : 0;

	if (batch->filled != (left < batch->rows ? left : batch->rows))
		return "the number of rows";
	for (size_t row = 0; row < batch->filled; row++) {
		const struct flat_record *r = &list->records[first + row];
		char id[32];
		const int size = name(id, r->key);
		const uint32_t *words;
		uint64_t n;

		if (batch->ids[row].size != (size_t)size ||
		    memcmp(batch->ids[row].data, id, (size_t)size) != 0)
			return differs("the cache_id", first + row, r);
		words = row_words(batch, row, &n);
		if (n != flat_length(r->key, r->version))
			return differs("the length", first + row, r);
		for (uint64_t i = 0; i < n; i++)
			if (words[i] != flat_word(r->key, r->version, i))
				return differs("a word", first + row, r);
	}
	return NULL;
}

/* Where a unit of all is: the record, and the place in it. */
static size_t
find_unit(const struct flat_list *list, uint64_t *at)
{
	size_t i = 0;

	for (; i < list->n; i++) {
		const uint64_t length = flat_length(list->records[i].key,
		    list->records[i].version);

		if (*at < length)
			break;
		*at -= length;
	}
	return i;
}

/* Rows of one reader and in order follow each other. */
const char *
flat_windows_differ(const struct flat_list *list, uint64_t window,
    const lc_batch *batch)
{
	const uint32_t *words = batch->fields[0].data;
	uint64_t at = batch->first * window;
	size_t record = find_unit(list, &at);

	for (uint64_t i = 0; i < batch->filled * window; i++) {
		const struct flat_record *r = &list->records[record];

		if (words[i] != (record < list->n ?
		    flat_word(r->key, r->version, at) : 0))
			return record < list->n ? differs("a word", record, r) :
			    "the padding";
		if (record < list->n &&
		    ++at == flat_length(r->key, r->version)) {
			record++;
			at = 0;
		}
	}
	return NULL;
}
