/* SPDX-License-Identifier: BSD-2-Clause */
/* get, get copy, contains, prefetch: an uncommitted write, or index -> record; then a view. */
#include "store/get.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/decode.h"
#include "store/flush.h"
#include "store/lookup.h"
#include "value/tensor.h"

/* ---- views --------------------------------------------------------------- */

/* lc_view.lc_private: the snapshot or block from which the view borrows and the kept
 * value, or the value that was built from a tensor. Nothing points at the view itself, so
 * it may be moved. */
enum { view_snapshot = 0, view_block = 1, view_values = 2, view_built = 3 };

/* What the view of a structured value keeps. It holds the handle for its LRU; the view of
 * a block also holds the environment for its schema. */
struct kept_value {
	struct lc__decoder decoder;
	uint32_t epoch; /* number of the process that made it */
};

/* A value that was built for a view, and the owner of its tensors' bytes. */
struct built_value {
	lc_value *value;
	void (*drop)(void *keeper);
	void *keeper;
};

void
lc__view_clear(lc_view *view, lc_status status)
{
	memset(view->lc_private, 0, sizeof(view->lc_private));
	view->status = status;
}

/* Fill a cleared view from a record. */
static lc_status
hold(struct lc__decoder *decoder, lc_view *out)
{
	struct lc__block *block = NULL;
	struct kept_value *kept;
	lc_status status;

	if (lc__schema_is_tensor(decoder->schema)) {
		return_if_error(lc__decoder_tensor(decoder, &out->tensor, &block));
		out->kind = LC_TENSOR;
		out->lc_private[view_block] = block;
		out->status = LC_OK;
		return LC_OK;
	}

	kept = malloc(sizeof(*kept));
	if (kept == NULL)
		return lc__error(LC_NO_MEMORY, 0, "get: %s: out of memory",
		    lc__quote_id(decoder->record.id.data, decoder->record.id.size));
	*kept = (struct kept_value){ *decoder, lc__env_epoch() };
	memset(&out->tensor, 0, sizeof(out->tensor));
	status = lc__decoder_kind(&kept->decoder, &out->kind);
	if (status != LC_OK) {
		free(kept);
		return status;
	}
	lc__cache_hold(decoder->cache);
	out->lc_private[view_values] = kept;
	out->status = LC_OK;
	return LC_OK;
}

lc_status
lc__view_record(struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, uint64_t location, bool verify, lc_view *out,
    unsigned *pins)
{
	lc__view_clear(out, LC_NOT_FOUND);
	if (record->has_parts) {
		struct lc__decoder decoder = { .record = *record };

		return_if_error(
		    lc__decoder_open(&decoder, cache, snapshot, location, verify));
		return_if_error(hold(&decoder, out));
	} else {
		return_if_error(lc__decode_alone(cache, snapshot, record, location,
		    verify, &out->tensor));
		out->kind = LC_TENSOR;
		out->status = LC_OK;
	}
	lc__snapshot_note_read(snapshot, location);
	if (out->lc_private[view_block] == NULL) {
		out->lc_private[view_snapshot] = snapshot;
		(*pins)++;
	}
	return LC_OK;
}

/* Begin with a record that fills a block and is intact. */
static lc_status
open_block(struct lc_cache *cache, const struct lc__block *block,
    const struct lc__known *known, struct lc__decoder *decoder)
{
	if (!lc__record_parse(block->data, block->size, &decoder->record))
		return lc__error(LC_CORRUPT, 0, "get: a record in memory is damaged");
	return lc__decoder_open_memory(decoder, cache, known->schema);
}

lc_status
lc__view_block(struct lc_cache *cache, struct lc__block *block,
    const struct lc__known *known, lc_view *out)
{
	struct lc__decoder decoder;

	lc__view_clear(out, LC_NOT_FOUND);
	return_if_error(open_block(cache, block, known, &decoder));
	return_if_error(hold(&decoder, out));
	if (out->lc_private[view_block] == NULL)
		out->lc_private[view_block] = lc__block_hold(block);
	if (out->kind != LC_TENSOR)
		lc__env_hold(cache->env);
	return LC_OK;
}

