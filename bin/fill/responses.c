/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of producers, work that is handed out again, and the end of producers. */
#include "fill/producing.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "fill/items.h"
#include "fill/produce.h"

/* ---- retrying batches ------------------------------------------------------------ */

/* A request was answered, but without a usable value. */
static void
retry_in_vain(struct lc__retry *retry, const char *why)
{
	retry->in_vain++;
	snprintf(retry->last, sizeof(retry->last), "%.*s", (int)sizeof(retry->last) - 1,
	    why);
}

/* They were queued before those that wait now. */
static void
retry_untouched(struct lc__retry *retry, struct lc__subbatches *work)
{
	struct lc__subbatches line = { NULL, NULL, 0 };
	struct lc__subbatch *subbatch;

	while ((subbatch = lc__subbatches_take(work)) != NULL) {
		subbatch->fresh = false;
		lc__subbatches_append(&line, subbatch);
		retry->count->retried++;
	}
	while ((subbatch = lc__subbatches_take(&retry->queue)) != NULL)
		lc__subbatches_append(&line, subbatch);
	retry->queue = line;
}

/* This first: no other work may take the slot of the producer that was lost. */
static lc_status
give_again(struct lc__retry *retry, struct lc__subbatch *subbatch)
{
	subbatch->fresh = true;
	lc__subbatches_prepend(&retry->queue, subbatch);
	retry->count->retried++;
	return LC_OK;
}

static lc_status
give_halves(struct lc__retry *retry, struct lc__subbatch *subbatch)
{
	struct lc__subbatch *half = lc__subbatch_halve(subbatch);

	subbatch->fresh = false;
	lc__subbatches_append(&retry->queue, subbatch);
	if (half == NULL)
		return lc__no_memory(NULL);
	lc__subbatches_append(&retry->queue, half);
	retry->count->retried += 2;
	return LC_OK;
}

static lc_status
fail_items(struct lc__subbatch *subbatch, const char *why)
{
	lc_status status = LC_OK;

	for (size_t i = 0; status == LC_OK && i < subbatch->count; i++) {
		status = lc__item_fail(lc__subbatch_item(subbatch, i), why, SIZE_MAX);
		if (status == LC_OK)
			subbatch->batch->open--;
	}
	lc__subbatch_free(subbatch);
	return status;
}

/*
 * A producer was lost because of a subbatch. It is handed out again, as one or in halves,
 * or its items have failed; @p subbatch is freed then.
 */
static lc_status
retry_lost(struct lc__retry *retry, struct lc__subbatch *subbatch, const char *why)
{
	if (subbatch->failures++ < retry->how->retries)
		return give_again(retry, subbatch);
	/* One bad item makes one half fail again and again, but never both. */
	if (!subbatch->half || subbatch->twin_failed)
		retry_in_vain(retry, why);
	lc__subbatch_tell_twin(subbatch, true);
	if (retry->how->isolate && subbatch->count > 1)
		return give_halves(retry, subbatch);
	return fail_items(subbatch, why);
}

lc_status
lc__retry_too_large(struct lc__retry *retry, struct lc__subbatch *subbatch,
    const char *why)
{
	if (subbatch->count > 1)
		return give_halves(retry, subbatch);
	return fail_items(subbatch, why);
}

/* LC_FAILED, with the last reason, if continuing is useless. */
static lc_status
retry_check(const struct lc__retry *retry)
{
	if (retry->how->give_up == 0 || retry->in_vain < retry->how->give_up)
		return LC_OK;
	return lc__error(LC_FAILED, 0,
	    "%u batches in a row gave no value, the last one because: %s", retry->in_vain,
	    retry->last);
}

/* ---- losing producers ----------------------------------------------------------------- */

lc_status
lc__producing_lose(struct lc__producing *run, struct lc__child *child, const char *what)
{
	struct lc__subbatch *subbatch = lc__subbatches_take(&child->work);
	struct lc__items *batch;
	lc_status status;
	lc_error why;

	retry_untouched(&run->retry, &child->work);
	lc__child_next_frame(child);
	if (subbatch == NULL) {
		lc__child_tell(child, what);
		return LC_OK;
	}
	batch = subbatch->batch;
	lc__child_error(child, what);
	why = *lc_last_error();
	status = lc__items_stderr(batch, child->messages.last, child->messages.last_size);
	if (status != LC_OK) {
		lc__subbatches_append(&run->retry.queue, subbatch);
		return status;
	}
	return_if_error(retry_lost(&run->retry, subbatch, why.text));
	return_if_error(lc__producing_settle(run, batch));
	return retry_check(&run->retry);
}

