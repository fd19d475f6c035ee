/* SPDX-License-Identifier: BSD-2-Clause */
/* A fill by cache_ids: requests missing values from producers and stores them. */
#include "fill/fill.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/idset.h"
#include "fill/failures.h"
#include "fill/items.h"
#include "fill/produce.h"
#include "lmdbcache.h"
#include "store/tool.h"
#include "value/expect.h"
#include "value/finite.h"

/* ---- what is stored already -------------------------------------------------------- */

struct look {
	const struct lc__demands *demands;
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	void *ctx;
	const struct lc__item *items;
};

static lc_status
check_value(void *ctx, size_t i, const lc_value *value)
{
	const struct look *look = ctx;
	const struct lc__demands *demands = look->demands;

	return_if_error(lc__expect_value(demands->expect, demands->n_expect, value));
	if (demands->deep)
		return_if_error(lc__finite_value(value, demands->finite));
	return look->check != NULL ? look->check(look->ctx, &look->items[i], value)
				   : LC_OK;
}

lc_status
lc__done_look(lc_cache *cache, const struct lc__demands *demands,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, const struct lc__item *items, size_t n, enum lc__stored *out)
{
	struct look look = { demands, check, ctx, items };
	const bool checks = demands->deep || demands->n_expect > 0 || check != NULL;
	const struct lc__stored_check how = { demands->deep, checks ? check_value : NULL,
		&look };
	lc_id *ids = calloc(n > 0 ? n : 1, sizeof(*ids));
	lc_status status;

	if (ids == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < n; i++)
		ids[i] = items[i].id;
	status = lc__stored_look(cache, ids, n, &how, out);
	free(ids);
	return status;
}

lc_status
lc__demands_value(lc_cache *cache, const struct lc__demands *demands,
    const lc_value *value)
{
	return_if_error(lc__expect_value(demands->expect, demands->n_expect, value));
	return_if_error(lc__finite_value(value, demands->finite));
	return lc__stored_admits(cache, value);
}

/* ---- pace -------------------------------------------------------------------------- */

#define SHARE 10

bool
lc__throttle_is_due(const struct lc__throttle *pace, uint64_t now_ns)
{
	return (now_ns - pace->ended_ns) / SHARE >= pace->took_ns;
}

void
lc__throttle_note(struct lc__throttle *pace, uint64_t began_ns, uint64_t ended_ns)
{
	pace->ended_ns = ended_ns;
	pace->took_ns = ended_ns - began_ns;
}

/* ---- uncommitted records --------------------------------------------------------- */

/* Commits take the oldest first. */
static void
forget_committed(struct lc__fill_uncommitted *a, uint64_t pending)
{
	if (a->end - a->first > pending)
		a->first = a->end - (size_t)pending;
}

lc_status
lc__fill_uncommitted_add(struct lc__fill_uncommitted *uncommitted, uint64_t bytes,
    uint64_t pending)
{
	/* Make room: move the records to the start when most of the space before them is
	 * free. */
	if (uncommitted->end == uncommitted->room &&
	    uncommitted->first > uncommitted->room / 2) {
		memmove(uncommitted->bytes, uncommitted->bytes + uncommitted->first,
		    (uncommitted->end - uncommitted->first) *
			sizeof(*uncommitted->bytes));
		uncommitted->end -= uncommitted->first;
		uncommitted->first = 0;
	}
	return_if_error(lc__array_reserve(&uncommitted->bytes, &uncommitted->room,
	    uncommitted->end + 1, NULL));
	uncommitted->bytes[uncommitted->end++] = bytes;
	forget_committed(uncommitted, pending);
	return LC_OK;
}

size_t
lc__fill_uncommitted_count(struct lc__fill_uncommitted *uncommitted, uint64_t pending,
    uint64_t *bytes)
{
	forget_committed(uncommitted, pending);
	*bytes = 0;
	for (size_t i = uncommitted->first; i < uncommitted->end; i++)
		*bytes += uncommitted->bytes[i];
	return uncommitted->end - uncommitted->first;
}

void
lc__fill_uncommitted_free(struct lc__fill_uncommitted *uncommitted)
{
	free(uncommitted->bytes);
	memset(uncommitted, 0, sizeof(*uncommitted));
}

/* ---- the fill ---------------------------------------------------------------------- */

/* Items that are looked up together, and the most bytes of their payloads, if there is
 * more than one. */
#define LOOK 256
#define LOOK_BYTES ((size_t)4 << 20)

/* A run in progress. */
struct run {
	const struct lc__fill *fill;
	struct lc__filled filled;
	struct lc__idset asked;     /* given to a producer and not stored, failed ones
	                         * included */
	struct lc__item look[LOOK]; /* items with memory of their own */
	enum lc__stored stored[LOOK];
	struct lc__item *missing; /* to be computed, in the same memory */
	size_t n_missing, room;
	uint64_t missing_bytes; /* of their payloads */
	struct lc__fill_uncommitted
	    uncommitted;          /* counted as stored before they are durable */
	bool ended;               /* no more items will come */
	bool waits;               /* none is available now */
	uint64_t out;             /* batches that have not come back */
	bool pending;             /* something was stored since the last commit */
	struct lc__throttle pace; /* of commits */
};