lc_status
lc__view_value(lc_value *value, void (*drop)(void *keeper), void *keeper, lc_view *out)
{
	struct built_value *built = malloc(sizeof(*built));
	lc_status status = built != NULL ? lc_value_check(value) : lc__no_memory("view");

	lc__view_clear(out, status);
	if (status != LC_OK) {
		lc_value_free(value);
		drop(keeper);
		free(built);
		return status;
	}
	*built = (struct built_value){ value, drop, keeper };
	out->lc_private[view_built] = built;
	out->kind = lc_value_kind(value);
	memset(&out->tensor, 0, sizeof(out->tensor));
	return out->kind == LC_TENSOR ? lc_value_as_tensor(value, &out->tensor) : LC_OK;
}

/* ---- get ----------------------------------------------------------------- */

/* madvise() costs as much as hashing a few KiB: it pays for records of several pages. */
#define WILLNEED_SIZE ((size_t)16 << 10)

static void
willneed(const struct lc__env *env, const struct lc__record *record)
{
	if (record->size >= WILLNEED_SIZE)
		lc__env_willneed(env, lc__record_start(record), record->size);
}

void
lc__view_willneed(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location, bool reads)
{
	if (record->size < WILLNEED_SIZE)
		return;
	if (lc__record_first_codec(record) != LC_CODEC_NONE)
		reads = !lc__decode_cached(cache, record, location);
	if (reads)
		willneed(cache->env, record);
}

void
lc__view_lookup(struct lc__lookup *lookup, const struct lc_cache *cache, const void *id,
    size_t id_size, bool copies)
{
	lc__lookup_start(lookup, cache->env, id, id_size);
	lookup->reads = cache->options.verify == LC_VERIFY_ALWAYS || copies;
	if (cache->options.verify == LC_VERIFY_ONCE)
		lookup->once = lc__module_of(cache->env)->once;
}

static void
count_hit(struct lc_cache *cache)
{
	lc__env_lock(cache->env);
	lc__module_of(cache->env)->counts.hits++;
	lc__env_unlock(cache->env);
}

lc_status
lc__view_uncommitted(struct lc_cache *cache, const void *id, size_t id_size, lc_view *out,
    enum lc__uncommitted *answer)
{
	struct lc__encoded found = { NULL, NULL };
	lc_status status;

	return_if_error(lc__flush_find(cache, id, id_size, &found, answer));
	if (found.block == NULL)
		return LC_OK;
	status = lc__view_block(cache, found.block, found.known, out);
	lc__block_drop(found.block);
	count_hit(cache);
	return status;
}

lc_status
lc__copy_uncommitted(struct lc_cache *cache, const void *id, size_t id_size,
    lc_status (*copy)(struct lc__decoder *decoder, void *ctx), void *ctx,
    enum lc__uncommitted *answer)
{
	struct lc__encoded found = { NULL, NULL };
	struct lc__decoder decoder;
	lc_status status;

	return_if_error(lc__flush_find(cache, id, id_size, &found, answer));
	if (found.block == NULL)
		return LC_OK;
	status = open_block(cache, found.block, found.known, &decoder);
	if (status == LC_OK) {
		status = copy(&decoder, ctx);
		lc__decoder_close(&decoder);
	}
	lc__block_drop(found.block);
	count_hit(cache);
	return status;
}

lc_status
lc__copy_record(struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__lookup *lookup,
    lc_status (*copy)(struct lc__decoder *decoder, void *ctx), void *ctx)
{
	struct lc__decoder decoder;
	lc_status status;

	decoder.record = lookup->record;
	return_if_error(lc__decoder_open(&decoder, cache, snapshot, lookup->location,
	    lc__view_verifies(cache, &lookup->verified)));
	lc__snapshot_note_read(snapshot, lookup->location);
	status = copy(&decoder, ctx);
	lc__decoder_close(&decoder);
	return status;
}

/* Find a record of the newest commit. */
static lc_status
find_committed(struct lc_cache *cache, struct lc__snapshot *snapshot, const void *id,
    size_t id_size, bool copies, struct lc__lookup *lookup)
{
	lc_status status;

	lc__view_lookup(lookup, cache, id, id_size, copies);
	status = lc__index_find(snapshot, lookup, cache->options.verify);
	snapshot->hits += status == LC_OK;
	snapshot->misses += status == LC_NOT_FOUND;
	if (status == LC_OK)
		lc__view_willneed(cache, &lookup->record, lookup->location,
		    copies || lc__view_reads(cache, &lookup->verified));
	return status;
}