static lc_status
lose_garbage(struct lc__producing *run, struct lc__child *child, const char *what)
{
	char text[sizeof(((lc_error *)0)->text) + 32];

	snprintf(text, sizeof(text), "sent an invalid answer: %s", what);
	lc__child_stop(child);
	run->count->garbage++;
	return lc__producing_lose(run, child, text);
}

/* ---- answers ---------------------------------------------------------------------------- */

/* What the batch needs from an answer, and from the producer's messages meanwhile. */
static lc_status
keep_answer(struct lc__child *child, struct lc__items *batch,
    const struct lc__answered *got)
{
	if (got->done > 0)
		return_if_error(lc__items_keep(batch, &child->frame));
	lc__child_next_frame(child);
	if (got->failed == 0)
		return LC_OK;
	lc__child_listen(child);
	return lc__items_stderr(batch, child->messages.last, child->messages.last_size);
}

/* The oldest request was answered; ownership of its subbatch passes to the caller. */
static lc_status
take_answer(struct lc__producing *run, struct lc__child *child,
    struct lc__subbatch *subbatch)
{
	struct lc__items *batch = subbatch->batch;
	const size_t asked = subbatch->count;
	struct lc__answered got;
	const char *why = NULL;
	char what[100];
	lc_error error;
	lc_status status;

	status = lc__answer_take(&run->answer, subbatch, run->work->check, run->work->ctx,
	    &got);
	if (status == LC_OK)
		status = keep_answer(child, batch, &got);
	if (status != LC_OK) {
		lc__subbatch_free(subbatch);
		return status;
	}
	batch->open -= got.done + got.failed;
	/* Why the last of the items failed. */
	for (size_t i = asked; i > 0 && why == NULL; i--)
		why = lc__subbatch_item(subbatch, i - 1)->why;
	if (got.done > 0)
		run->retry.in_vain = 0;
	else if (got.lacking == 0)
		retry_in_vain(&run->retry, why != NULL ? why : "");
	if (got.lacking == 0) {
		lc__subbatch_free(subbatch);
	} else {
		/* Items that were left out go to another producer; this one gets no more
		 * work. They are known, so nothing is halved. */
		lc__subbatch_prune(subbatch);
		snprintf(what, sizeof(what), "left out %zu of %zu items", subbatch->count,
		    asked);
		lc__child_error(child, what);
		error = *lc_last_error();
		lc__child_retire(child);
		if (subbatch->failures++ < run->how->retries) {
			return_if_error(give_again(&run->retry, subbatch));
		} else {
			retry_in_vain(&run->retry, error.text);
			return_if_error(fail_items(subbatch, error.text));
		}
	}
	return_if_error(lc__producing_settle(run, batch));
	return retry_check(&run->retry);
}

static lc_status
take_frame(struct lc__producing *run, struct lc__child *child)
{
	struct lc__subbatch *subbatch = child->work.first;
	lc_status status;
	lc_error what;

	if (subbatch == NULL)
		return lose_garbage(run, child, "there was no request");
	status = lc__answer_read(&run->answer, subbatch, child->frame.data,
	    child->frame.size);
	if (status == LC_INVALID) {
		what = *lc_last_error();
		return lose_garbage(run, child, what.text);
	}
	return_if_error(status);
	run->answered = child->answered = true;
	child->since_ns = run->clock_ns;
	if (run->answer.n_reported > 0 && run->how->reported != NULL)
		run->how->reported(run->how->line_ctx, child->number,
		    run->answer.reported, run->answer.n_reported);
	return take_answer(run, child, lc__subbatches_take(&child->work));
}