/* ---- what is missing -------------------------------------------------------- */

/* The data of an item goes into one block, which begins with its id. */
static lc_status
own(struct lc__item *item)
{
	unsigned char *block = malloc(item->id.size + item->payload.size + 1);

	if (block == NULL)
		return lc__no_memory(NULL);
	memcpy(block, item->id.data, item->id.size);
	if (item->payload.size > 0)
		memcpy(block + item->id.size, item->payload.data, item->payload.size);
	item->payload.data = block + item->id.size;
	item->id.data = block;
	return LC_OK;
}

static void
disown(struct lc__item *item)
{
	free((void *)(uintptr_t)item->id.data);
}

/* Get up to LOOK items with memory of their own. */
static lc_status
take_items(struct run *run, size_t *n)
{
	lc_status status = LC_OK;
	size_t bytes = 0;

	for (*n = 0; *n < LOOK && bytes < LOOK_BYTES; (*n)++) {
		struct lc__item *item = &run->look[*n];

		memset(item, 0, sizeof(*item));
		status = run->fill->next(run->fill->ctx, item);
		run->ended = status == LC_END;
		run->waits = status == LC_BUSY;
		if (run->ended || run->waits)
			return LC_OK;
		if (status == LC_OK)
			status = own(item);
		if (status != LC_OK)
			break;
		bytes += item->id.size + item->payload.size;
	}
	return status;
}

static lc_status
tell_over(struct run *run, const struct lc__item *item)
{
	return run->fill->over == NULL ? LC_OK : run->fill->over(run->fill->ctx, item);
}

/* Must it be computed? Not if it is being computed, or has failed. */
static lc_status
sort_item(struct run *run, struct lc__item *item, enum lc__stored stored)
{
	bool added = true;

	if (stored == LC__STORED_DONE) {
		run->filled.there++;
		return tell_over(run, item);
	}
	run->filled.wrong += run->fill->dry_run && stored == LC__STORED_WRONG;
	if (run->fill->dry_run)
		return LC_OK;
	return_if_error(lc__idset_add(&run->asked, item->id, 0, &added, NULL));
	if (!added) {
		run->filled.there++;
		return tell_over(run, item);
	}
	run->filled.wrong += stored == LC__STORED_WRONG;
	return_if_error(
	    lc__array_reserve(&run->missing, &run->room, run->n_missing + 1, NULL));
	run->missing[run->n_missing++] = *item;
	run->missing_bytes += item->payload.size;
	item->id.data = NULL;
	return LC_OK;
}

static lc_status
look(struct run *run, size_t n)
{
	const struct lc__fill *fill = run->fill;
	lc_status status = LC_OK;

	if (fill->cache == NULL)
		memset(run->stored, 0, sizeof(run->stored));
	else
		status = lc__done_look(fill->cache, &fill->demands, fill->check,
		    fill->ctx, run->look, n, run->stored);
	run->filled.items += status == LC_OK ? n : 0;
	for (size_t i = 0; i < n && status == LC_OK; i++)
		status = sort_item(run, &run->look[i], run->stored[i]);
	return status;
}

static uint64_t
clock_of(const struct run *run)
{
	return run->fill->clock_ns != NULL ? run->fill->clock_ns() : lc__clock_ns();
}

/* Commit what was stored, unless that was done just now. */
static lc_status
commit_if_due(struct run *run)
{
	const uint64_t began_ns = run->pending ? clock_of(run) : 0;

	if (!run->pending || !lc__throttle_is_due(&run->pace, began_ns))
		return LC_OK;
	return_if_error(lc_flush(run->fill->cache));
	lc__throttle_note(&run->pace, began_ns, clock_of(run));
	run->pending = false;
	return LC_OK;
}

static lc_status
idle(void *ctx)
{
	struct run *run = ctx;

	return_if_error(commit_if_due(run));
	return run->fill->idle == NULL ? LC_OK
				       : run->fill->idle(run->fill->ctx, &run->filled);
}

/* Get some more items, and keep the missing ones. */
static lc_status
gather(struct run *run)
{
	size_t n;
	lc_status status;

	/* Existing items may come for long without any request to a producer. */
	return_if_error(idle(run));
	status = take_items(run, &n);
	if (status == LC_OK)
		status = look(run, n);
	for (size_t i = 0; i < n; i++)
		disown(&run->look[i]);
	return status;
}

/* ---- batches ------------------------------------------------------------------ */

/* How many of the missing items make a batch, and the size of their ids and payloads. */
static size_t
batch_count(const struct run *run, size_t *bytes)
{
	uint64_t payload = 0;
	size_t n = 0;

	*bytes = 0;
	while (n < run->n_missing && n < run->fill->batch) {
		const struct lc__item *item = &run->missing[n];

		if (n > 0 && payload + item->payload.size > run->fill->batch_bytes)
			break;
		payload += item->payload.size;
		*bytes += item->id.size + item->payload.size;
		n++;
	}
	return n;
}

