/* SPDX-License-Identifier: BSD-2-Clause */
/* Work: taken from who has it, given to producers, given back. */
#include "fill/producing.h"

#include <string.h>

#include "base/error.h"

/* ---- batches ------------------------------------------------------------------------ */

static void
add_batch(struct lc__producing *run, struct lc__items *batch)
{
	batch->before = NULL;
	batch->behind = run->batches;
	if (run->batches != NULL)
		run->batches->before = batch;
	run->batches = batch;
}

static void
remove_batch(struct lc__producing *run, struct lc__items *batch)
{
	if (batch->before != NULL)
		batch->before->behind = batch->behind;
	else
		run->batches = batch->behind;
	if (batch->behind != NULL)
		batch->behind->before = batch->before;
	batch->before = batch->behind = NULL;
}

lc_status
lc__producing_settle(struct lc__producing *run, struct lc__items *batch)
{
	if (batch->open > 0)
		return LC_OK;
	remove_batch(run, batch);
	run->count->batches++;
	run->busy = false;
	return run->work->done(run->work->ctx, batch);
}

/* Queue the next batch, if there is one. */
static lc_status
take_batch(struct lc__producing *run)
{
	struct lc__items *batch = NULL;
	struct lc__portion *portion;
	const lc_status status = run->work->next(run->work->ctx, &batch);

	run->over = status == LC_END;
	run->busy = status == LC_BUSY;
	if (run->over || run->busy)
		return LC_OK;
	return_if_error(status);
	add_batch(run, batch);
	portion = lc__portion_of(batch);
	if (portion == NULL)
		return lc__no_memory(NULL);
	batch->open = portion->count;
	if (batch->open > 0) {
		lc__portions_append(&run->retry.queue, portion);
		return LC_OK;
	}
	lc__portion_free(portion);
	return lc__producing_settle(run, batch);
}

void
lc__producing_drop(struct lc__producing *run)
{
	while (run->batches != NULL) {
		struct lc__items *batch = run->batches;
		remove_batch(run, batch);
		lc__items_free(batch);
	}
}

/* ---- giving ------------------------------------------------------------------------- */

/* The one with the least to do among those that take more; NULL for none. */
static struct lc__child *
find_child(struct lc__producing *run)
{
	struct lc__child *best = NULL;

	for (unsigned i = 0; i < run->how->children; i++) {
		struct lc__child *child = &run->child[i];
		if (!lc__child_runs(child) || child->retiring ||
		    child->broken || child->process.out == -1)
			continue;
		if (best == NULL || child->work.count < best->work.count)
			best = child;
	}
	return best;
}

static struct lc__child *
find_place(struct lc__producing *run)
{
	for (unsigned i = 0; i < run->how->children; i++)
		if (!lc__child_runs(&run->child[i]))
			return &run->child[i];
	return NULL;
}

/* Who could have a portion now: one that waits, a new one, one with room; or NULL. */
static struct lc__child *
choose(struct lc__producing *run, bool fresh)
{
	struct lc__child *child = find_child(run), *place;

	if (!fresh && child != NULL && child->work.count == 0)
		return child;
	place = find_place(run);
	if (fresh || place != NULL)
		return place;
	return child != NULL && child->work.count <= run->how->ahead ? child : NULL;
}

/* A new producer is wanted and there is no place: one has to go. */
static void
make_place(struct lc__producing *run)
{
	struct lc__child *child = find_child(run);

	for (unsigned i = 0; i < run->how->children; i++)
		if (run->child[i].retiring || run->child[i].process.out == -1)
			return;
	if (child != NULL)
		lc__child_retire(child);
}

static lc_status
start(struct lc__producing *run, struct lc__child *child)
{
	return_if_error(lc__child_start(child));
	run->count->started++;
	return LC_OK;
}

static lc_status
give(struct lc__producing *run, struct lc__child *child, struct lc__portion *portion)
{
	struct lc__items *batch = portion->batch;
	lc_status status;
	lc_error why;

	status = lc__child_runs(child) ? LC_OK : start(run, child);
	if (status == LC_OK)
		status = lc__child_ask(child, portion, ++run->requests);
	if (status == LC_OK) {
		if (child->work.count == 1)
			child->since_ns = run->clock_ns;
		lc__child_send(child);
		return LC_OK;
	}
	if (status != LC_UNSUPPORTED) {
		lc__portions_prepend(&run->retry.queue, portion);
		return status;
	}
	why = *lc_last_error();
	return_if_error(lc__retry_too_large(&run->retry, portion, why.text));
	return lc__producing_settle(run, batch);
}

/* What was given out before goes first. */
static lc_status
feed_queue(struct lc__producing *run)
{
	struct lc__portions waiting = run->retry.queue;
	struct lc__portion *portion;
	lc_status status = LC_OK;

	memset(&run->retry.queue, 0, sizeof(run->retry.queue));
	while ((portion = lc__portions_take(&waiting)) != NULL) {
		struct lc__child *child = status == LC_OK ?
		    choose(run, portion->fresh) : NULL;
		if (child != NULL) {
			status = give(run, child, portion);
			continue;
		}
		if (portion->fresh)
			make_place(run);
		lc__portions_append(&run->retry.queue, portion);
	}
	return status;
}

lc_status
lc__producing_feed(struct lc__producing *run)
{
	if (run->batches == NULL)
		run->busy = false;
	for (;;) {
		return_if_error(feed_queue(run));
		if (run->over || run->busy || choose(run, false) == NULL)
			return LC_OK;
		return_if_error(take_batch(run));
	}
}
