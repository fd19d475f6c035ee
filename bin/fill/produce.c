/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop that feeds producers and listens to them. */
#include "fill/producing.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

#define MS UINT64_C(1000000)
/* The longest that is waited, and how often idle() is called while there is much to do. */
#define WAIT_MS 100
#define IDLE_NS (50 * MS)
/* Of one round no more than this counts for time-outs: the rest went by while callers
 * stored what there was, or the whole process stood still, and nobody read answers. */
#define ROUND_NS (2 * WAIT_MS * MS)

static int
how_long(const struct lc__producing *run)
{
	uint64_t wait = WAIT_MS;

	for (unsigned i = 0; i < run->how->children; i++)
		wait = lc__producing_wait_for(run, &run->child[i], wait);
	return (int)wait;
}

/* Pipes that are not waited for are -1, which poll passes over. */
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
		p[1] = (struct pollfd){ .fd = runs ? child->process.out : -1,
		    .events = POLLIN };
		p[2] = (struct pollfd){ .fd = runs ? child->process.err : -1,
		    .events = POLLIN };
	}
}

static lc_status
wait_for_some(struct lc__producing *run)
{
	uint64_t now, passed;

	fill_poll(run);
	run->interrupted = false;
	if (poll(run->poll, 3 * (nfds_t)run->how->children, how_long(run)) == -1) {
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
	return run->work->idle != NULL ? run->work->idle(run->work->ctx) : LC_OK;
}

/* Nothing to be done or waited for. */
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
run_all(struct lc__producing *run)
{
	run->turned_ns = run->idled_ns = lc__clock_ns();
	for (;;) {
		return_if_error(lc__producing_feed(run));
		if (is_finished(run))
			return LC_OK;
		return_if_error(turn(run));
	}
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

static void
clean_up(struct lc__producing *run)
{
	for (unsigned i = 0; run->child != NULL && i < run->how->children; i++)
		lc__child_free(&run->child[i]);
	lc__portions_free(&run->retry.queue);
	lc__producing_drop(run);
	lc__answer_free(&run->answer);
	free(run->child);
	free(run->poll);
}

lc_status
lc__produce(const struct lc__producers *how, const struct lc__work *work,
    struct lc__produced *out)
{
	struct lc__producing run = {
		.how = how, .work = work, .count = out,
		.retry = { .how = how, .count = out }
	};
	lc_status status;

	memset(out, 0, sizeof(*out));
	if (how->children == 0)
		return lc__error(LC_INVALID, 0, "no producers are to be run");
	status = prepare(&run);
	if (status == LC_OK)
		status = run_all(&run);
	clean_up(&run);
	return status;
}
