/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as a source. */
#ifndef LC_STREAM_SOURCE_SHARDS_H
#define LC_STREAM_SOURCE_SHARDS_H

#include "stream/source.h"
#include "warehouse/warehouse.h"

struct lc__shards_source {
	lc_source source;
	lc_warehouse *warehouse;  /* that they are of; NULL for a file alone */
	struct lc__shardset alone; /* such a file */
	struct lc__manifest manifest; /* what could be said of it; its strings are owned */
	struct lc__shardset *set; /* of either */
	const struct lc__manifest_shard *said; /* of the shards of the set */
	size_t first, n;          /* those that are read: one size of images */
	uint64_t length;          /* units of a record, 0 without a length field */
};

static inline struct lc__shards_source *
lc__shards_source_of(lc_source *source)
{
	return (struct lc__shards_source *)source;
}

/** Are its images of several sizes? */
static inline bool
lc__shards_mixed(const struct lc__shards_source *s)
{
	return s->warehouse != NULL && s->n == s->set->n &&
	    s->warehouse->info.series > 1;
}

LC_CHECKED lc_status lc__shards_cursor_new(lc_source *source,
    struct lc__cursor **out);

/**
 * Open what stands at a path: a manifest's directory, that of one series of a
 * warehouse, or a shard. Sets what the struct has from `warehouse` to `n`.
 * @param options  whether a warehouse that is stale or exceeds its thresholds is read
 */
LC_CHECKED lc_status lc__shards_find(struct lc__shards_source *source,
    const char *path, const lc_source_options *options);
void lc__shards_close(struct lc__shards_source *source);

#endif
