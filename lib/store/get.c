/* SPDX-License-Identifier: BSD-2-Clause */
/* get, get copy, contains: pending -> index -> chunk -> record -> view. */
#include "base/error.h"
#include "store/lookup.h"
#include "store/own.h"
#include "store/view.h"
#include "value/tensor.h"

/* Find a record in a snapshot, counting. */
static lc_status
find(struct lc_cache *cache, struct lc__snapshot *snapshot,
    struct lc__lookup *lookup, const void *id, size_t id_size)
{
	lc_status status;

	lc__lookup_start(lookup, cache->env, id, id_size);
	status = lc__index_find(snapshot, lookup, cache->options.verify != 0);
	snapshot->hits += status == LC_OK;
	snapshot->misses += status == LC_NOT_FOUND;
	return status;
}

/* Read from the newest commit and pin it for the view. */
static lc_status
get_committed(struct lc_cache *cache, const void *id, size_t id_size,
    lc_view *out)
{
	struct lc__snapshot *snapshot = NULL;
	struct lc__lookup lookup;
	unsigned pins = 0;
	lc_status status;

	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	status = find(cache, snapshot, &lookup, id, id_size);
	if (status == LC_OK) {
		lc__view_expect(cache, &lookup.record, lookup.location);
		status = lc__view_open(cache, snapshot, &lookup.record,
		    lookup.location, out, &pins);
	}
	lc__snapshot_give(snapshot, pins);
	return status;
}

lc_status
lc_get(lc_cache *cache, const void *id, size_t id_size, lc_view *out)
{
	enum lc__pending_answer answer = LC__PENDING_UNKNOWN;
	lc_status status = lc__check_id("get", id, id_size);

	if (status == LC_OK)
		status = lc__own_view(cache, id, id_size, out, &answer);
	if (status == LC_OK && answer == LC__PENDING_UNKNOWN)
		status = get_committed(cache, id, id_size, out);
	else if (status == LC_OK && answer == LC__PENDING_DELETED)
		status = LC_NOT_FOUND;
	if (status != LC_OK)
		lc__view_clear(out, status);
	return status;
}

/* Copy a view's tensor to memory that the caller owns. */
static lc_status
get_copied(struct lc_cache *cache, const void *id, size_t id_size, void *buf,
    size_t room, lc_tensor *out)
{
	lc_status status;
	lc_view view;

	return_if_error(lc_get(cache, id, id_size, &view));
	if (view.kind != LC_TENSOR)
		status = lc__error(LC_SCHEMA, 0, "get: %s: a %s, not a tensor",
		    lc__quote_id(id, id_size), lc_kind_name(view.kind));
	else if (lc__tensor_copy(&view.tensor, buf, room, out) != LC_OK)
		status = lc__error_prefix("get: %s", lc__quote_id(id, id_size));
	else
		status = LC_OK;
	lc_view_release(&view);
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
	return_if_error(lc__own_has(cache, id, id_size, &answer));
	if (answer != LC__PENDING_UNKNOWN)
		return answer == LC__PENDING_PUT ? LC_OK : LC_NOT_FOUND;
	return_if_error(lc__snapshot_take(cache->env, &snapshot));
	lc__lookup_start(&lookup, cache->env, id, id_size);
	status = lc__index_find(snapshot, &lookup, cache->options.verify != 0);
	lc__snapshot_give(snapshot, 0);
	return status;
}
