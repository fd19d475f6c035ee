/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get or compute: get batch -> claim the missing keys -> the caller's function -> put ->
 * publish -> wait for what others compute.
 *
 * Another thread may have computed a key between this call's miss and its claim. It then
 * published results in between, which changes the number of the inflight table: in that
 * case the key is looked up again before it is computed. The same is done for a key whose
 * computation another thread gave up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "index/run_build.h"
#include "store/cache.h"
#include "store/flush.h"
#include "store/get.h"
#include "store/inflight.h"
#include "store/put.h"

/* ---- results ------------------------------------------------------------- */

/* One result of the caller's function. */
struct result {
	enum { RESULT_UNSET, RESULT_SET, RESULT_FAILED } state;
	struct lc__encoded record; /* if RESULT_SET */
	lc_status status; /* if it failed: LC_FAILED, or LC_NO_MEMORY from here */
	char *why;        /* if it failed; NULL if there was no memory for it */
};

struct lc_results {
	struct lc_cache *cache;
	const lc_id *keys;
	const size_t *missing; /* position in keys of each result */
	size_t n;
	struct result *items; /* n results */
};

/* Fail a result; the first reason is kept. */
static void
fail_result(struct result *result, lc_status status, const char *why)
{
	lc__block_drop(result->record.block);
	result->record.block = NULL;
	if (result->state == RESULT_FAILED)
		return;
	result->state = RESULT_FAILED;
	result->status = status;
	result->why = strdup(why);
}

/* Find result @p j, which must be unset. */
static lc_status
open_result(lc_results *results, size_t j, struct result **out)
{
	lc_status status;

	if (j >= results->n)
		return lc__error(LC_INVALID, 0,
		    "result %zu: the function was asked for only %zu", j, results->n);
	*out = &results->items[j];
	if ((*out)->state == RESULT_UNSET)
		return LC_OK;
	status = lc__error(LC_INVALID, 0, "result %zu of key %s is set twice", j,
	    lc__quote_id(results->keys[results->missing[j]].data,
		results->keys[results->missing[j]].size));
	fail_result(*out, LC_FAILED, "its result is set twice");
	return status;
}

static lc_status
close_result(struct result *result, lc_status status)
{
	if (status == LC_OK)
		result->state = RESULT_SET;
	else
		fail_result(result, status == LC_NO_MEMORY ? status : LC_FAILED,
		    lc_last_error()->text);
	return status;
}

lc_status
lc_result_tensor(lc_results *results, size_t j, const lc_tensor *tensor)
{
	struct result *result;

	return_if_error(open_result(results, j, &result));
	return close_result(result,
	    lc__put_encode_tensor(results->cache, &results->keys[results->missing[j]],
		tensor, &result->record));
}

lc_status
lc_result_value(lc_results *results, size_t j, const lc_value *value)
{
	struct result *result;

	return_if_error(open_result(results, j, &result));
	return close_result(result,
	    lc__put_encode_value(results->cache, &results->keys[results->missing[j]],
		value, &result->record));
}

void
lc_result_fail(lc_results *results, size_t j, const char *why)
{
	if (j < results->n)
		fail_result(&results->items[j], LC_FAILED,
		    why != NULL ? why : "it cannot be computed");
}

/* The status of an item that is not decided yet. */
#define UNDECIDED ((lc_status)-1)

/* One call in progress. */
struct compute {
	struct lc_cache *cache;
	const lc_id *keys;
	lc_compute_fn fn;
	void *ctx;
	lc_view *out;
	struct lc__inflight_call call;
	struct lc__want *wants; /* the undecided items, by position */
	size_t n;               /* number of wants */
	bool late;         /* a result was not stored in time, nor were those after it */
	uint64_t deadline; /* deadline for other threads; 0 until the wait begins */
	uint64_t number;   /* of the inflight table, before the first look-up */
	size_t failed;     /* number of items */
	size_t first_at;   /* position of the first of them */
	lc_error first;    /* its error */
};

/* ---- items ----------------------------------------------------------------- */

/* Fail an item with the calling thread's last error. */
static void
fail_item(struct compute *c, size_t at, lc_status status)
{
	lc__view_clear(&c->out[at], status);
	if (c->failed++ == 0 || at < c->first_at) {
		c->first = *lc_last_error();
		c->first_at = at;
	}
}

static bool
is_undecided(const struct compute *c, const struct lc__want *want)
{
	return c->out[want->at].status == UNDECIDED;
}