static lc_status
make_batch(struct run *run, struct lc__items **out)
{
	size_t bytes;
	const size_t n = batch_count(run, &bytes);
	struct lc__items *batch = lc__items_new(n);
	unsigned char *at;

	if (batch == NULL || (batch->memory = malloc(bytes + 1)) == NULL) {
		lc__items_free(batch);
		return lc__no_memory(NULL);
	}
	at = batch->memory;
	for (size_t i = 0; i < n; i++) {
		struct lc__item *item = &batch->items[i];
		const size_t size = run->missing[i].id.size +
		    run->missing[i].payload.size;

		*item = run->missing[i];
		memcpy(at, item->id.data, size);
		item->id.data = at;
		item->payload.data = at + item->id.size;
		run->missing_bytes -= item->payload.size;
		disown(&run->missing[i]);
		at += size;
	}
	run->n_missing -= n;
	memmove(run->missing, run->missing + n, run->n_missing * sizeof(*run->missing));
	*out = batch;
	return LC_OK;
}

/* While items come slowly, the available ones are requested as soon as no other work is
 * left. */
static lc_status
next(void *ctx, struct lc__items **out)
{
	struct run *run = ctx;

	run->waits = false;
	while (!run->ended && !run->waits && run->n_missing < run->fill->batch &&
	    run->missing_bytes < run->fill->batch_bytes)
		return_if_error(gather(run));
	if (run->waits && (run->n_missing == 0 || run->out > 0))
		return LC_BUSY;
	if (run->n_missing == 0)
		return LC_END;
	return_if_error(make_batch(run, out));
	run->out++;
	return LC_OK;
}

static lc_status
check(void *ctx, const struct lc__item *item, const lc_value *value)
{
	const struct lc__fill *fill = ((const struct run *)ctx)->fill;

	return_if_error(lc__demands_value(fill->cache, &fill->demands, value));
	return fill->check == NULL ? LC_OK : fill->check(fill->ctx, item, value);
}

/* ---- results --------------------------------------------------------------------- */

static lc_status
fail(struct run *run, const struct lc__items *batch, struct lc__item *item)
{
	run->filled.failed++;
	if (run->fill->failures != NULL)
		return_if_error(lc__failures_add(run->fill->failures, batch, item));
	return tell_over(run, item);
}

static lc_status
store(struct run *run, const struct lc__items *batch, struct lc__item *item)
{
	const uint64_t bytes = lc__item_bytes(item->value);
	const lc_status status = lc_put_value(run->fill->cache, item->id.data,
	    item->id.size, item->value);

	if (lc__item_is_at_fault(status)) {
		return_if_error(lc__item_fail(item, lc_last_error()->text,
		    strlen(lc_last_error()->text)));
		return fail(run, batch, item);
	}
	return_if_error(status);
	run->pending = true;
	run->filled.stored++;
	run->filled.bytes += bytes;
	lc__idset_remove(&run->asked, item->id);
	return_if_error(lc__fill_uncommitted_add(&run->uncommitted, bytes,
	    lc__cache_uncommitted(run->fill->cache)));
	return tell_over(run, item);
}

static lc_status
done(void *ctx, struct lc__items *batch)
{
	struct run *run = ctx;
	lc_status status = LC_OK;

	run->out--;
	if (run->fill->back != NULL)
		run->fill->back(run->fill->ctx, batch);
	for (size_t i = 0; i < batch->count && status == LC_OK; i++)
		status = batch->items[i].outcome == LC__ITEM_DONE
		    ? store(run, batch, &batch->items[i])
		    : fail(run, batch, &batch->items[i]);
	lc__items_free(batch);
	return status == LC_OK ? commit_if_due(run) : status;
}

/* ---- the whole fill -------------------------------------------------------------- */

lc_status
lc__fill_run(const struct lc__fill *fill, struct lc__filled *out)
{
	struct run *run = calloc(1, sizeof(*run));
	const struct lc__work work = { next, check, done, idle, run };
	uint64_t bytes;
	lc_status status = LC_OK;

	if (run == NULL)
		return lc__no_memory(NULL);
	run->fill = fill;
	/* The pending writes of the handle are then only those of this run. */
	if (!fill->dry_run)
		status = lc_flush(fill->cache);
	if (status == LC_OK && !fill->dry_run) {
		lc_error error;
		lc_status flushed;

		status = lc__produce(fill->producers, &work, &run->filled.produced);
		error = *lc_last_error();
		flushed = lc_flush(fill->cache);
		/* What is not committed does not count as stored. */
		run->filled.stored -= lc__fill_uncommitted_count(&run->uncommitted,
		    lc__cache_uncommitted(fill->cache), &bytes);
		run->filled.bytes -= bytes;
		/* Report what stopped it, not its consequences. */
		status = status != LC_OK ? lc__error_raise(&error) : flushed;
	}
	while (status == LC_OK && fill->dry_run && !run->ended)
		status = gather(run);
	*out = run->filled;
	for (size_t i = 0; i < run->n_missing; i++)
		disown(&run->missing[i]);
	free(run->missing);
	lc__idset_free(&run->asked);
	lc__fill_uncommitted_free(&run->uncommitted);
	free(run);
	return status;
}
