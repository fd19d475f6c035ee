/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake_produce.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "need.h"
#include "run.h"

#define MOST 64

struct fake_produce fake_produce;

/* Batches that are out. */
struct out {
	struct lc__items *batches[MOST];
	size_t n, room;
};

lc_value *
fake_value(const struct lc__item *item)
{
	const uint64_t size = item->id.size + item->payload.size;
	unsigned char *bytes = malloc(size + 1);
	lc_value *value, *copy;
	lc_tensor tensor;

	need(bytes != NULL);
	memcpy(bytes, item->id.data, item->id.size);
	if (item->payload.size > 0)
		memcpy(bytes + item->id.size, item->payload.data,
		    item->payload.size);
	need_ok(lc_tensor_init(&tensor, LC_U8, 1, &size, bytes));
	value = lc_value_tensor(&tensor);
	copy = lc_value_copy(value);
	lc_value_free(value);
	free(bytes);
	need(copy != NULL);
	return copy;
}

static void
fail_item(struct lc__item *item, const char *why)
{
	need_ok(lc__item_fail(item, why, strlen(why)));
	lc_value_free(item->value);
	item->value = NULL;
}

static void
make(const struct lc__work *work, struct lc__item *item)
{
	const char *why = "";

	item->attempts = 1;
	item->value = fake_produce.make == NULL ? fake_value(item) :
	    fake_produce.make(fake_produce.ctx, item, &why);
	item->outcome = LC__ITEM_DONE;
	if (item->value == NULL)
		fail_item(item, why);
	else if (work->check != NULL &&
	    work->check(work->ctx, item, item->value) != LC_OK)
		fail_item(item, lc_last_error()->text);
}

/* Fill up what may be out. */
static lc_status
give(const struct lc__work *work, struct out *out)
{
	lc_status status = LC_OK;

	while (out->n < out->room && status == LC_OK) {
		struct lc__items *batch;
		status = work->next(work->ctx, &batch);
		if (status != LC_OK)
			break;
		out->batches[out->n++] = batch;
		if (fake_produce.given != NULL)
			fake_produce.given(fake_produce.ctx, batch);
	}
	if (out->n > fake_produce.most_out)
		fake_produce.most_out = out->n;
	need(status != LC_BUSY || out->n > 0);
	return status == LC_BUSY || status == LC_END ? LC_OK : status;
}

static lc_status
take_back(const struct lc__work *work, struct out *out)
{
	const size_t i = fake_produce.seed == 0 ? 0 :
	    (size_t)(run_random(&fake_produce.seed) % out->n);
	struct lc__items *batch = out->batches[i];

	memmove(&out->batches[i], &out->batches[i + 1],
	    (out->n - i - 1) * sizeof(batch));
	out->n--;
	for (size_t k = 0; k < batch->count; k++)
		make(work, &batch->items[k]);
	if (fake_produce.back != NULL)
		fake_produce.back(fake_produce.ctx, batch);
	return work->done(work->ctx, batch);
}

lc_status
lc__produce(const struct lc__producers *how, const struct lc__work *work,
    struct lc__produced *produced)
{
	struct out out = { .room = how->children * (1 + how->ahead) };
	lc_status status;

	need(out.room > 0 && out.room <= MOST);
	memset(produced, 0, sizeof(*produced));
	status = give(work, &out);
	while (status == LC_OK && out.n > 0) {
		if (work->idle != NULL)
			status = work->idle(work->ctx);
		if (status == LC_OK)
			status = take_back(work, &out);
		produced->batches++;
		if (produced->batches == fake_produce.kill_after)
			kill(getpid(), SIGKILL);
		if (status == LC_OK && produced->batches == fake_produce.stop_after)
			status = lc__error(LC_CANCELLED, 0, "stopped");
		if (status == LC_OK)
			status = give(work, &out);
	}
	for (size_t i = 0; i < out.n; i++)
		lc__items_free(out.batches[i]);
	return status;
}
