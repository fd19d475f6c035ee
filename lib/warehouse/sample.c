/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "warehouse/ahead.h"
#include "warehouse/read.h"
#include "warehouse/warehouse.h"

static lc_status
no_such_sample(const struct lc_warehouse *w, uint64_t i)
{
	return lc__error(LC_NOT_FOUND, 0, "%s: no sample %llu, there are %llu",
	    w->dir, (unsigned long long)i, (unsigned long long)w->set.samples);
}

lc_status
lc_warehouse_sample(lc_warehouse *w, uint64_t i, lc_sample *out)
{
	struct lc__wshard *shard;
	uint64_t at;

	if (i >= w->set.samples)
		return no_such_sample(w, i);
	lc__cost_add(&w->set.cost, LC__COST_SAMPLES, 1);
	shard = lc__shardset_find(&w->set, i, &at);
	if (w->set.mode != LC_WAREHOUSE_STREAM)
		return lc__wshard_sample(shard, at, &w->set.cost, out);
	lc__ahead_follow(&w->set, &w->stream, i);
	return lc__stream_sample(&w->stream, &w->set, shard, at, out);
}

void
lc_warehouse_release(lc_warehouse *w, lc_sample *sample)
{
	if (w->set.mode == LC_WAREHOUSE_STREAM)
		lc__stream_release(&w->stream, sample);
	/* So that a second release is harmless, and a use after this one is seen. */
	sample->image.data = sample->boxes.data = sample->mask.data = NULL;
	sample->id = sample->meta = (lc_id){ NULL, 0 };
}

lc_status
lc_warehouse_copy(lc_warehouse *w, uint64_t i, void *image, void *boxes,
    void *mask)
{
	void *const out[3] = { image, boxes, mask };
	struct lc__wshard *shard;
	lc_sample sample;
	uint64_t at;

	if (i >= w->set.samples)
		return no_such_sample(w, i);
	lc__cost_add(&w->set.cost, LC__COST_SAMPLES, 1);
	shard = lc__shardset_find(&w->set, i, &at);
	if (w->set.mode == LC_WAREHOUSE_STREAM) {
		lc__ahead_follow(&w->set, &w->stream, i);
		return lc__stream_copy(&w->stream, &w->set, shard, at, out);
	}
	return_if_error(lc__wshard_sample(shard, at, &w->set.cost, &sample));
	lc__sample_copy(&sample, out);
	return LC_OK;
}

void
lc_warehouse_prefetch(lc_warehouse *w, uint64_t first, uint64_t n)
{
	lc__ahead_ask(&w->set, first, n);
}
