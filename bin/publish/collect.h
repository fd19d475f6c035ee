/* SPDX-License-Identifier: BSD-2-Clause */
/* What nothing in a store needs any more is removed. */
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
 * published from; then manifests and shards that no generation and no receipt names. A
 * receipt of any other run keeps what it names, published or not; a run that stays only
 * because it is young keeps its generations, which go with it later. The recipe of a run goes
 * first: a collection that is killed leaves nothing that names what is gone, and what it
 * leaves of the run has no recipe, so that the next one goes on. Others may push and publish
 * meanwhile: a run whose recipe they come upon, or put again, stays as it is then.
 * @return LC_OK; LC_CORRUPT if what is named cannot be read: nothing was removed then, except
 * if only a run that stays after all has the damage.
 */
LC_CHECKED lc_status lc__collect(struct lc__objects *store, uint64_t keep,
    uint64_t older_ms, bool dry, struct lc__collected *out);

#endif
