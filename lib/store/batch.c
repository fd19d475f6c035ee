/* SPDX-License-Identifier: BSD-2-Clause */
/* get batch and prefetch: many records under one snapshot, latency overlapped. */
#include <stdlib.h>

#include "base/error.h"
#include "store/lookup.h"
#include "store/own.h"
#include "store/view.h"

/*
 * A window of look-ups goes through the steps together: buckets, then the head
 * of each record, then its tensor. Each step asks the processor for what the
 * next one needs.
 */
#define WINDOW 16

/* The status of an item that neither check nor pending writes decided. */
#define UNDECIDED ((lc_status)-1)

/* One batch under way. */
struct batch {
	struct lc_cache *cache;
	struct lc__snapshot *snapshot;
	const lc_id *ids;
	lc_view *views;
	unsigned held;    /* views that pin the snapshot */
	lc_error first;   /* the first item's failure */
};

static void
fail_item(struct batch *batch, size_t i, lc_status status)
{
	lc__view_clear(&batch->views[i], status);
	if (status != LC_NOT_FOUND && batch->first.status == LC_OK)
		batch->first = *lc_last_error();
}

/* Answer an item from the pending writes, or leave it undecided. */
static void
try_pending(struct batch *batch, size_t i)
{
	const lc_id *id = &batch->ids[i];
	enum lc__pending_answer answer = LC__PENDING_UNKNOWN;
	lc_status status = lc__check_id("get", id->data, id->size);

	if (status == LC_OK)
		status = lc__own_view(batch->cache, id->data, id->size,
		    &batch->views[i], &answer);
	if (status != LC_OK)
		fail_item(batch, i, status);
	else if (answer == LC__PENDING_DELETED)
		fail_item(batch, i, LC_NOT_FOUND);
	else if (answer == LC__PENDING_UNKNOWN)
		lc__view_clear(&batch->views[i], UNDECIDED);
}

/* The prefix; and, unless all of the record is asked for soon, the cache_id, which
 * stands behind a table of parts if there is one, and the start of small data. */
static void
fetch_head(const unsigned char *record, bool verify)
{
	__builtin_prefetch(record);
	if (verify)
		return;
	__builtin_prefetch(record + 64);
	__builtin_prefetch(record + 128);
}

/* Find the record's place and ask for its head. */
static lc_status
guess_item(struct batch *batch, struct lc__lookup *lookup)
{
	const bool verify = batch->cache->options.verify != 0;
	struct lc__mapped_chunk chunk;

	return_if_error(lc__index_guess(batch->snapshot, lookup, verify));
	if (lookup->location & LC__TOMBSTONE)
		return LC_OK;
	/* Damage is found again by find_item(), which names the key. */
	if (lc__snapshot_chunk(batch->snapshot,
	    lc__location_chunk(lookup->location), &chunk) == LC_OK &&
	    lc__location_offset(lookup->location) < chunk.end)
		fetch_head(chunk.bytes + lc__location_offset(lookup->location),
		    verify);
	return LC_OK;
}

/* Find the record, and ask for what its view will read. */
static lc_status
find_item(struct batch *batch, struct lc__lookup *lookup)
{
	return_if_error(lc__index_find(batch->snapshot, lookup,
	    batch->cache->options.verify != 0));
	lc__view_expect(batch->cache, &lookup->record, lookup->location);
	return LC_OK;
}

static void
finish_item(struct batch *batch, size_t i, const struct lc__lookup *lookup)
{
	const lc_status status = lc__view_open(batch->cache, batch->snapshot,
	    &lookup->record, lookup->location, &batch->views[i], &batch->held);

	batch->snapshot->hits++;
	if (status != LC_OK)
		fail_item(batch, i, status);
}

/* Find the undecided items from position @p from on, at most WINDOW of them;
 * returns the position behind them. */
static size_t
start_window(struct batch *batch, size_t from, size_t n,
    struct lc__lookup *lookups, size_t *at, size_t *used)
{
	size_t i = from;

	for (*used = 0; i < n && *used < WINDOW; i++) {
		if (batch->views[i].status != UNDECIDED)
			continue;
		lc__lookup_start(&lookups[*used], batch->cache->env,
		    batch->ids[i].data, batch->ids[i].size);
		lc__index_prefetch(batch->snapshot, &lookups[*used]);
		at[(*used)++] = i;
	}
	return i;
}

/* One step of all items of a window that no step has failed. */
static void
step_all(struct batch *batch, struct lc__lookup *lookups, const size_t *at,
    size_t n, lc_status (*step)(struct batch *, struct lc__lookup *))
{
	for (size_t j = 0; j < n; j++) {
		lc_status status;

		if (batch->views[at[j]].status != UNDECIDED)
			continue;
		status = step(batch, &lookups[j]);
		batch->snapshot->misses += status == LC_NOT_FOUND;
		if (status != LC_OK)
			fail_item(batch, at[j], status);
	}
}

static void
get_undecided(struct batch *batch, size_t n)
{
	struct lc__lookup lookups[WINDOW];
	size_t at[WINDOW], used;

	for (size_t i = 0; i < n;) {
		i = start_window(batch, i, n, lookups, at, &used);
		step_all(batch, lookups, at, used, guess_item);
		step_all(batch, lookups, at, used, find_item);
		for (size_t j = 0; j < used; j++)
			if (batch->views[at[j]].status == UNDECIDED)
				finish_item(batch, at[j], &lookups[j]);
	}
}

static void
list_missing(const lc_view *views, size_t n, size_t *missing,
    size_t *n_missing)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (views[i].status != LC_NOT_FOUND)
			continue;
		if (missing != NULL)
			missing[found] = i;
		found++;
	}
	if (n_missing != NULL)
		*n_missing = found;
}

static lc_status
fail_all(lc_view *views, size_t n, lc_status status)
{
	for (size_t i = 0; i < n; i++)
		if (views[i].status == UNDECIDED)
			lc__view_clear(&views[i], status);
	return status;
}

lc_status
lc_get_batch(lc_cache *cache, size_t n, const lc_id *ids, lc_view *views,
    size_t *missing, size_t *n_missing)
{
	struct batch batch = { .cache = cache, .ids = ids, .views = views };
	lc_status status;

	for (size_t i = 0; i < n; i++)
		try_pending(&batch, i);
	status = lc__snapshot_take(cache->env, &batch.snapshot);
	if (status != LC_OK)
		return fail_all(views, n, status);
	get_undecided(&batch, n);
	lc__snapshot_give(batch.snapshot, batch.held);
	list_missing(views, n, missing, n_missing);
	return batch.first.status == LC_OK ? LC_OK :
	    lc__error_raise(&batch.first);
}

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
		if (lc__index_find(snapshot, &lookup, false) == LC_OK)
			lc__view_willneed(cache->env, &lookup.record);
	}
	lc__snapshot_give(snapshot, 0);
	return LC_OK;
}
