/* SPDX-License-Identifier: BSD-2-Clause */
/* Shards as a source. */
#ifndef LC_STREAM_SOURCE_SHARDS_H
#define LC_STREAM_SOURCE_SHARDS_H

#include "stream/source.h"
#include "warehouse/warehouse.h"

struct lc__shards_source {
	lc_source source;
	lc_warehouse *warehouse;      /* that has them; NULL for a file alone */
	struct lc__shardset alone;    /* such a file */
	struct lc__manifest manifest; /* of such a file, made from it; owns its strings */
	struct lc__shardset *set;     /* of either */
	size_t first, n;              /* those that are read: one size of images */
	uint64_t length;              /* units of a record, 0 without a length field */
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

LC_CHECKED lc_status lc__shards_cursor_new(lc_source *source, struct lc__cursor **out);

#endif
