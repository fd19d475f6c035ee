/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/stashed.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#define MAGIC "cxstash1"
#define SUMMED 16    /* where what the checksum is of begins */
#define ITEM_HEAD 20 /* bytes of an item in front of its id */
#define FRAME_ROW 16

uint64_t
lc__stashed_source(lc_id fingerprint, const char *key)
{
	return lc__hash64_seed(fingerprint.data, fingerprint.size,
	    lc__hash64(key, strlen(key)));
}

/* ---- writing ------------------------------------------------------------------- */

static void
append32(struct lc__buf *out, uint32_t number)
{
	unsigned char bytes[4];

	lc__set32(bytes, number);
	lc__buf_append(out, bytes, sizeof(bytes));
}

static uint64_t
line_of(const struct lc__item *item, const struct lc__line_place *behind)
{
	return behind[item->tag].line - 1;
}

static uint64_t
payload_hash(const struct lc__item *item)
{
	return lc__hash64(item->payload.data, item->payload.size);
}

static void
write_items(const struct lc__items *batch, const struct lc__line_place *behind,
    struct lc__buf *out)
{
	for (size_t i = 0; i < batch->count; i++) {
		const struct lc__item *item = &batch->items[i];

		lc__buf_append64(out, line_of(item, behind));
		lc__buf_append64(out, payload_hash(item));
		append32(out, (uint32_t)item->id.size);
		lc__buf_append(out, item->id.data, item->id.size);
	}
}

lc_status
lc__stashed_write(uint64_t source, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame, struct lc__buf *out)
{
	static const unsigned char later[16];
	const size_t start = out->size;
	uint64_t bytes = 0;

	lc__buf_append(out, MAGIC, 8);
	lc__buf_append(out, later, sizeof(later));
	lc__buf_append64(out, source);
	append32(out, (uint32_t)batch->count);
	append32(out, (uint32_t)(batch->n_frames - first_frame));
	write_items(batch, behind, out);
	for (size_t i = first_frame; i < batch->n_frames; i++) {
		const struct lc__buf *frame = &batch->frames[i];

		lc__buf_append64(out, frame->size);
		lc__buf_append64(out, lc__hash64(frame->data, frame->size));
		bytes += frame->size;
	}
	if (out->failed)
		return lc__no_memory(NULL);
	lc__set64(out->data + start + 16, out->size - start + bytes);
	lc__set64(out->data + start + 8,
	    lc__hash64(out->data + start + SUMMED, out->size - start - SUMMED));
	return LC_OK;
}

/* ---- reading ------------------------------------------------------------------- */

uint64_t
lc__stashed_size(const unsigned char *head, uint64_t most)
{
	const uint64_t size = lc__get64(head + 16);

	return memcmp(head, MAGIC, 8) == 0 && size >= LC__STASHED_HEAD && size <= most
	    ? size
	    : 0;
}

/* Pass over the items, whose lines must grow; where they end, NULL if they are none. */
static const unsigned char *
read_items(const unsigned char *at, const unsigned char *end, struct lc__stashed *out)
{
	for (uint32_t i = 0; i < out->items; i++) {
		uint64_t line;
		uint32_t id_size;

		if ((size_t)(end - at) < ITEM_HEAD)
			return NULL;
		line = lc__get64(at);
		id_size = lc__get32(at + 16);
		at += ITEM_HEAD;
		if (id_size == 0 || id_size > LC_MAX_ID || (size_t)(end - at) < id_size ||
		    (i > 0 && line <= out->last))
			return NULL;
		if (i == 0)
			out->first = line;
		out->last = line;
		at += id_size;
	}
	return at;
}

/* The frames' bytes must be the rest. */
static bool
check_frames(const struct lc__stashed *entry, const unsigned char *end)
{
	const unsigned char *at = entry->data;

	for (uint32_t i = 0; i < entry->frames; i++) {
		const unsigned char *row = entry->table + (size_t)i * FRAME_ROW;
		const uint64_t size = lc__get64(row);

		if (size > (uint64_t)(end - at) ||
		    lc__hash64(at, (size_t)size) != lc__get64(row + 8))
			return false;
		at += size;
	}
	return at == end;
}

