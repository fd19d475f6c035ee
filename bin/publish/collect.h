/* SPDX-License-Identifier: BSD-2-Clause */
/* Removes objects of a store that nothing needs any more. */
#ifndef CACHEX_PUBLISH_COLLECT_H
#define CACHEX_PUBLISH_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

/** What lc__collect() removed, or would remove. */
struct lc__collected {
	uint64_t generations, runs, parts, shards; /* how many */
	uint64_t unfinished;                       /* left over from puts */
	uint64_t bytes;                            /* bytes of all that was collected */
};

/**
 * Remove what is older than @p older_ms by the store's clock and that nothing names:
 * generations except the newest @p keep; runs from which only such generations were
 * published; then manifests and shards that neither a generation nor a receipt names. The
 * receipts of all other runs keep what they name, published or not; a run that stays only
 * because it is young keeps its generations, which are removed with it later. The recipe
 * of a run is removed first: if the collection is killed, nothing names a removed object,
 * and what is left of the run has no recipe, so that the next collection continues. Other
 * processes may push and publish meanwhile: a run whose recipe they use, or put again,
 * stays as it is then.
 * @return LC_OK; LC_CORRUPT if something that names objects cannot be read: then nothing
 * was removed, except if the damage is in a run that turned out to stay.
 */
LC_CHECKED lc_status lc__collect(struct lc__objects *store, uint64_t keep,
    uint64_t older_ms, bool dry, struct lc__collected *out);

#endif
