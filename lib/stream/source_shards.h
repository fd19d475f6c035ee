/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as a source. */
#ifndef LC_STREAM_SOURCE_SHARDS_H
#define LC_STREAM_SOURCE_SHARDS_H

#include "stream/source.h"
#include "warehouse/warehouse.h"

/** What has the shards of a store fetched. */
struct lc__shards_fetch {
	/* As in struct lc__source_kind. */
	lc_status (*foresee)(void *ctx, struct lc__visits *visits, uint64_t from);
	void (*reach)(void *ctx, uint64_t batch);
	/** The source is closed and no longer used: whatever requests data from the set
	 *  stops. Then the set is closed, and end() called. */
	void (*stop)(void *ctx);
	void (*end)(void *ctx);
};

struct lc__shards_source {
	lc_source source;
	lc_warehouse *warehouse;      /* that has them; NULL for a file alone */
	struct lc__shardset alone;    /* such a file */
	struct lc__manifest manifest; /* of such a file, made from it; owns its strings */
	struct lc__shardset *set;     /* of either */
	size_t first, n;              /* those that are read: one size of images */
	uint64_t length;              /* units of a record, 0 without a length field */
	const struct lc__shards_fetch *fetch; /* of a store, or NULL */
	void *ctx;
};

static inline struct lc__shards_source *
lc__shards_source_of(lc_source *source)
{
	return (struct lc__shards_source *)source;
}

/** Has it images of several sizes? */
static inline bool
lc__shards_mixed(const struct lc__shards_source *s)
{
	return s->warehouse != NULL && s->n == s->set->n && s->warehouse->info.series > 1;
}

/** Shards of a store as a source: lc_source_open_shards() with a manifest that is at hand.
 *  @param fetch  its stop() and end() are not called after a failure */
LC_CHECKED lc_status lc__source_open_text(const struct lc__warehouse_text *text,
    const lc_source_options *options, const struct lc__shards_fetch *fetch, void *ctx,
    lc_source **out);

/** The ctx of a source whose shards @p fetch has fetched; NULL of others. */
void *lc__shards_fetched_by(const lc_source *source,
    const struct lc__shards_fetch *fetch);

LC_CHECKED lc_status lc__shards_cursor_new(lc_source *source, struct lc__cursor **out);

#endif
