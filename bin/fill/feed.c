/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fill/fill.h"
#include "fill/items.h"

/* Items that were handed out, or are known to be bad. */
struct lc__sent {
	struct lc__sent *next;
	struct lc__feed *feed;
	struct lc__items *batch; /* NULL while it is handed out */
	bool bad;                /* a bad line: one item that failed */
	size_t taken;            /* items whose result was taken */
	size_t asked;            /* items for which a producer was asked */
	size_t recalled;         /* frames of the batch that are in the stash already */
	struct lc__line_place *behind; /* the line of each item; by the items' tags */
};

/* ---- making batches from the lines of a shard ------------------------------------ */

/* A line being added to a batch: the position of its bytes in the memory of the batch. */
struct piece {
	size_t id, id_size, payload, payload_size;
	struct lc__line_place behind;
};

/* A batch being built. */
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

/* Append the id of the line; LC_INVALID if it is not allowed. */
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

/* Add the line to the batch. */
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

static void
sent_free(struct lc__sent *sent)
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
	sent_free(sent);
	return NULL;
}

/* The batch takes ownership of the memory. */
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

/* The line is bad; lc_last_error() is the reason. */
static lc_status
make_bad(struct lc__feed *feed, struct lc__sent **out)
{
	char *why = strdup(lc_last_error()->text);
	struct lc__sent *sent = new_sent(1);
	struct lc__buf id = { 0 };

	if (why == NULL || sent == NULL || name_plainly(feed, &id) != LC_OK) {
		free(why);
		lc__buf_free(&id);
		sent_free(sent);
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
		/* One may be left from the previous batch. */
		if (!feed->has_line) {
			status = lc__shard_next(feed->shard, &feed->line);
			feed->ended |= status == LC_END;
			feed->has_line = status == LC_OK;
		}
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

/*
 * Turn the next lines of an open feed into a batch, up to the end of their chunk if none
 * of them fails. *bad is a bad line after them. Either is NULL if there is none.
 * feed->ended is set at the end of the shard, and after a bad line unless failures are
 * skipped.
 */
static lc_status
take_lines(struct lc__feed *feed, struct lc__sent **out, struct lc__sent **bad)
{
	struct draft draft = { .count = 0 };
	lc_status status = collect(feed, &draft);

	*out = *bad = NULL;
	if (status == LC_INVALID)
		status = make_bad(feed, bad);
	if (status == LC_OK && draft.count > 0)
		status = make_sent(feed, &draft, out);
	if (status != LC_OK)
		sent_free(*bad);
	lc__buf_free(&draft.bytes);
	lc__buf_free(&draft.pieces);
	return status;
}

/* A chunk is committed before a record that would make it larger, because a chunk cannot
 * have 512 MiB or more. */
#define CHUNK_MOST ((uint64_t)256 << 20)

/* ---- opening and closing ------------------------------------------------------ */

uint64_t
lc__feed_chunk(const struct lc__feed *feed)
{
	return feed->chunks + (feed->records + feed->items) / feed->feeding->fill->chunk;
}

bool
lc__feed_is_idle(const struct lc__feed *feed)
{
	return feed->first == NULL && feed->done.offset == feed->offset;
}

static void
let_go(struct lc__feed *feed, enum lc__feed_state state)
{
	lc__stash_close(feed->stash);
	lc__shard_close(feed->shard);
	lc_writer_close(feed->writer);
	feed->feeding->open -= feed->state == LC__FEED_OPEN;
	feed->stash = NULL;
	feed->shard = NULL;
	feed->writer = NULL;
	feed->has_line = false;
	feed->records = feed->bytes = 0;
	feed->state = state;
}

void
lc__feed_close(struct lc__feed *feed)
{
	let_go(feed, LC__FEED_CLOSED);
}

static void
unlink_sent(struct lc__feed *feed, const struct lc__sent *sent)
{
	struct lc__sent **link = &feed->first;

	feed->last = NULL;
	while (*link != NULL) {
		if (*link == sent)
			*link = sent->next;
		else
			link = &(feed->last = *link)->next;
	}
	feed->sent--;
}

/* Free what came back, or everything; what has not come back is freed when it does. */
static void
forget_sent(struct lc__feed *feed, bool all)
{
	struct lc__sent *next;

	for (struct lc__sent *sent = feed->first; sent != NULL; sent = next) {
		next = sent->next;
		if (sent->batch == NULL && !all)
			continue;
		unlink_sent(feed, sent);
		sent_free(sent);
	}
	feed->items = 0;
}

/* The input stops before its end; lc_last_error() is the reason. */
static void
stop(struct lc__feed *feed, bool unread)
{
	struct lc__feeding *feeding = feed->feeding;
	const lc_error why = *lc_last_error();

	feeding->filled.stopped++;
	feeding->filled.unread += unread;
	forget_sent(feed, false);
	let_go(feed, LC__FEED_STOPPED);
	if (feeding->fill->stopped != NULL)
		feeding->fill->stopped(feeding->fill->ctx, feed->source->path, why.text);
}

static lc_status
open_shard(struct lc__feed *feed)
{
	const lc_input_info *info = lc_writer_info(feed->writer);
	char *path;
	lc_status status;

	feed->chunks = info->chunks;
	if (lc__cursor_decode(info->cursor, &feed->done) != LC_OK)
		return lc__error_prefix("%s", feed->source->path);
	feed->offset = feed->done.offset;
	feed->ended = false;
	path = lc__stash_path(feed->feeding->dir, info->index);
	if (path == NULL)
		return lc__no_memory(NULL);
	status = lc__stash_open(path,
	    lc__stashed_source(info->fingerprint, lc__shard_key(feed->source->kind)),
	    feed->done.line, &feed->stash);
	free(path);
	return_if_error(status);
	return lc__shard_open(feed->source->path, feed->source->kind, &feed->done,
	    &feed->shard);
}

/* Another process has finished it meanwhile. */
static void
found_finished(struct lc__feed *feed)
{
	feed->feeding->filled.finished++;
	let_go(feed, LC__FEED_FINISHED);
}

lc_status
lc__feed_open(struct lc__feed *feed)
{
	lc_status status = lc_writer_open(feed->feeding->fill->cache, feed->source->path,
	    &feed->writer);

	if (status == LC_BUSY)
		feed->state = LC__FEED_HELD;
	if (status != LC_OK)
		return status == LC_BUSY ? LC_OK : status;
	feed->state = LC__FEED_OPEN;
	feed->feeding->open++;
	if (lc_writer_info(feed->writer)->finished) {
		lc__stash_remove(feed->feeding->dir, lc_writer_info(feed->writer)->index);
		found_finished(feed);
		return LC_OK;
	}
	status = open_shard(feed);
	/* Without descriptors, memory or space the next input would fail as well. */
	if (status == LC_IO || status == LC_NO_MEMORY || status == LC_NO_SPACE)
		return status;
	if (status != LC_OK)
		stop(feed, true);
	return LC_OK;
}

void
lc__feed_free(struct lc__feed *feed)
{
	forget_sent(feed, true);
	let_go(feed, LC__FEED_CLOSED);
}

/* ---- committing --------------------------------------------------------------- */

/* Errors of a commit that concern only this input: another process stored one of the ids,
 * or wrote the input although it is locked here. */
static bool
is_of_input(lc_status status)
{
	return status == LC_EXISTS || status == LC_BUSY || status == LC_INVALID;
}

static lc_status
commit(struct lc__feed *feed, bool finish)
{
	struct lc__inputs_filled *filled = &feed->feeding->filled;
	struct lc__buf cursor = { 0 };
	lc_status status = LC_NO_MEMORY;

	lc__cursor_encode(&feed->done, &cursor);
	if (cursor.failed)
		status = lc__no_memory(NULL);
	else if (finish)
		status = lc_writer_finish(feed->writer, cursor.data, cursor.size);
	else
		status = lc_writer_commit(feed->writer, cursor.data, cursor.size);
	lc__buf_free(&cursor);
	return_if_error(status);
	filled->stored += feed->records;
	filled->bytes += feed->bytes;
	filled->chunks += feed->records > 0;
	filled->shard_done += feed->done.offset - feed->offset;
	feed->offset = feed->done.offset;
	feed->chunks += feed->records > 0;
	feed->records = feed->bytes = 0;
	lc__stash_forget(feed->stash, feed->done.line);
	return LC_OK;
}

/* ---- keeping what came back ------------------------------------------------------ */

lc_status
lc__feed_check(void *ctx, const struct lc__item *item, const lc_value *value)
{
	const struct lc__inputs_fill *fill = ctx;

	(void)item;
	return lc__demands_value(fill->cache, &fill->demands, value);
}

/* Will nothing of this batch wait for others when it is taken? */
static bool
ends_chunk(const struct lc__feed *feed, const struct lc__sent *sent)
{
	const uint64_t chunk = feed->feeding->fill->chunk;
	uint64_t records = feed->records, bytes = feed->bytes;

	if (sent != feed->first)
		return false;
	for (size_t i = 0; i < sent->batch->count; i++) {
		const struct lc__item *item = &sent->batch->items[i];
		uint64_t more;

		if (item->outcome != LC__ITEM_DONE)
			return false;
		more = lc__item_bytes(item->value);
		if (records > 0 && bytes + more > CHUNK_MOST)
			records = bytes = 0;
		records++;
		bytes += more;
		if (records == chunk || bytes >= LC__CHUNK_TENSORS)
			records = bytes = 0;
	}
	return records == 0 || (feed->ended && sent->next == NULL);
}

/* ---- taking results --------------------------------------------------------------- */

static lc_status
tell_failed(struct lc__feed *feed, const struct lc__items *batch,
    const struct lc__item *item, bool bad)
{
	struct lc__feeding *feeding = feed->feeding;

	feeding->filled.failed += !bad;
	feeding->filled.bad += bad;
	if (feeding->fill->failures != NULL)
		return_if_error(lc__failures_add(feeding->fill->failures, batch, item));
	if (feeding->fill->failed != NULL)
		feeding->fill->failed(feeding->fill->ctx, item);
	return LC_OK;
}

static lc_status
take_failed(struct lc__feed *feed, struct lc__sent *sent, struct lc__item *item)
{
	return_if_error(tell_failed(feed, sent->batch, item, sent->bad));
	if (feed->feeding->fill->skip_failed)
		return LC_OK;
	/* The input stops in this batch: report what else failed in it too. */
	for (size_t i = sent->taken + 1; i < sent->batch->count; i++)
		if (sent->batch->items[i].outcome == LC__ITEM_FAILED)
			return_if_error(tell_failed(feed, sent->batch,
			    &sent->batch->items[i], sent->bad));
	(void)lc__error(LC_FAILED, 0, "%s", item->why != NULL ? item->why : "failed");
	stop(feed, sent->bad);
	return LC_OK;
}

static lc_status
put(struct lc__feed *feed, const struct lc__item *item)
{
	const struct lc__inputs_fill *fill = feed->feeding->fill;
	lc_status status;

	/* Here it is certain that this item failed; in a commit the item would not be
	 * known. */
	if (fill->name != NULL) {
		status = lc_contains(fill->cache, item->id.data, item->id.size);
		if (status == LC_OK)
			return lc__error(LC_EXISTS, 0,
			    "the module already has this cache_id");
		if (status != LC_NOT_FOUND)
			return status;
	}
	return lc_writer_put_value(feed->writer, item->id.data, item->id.size,
	    item->value);
}

static lc_status
end_chunk(struct lc__feed *feed)
{
	const lc_status status = commit(feed, false);

	if (!is_of_input(status))
		return status;
	stop(feed, false);
	return LC_OK;
}

static lc_status
take_good(struct lc__feed *feed, struct lc__sent *sent, struct lc__item *item)
{
	const uint64_t bytes = lc__item_bytes(item->value);
	lc_status status;

	if (feed->records > 0 && feed->bytes + bytes > CHUNK_MOST) {
		return_if_error(end_chunk(feed));
		if (feed->state != LC__FEED_OPEN)
			return LC_OK;
	}
	status = put(feed, item);
	if (lc__item_is_at_fault(status)) {
		return_if_error(lc__item_fail(item, lc_last_error()->text,
		    strlen(lc_last_error()->text)));
		return take_failed(feed, sent, item);
	}
	return_if_error(status);
	feed->records++;
	feed->bytes += bytes;
	return LC_OK;
}

/* Take the next result of a batch. Unless the feed is open afterwards, the batch is
 * freed. */
static lc_status
take_one(struct lc__feed *feed, struct lc__sent *sent)
{
	struct lc__item *item = &sent->batch->items[sent->taken];

	return_if_error(item->outcome == LC__ITEM_DONE ? take_good(feed, sent, item)
						       : take_failed(feed, sent, item));
	if (feed->state != LC__FEED_OPEN)
		return LC_OK;
	feed->done = sent->behind[item->tag];
	feed->items -= !sent->bad;
	sent->taken++;
	if (feed->records == feed->feeding->fill->chunk ||
	    feed->bytes >= LC__CHUNK_TENSORS)
		return end_chunk(feed);
	return LC_OK;
}

/* Everything was taken, and no lines are left. */
static lc_status
finish(struct lc__feed *feed)
{
	lc_status status;

	feed->done = feed->line.behind;
	status = commit(feed, true);
	if (is_of_input(status)) {
		stop(feed, false);
		return LC_OK;
	}
	return_if_error(status);
	found_finished(feed);
	return LC_OK;
}

/* Take what has come back, as long as nothing before it is missing. */
static lc_status
take_all(struct lc__feed *feed)
{
	struct lc__sent *sent;

	while (feed->first != NULL && feed->first->batch != NULL) {
		while (feed->first->taken < feed->first->batch->count) {
			return_if_error(take_one(feed, feed->first));
			if (feed->state != LC__FEED_OPEN)
				return LC_OK;
		}
		sent = feed->first;
		unlink_sent(feed, sent);
		sent_free(sent);
	}
	return feed->ended && feed->first == NULL ? finish(feed) : LC_OK;
}

lc_status
lc__feed_back(struct lc__items *batch)
{
	struct lc__sent *sent = (struct lc__sent *)(uintptr_t)batch->tag;
	struct lc__feed *feed = sent->feed;
	const struct lc__inputs_fill *fill = feed->feeding->fill;

	sent->batch = batch;
	feed->feeding->out--;
	if (fill->back != NULL && sent->asked > 0)
		fill->back(fill->ctx, batch);
	if (feed->state == LC__FEED_OPEN) {
		/* Kept for a run after a kill, unless a commit follows at once. */
		if (batch->n_frames > sent->recalled && !ends_chunk(feed, sent))
			return_if_error(lc__stash_add(feed->stash, batch, sent->behind,
			    sent->recalled));
		return take_all(feed);
	}
	/* It has stopped meanwhile. */
	unlink_sent(feed, sent);
	sent_free(sent);
	return LC_OK;
}

/* ---- handing out ----------------------------------------------------------------- */

static void
add_sent(struct lc__feed *feed, struct lc__sent *sent)
{
	sent->feed = feed;
	feed->sent++;
	if (feed->last != NULL)
		feed->last->next = sent;
	else
		feed->first = sent;
	feed->last = sent;
}

lc_status
lc__feed_next(struct lc__feed *feed, struct lc__items **out)
{
	struct lc__feeding *feeding = feed->feeding;
	struct lc__sent *sent, *bad;
	size_t found;
	lc_status status = take_lines(feed, &sent, &bad);

	*out = NULL;
	if (status == LC_NO_MEMORY)
		return status;
	/* The file must not be read any more, but what was read of it is not lost. */
	if (status != LC_OK) {
		stop(feed, true);
		return LC_OK;
	}
	/* Results of the batch from an earlier run are not requested again. */
	if (sent != NULL)
		status = lc__stash_recall(feed->stash, lc__feed_check,
		    (void *)(uintptr_t)feeding->fill, sent->batch, sent->behind, &found);
	if (status != LC_OK) {
		sent_free(sent);
		sent_free(bad);
		return status;
	}
	if (sent != NULL) {
		sent->asked = sent->batch->count - found;
		sent->recalled = sent->batch->n_frames;
		sent->batch->tag = (uintptr_t)sent;
		feed->items += sent->batch->count;
		feeding->filled.recalled += found;
		feeding->filled.items += sent->asked;
		feeding->out++;
		*out = sent->batch;
		sent->batch = NULL;
		add_sent(feed, sent);
	}
	if (bad != NULL)
		add_sent(feed, bad);
	return sent == NULL ? take_all(feed) : LC_OK;
}
