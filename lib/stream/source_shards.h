/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as a source. */
#ifndef LC_STREAM_SOURCE_SHARDS_H
#define LC_STREAM_SOURCE_SHARDS_H

#include "stream/source.h"
#include "warehouse/warehouse.h"

struct lc__ranks;

/** What has the shards of a store fetched. */
struct lc__shards_fetch {
	/** A reader of the stream begins at batch @p from: fetch the shards of all these
	 *  sources before it needs them. A reader that begins later on one of them replaces
	 *  it. LC_UNSUPPORTED if the order does not say what is next. */
	lc_status (*foresee)(lc_stream *stream, struct lc__ranks ranks, uint64_t from,
	    const struct lc__fetched *all, size_t n);
	/** All batches before this one have been read. Costs almost nothing. */
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

LC_CHECKED lc_status lc__shards_cursor_new(lc_source *source, struct lc__cursor **out);

#endif
