/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes from producers, and what follows if it is not right. */
#include "fill/producing.h"

#include <stdio.h>

#include "base/error.h"

/* ---- losing producers ----------------------------------------------------------------- */

lc_status
lc__producing_lose(struct lc__producing *run, struct lc__child *child, const char *what)
{
	struct lc__portion *portion = lc__portions_take(&child->work);
	struct lc__items *batch;
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
	status = lc__items_stderr(batch, child->messages.last, child->messages.last_size);
	if (status != LC_OK) {
		lc__portions_append(&run->retry.queue, portion);
		return status;
	}
	return_if_error(lc__retry_lost(&run->retry, portion, why.text));
	return_if_error(lc__producing_settle(run, batch));
	return lc__retry_check(&run->retry);
}

static lc_status
lose_garbage(struct lc__producing *run, struct lc__child *child, const char *what)
{
	char text[sizeof(((lc_error *)0)->text) + 20];

	snprintf(text, sizeof(text), "answered garbage: %s", what);
	lc__child_stop(child);
	run->count->garbage++;
	return lc__producing_lose(run, child, text);
}

/* What was meant for people often begins like this: say so. */
static lc_status
lose_too_long(struct lc__producing *run, struct lc__child *child)
{
	char text[400];

	snprintf(text, sizeof(text), "its length is %u bytes, of %llu at most; its first "
	    "bytes are %s", child->frame_size, (unsigned long long)run->how->frame_max,
	    lc__quote_id(child->head, sizeof(child->head)));
	return lose_garbage(run, child, text);
}

/* ---- answers ---------------------------------------------------------------------------- */

/* Items that were left out go to another producer; this one gets no more. */
static lc_status
pass_on(struct lc__producing *run, struct lc__child *child, struct lc__portion *portion)
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

/* The oldest request was answered; its portion is the caller's. */
static lc_status
take_answer(struct lc__producing *run, struct lc__child *child,
    struct lc__portion *portion)
{
	struct lc__items *batch = portion->batch;
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
	return_if_error(lc__producing_settle(run, batch));
	return lc__retry_check(&run->retry);
}

static lc_status
take_frame(struct lc__producing *run, struct lc__child *child)
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

lc_status
lc__producing_read(struct lc__producing *run, struct lc__child *child, bool all)
{
	do {
		switch (lc__child_receive(child)) {
		case LC__FRAME:
			return_if_error(take_frame(run, child));
			break;
		case LC__TOO_LONG:
			return lose_too_long(run, child);
		case LC__NO_ROOM:
			return lc__no_memory(NULL);
		case LC__END:
		case LC__NOTHING:
			return lc__child_check(child);
		}
	} while (all && lc__child_runs(child));
	return LC_OK;
}
