/* SPDX-License-Identifier: BSD-2-Clause */
/* A module as a source. */
#ifndef LC_STREAM_SOURCE_MODULE_H
#define LC_STREAM_SOURCE_MODULE_H

#include "store/cache.h"
#include "stream/record_offsets.h"
#include "stream/source.h"

struct lc__module_source {
	lc_source source;
	lc_cache *cache;     /* kept open */
	struct lc__env *env; /* of it */
	bool own_lengths;    /* the length field is the module's: the ledger sums it */
	struct lc__offsets_cache *offsets;
};

static inline struct lc__module_source *
lc__module_source_of(lc_source *source)
{
	return (struct lc__module_source *)source;
}

LC_CHECKED lc_status lc__module_cursor_new(lc_source *source, struct lc__cursor **out);

/** The ledger row of a chunk; LC_NOT_FOUND, and no error, if it is gone. */
LC_CHECKED lc_status lc__module_ledger(struct lc__snapshot *snapshot, uint64_t chunk,
    struct lc__ledger_row *out);

#endif
