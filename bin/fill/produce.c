/* SPDX-License-Identifier: BSD-2-Clause */
/* Producers at work: the requests to them. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "fill/producing.h"

#define MS UINT64_C(1000000)
/* The longest wait, and how often idle() is called while there is much to do. */
#define WAIT_MS 100
#define IDLE_NS (50 * MS)
/* At most this much of one round counts for time-outs: the rest passed while callers
 * stored results, or the whole process was stopped, and no answers were read. */
#define ROUND_NS (2 * WAIT_MS * MS)

/* Pipes that are not waited for are -1, which poll ignores. */
static void
fill_poll(struct lc__producing *run)
{
	for (unsigned i = 0; i < run->how->children; i++) {
		const struct lc__child *child = &run->child[i];
		const bool sends = !child->broken && child->sent < child->requests.size;
		struct pollfd *p = &run->poll[3 * i];
		const int in = sends ? child->process.in : -1;
		const bool runs = lc__child_runs(child);
		p[0] = (struct pollfd){ .fd = runs ? in : -1, .events = POLLOUT };
		p[1] = (struct pollfd){
			.fd = runs ? child->process.out : -1,
			.events = POLLIN,
		};
		p[2] = (struct pollfd){
			.fd = runs ? child->process.err : -1,
			.events = POLLIN,
		};
	}
}

static lc_status
wait_for_some(struct lc__producing *run)
{
	uint64_t now, passed, wait = WAIT_MS;

	fill_poll(run);
	for (unsigned i = 0; i < run->how->children; i++)
		wait = lc__producing_wait_for(run, &run->child[i], wait);
	run->interrupted = false;
	if (poll(run->poll, 3 * (nfds_t)run->how->children, (int)wait) == -1) {
		if (errno != EINTR)
			return lc__error_sys(errno, "cannot wait for producers");
		run->interrupted = true;
		for (unsigned i = 0; i < 3 * run->how->children; i++)
			run->poll[i].revents = 0;
	}
	now = lc__clock_ns();
	passed = now - run->turned_ns;
	run->turned_ns = now;
	run->clock_ns += passed < ROUND_NS ? passed : ROUND_NS;
	return LC_OK;
}

static lc_status
serve(struct lc__producing *run, unsigned i, bool tick)
{
	struct lc__child *child = &run->child[i];
	const struct pollfd *poll = &run->poll[3 * i];

	if (!lc__child_runs(child))
		return LC_OK;
	if (poll[2].revents != 0)
		lc__child_listen(child);
	if (poll[0].revents != 0)
		lc__child_send(child);
	return_if_error(lc__child_check(child));
	if (poll[1].revents != 0)
		return_if_error(lc__producing_read(run, child, false));
	return lc__child_runs(child) ? lc__producing_look_after(run, child, tick) : LC_OK;
}

static void
count_producers(struct lc__producing *run)
{
	run->count->running = run->count->busy = 0;
	for (unsigned i = 0; i < run->how->children; i++) {
		if (!lc__child_runs(&run->child[i]))
			continue;
		run->count->running++;
		run->count->busy += run->child[i].work.count > 0;
	}
}

static lc_status
turn(struct lc__producing *run)
{
	bool tick;

	return_if_error(wait_for_some(run));
	tick = run->interrupted || run->turned_ns - run->idled_ns >= IDLE_NS;
	for (unsigned i = 0; i < run->how->children; i++)
		return_if_error(serve(run, i, tick));
	if (!tick)
		return LC_OK;
	run->idled_ns = run->turned_ns;
	run->busy = false;
	count_producers(run);
	return run->work->idle != NULL ? run->work->idle(run->work->ctx) : LC_OK;
}

/* Nothing to do or wait for. */
static bool
is_finished(struct lc__producing *run)
{
	bool finished = true;

	if (!run->over || run->batches != NULL)
		return false;
	for (unsigned i = 0; i < run->how->children; i++) {
		if (!lc__child_runs(&run->child[i]))
			continue;
		finished = false;
		if (!run->child[i].retiring)
			lc__child_retire(&run->child[i]);
	}
	return finished;
}

static lc_status
prepare(struct lc__producing *run)
{
	const unsigned n = run->how->children;

	run->child = calloc(n, sizeof(*run->child));
	run->poll = calloc(n, 3 * sizeof(*run->poll));
	if (run->child == NULL || run->poll == NULL)
		return lc__no_memory(NULL);
	for (unsigned i = 0; i < n; i++) {
		run->child[i].how = run->how;
		run->child[i].number = i;
		run->child[i].count = run->count;
	}
	return LC_OK;
}

