/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/produce.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/error.h"
#include "fill/answer.h"
#include "fill/child.h"
#include "fill/retry.h"

#define MS UINT64_C(1000000)
/* The longest that is waited, and how often idle() is called while there is much to do. */
#define WAIT_MS 100
#define IDLE_NS (50 * MS)
/* Of one round no more than this counts for time-outs: the rest went by while callers
 * stored what there was, or the whole process stood still, and nobody read answers. */
#define ROUND_NS (2 * WAIT_MS * MS)
/* How soon the end of a producer is seen that has closed its pipes, or that we have. */
#define END_WAIT_MS 2
/* How long it may take for that. */
#define END_MS 5000

struct run {
	const struct lc__producers *how;
	const struct lc__work *work;
	struct lc__produced *count;
	struct lc__child *child;    /* how->children of them */
	struct pollfd *poll;        /* three of each: in, out, err */
	struct lc__batch *batches;  /* those that have not been taken back */
	struct lc__retry retry;
	struct lc__answer answer;   /* memory for reading */
	uint64_t requests;          /* the number of the last one */
	bool over;                  /* there is no more work to come */
	bool busy;                  /* none until a batch has been taken back */
	bool answered;              /* some producer has answered something */
	bool interrupted;           /* by a signal */
	uint64_t clock_ns;          /* what counts for time-outs */
	uint64_t turned_ns, idled_ns; /* when the clock was moved, idle() called */
};

/* ---- batches ------------------------------------------------------------------------ */

static void
add_batch(struct run *run, struct lc__batch *batch)
{
	batch->before = NULL;
	batch->behind = run->batches;
	if (run->batches != NULL)
		run->batches->before = batch;
	run->batches = batch;
}

static void
remove_batch(struct run *run, struct lc__batch *batch)
{
	if (batch->before != NULL)
		batch->before->behind = batch->behind;
	else
		run->batches = batch->behind;
	if (batch->behind != NULL)
		batch->behind->before = batch->before;
	batch->before = batch->behind = NULL;
}

