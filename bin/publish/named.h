/* SPDX-License-Identifier: BSD-2-Clause */
/* What generations and receipts of a store name: followed down to the shards. */
#ifndef CACHEX_PUBLISH_NAMED_H
#define CACHEX_PUBLISH_NAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/stored.h"

/** A walk. What is found to be named is wanted in its stock. */
struct lc__naming {
	struct lc__objects *store;
	struct lc__stock *parts, *shards; /* all that the store has */
	bool deep;        /* read shards, and compare them with their names */
	unsigned threads; /* that do so */
	const lc_progress *progress;
	/** Told of what is missing or damaged, which is the last error, before the walk goes
	 *  on. NULL: the walk ends with it. */
	void (*damage)(void *ctx);
	void *ctx;
	uint64_t damaged; /* counted by the walk */
};

/** Follow a generation, or the receipts of a run. LC_CORRUPT only without damage(). */
LC_CHECKED lc_status lc__name_by_generation(struct lc__naming *naming, uint64_t number);
LC_CHECKED lc_status lc__name_by_run(struct lc__naming *naming, const char *run);

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
