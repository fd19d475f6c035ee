/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "store/decode.h"
#include "store/lookup.h"

/* lc_view.lc_private: what the view stands on, and what was read out of it. */
enum { view_snapshot = 0, view_block = 1, view_values = 2 };

/* The call costs as much as hashing a few KiB: it is for records that would
 * fault several times. */
#define WILLNEED_SIZE ((size_t)16 << 10)

void
lc__view_willneed(const struct lc__env *env, const struct lc__record *record)
{
	if (record->size >= WILLNEED_SIZE)
		lc__env_willneed(env, lc__record_start(record), record->size);
}

void
lc__view_clear(lc_view *view, lc_status status)
{
	memset(view->lc_private, 0, sizeof(view->lc_private));
	view->status = status;
}

/* A value of several parts: keep the decoder. What a plain value is, only its
 * data tells. */
static lc_status
hold_value(const struct lc__decoder *decoder, lc_view *out)
{
	struct lc__decoder *kept = malloc(sizeof(*kept));
	const lc_value *value;
	lc_status status = LC_OK;

	if (kept == NULL)
		return lc__error(LC_NO_MEMORY, 0, "get: %s: out of memory",
		    lc__quote_id(decoder->record.id.data,
		    decoder->record.id.size));
	*kept = *decoder;
	memset(&out->tensor, 0, sizeof(out->tensor));
	out->kind = kept->schema->node[0].kind;
	if (kept->schema->node[0].kind == LC__PLAIN)
		status = lc__decoder_value(kept, NULL, &value);
	if (status != LC_OK) {
		free(kept);
		return status;
	}
	if (kept->schema->node[0].kind == LC__PLAIN)
		out->kind = lc_value_kind(value);
	out->lc_private[view_values] = kept;
	return LC_OK;
}

void
lc__view_expect(const struct lc_cache *cache, const struct lc__record *record,
    uint64_t location)
{
	bool read;

	if (record->size < WILLNEED_SIZE)
		return;
	if (lc__record_first_codec(record) == LC_CODEC_NONE)
		read = cache->options.verify != 0;
	else
		read = !lc__decode_cached(cache, record, location);
	if (read)
		lc__view_willneed(cache->env, record);
}

/* Fill a cleared view from a record. */
static lc_status
hold(struct lc__decoder *decoder, lc_view *out)
{
	struct lc__block *block = NULL;

	if (!lc__schema_is_tensor(decoder->schema)) {
		return_if_error(hold_value(decoder, out));
	} else {
		return_if_error(lc__decoder_tensor(decoder, &out->tensor, &block));
		out->kind = LC_TENSOR;
		out->lc_private[view_block] = block;
	}
	out->status = LC_OK;
	return LC_OK;
}

static lc_status
open_parts(struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, uint64_t location, lc_view *out)
{
	struct lc__decoder decoder = { .record = *record };

	return_if_error(lc__decoder_open(&decoder, cache, snapshot,
	    location, cache->options.verify != 0));
	return hold(&decoder, out);
}

static lc_status
open_alone(struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, lc_view *out)
{
	return_if_error(lc__decode_alone(cache, snapshot, record,
	    cache->options.verify != 0, &out->tensor));
	out->kind = LC_TENSOR;
	out->status = LC_OK;
	return LC_OK;
}

lc_status
lc__view_open(struct lc_cache *cache, struct lc__snapshot *snapshot,
    const struct lc__record *record, uint64_t location, lc_view *out,
    unsigned *pins)
{
	lc__view_clear(out, LC_NOT_FOUND);
	if (record->has_parts)
		return_if_error(open_parts(cache, snapshot, record, location, out));
	else
		return_if_error(open_alone(cache, snapshot, record, out));
	lc__snapshot_note_read(snapshot, location);
	if (out->lc_private[view_block] == NULL) {
		out->lc_private[view_snapshot] = snapshot;
		(*pins)++;
	}
	return LC_OK;
}

lc_status
lc__view_block(struct lc_cache *cache, struct lc__block *block,
    const struct lc__known *known, lc_view *out)
{
	struct lc__decoder decoder;

	lc__view_clear(out, LC_NOT_FOUND);
	if (!lc__record_parse(block->data, block->size, &decoder.record))
		return lc__error(LC_CORRUPT, 0, "get: a record in memory is damaged");
	return_if_error(lc__decoder_open_memory(&decoder, cache, known->schema));
	return_if_error(hold(&decoder, out));
	if (out->lc_private[view_block] == NULL)
		out->lc_private[view_block] = lc__block_hold(block);
	return LC_OK;
}

/* ---- the public face ------------------------------------------------------ */

/* A tensor alone as a value: nothing of its record is needed. */
static lc_status
tensor_value(lc_view *view, const char *path, const lc_value **out)
{
	if (path != NULL && *path != '\0')
		return lc__error(LC_NOT_FOUND, 0, "a tensor has no part %s", path);
	if (view->lc_private[view_values] == NULL)
		view->lc_private[view_values] = lc_value_tensor(&view->tensor);
	*out = view->lc_private[view_values];
	return *out == NULL ? lc__no_memory("view") : LC_OK;
}

lc_status
lc_view_value(lc_view *view, const char *path, const lc_value **out)
{
	if (view->status != LC_OK)
		return lc__error(LC_INVALID, 0, "view: it holds nothing");
	if (view->kind == LC_TENSOR)
		return tensor_value(view, path, out);
	return lc__decoder_value(view->lc_private[view_values], path, out);
}

void
lc_view_release(lc_view *view)
{
	void *decoder;

	if (view->status != LC_OK)
		return;
	decoder = view->lc_private[view_values];
	if (view->kind != LC_TENSOR) {
		lc__decoder_close(decoder);
		free(decoder);
	} else if (decoder != NULL) {
		lc_value_free(decoder);
	}
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
