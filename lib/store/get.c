/* SPDX-License-Identifier: BSD-2-Clause */
/* get, get copy, contains: pending -> index -> chunk -> record -> view. */
#include "store/get.h"
#include "store/flush.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "value/tensor.h"

/* lc_view.lc_private: what keeps the data alive. */
enum { view_snapshot = 0, view_memory = 1 };

void
lc__view_clear(lc_view *view, lc_status status)
{
	view->status = status;
	view->lc_private[view_snapshot] = NULL;
	view->lc_private[view_memory] = NULL;
}

void
lc__view_hold(lc_view *view, const lc_tensor *tensor,
    struct lc__snapshot *snapshot)
{
	view->status = LC_OK;
	view->tensor = *tensor;
	view->lc_private[view_snapshot] = snapshot;
	view->lc_private[view_memory] = snapshot == NULL ?
	    (void *)(uintptr_t)tensor->data : NULL;
}

void
lc_view_release(lc_view *view)
{
	if (view->status != LC_OK)
		return;
	if (view->lc_private[view_snapshot] != NULL)
		lc__snapshot_unpin(view->lc_private[view_snapshot]);
	free(view->lc_private[view_memory]);
	lc__view_clear(view, LC_NOT_FOUND);
}

void
lc_views_release(lc_view *views, size_t n)
{
	for (size_t i = 0; i < n; i++)
		lc_view_release(&views[i]);
}

static lc_status
damaged(const struct lc__snapshot *snapshot, const struct lc__record *record,
    const char *what)
{
	return lc__error(LC_CORRUPT, 0, "%s: key %s: %s",
	    lc__env_dir(snapshot->env),
	    lc__quote_id(record->id.data, record->id.size), what);
}

lc_status
lc__get_tensor(struct lc__snapshot *snapshot, const struct lc__record *record,
    bool verify, lc_tensor *out)
{
	const struct lc__schema *schema;

	if (verify && !lc__record_intact(record))
		return damaged(snapshot, record, "checksum mismatch");
	if (lc__snapshot_schema(snapshot, record->schema, &schema) != LC_OK)
		return lc__error_prefix("key %s",
		    lc__quote_id(record->id.data, record->id.size));
	if (!lc__record_tensor(record, schema, out))
		return damaged(snapshot, record, "shape and size disagree");
	return LC_OK;
}

/* The call costs as much as hashing a few KiB: it is for records that would
 * fault several times. */
#define WILLNEED_SIZE ((size_t)16 << 10)

void
lc__get_willneed(const struct lc__env *env, const struct lc__record *record)
{
	if (record->size >= WILLNEED_SIZE)
		lc__env_willneed(env, lc__record_start(record), record->size);
}

/* Find and verify one record in a snapshot. */
static lc_status
read_one(struct lc_cache *cache, struct lc__snapshot *snapshot, const void *id,
    size_t id_size, lc_tensor *out)
{
	const bool verify = cache->options.verify != 0;
	struct lc__lookup lookup;

	lc__lookup_start(&lookup, cache->env, id, id_size);
	return_if_error(lc__index_find(snapshot, &lookup, verify));
	if (verify)
		lc__get_willneed(cache->env, &lookup.record);
	return lc__get_tensor(snapshot, &lookup.record, verify, out);
}

/* Read from the newest commit and pin it for the view. */
static lc_status
get_committed(struct lc_cache *cache, const void *id, size_t id_size,
    lc_view *out)
{
	struct lc__snapshot *snapshot = NULL;
	lc_tensor tensor;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = read_one(cache, snapshot, id, id_size, &tensor);
	lc__snapshot_give(snapshot, status == LC_OK ? 1 : 0);
	if (status == LC_OK)
		lc__view_hold(out, &tensor, snapshot);
	return status;
}

lc_status
lc_get(lc_cache *cache, const void *id, size_t id_size, lc_view *out)
{
	enum lc__pending_answer answer = LC__PENDING_UNKNOWN;
	lc_tensor tensor;
	lc_status status = lc__check_id("get", id, id_size);

	if (status == LC_OK)
		status = lc__flush_peek(cache, id, id_size, NULL, 0, &tensor,
		    &answer);
	if (status == LC_OK && answer == LC__PENDING_UNKNOWN)
		status = get_committed(cache, id, id_size, out);
	else if (status == LC_OK && answer == LC__PENDING_PUT)
		lc__view_hold(out, &tensor, NULL);
	else if (status == LC_OK)
		status = LC_NOT_FOUND;
	if (status != LC_OK)
		lc__view_clear(out, status);
	return status;
}

static lc_status
get_copied(struct lc_cache *cache, const void *id, size_t id_size, void *buf,
    size_t room, lc_tensor *out)
{
	enum lc__pending_answer answer;
	struct lc__snapshot *snapshot;
	lc_tensor tensor;
	lc_status status;

	return_if_error(lc__check_id("get", id, id_size));
	return_if_error(lc__flush_peek(cache, id, id_size, buf, room, out,
	    &answer));
	if (answer != LC__PENDING_UNKNOWN)
		return answer == LC__PENDING_PUT ? LC_OK : LC_NOT_FOUND;
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = read_one(cache, snapshot, id, id_size, &tensor);
	if (status == LC_OK) {
		status = lc__tensor_copy(&tensor, buf, room, out);
		if (status != LC_OK)
			lc__error_prefix("get: %s",
			    lc__quote_id(id, id_size));
	}
	lc__snapshot_give(snapshot, 0);
	return status;
}

lc_status
lc_get_copy(lc_cache *cache, const void *id, size_t id_size, lc_tensor *out)
{
	return get_copied(cache, id, id_size, NULL, 0, out);
}

lc_status
lc_get_into(lc_cache *cache, const void *id, size_t id_size, void *buf,
    size_t room, lc_tensor *out)
{
	if (buf == NULL)
		return lc__error(LC_INVALID, 0, "get: no buffer");
	return get_copied(cache, id, id_size, buf, room, out);
}

lc_status
lc_contains(lc_cache *cache, const void *id, size_t id_size)
{
	enum lc__pending_answer answer;
	struct lc__snapshot *snapshot;
	struct lc__lookup lookup;
	lc_status status;

	return_if_error(lc__check_id("contains", id, id_size));
	return_if_error(lc__flush_peek(cache, id, id_size, NULL, 0, NULL,
	    &answer));
	if (answer != LC__PENDING_UNKNOWN)
		return answer == LC__PENDING_PUT ? LC_OK : LC_NOT_FOUND;
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	lc__lookup_start(&lookup, cache->env, id, id_size);
	status = lc__index_find(snapshot, &lookup, cache->options.verify != 0);
	lc__snapshot_give(snapshot, 0);
	return status;
}
