/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* A line on its way into a batch: where its bytes stand in the memory of that. */
struct piece {
	size_t id, id_size, payload, payload_size;
	struct lc__line_place behind;
};

/* A batch in the making. */
struct draft {
	struct lc__buf bytes;
	struct lc__buf pieces; /* struct piece each */
	size_t count;
};

static lc_status
name_plainly(const struct lc__feed *feed, struct lc__buf *out)
{
	lc__buf_printf(out, "%s:%llu", feed->source->path,
	    (unsigned long long)feed->line.number);
	return out->failed ? lc__no_memory(NULL) : LC_OK;
}

/* Append the id of the line; LC_INVALID if it is none that may be. */
static lc_status
name_line(const struct lc__feed *feed, struct lc__buf *out)
{
	const struct lc__inputs_fill *fill = feed->feeding->fill;
	const size_t before = out->size;

	if (fill->name == NULL)
		return name_plainly(feed, out);
	return_if_error(fill->name(fill->ctx, feed->source, &feed->line, out));
	if (out->failed)
		return lc__no_memory(NULL);
	if (out->size > before && out->size - before <= LC_MAX_ID)
		return LC_OK;
	return lc__error(LC_INVALID, 0, "%s: line %llu: its cache_id has %zu bytes",
	    feed->source->path, (unsigned long long)feed->line.number + 1,
	    out->size - before);
}

/* Put the line behind those that are in the batch. */
static lc_status
add_line(const struct lc__feed *feed, struct draft *draft)
{
	struct piece piece = {
		.id = draft->bytes.size,
		.payload_size = feed->line.size,
		.behind = feed->line.behind,
	};
	const lc_status status = name_line(feed, &draft->bytes);

	if (status != LC_OK) {
		draft->bytes.size = piece.id;
		return status;
	}
	piece.payload = draft->bytes.size;
	piece.id_size = piece.payload - piece.id;
	lc__buf_append(&draft->bytes, feed->line.data, feed->line.size);
	lc__buf_append(&draft->pieces, &piece, sizeof(piece));
	draft->count++;
	return draft->bytes.failed || draft->pieces.failed ? lc__no_memory(NULL) : LC_OK;
}

void
lc__sent_free(struct lc__sent *sent)
{
	if (sent == NULL)
		return;
	lc__items_free(sent->batch);
	free(sent->behind);
	free(sent);
}

static struct lc__sent *
new_sent(size_t count)
{
	struct lc__sent *sent = calloc(1, sizeof(*sent));

	if (sent == NULL)
		return NULL;
	sent->batch = lc__items_new(count);
	sent->behind = calloc(count, sizeof(*sent->behind));
	if (sent->batch != NULL && sent->behind != NULL)
		return sent;
	lc__sent_free(sent);
	return NULL;
}

/* The batch takes the memory over. */
static lc_status
make_sent(const struct lc__feed *feed, struct draft *draft, struct lc__sent **out)
{
	const struct piece *pieces = (const struct piece *)(const void *)
					 draft->pieces.data;
	struct lc__sent *sent = new_sent(draft->count);
	const unsigned char *bytes = draft->bytes.data;

	if (sent == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < draft->count; i++) {
		struct lc__item *item = &sent->batch->items[i];

		item->id = (lc_id){ bytes + pieces[i].id, pieces[i].id_size };
		item->payload = (lc_id){ bytes + pieces[i].payload,
			pieces[i].payload_size };
		item->key = lc__shard_key(feed->source->kind);
		item->tag = i;
		sent->behind[i] = pieces[i].behind;
	}
	sent->batch->memory = draft->bytes.data;
	memset(&draft->bytes, 0, sizeof(draft->bytes));
	*out = sent;
	return LC_OK;
}

/* The line is bad, of lc_last_error(). */
static lc_status
make_bad(struct lc__feed *feed, struct lc__sent **out)
{
	char *why = strdup(lc_last_error()->text);
	struct lc__sent *sent = new_sent(1);
	struct lc__buf id = { 0 };

	if (why == NULL || sent == NULL || name_plainly(feed, &id) != LC_OK) {
		free(why);
		lc__buf_free(&id);
		lc__sent_free(sent);
		return lc__no_memory(NULL);
	}
	sent->batch->memory = id.data;
	sent->batch->items[0].id = (lc_id){ id.data, id.size };
	sent->batch->items[0].outcome = LC__ITEM_FAILED;
	sent->batch->items[0].why = why;
	sent->behind[0] = feed->line.behind;
	sent->bad = true;
	feed->has_line = false;
	feed->ended |= !feed->feeding->fill->skip_failed;
	*out = sent;
	return LC_OK;
}

/* The next line, unless one was left. */
static lc_status
next_line(struct lc__feed *feed)
{
	lc_status status;

	if (feed->has_line)
		return LC_OK;
	status = lc__shard_next(feed->shard, &feed->line);
	feed->ended |= status == LC_END;
	feed->has_line = status == LC_OK;
	return status;
}

/* Add lines until there is a batch. */
static lc_status
collect(struct lc__feed *feed, struct draft *draft)
{
	const struct lc__inputs_fill *fill = feed->feeding->fill;
	const uint64_t to_end = fill->chunk - (feed->records + feed->items) % fill->chunk;
	const uint64_t most = to_end < fill->batch ? to_end : fill->batch;
	uint64_t bytes = 0;
	lc_status status = LC_OK;

	while (draft->count < most && status == LC_OK && !feed->ended) {
		status = next_line(feed);
		if (status == LC_OK && draft->count > 0 &&
		    bytes + feed->line.size > fill->batch_bytes)
			break;
		if (status == LC_OK)
			status = add_line(feed, draft);
		if (status == LC_OK) {
			bytes += feed->line.size;
			feed->has_line = false;
		}
	}
	return status == LC_END ? LC_OK : status;
}

lc_status
lc__lines_take(struct lc__feed *feed, struct lc__sent **out, struct lc__sent **bad)
{
	struct draft draft = { .count = 0 };
	lc_status status = collect(feed, &draft);

	*out = *bad = NULL;
	if (status == LC_INVALID)
		status = make_bad(feed, bad);
	if (status == LC_OK && draft.count > 0)
		status = make_sent(feed, &draft, out);
	if (status != LC_OK)
		lc__sent_free(*bad);
	lc__buf_free(&draft.bytes);
	lc__buf_free(&draft.pieces);
	return status;
}