/* Decide an item from the stored records. A damaged record counts as missing. */
static void
look_up(struct compute *c, size_t at)
{
	const lc_status status = lc_get(c->cache, c->keys[at].data, c->keys[at].size,
	    &c->out[at]);

	if (status == LC_CORRUPT)
		lc__cache_log(c->cache, "get or compute: it is computed again: %s",
		    lc_last_error()->text);
	if (status == LC_CORRUPT || status == LC_NOT_FOUND)
		lc__view_clear(&c->out[at], UNDECIDED);
	else if (status != LC_OK)
		fail_item(c, at, status);
}

/* Decide an item from a record in memory. */
static void
show(struct compute *c, size_t at, struct lc__block *block, struct lc__known *known)
{
	const lc_status status = lc__view_block(c->cache, block, known, &c->out[at]);

	if (status != LC_OK)
		fail_item(c, at, status);
}

static void
show_outcome(struct compute *c, size_t at, const struct lc__inflight_outcome *outcome)
{
	if (outcome->block != NULL)
		show(c, at, outcome->block, (struct lc__known *)outcome->note);
}

/* Handle an item that the batch did not find. The batch keeps only the error of its first
 * failure. */
static void
sort_out(struct compute *c, size_t at, const lc_error *batch)
{
	const lc_id *id = &c->keys[at];
	const lc_status status = c->out[at].status;

	if (status == LC_NOT_FOUND) {
		lc__view_clear(&c->out[at], UNDECIDED);
	} else if (status == LC_CORRUPT) {
		look_up(c, at);
	} else if (lc__check_id("get", id->data, id->size) != LC_OK) {
		fail_item(c, at, status);
	} else if (batch->status == status) {
		fail_item(c, at, lc__error_raise(batch));
	} else {
		fail_item(c, at, lc__error(status, 0, "%s", lc_status_name(status)));
	}
}

/* ---- wants ----------------------------------------------------------------- */

static lc_status
list_wants(struct compute *c, size_t n)
{
	const uint64_t seed = lc__env_seed(c->cache->env);
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += c->out[i].status == UNDECIDED;
	if (count == 0)
		return LC_OK;
	c->wants = calloc(count, sizeof(*c->wants));
	if (c->wants == NULL)
		return lc__no_memory(NULL);
	for (size_t i = 0; i < n; i++) {
		if (c->out[i].status != UNDECIDED)
			continue;
		c->wants[c->n++] = (struct lc__want){
			.at = i,
			.id = c->keys[i],
			.hash = lc__run_hash(seed, c->keys[i].data, c->keys[i].size),
		};
	}
	return LC_OK;
}

/* ---- computing -------------------------------------------------------------- */

/* Must the function compute this one? Each key is computed once. */
static bool
is_missing(const struct compute *c, size_t i)
{
	return c->wants[i].mine && c->wants[i].first == i &&
	    is_undecided(c, &c->wants[i]);
}

/* Store a result, fill in the item, and pass the result to waiting threads, which get it
 * even if it could not be stored. */
static void
take_result(struct compute *c, struct lc__want *want, const struct result *result)
{
	lc_status status;

	if (result->state == RESULT_FAILED) {
		atomic_fetch_add(&c->cache->compute_failures, 1);
		fail_item(c, want->at,
		    lc__error(result->status, 0, "%s",
			result->why != NULL ? result->why : "out of memory"));
		return;
	}
	atomic_fetch_add(&c->cache->computed, 1);
	status = c->late ? LC_TIMEOUT : lc__put_encoded(c->cache, &result->record);
	c->late = status == LC_TIMEOUT;
	if (status == LC_OK)
		show(c, want->at, result->record.block, result->record.known);
	else
		fail_item(c, want->at, status);
	lc__inflight_set(want,
	    (struct lc__inflight_outcome){ result->record.block, result->record.known });
}

/* Call the function for @p n keys, and take its results. */
static lc_status
call_fn(struct compute *c, size_t n)
{
	size_t *missing = calloc(n, sizeof(*missing));
	lc_results results = {
		.cache = c->cache,
		.keys = c->keys,
		.missing = missing,
		.n = n,
		.items = calloc(n, sizeof(*results.items)),
	};
	char why[80] = "the function set no result";
	size_t j = 0;
	lc_status status;

	if (missing == NULL || results.items == NULL) {
		free(results.items);
		free(missing);
		return lc__no_memory(NULL);
	}
	for (size_t i = 0; i < c->n; i++)
		if (is_missing(c, i))
			missing[j++] = c->wants[i].at;

	status = c->fn(c->ctx, c->keys, missing, n, &results);
	if (status != LC_OK)
		snprintf(why, sizeof(why), "the function returned '%s'",
		    lc_status_name(status));
	for (j = 0; j < n; j++)
		if (results.items[j].state == RESULT_UNSET)
			fail_result(&results.items[j], LC_FAILED, why);

	j = 0;
	for (size_t i = 0; i < c->n && j < n; i++)
		if (is_missing(c, i))
			take_result(c, &c->wants[i], &results.items[j++]);
	for (j = 0; j < n; j++) {
		lc__block_drop(results.items[j].record.block);
		free(results.items[j].why);
	}
	free(results.items);
	free(missing);
	return LC_OK;
}

