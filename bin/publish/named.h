/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows what generations and receipts of a store name, down to the shards. */
#ifndef CACHEX_PUBLISH_NAMED_H
#define CACHEX_PUBLISH_NAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/stored.h"

/** A walk. Everything named is marked as wanted in its stock. */
struct lc__naming {
	struct lc__objects *store;
	struct lc__stock *parts, *shards; /* all objects of the store */
	bool deep;        /* read shards, and compare them with their names */
	unsigned threads; /* threads for that */
	const lc_progress *progress;
	/** Called for missing or damaged objects, with the last error, before the walk
	 *  continues. NULL: the walk ends with it. */
	void (*damage)(void *ctx);
	void *ctx;
	uint64_t damaged; /* counted by the walk */
};

/** Follow a generation, or the receipts of a run. LC_CORRUPT only without damage(). */
LC_CHECKED lc_status lc__name_by_generation(struct lc__naming *naming, uint64_t number);
LC_CHECKED lc_status lc__name_by_run(struct lc__naming *naming, const char *run);

#endif