bool
lc__stashed_read(const unsigned char *bytes, size_t size, struct lc__stashed *out)
{
	const unsigned char *end = bytes + size;

	if (size < LC__STASHED_HEAD || lc__stashed_size(bytes, size) != size)
		return false;
	out->source = lc__get64(bytes + 24);
	out->items = lc__get32(bytes + 32);
	out->frames = lc__get32(bytes + 36);
	out->item_at = bytes + LC__STASHED_HEAD;
	if (out->items == 0 || out->frames == 0)
		return false;
	out->table = read_items(out->item_at, end, out);
	if (out->table == NULL || out->frames > (size_t)(end - out->table) / FRAME_ROW)
		return false;
	out->data = out->table + (size_t)out->frames * FRAME_ROW;
	return lc__hash64(bytes + SUMMED, (size_t)(out->data - bytes) - SUMMED) ==
	    lc__get64(bytes + 8) &&
	    check_frames(out, end);
}

/* ---- giving -------------------------------------------------------------------- */

/* Its items as a batch, to be answered. */
static struct lc__items *
make_batch(const struct lc__stashed *entry)
{
	struct lc__items *batch = lc__items_new(entry->items);
	const unsigned char *at = entry->item_at;

	for (uint32_t i = 0; batch != NULL && i < entry->items; i++) {
		const uint32_t id_size = lc__get32(at + 16);

		batch->items[i].id = (lc_id){ at + ITEM_HEAD, id_size };
		batch->items[i].tag = (uintptr_t)at;
		at += ITEM_HEAD + id_size;
	}
	return batch;
}

/* A frame that is no answer after all gives nothing. */
static lc_status
answer_frame(struct lc__answer *answer, struct lc__portion *portion,
    const unsigned char *bytes, size_t size,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx)
{
	struct lc__answered got;
	lc_status status = lc__answer_number(bytes, size, &portion->number);

	if (status == LC_OK)
		status = lc__answer_read(answer, portion, bytes, size);
	if (status == LC_OK)
		status = lc__answer_take(answer, portion, check, ctx, &got);
	if (status == LC_OK)
		lc__portion_prune(portion);
	return status == LC_INVALID ? LC_OK : status;
}

static lc_status
answer_all(const struct lc__stashed *entry, struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch)
{
	struct lc__portion *portion = lc__portion_of(batch);
	const unsigned char *at = entry->data;
	lc_status status = LC_OK;

	if (portion == NULL)
		return lc__no_memory(NULL);
	for (uint32_t i = 0; i < entry->frames && portion->count > 0 && status == LC_OK;
	     i++) {
		const size_t size = (size_t)lc__get64(
		    entry->table + (size_t)i * FRAME_ROW);

		status = answer_frame(answer, portion, at, size, check, ctx);
		at += size;
	}
	lc__portion_free(portion);
	return status;
}

static bool
is_same(const struct lc__item *item, const struct lc__item *kept)
{
	const unsigned char *bytes = (const unsigned char *)(uintptr_t)kept->tag;

	return item->outcome == LC__ITEM_OPEN && kept->outcome == LC__ITEM_DONE &&
	    item->id.size == kept->id.size &&
	    memcmp(item->id.data, kept->id.data, item->id.size) == 0 &&
	    payload_hash(item) == lc__get64(bytes + 8);
}

/* Both have their items in the order of the lines. */
static size_t
move_values(struct lc__items *batch, const struct lc__line_place *behind,
    struct lc__items *kept)
{
	size_t found = 0;

	for (size_t i = 0, k = 0; i < batch->count && k < kept->count;) {
		struct lc__item *item = &batch->items[i], *from = &kept->items[k];
		const uint64_t line = line_of(item, behind);
		const uint64_t other = lc__get64(
		    (const unsigned char *)(uintptr_t)from->tag);

		i += line <= other;
		k += other <= line;
		if (line != other || !is_same(item, from))
			continue;
		item->value = from->value;
		item->outcome = LC__ITEM_DONE;
		from->value = NULL;
		found++;
	}
	return found;
}

lc_status
lc__stashed_give(const struct lc__stashed *entry, struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found)
{
	struct lc__items *kept = make_batch(entry);
	lc_status status;

	if (kept == NULL)
		return lc__no_memory(NULL);
	status = answer_all(entry, answer, check, ctx, kept);
	*found = status == LC_OK ? move_values(batch, behind, kept) : 0;
	lc__items_free(kept);
	return status;
}