/* Compute what is missing among this call's own claims. */
static void
compute_mine(struct compute *c)
{
	size_t n = 0;
	lc_status status = LC_OK;

	for (size_t i = 0; i < c->n; i++)
		n += is_missing(c, i);
	if (n == 0)
		return;
	if (c->cache->writes)
		status = lc__check_writable(c->cache, "get or compute");
	if (status == LC_OK)
		status = lc__check_plain(c->cache, "get or compute");
	if (status == LC_OK)
		status = call_fn(c, n);
	if (status == LC_OK)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (is_missing(c, i))
			fail_item(c, c->wants[i].at, status);
}

/* Give a repeated key the result of its first occurrence. */
static void
share(struct compute *c, size_t i)
{
	const size_t first = c->wants[c->wants[i].first].at;
	struct lc__inflight_outcome outcome = { NULL, NULL };
	lc_status status = c->out[first].status;

	if (status == LC_OK)
		status = lc__inflight_wait(c->cache->inflight, &c->call, &c->wants[i],
		    UINT64_MAX, &outcome);
	if (status != LC_OK)
		fail_item(c, c->wants[i].at, status);
	else
		show_outcome(c, c->wants[i].at, &outcome);
}

/* Wait for the result of another thread. If that failed, the item stays undecided. */
static void
await(struct compute *c, size_t i)
{
	struct lc__inflight_outcome outcome;
	lc_status status;

	if (c->deadline == 0)
		c->deadline = lc__clock_deadline(atomic_load(&c->cache->timeout_ms));
	status = lc__inflight_wait(c->cache->inflight, &c->call, &c->wants[i],
	    c->deadline, &outcome);
	if (status != LC_OK) {
		fail_item(c, c->wants[i].at, status);
		return;
	}
	if (c->wants[i].first == i)
		atomic_fetch_add(&c->cache->awaited, 1);
	show_outcome(c, c->wants[i].at, &outcome);
}

/* Claim, compute, publish, wait. Other threads gave up items that are still undecided
 * then. */
static lc_status
run_round(struct compute *c)
{
	struct lc__inflight *inflight = c->cache->inflight;
	size_t left = 0;

	return_if_error(lc__inflight_claim(inflight, &c->call, c->wants, c->n));
	if (lc__inflight_number(inflight) != c->number)
		for (size_t i = 0; i < c->n; i++)
			if (c->wants[i].mine)
				look_up(c, c->wants[i].at);
	compute_mine(c);
	lc__inflight_publish(inflight, c->wants, c->n);
	for (size_t i = 0; i < c->n; i++)
		if (c->wants[i].mine && is_undecided(c, &c->wants[i]))
			share(c, i);
	for (size_t i = 0; i < c->n; i++)
		if (!c->wants[i].mine)
			await(c, i);
	lc__inflight_leave(inflight, c->wants, c->n);
	for (size_t i = 0; i < c->n; i++)
		if (is_undecided(c, &c->wants[i]))
			c->wants[left++] = c->wants[i];
	c->n = left;
	return LC_OK;
}

lc_status
lc_get_or_compute(lc_cache *cache, const lc_id *keys, size_t n, lc_compute_fn fn,
    void *ctx, lc_view *out)
{
	const uint64_t number = lc__inflight_number(cache->inflight);
	struct compute c;
	lc_error batch;
	size_t n_missing = 0;
	lc_status status = lc_get_batch(cache, n, keys, out, NULL, &n_missing);

	if (status == LC_OK && n_missing == 0)
		return LC_OK;

	/* Continue with what the batch did not find. */
	c = (struct compute){
		.cache = cache,
		.keys = keys,
		.fn = fn,
		.ctx = ctx,
		.out = out,
		.number = number,
	};
	if (status != LC_OK)
		batch = *lc_last_error();
	else
		batch.status = LC_OK;
	for (size_t i = 0; i < n; i++)
		if (out[i].status != LC_OK)
			sort_out(&c, i, &batch);
	status = list_wants(&c, n);
	while (status == LC_OK && c.n > 0)
		status = run_round(&c);
	if (status != LC_OK)
		for (size_t i = 0; i < n; i++)
			if (out[i].status == UNDECIDED)
				fail_item(&c, i, status);
	free(c.wants);
	if (c.failed == 0)
		return LC_OK;
	(void)lc__error_raise(&c.first);
	return lc__error_prefix("get or compute: %zu of %zu failed; key %s", c.failed, n,
	    lc__quote_id(keys[c.first_at].data, keys[c.first_at].size));
}