lc_status
lc__producing_read(struct lc__producing *run, struct lc__child *child, bool all)
{
	char text[400];

	do {
		switch (lc__child_receive(child)) {
		case LC__FRAME: return_if_error(take_frame(run, child)); break;
		case LC__TOO_LONG:
			/* Text meant for people often begins like this: mention that. */
			snprintf(text, sizeof(text),
			    "its length is %u bytes, the maximum is %llu; its first bytes "
			    "are %s",
			    child->frame_size, (unsigned long long)run->how->frame_max,
			    lc__quote_id(child->head, sizeof(child->head)));
			return lose_garbage(run, child, text);
		case LC__NO_ROOM: return lc__no_memory(NULL);
		case LC__END:
		case LC__NOTHING: return lc__child_check(child);
		}
	} while (all && lc__child_runs(child));
	return LC_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

#define MS UINT64_C(1000000)
/* How soon the end of a producer is seen after it or cachex has closed its pipes. */
#define END_WAIT_MS 2
/* How long that may take. */
#define END_MS 5000

/* It has ended by itself: what it wrote before is valid. */
static lc_status
bury(struct lc__producing *run, struct lc__child *child)
{
	char text[200];
	bool untouched;

	return_if_error(lc__producing_read(run, child, true));
	if (!lc__child_runs(child))
		return LC_OK;
	untouched = child->answered && lc__child_untouched(child);
	lc__child_stop(child);
	lc__child_describe_end(child, text, sizeof(text));
	run->count->died += untouched || child->work.count > 0;
	/* It did part of the work and ended before it started the rest, which is not to
	 * blame. A producer that has answered nothing is not treated so, or it would be
	 * started for ever. */
	if (untouched) {
		retry_untouched(&run->retry, &child->work);
		return LC_OK;
	}
	if (child->work.count == 0) {
		if (child->status != 0)
			lc__child_tell(child, text);
		return LC_OK;
	}
	if (child->head_size > 0)
		strcat(text, " in the middle of an answer");
	/* A shell that does not find the command, before anything has ever worked:
	 * nothing will. */
	if (!run->answered && child->status != -1 && WIFEXITED(child->status) &&
	    (WEXITSTATUS(child->status) == 126 || WEXITSTATUS(child->status) == 127))
		return lc__child_error(child, text);
	return lc__producing_lose(run, child, text);
}

static uint64_t
limit_of(const struct lc__producing *run, const struct lc__child *child)
{
	return child->answered ? run->how->timeout_ms : run->how->start_timeout_ms;
}

/* Its end is near: no further output will come. */
static bool
is_leaving(const struct lc__child *child)
{
	return child->process.out == -1 || child->broken ||
	    (child->retiring && child->work.count == 0);
}

/* ms that are left of a limit. */
static uint64_t
left_of(const struct lc__producing *run, uint64_t since_ns, uint64_t limit_ms)
{
	const uint64_t passed = (run->clock_ns - since_ns) / MS;

	return passed < limit_ms ? limit_ms - passed : 0;
}

lc_status
lc__producing_look_after(struct lc__producing *run, struct lc__child *child, bool tick)
{
	const uint64_t limit = limit_of(run, child);
	const uint64_t end_limit = run->how->end_timeout_ms > 0 ? run->how->end_timeout_ms
								: END_MS;
	const char *what;
	char text[100];

	if (tick && lc__child_closed_input(child))
		child->broken = true;
	if (is_leaving(child) && !child->leaving) {
		child->leaving = true;
		child->left_ns = run->clock_ns;
	}
	if ((tick || child->leaving) && lc__child_ended(child))
		return bury(run, child);
	if (child->leaving) {
		if (left_of(run, child->left_ns, end_limit) > 0)
			return LC_OK;
		/* It should have ended by itself and has not. */
		what = child->retiring && child->work.count == 0
		    ? "did not end after the last request, and was killed"
		    : child->process.out == -1 ? "closed its standard output"
					       : "closed its standard input";
		lc__child_stop(child);
		run->count->died += child->work.count > 0;
		return lc__producing_lose(run, child, what);
	}
	if (child->work.count == 0 || limit == 0 ||
	    left_of(run, child->since_ns, limit) > 0)
		return LC_OK;
	snprintf(text, sizeof(text), "gave no answer for %llu ms",
	    (unsigned long long)limit);
	lc__child_stop(child);
	run->count->timed_out++;
	return lc__producing_lose(run, child, text);
}

uint64_t
lc__producing_wait_for(const struct lc__producing *run, const struct lc__child *child,
    uint64_t most)
{
	const uint64_t limit = limit_of(run, child);
	uint64_t left = most;

	if (lc__child_runs(child) && is_leaving(child))
		left = END_WAIT_MS;
	else if (child->work.count > 0 && limit > 0)
		left = left_of(run, child->since_ns, limit);
	return left < most ? left : most;
}
