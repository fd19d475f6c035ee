/* SPDX-License-Identifier: BSD-2-Clause */
#include "shard/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "format/twh1.h"

/* Close a shard: it takes its place in the plan. */
static lc_status
add_shard(struct lc__plan *plan, const struct lc__plan_shard *shard)
{
	/* Room is doubled whenever n is a power of two. */
	if ((plan->n & (plan->n - 1)) == 0) {
		struct lc__plan_shard *more = realloc(plan->shards,
		    (plan->n ? 2 * plan->n : 1) * sizeof(*more));
		if (more == NULL)
			return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
		plan->shards = more;
	}
	plan->shards[plan->n++] = *shard;
	if (!lc__add64(plan->bytes, shard->info.file_size, &plan->bytes))
		return lc__error(LC_INVALID, 0, "export: size overflows");
	return LC_OK;
}

/* Bytes of the metadata row of sample i. */
static lc_status
measure_row(const struct lc__shard_source *source, uint64_t i,
    struct lc__buf *scratch)
{
	struct lc__twh1_row row;

	scratch->size = 0;
	return_if_error(source->row(source->ctx, i, &row));
	lc__twh1_row_encode(&row, scratch);
	if (scratch->failed)
		return lc__error(LC_NO_MEMORY, 0, "export: out of memory");
	return LC_OK;
}

static lc_status
fill(const lc_shard_info *form, bool metadata,
    const struct lc__shard_source *source, uint64_t samples,
    uint64_t shard_bytes, struct lc__buf *scratch, struct lc__plan *plan)
{
	struct lc__plan_shard open = { *form, 0, 0 }, more;

	open.info.samples = 0;
	for (uint64_t i = 0; i < samples; i++) {
		if (metadata)
			return_if_error(measure_row(source, i, scratch));
		more = open;
		more.info.samples++;
		more.row_bytes += scratch->size;
		return_if_error(lc__twh1_layout(&more.info, metadata,
		    more.row_bytes));
		if (open.info.samples > 0 && more.info.file_size > shard_bytes) {
			return_if_error(add_shard(plan, &open));
			more.first = i;
			more.info.samples = 1;
			more.row_bytes = scratch->size;
			return_if_error(lc__twh1_layout(&more.info, metadata,
			    more.row_bytes));
		}
		open = more;
	}
	return open.info.samples > 0 ? add_shard(plan, &open) : LC_OK;
}

lc_status
lc__plan_make(const lc_shard_info *form, bool metadata,
    const struct lc__shard_source *source, uint64_t samples,
    uint64_t shard_bytes, struct lc__plan *out)
{
	struct lc__plan plan = { NULL, 0, 0 };
	struct lc__buf scratch = { 0 };
	const lc_status status = fill(form, metadata, source, samples,
	    shard_bytes, &scratch, &plan);

	lc__buf_free(&scratch);
	if (status != LC_OK) {
		lc__plan_free(&plan);
		return status;
	}
	*out = plan;
	return LC_OK;
}

void
lc__plan_free(struct lc__plan *plan)
{
	free(plan->shards);
	memset(plan, 0, sizeof(*plan));
}