lc_status
lc__produce(const struct lc__producers *how, const struct lc__work *work,
    struct lc__produced *out)
{
	struct lc__producing run = {
		.how = how,
		.work = work,
		.count = out,
		.retry = { .how = how, .count = out },
	};
	lc_status status;

	memset(out, 0, sizeof(*out));
	if (how->children == 0)
		return lc__error(LC_INVALID, 0, "the number of producers is 0");
	status = prepare(&run);
	run.turned_ns = run.idled_ns = lc__clock_ns();
	if (status == LC_OK)
		status = lc__producing_feed(&run);
	while (status == LC_OK && !is_finished(&run)) {
		status = turn(&run);
		if (status == LC_OK)
			status = lc__producing_feed(&run);
	}

	for (unsigned i = 0; run.child != NULL && i < how->children; i++)
		lc__child_free(&run.child[i]);
	out->running = out->busy = 0;
	lc__subbatches_free(&run.retry.queue);
	lc__producing_drop(&run);
	lc__answer_free(&run.answer);
	free(run.child);
	free(run.poll);
	return status;
}

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
	struct lc__subbatch *subbatch;
	const lc_status status = run->work->next(run->work->ctx, &batch);

	run->over = status == LC_END;
	run->busy = status == LC_BUSY;
	if (run->over || run->busy)
		return LC_OK;
	return_if_error(status);
	add_batch(run, batch);
	subbatch = lc__subbatch_of(batch);
	if (subbatch == NULL)
		return lc__no_memory(NULL);
	batch->open = subbatch->count;
	if (batch->open > 0) {
		lc__subbatches_append(&run->retry.queue, subbatch);
		return LC_OK;
	}
	lc__subbatch_free(subbatch);
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

/* ---- handing out ----------------------------------------------------------------- */

/* The least loaded one that accepts work; NULL for none. */
static struct lc__child *
find_child(struct lc__producing *run)
{
	struct lc__child *best = NULL;

	for (unsigned i = 0; i < run->how->children; i++) {
		struct lc__child *child = &run->child[i];
		if (!lc__child_runs(child) || child->retiring || child->broken ||
		    child->process.out == -1)
			continue;
		if (best == NULL || child->work.count < best->work.count)
			best = child;
	}
	return best;
}

/* Which producer could take a subbatch now: an idle one, a new one, one with room; or
 * NULL. */
static struct lc__child *
choose(struct lc__producing *run, bool fresh)
{
	struct lc__child *child = find_child(run), *place = NULL;

	if (!fresh && child != NULL && child->work.count == 0)
		return child;
	for (unsigned i = 0; i < run->how->children && place == NULL; i++)
		if (!lc__child_runs(&run->child[i]))
			place = &run->child[i];
	if (fresh || place != NULL)
		return place;
	return child != NULL && child->work.count <= run->how->ahead ? child : NULL;
}

/* A new producer is needed and there is no slot: one must end. */
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
give(struct lc__producing *run, struct lc__child *child, struct lc__subbatch *subbatch)
{
	struct lc__items *batch = subbatch->batch;
	lc_status status = LC_OK;
	lc_error why;

	if (!lc__child_runs(child)) {
		status = lc__child_start(child);
		run->count->started += status == LC_OK;
	}
	if (status == LC_OK)
		status = lc__child_ask(child, subbatch, ++run->requests);
	if (status == LC_OK) {
		if (child->work.count == 1)
			child->since_ns = run->clock_ns;
		lc__child_send(child);
		return LC_OK;
	}
	if (status != LC_UNSUPPORTED) {
		lc__subbatches_prepend(&run->retry.queue, subbatch);
		return status;
	}
	why = *lc_last_error();
	return_if_error(lc__retry_too_large(&run->retry, subbatch, why.text));
	return lc__producing_settle(run, batch);
}

/* Subbatches that were handed out before go first. */
static lc_status
feed_queue(struct lc__producing *run)
{
	struct lc__subbatches waiting = run->retry.queue;
	struct lc__subbatch *subbatch;
	lc_status status = LC_OK;

	memset(&run->retry.queue, 0, sizeof(run->retry.queue));
	while ((subbatch = lc__subbatches_take(&waiting)) != NULL) {
		struct lc__child *child = status == LC_OK ? choose(run, subbatch->fresh)
							  : NULL;
		if (child != NULL) {
			status = give(run, child, subbatch);
			continue;
		}
		if (subbatch->fresh)
			make_place(run);
		lc__subbatches_append(&run->retry.queue, subbatch);
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
