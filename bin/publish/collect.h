/* SPDX-License-Identifier: BSD-2-Clause */
/* What no generation needs any more is removed from a store. */
#ifndef CACHEX_PUBLISH_COLLECT_H
#define CACHEX_PUBLISH_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

/** What lc__collect() removed, or would. */
struct lc__collected {
	uint64_t generations, runs, parts, shards; /* how many */
	uint64_t unfinished;                       /* that were left of puts */
	uint64_t bytes;                            /* of all */
};

/**
 * Remove what is older than @p older_ms by the store's clock and that nothing names: of
 * generations all but the newest @p keep; the runs that only such generations were
 * published from; then manifests and shards that no generation and no receipt name. A
 * receipt of any other run keeps what it names, published or not. In this order: who is
 * killed leaves nothing that names what is gone.
 * @return LC_OK; LC_CORRUPT, and nothing was removed, if what is named cannot be read.
 */
LC_CHECKED lc_status lc__collect(struct lc__objects *store, uint64_t keep,
    uint64_t older_ms, bool dry, struct lc__collected *out);

#endif