/* Read from the newest commit, and pin it for the view. */
static lc_status
view_committed(struct lc_cache *cache, const void *id, size_t id_size, lc_view *out)
{
	struct lc__snapshot *snapshot = NULL;
	struct lc__lookup lookup;
	unsigned pins = 0;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = find_committed(cache, snapshot, id, id_size, false, &lookup);
	if (status == LC_OK)
		status = lc__view_record(cache, snapshot, &lookup.record, lookup.location,
		    lc__view_verifies(cache, &lookup.verified), out, &pins);
	lc__snapshot_give(snapshot, pins);
	return status;
}

lc_status
lc_get(lc_cache *cache, const void *id, size_t id_size, lc_view *out)
{
	enum lc__uncommitted answer = LC__UNCOMMITTED_NONE;
	lc_status status = lc__check_id("get", id, id_size);

	if (status == LC_OK)
		status = lc__view_uncommitted(cache, id, id_size, out, &answer);
	if (status == LC_OK && answer == LC__UNCOMMITTED_NONE)
		status = view_committed(cache, id, id_size, out);
	else if (status == LC_OK && answer == LC__UNCOMMITTED_DELETED)
		status = LC_NOT_FOUND;
	if (status != LC_OK)
		lc__view_clear(out, status);
	return status;
}

/* The destination of a copy of a tensor, owned by the caller. */
struct owned {
	void *buf; /* NULL: it is to be allocated */
	size_t room;
	lc_tensor *out;
};

static lc_status
copy_owned(struct lc__decoder *decoder, void *ctx)
{
	const lc_id *id = &decoder->record.id;
	const struct owned *to = ctx;
	struct lc__record_part part;
	lc_tensor tensor;
	lc_status status;
	lc_kind kind;
	void *data;

	if (!lc__schema_is_tensor(decoder->schema)) {
		return_if_error(lc__decoder_kind(decoder, &kind));
		return lc__error(LC_SCHEMA, 0, "get: %s: a %s, not a tensor",
		    lc__quote_id(id->data, id->size), lc_kind_name(kind));
	}
	lc__record_tensors(&decoder->record, decoder->schema, 0, &tensor, &part);
	if (lc__tensor_room(&tensor, to->buf, to->room, &data) != LC_OK)
		return lc__error_prefix("get: %s", lc__quote_id(id->data, id->size));
	status = lc__decoder_copy(decoder, 0, &tensor, &part, data, tensor.nbytes);
	if (status != LC_OK) {
		if (to->buf == NULL)
			free(data);
		return status;
	}
	tensor.data = data;
	*to->out = tensor;
	return LC_OK;
}

static lc_status
copy_committed(struct lc_cache *cache, const void *id, size_t id_size, struct owned *to)
{
	struct lc__snapshot *snapshot;
	struct lc__lookup lookup;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = find_committed(cache, snapshot, id, id_size, true, &lookup);
	if (status == LC_OK)
		status = lc__copy_record(cache, snapshot, &lookup, copy_owned, to);
	lc__snapshot_give(snapshot, 0);
	return status;
}

static lc_status
get_copied(struct lc_cache *cache, const void *id, size_t id_size, struct owned *to)
{
	enum lc__uncommitted answer = LC__UNCOMMITTED_NONE;

	return_if_error(lc__check_id("get", id, id_size));
	return_if_error(
	    lc__copy_uncommitted(cache, id, id_size, copy_owned, to, &answer));
	if (answer == LC__UNCOMMITTED_NONE)
		return copy_committed(cache, id, id_size, to);
	return answer == LC__UNCOMMITTED_PUT ? LC_OK : LC_NOT_FOUND;
}

lc_status
lc_get_copy(lc_cache *cache, const void *id, size_t id_size, lc_tensor *out)
{
	struct owned to = { NULL, 0, out };

	return get_copied(cache, id, id_size, &to);
}