/* Give a batch back if all of its items have an outcome. */
static lc_status
settle(struct run *run, struct lc__batch *batch)
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
take_batch(struct run *run)
{
	struct lc__batch *batch = NULL;
	struct lc__portion *portion;
	const lc_status status = run->work->next(run->work->ctx, &batch);

	run->over = status == LC_NOT_FOUND;
	run->busy = status == LC_BUSY;
	if (run->over || run->busy)
		return LC_OK;
	return_if_error(status);
	add_batch(run, batch);
	portion = lc__portion_of(batch);
	if (portion == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	batch->open = portion->count;
	if (batch->open > 0) {
		lc__portions_append(&run->retry.queue, portion);
		return LC_OK;
	}
	lc__portion_free(portion);
	return settle(run, batch);
}

/* ---- giving work to producers -------------------------------------------------------- */

/* The one with the least to do among those that take more; NULL for none. */
static struct lc__child *
find_child(struct run *run)
{
	struct lc__child *best = NULL;

	for (unsigned i = 0; i < run->how->children; i++) {
		struct lc__child *child = &run->child[i];
		if (!lc__child_runs(child) || child->retiring ||
		    child->process.in == -1 || child->process.out == -1)
			continue;
		if (best == NULL || child->work.count < best->work.count)
			best = child;
	}
	return best;
}

static struct lc__child *
find_place(struct run *run)
{
	for (unsigned i = 0; i < run->how->children; i++)
		if (!lc__child_runs(&run->child[i]))
			return &run->child[i];
	return NULL;
}

/* Who could have a portion now: one that waits, a new one, one with room; or NULL. */
static struct lc__child *
choose(struct run *run, bool fresh)
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
make_place(struct run *run)
{
	struct lc__child *child = find_child(run);

	for (unsigned i = 0; i < run->how->children; i++)
		if (run->child[i].retiring || run->child[i].process.out == -1)
			return;
	if (child != NULL)
		lc__child_retire(child);
}

static lc_status
start(struct run *run, struct lc__child *child)
{
	return_if_error(lc__child_start(child));
	run->count->started++;
	return LC_OK;
}

static lc_status
give(struct run *run, struct lc__child *child, struct lc__portion *portion)
{
	struct lc__batch *batch = portion->batch;
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
	return settle(run, batch);
}

/* What was given out before goes first. */
static lc_status
feed_queue(struct run *run)
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

static lc_status
feed(struct run *run)
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

/* ---- losing producers ----------------------------------------------------------------- */

/* A shell that finds no command, before anything has ever worked: nothing will. */
static bool
is_no_command(const struct run *run, const struct lc__child *child)
{
	return !run->answered && child->status != -1 && WIFEXITED(child->status) &&
	    (WEXITSTATUS(child->status) == 126 || WEXITSTATUS(child->status) == 127);
}

/* It has been stopped; its oldest request is to blame. */
static lc_status
lose(struct run *run, struct lc__child *child, const char *what)
{
	struct lc__portion *portion = lc__portions_take(&child->work);
	struct lc__batch *batch;
	lc_status status;
	lc_error why;

	lc__retry_untouched(&run->retry, &child->work);
	lc__child_next_frame(child);
	if (portion == NULL) {
		lc__child_tell(child, what);
		return LC_OK;
	}
	batch = portion->batch;
	lc__child_error(child, what);
	why = *lc_last_error();
	status = lc__batch_stderr(batch, child->messages.last, child->messages.last_size);
	if (status != LC_OK) {
		lc__portions_append(&run->retry.queue, portion);
		return status;
	}
	return_if_error(lc__retry_lost(&run->retry, portion, why.text));
	return_if_error(settle(run, batch));
	return lc__retry_check(&run->retry);
}

static lc_status
lose_garbage(struct run *run, struct lc__child *child, const char *what)
{
	char text[sizeof(((lc_error *)0)->text) + 20];

	snprintf(text, sizeof(text), "answered garbage: %s", what);
	lc__child_stop(child);
	run->count->garbage++;
	return lose(run, child, text);
}

/* What was meant for people often begins like this: say so. */
static lc_status
lose_too_long(struct run *run, struct lc__child *child)
{
	char text[400];

	snprintf(text, sizeof(text), "its length is %u bytes, of %llu at most; its first "
	    "bytes are %s", child->frame_size, (unsigned long long)run->how->frame_max,
	    lc__quote_id(child->head, sizeof(child->head)));
	return lose_garbage(run, child, text);
}

/* It has ended or closed its pipes while it had work. */
static lc_status
lose_ended(struct run *run, struct lc__child *child)
{
	char text[200];

	lc__child_describe_end(child, text, sizeof(text));
	if (child->head_size > 0)
		strcat(text, " in the middle of an answer");
	run->count->died++;
	if (!is_no_command(run, child))
		return lose(run, child, text);
	return lc__child_error(child, text);
}

/* ---- answers ---------------------------------------------------------------------------- */

/* Items that were left out go to another producer; this one gets no more. */
static lc_status
pass_on(struct run *run, struct lc__child *child, struct lc__portion *portion)
{
	char what[100];
	lc_error why;
	const size_t asked = portion->count;

	lc__portion_prune(portion);
	snprintf(what, sizeof(what), "left out %zu of %zu items", portion->count, asked);
	lc__child_error(child, what);
	why = *lc_last_error();
	lc__child_retire(child);
	return lc__retry_left_out(&run->retry, portion, why.text);
}

/* Why the last of the items failed. */
static const char *
last_why(const struct lc__portion *portion)
{
	for (size_t i = portion->count; i > 0; i--)
		if (lc__portion_item(portion, i - 1)->why != NULL)
			return lc__portion_item(portion, i - 1)->why;
	return "";
}

/* What the batch needs of an answer, and of what the producer told people meanwhile. */
static lc_status
keep_answer(struct lc__child *child, struct lc__batch *batch,
    const struct lc__answered *got)
{
	if (got->done > 0)
		return_if_error(lc__batch_keep(batch, &child->frame));
	lc__child_next_frame(child);
	if (got->failed == 0)
		return LC_OK;
	lc__child_listen(child);
	return lc__batch_stderr(batch, child->messages.last, child->messages.last_size);
}

/* The oldest request was answered; its portion is the caller's. */
static lc_status
take_answer(struct run *run, struct lc__child *child, struct lc__portion *portion)
{
	struct lc__batch *batch = portion->batch;
	struct lc__answered got;
	lc_status status;

	status = lc__answer_take(&run->answer, portion, run->work->check, run->work->ctx,
	    &got);
	if (status == LC_OK)
		status = keep_answer(child, batch, &got);
	if (status != LC_OK) {
		lc__portion_free(portion);
		return status;
	}
	batch->open -= got.done + got.failed;
	if (got.done > 0)
		lc__retry_worked(&run->retry);
	else if (got.lacking == 0)
		lc__retry_in_vain(&run->retry, last_why(portion));
	if (got.lacking > 0)
		return_if_error(pass_on(run, child, portion));
	else
		lc__portion_free(portion);
	return_if_error(settle(run, batch));
	return lc__retry_check(&run->retry);
}

static lc_status
take_frame(struct run *run, struct lc__child *child)
{
	struct lc__portion *portion = child->work.first;
	lc_status status;
	lc_error what;

	if (portion == NULL)
		return lose_garbage(run, child, "nothing was asked");
	status = lc__answer_read(&run->answer, portion, child->frame.data,
	    child->frame.size);
	if (status == LC_INVALID) {
		what = *lc_last_error();
		return lose_garbage(run, child, what.text);
	}
	return_if_error(status);
	run->answered = child->answered = true;
	child->since_ns = run->clock_ns;
	return take_answer(run, child, lc__portions_take(&child->work));
}

/* Read answers, one or all that there are. */
static lc_status
read_answers(struct run *run, struct lc__child *child, bool all)
{
	do {
		switch (lc__child_receive(child)) {
		case LC__FRAME:
			return_if_error(take_frame(run, child));
			break;
		case LC__TOO_LONG:
			return lose_too_long(run, child);
		case LC__NO_ROOM:
			return lc__error(LC_NO_MEMORY, 0, "out of memory");
		case LC__END:
		case LC__NOTHING:
			return LC_OK;
		}
	} while (all && lc__child_runs(child));
	return LC_OK;
}

/* ---- the end of producers ----------------------------------------------------------------- */

/* It has ended by itself: what it wrote before counts. */
static lc_status
bury(struct run *run, struct lc__child *child)
{
	char text[200];

	return_if_error(read_answers(run, child, true));
	if (!lc__child_runs(child))
		return LC_OK;
	lc__child_stop(child);
	if (child->work.count > 0)
		return lose_ended(run, child);
	if (child->status != 0) {
		lc__child_describe_end(child, text, sizeof(text));
		lc__child_tell(child, text);
	}
	return LC_OK;
}

/* It should have ended by itself and has not. */
static lc_status
put_down(struct run *run, struct lc__child *child)
{
	const char *what = child->retiring && child->work.count == 0 ?
	    "did not end when it had nothing more to do, and was killed" :
	    child->process.out == -1 ? "closed its standard output" :
	    "closed its standard input";

	lc__child_stop(child);
	run->count->died += child->work.count > 0;
	return lose(run, child, what);
}

static lc_status
time_out(struct run *run, struct lc__child *child, uint64_t limit_ms)
{
	char text[100];

	snprintf(text, sizeof(text), "gave no answer for %llu ms",
	    (unsigned long long)limit_ms);
	lc__child_stop(child);
	run->count->timed_out++;
	return lose(run, child, text);
}

static uint64_t
limit_of(const struct run *run, const struct lc__child *child)
{
	return child->answered ? run->how->timeout_ms : run->how->start_timeout_ms;
}

static uint64_t
end_limit(const struct run *run)
{
	return run->how->end_timeout_ms > 0 ? run->how->end_timeout_ms : END_MS;
}

/* Its end is near: there is nothing more to come from it. */
static bool
is_leaving(const struct lc__child *child)
{
	return child->process.out == -1 ||
	    (child->process.in == -1 && child->sent < child->requests.size) ||
	    (child->retiring && child->work.count == 0);
}

/* ms that are left of a limit. */
static uint64_t
left_of(const struct run *run, uint64_t since_ns, uint64_t limit_ms)
{
	const uint64_t passed = (run->clock_ns - since_ns) / MS;

	return passed < limit_ms ? limit_ms - passed : 0;
}

static lc_status
look_after(struct run *run, struct lc__child *child, bool tick)
{
	const uint64_t limit = limit_of(run, child);

	if (is_leaving(child) && !child->leaving) {
		child->leaving = true;
		child->left_ns = run->clock_ns;
	}
	if ((tick || child->leaving) && lc__child_ended(child))
		return bury(run, child);
	if (child->leaving)
		return left_of(run, child->left_ns, end_limit(run)) > 0 ? LC_OK :
		    put_down(run, child);
	if (child->work.count > 0 && limit > 0 &&
	    left_of(run, child->since_ns, limit) == 0)
		return time_out(run, child, limit);
	return LC_OK;
}

/* ---- one round ------------------------------------------------------------------------------ */

static int
how_long(const struct run *run)
{
	uint64_t wait = WAIT_MS;

	for (unsigned i = 0; i < run->how->children; i++) {
		const struct lc__child *child = &run->child[i];
		const uint64_t limit = limit_of(run, child);
		uint64_t left = WAIT_MS;
		if (lc__child_runs(child) && is_leaving(child))
			left = END_WAIT_MS;
		else if (child->work.count > 0 && limit > 0)
			left = left_of(run, child->since_ns, limit);
		if (left < wait)
			wait = left;
	}
	return (int)wait;
}

/* Pipes that are not waited for are -1, which poll passes over. */
static void
fill_poll(struct run *run)
{
	for (unsigned i = 0; i < run->how->children; i++) {
		const struct lc__child *child = &run->child[i];
		const bool sends = child->sent < child->requests.size;
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
wait_for_some(struct run *run)
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
serve(struct run *run, unsigned i, bool tick)
{
	struct lc__child *child = &run->child[i];
	const struct pollfd *poll = &run->poll[3 * i];

	if (!lc__child_runs(child))
		return LC_OK;
	if (poll[2].revents != 0)
		lc__child_listen(child);
	if (poll[0].revents != 0)
		lc__child_send(child);
	if (poll[1].revents != 0)
		return_if_error(read_answers(run, child, false));
	return lc__child_runs(child) ? look_after(run, child, tick) : LC_OK;
}

static lc_status
turn(struct run *run)
{
	bool tick;

	return_if_error(wait_for_some(run));
	tick = run->interrupted || run->turned_ns - run->idled_ns >= IDLE_NS;
	for (unsigned i = 0; i < run->how->children; i++)
		return_if_error(serve(run, i, tick));
	if (!tick)
		return LC_OK;
	run->idled_ns = run->turned_ns;
	return run->work->idle != NULL ? run->work->idle(run->work->ctx) : LC_OK;
}

/* Nothing to be done or waited for. */
static bool
is_finished(struct run *run)
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
run_all(struct run *run)
{
	run->turned_ns = run->idled_ns = lc__clock_ns();
	for (;;) {
		return_if_error(feed(run));
		if (is_finished(run))
			return LC_OK;
		return_if_error(turn(run));
	}
}

static lc_status
prepare(struct run *run)
{
	const unsigned n = run->how->children;

	run->child = calloc(n, sizeof(*run->child));
	run->poll = calloc(n, 3 * sizeof(*run->poll));
	if (run->child == NULL || run->poll == NULL)
		return lc__error(LC_NO_MEMORY, 0, "out of memory");
	for (unsigned i = 0; i < n; i++) {
		run->child[i].how = run->how;
		run->child[i].number = i;
		run->child[i].count = run->count;
	}
	return LC_OK;
}

static void
clean_up(struct run *run)
{
	for (unsigned i = 0; run->child != NULL && i < run->how->children; i++)
		lc__child_free(&run->child[i]);
	lc__portions_free(&run->retry.queue);
	while (run->batches != NULL) {
		struct lc__batch *batch = run->batches;
		remove_batch(run, batch);
		lc__batch_free(batch);
	}
	lc__answer_free(&run->answer);
	free(run->child);
	free(run->poll);
}

lc_status
lc__produce(const struct lc__producers *how, const struct lc__work *work,
    struct lc__produced *out)
{
	struct run run = {
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
