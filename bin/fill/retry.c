/* SPDX-License-Identifier: BSD-2-Clause */
#include "fill/retry.h"

#include <stdio.h>

#include "base/error.h"

void
lc__retry_worked(struct lc__retry *retry)
{
	retry->in_vain = 0;
}

void
lc__retry_in_vain(struct lc__retry *retry, const char *why)
{
	retry->in_vain++;
	snprintf(retry->last, sizeof(retry->last), "%s", why);
}

/* They were in line before what waits now. */
void
lc__retry_untouched(struct lc__retry *retry, struct lc__portions *work)
{
	struct lc__portions line = { NULL, NULL, 0 };
	struct lc__portion *portion;

	while ((portion = lc__portions_take(work)) != NULL) {
		portion->fresh = false;
		lc__portions_append(&line, portion);
		retry->count->retried++;
	}
	while ((portion = lc__portions_take(&retry->queue)) != NULL)
		lc__portions_append(&line, portion);
	retry->queue = line;
}

/* First of all: nothing else may take the place of the producer that was lost. */
static lc_status
give_again(struct lc__retry *retry, struct lc__portion *portion)
{
	portion->fresh = true;
	lc__portions_prepend(&retry->queue, portion);
	retry->count->retried++;
	return LC_OK;
}

static lc_status
give_halves(struct lc__retry *retry, struct lc__portion *portion)
{
	struct lc__portion *half = lc__portion_halve(portion);

	portion->fresh = false;
	lc__portions_append(&retry->queue, portion);
	if (half == NULL)
		return lc__no_memory(NULL);
	lc__portions_append(&retry->queue, half);
	retry->count->retried += 2;
	return LC_OK;
}

static lc_status
fail_items(struct lc__portion *portion, const char *why)
{
	lc_status status = LC_OK;

	for (size_t i = 0; status == LC_OK && i < portion->count; i++) {
		status = lc__item_fail(lc__portion_item(portion, i), why, SIZE_MAX);
		if (status == LC_OK)
			portion->batch->open--;
	}
	lc__portion_free(portion);
	return status;
}

lc_status
lc__retry_lost(struct lc__retry *retry, struct lc__portion *portion, const char *why)
{
	if (portion->failures++ < retry->how->retries)
		return give_again(retry, portion);
	/* One item makes a half fail again and again, but never both. */
	if (!portion->half || portion->twin_failed)
		lc__retry_in_vain(retry, why);
	lc__portion_tell_twin(portion, true);
	if (retry->how->isolate && portion->count > 1)
		return give_halves(retry, portion);
	return fail_items(portion, why);
}

lc_status
lc__retry_left_out(struct lc__retry *retry, struct lc__portion *portion,
    const char *why)
{
	if (portion->failures++ < retry->how->retries)
		return give_again(retry, portion);
	lc__retry_in_vain(retry, why);
	return fail_items(portion, why);
}

lc_status
lc__retry_too_large(struct lc__retry *retry, struct lc__portion *portion,
    const char *why)
{
	if (portion->count > 1)
		return give_halves(retry, portion);
	return fail_items(portion, why);
}

lc_status
lc__retry_check(const struct lc__retry *retry)
{
	if (retry->how->give_up == 0 || retry->in_vain < retry->how->give_up)
		return LC_OK;
	return lc__error(LC_FAILED, 0, "%u batches in a row came to nothing, the last "
	    "one because: %s", retry->in_vain, retry->last);
}
