/* SPDX-License-Identifier: BSD-2-Clause */
/* A module as a source. */
#ifndef LC_STREAM_SOURCE_MODULE_H
#define LC_STREAM_SOURCE_MODULE_H

#include "store/cache.h"
#include "stream/record_offsets.h"
#include "stream/source.h"

struct lc__module_source {
	lc_source source;
	struct lc__env *env;  /* of the handle, which outlives the source */
	bool own_lengths;     /* the length field is the module's: the ledger sums it */
	struct lc__places_cache *places;
};

static inline struct lc__module_source *
lc__module_source_of(lc_source *source)
{
	return (struct lc__module_source *)source;
}

LC_CHECKED lc_status lc__module_cursor_new(lc_source *source,
    struct lc__cursor **out);

/** What does not depend on the chunks; the rest is 0. */
void lc__module_info(const struct lc__module_source *source,
    lc_source_info *info);

/** LC_CORRUPT if records have lengths, and the module's settings say of what no more. */
LC_CHECKED lc_status lc__module_check_length(const struct lc__module_source *source,
    uint64_t length);

/** The newest layout: of plain puts; of the published order, for a module with
 *  inputs. @p old as in struct lc__source_kind. */
LC_CHECKED lc_status lc__module_scan(struct lc__module_source *source,
    struct lc__snapshot *snapshot, struct lc__layout *old,
    struct lc__layout **out);
LC_CHECKED lc_status lc__module_order(struct lc__module_source *source,
    struct lc__snapshot *snapshot, struct lc__layout *old,
    struct lc__layout **out);

/** Places of a chunk that were kept, or else are worked out; held for the caller.
 *  *known says which. */
LC_CHECKED lc_status lc__module_places(struct lc__module_source *source,
    struct lc__snapshot *snapshot, uint64_t chunk,
    const struct lc__places_ask *ask, struct lc__places **out, bool *known);

/** The ledger row of a chunk; LC_NOT_FOUND, without an error's text, if it is gone. */
LC_CHECKED lc_status lc__module_ledger(struct lc__snapshot *snapshot,
    uint64_t chunk, struct lc__ledger_row *out);

#endif