lc_status
lc_get_into(lc_cache *cache, const void *id, size_t id_size, void *buf, size_t room,
    lc_tensor *out)
{
	struct owned to = { buf, room, out };

	if (buf == NULL)
		return lc__error(LC_INVALID, 0, "get: no buffer");
	return get_copied(cache, id, id_size, &to);
}

lc_status
lc_contains(lc_cache *cache, const void *id, size_t id_size)
{
	enum lc__uncommitted answer;
	struct lc__snapshot *snapshot;
	struct lc__lookup lookup;
	lc_status status;

	return_if_error(lc__check_id("contains", id, id_size));
	return_if_error(lc__flush_find(cache, id, id_size, NULL, &answer));
	if (answer != LC__UNCOMMITTED_NONE)
		return answer == LC__UNCOMMITTED_PUT ? LC_OK : LC_NOT_FOUND;
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	lc__lookup_start(&lookup, cache->env, id, id_size);
	status = lc__index_find(snapshot, &lookup, cache->options.verify);
	lc__snapshot_give(snapshot, 0);
	return status;
}

/* ---- prefetch --------------------------------------------------------------- */

lc_status
lc_prefetch(lc_cache *cache, size_t n, const lc_id *ids)
{
	struct lc__snapshot *snapshot;
	struct lc__lookup lookup;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	for (size_t i = 0; i < n; i++) {
		if (lc__check_id("prefetch", ids[i].data, ids[i].size) != LC_OK)
			continue;
		lc__lookup_start(&lookup, cache->env, ids[i].data, ids[i].size);
		if (lc__index_find(snapshot, &lookup, LC_VERIFY_NEVER) == LC_OK)
			willneed(cache->env, &lookup.record);
	}
	lc__snapshot_give(snapshot, 0);
	return LC_OK;
}

/* ---- using and releasing views ------------------------------------------- */

lc_status
lc_view_value(lc_view *view, const char *path, const lc_value **out)
{
	struct kept_value *kept = view->lc_private[view_values];
	const struct built_value *built = view->lc_private[view_built];

	if (view->status != LC_OK)
		return lc__error(LC_INVALID, 0, "view: it holds nothing");
	if (built != NULL) {
		*out = lc_value_find(built->value, path);
		return *out != NULL
		    ? LC_OK
		    : lc__error(LC_NOT_FOUND, 0, "the sample has no part %s", path);
	}
	if (view->kind != LC_TENSOR)
		return lc__decoder_value(&kept->decoder, path, out);
	if (path != NULL && *path != '\0')
		return lc__error(LC_NOT_FOUND, 0, "a tensor has no part %s", path);
	if (view->lc_private[view_values] == NULL)
		view->lc_private[view_values] = lc_value_tensor(&view->tensor);
	*out = view->lc_private[view_values];
	return *out == NULL ? lc__no_memory("view") : LC_OK;
}

/* A view that crossed a fork does not hold the environment, which belongs to the
 * parent. */
static void
free_kept(struct kept_value *kept, bool of_block)
{
	struct lc_cache *cache = kept->decoder.cache;

	lc__decoder_close(&kept->decoder);
	if (of_block && kept->epoch == lc__env_epoch())
		lc__env_let_go(cache->env);
	lc__cache_let_go(cache);
	free(kept);
}

static void
free_built(struct built_value *built)
{
	lc_value_free(built->value);
	built->drop(built->keeper);
	free(built);
}

void
lc_view_release(lc_view *view)
{
	if (view->status != LC_OK)
		return;
	if (view->lc_private[view_built] != NULL)
		free_built(view->lc_private[view_built]);
	else if (view->kind != LC_TENSOR)
		free_kept(view->lc_private[view_values],
		    view->lc_private[view_block] != NULL);
	else if (view->lc_private[view_values] != NULL)
		lc_value_free(view->lc_private[view_values]);
	if (view->lc_private[view_block] != NULL)
		lc__block_drop(view->lc_private[view_block]);
	if (view->lc_private[view_snapshot] != NULL)
		lc__snapshot_unpin(view->lc_private[view_snapshot]);
	lc__view_clear(view, LC_NOT_FOUND);
}

void
lc_views_release(lc_view *views, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lc_view_release(&views[i]);
}
