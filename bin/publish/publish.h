/* SPDX-License-Identifier: BSD-2-Clause */
/* A run whose parts are all there becomes the next generation. */
#ifndef CACHEX_PUBLISH_PUBLISH_H
#define CACHEX_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/receipt.h"

/** Receipts that are missing are named, the first of them. */
#define LC__MISSING_NAMED 3

struct lc__published {
	char run[LC__RUN_ID];
	uint64_t generation;
	bool there; /* it had been published already */
	uint64_t parts, missing;
	uint64_t samples, shards, bytes;
	char *names[LC__MISSING_NAMED]; /* of parts without a receipt; malloc'ed */
};

/**
 * The run that these digits begin, or with NULL the only one.
 * @return LC_OK; LC_NOT_FOUND if there is none; LC_INVALID if there are several, which it
 * names.
 */
LC_CHECKED lc_status lc__run_find(struct lc__objects *store, const char *digits,
    char run[LC__RUN_ID]);

/**
 * Publish a run. Every object that it names gets the time of now, so that a collection keeps
 * it, and is looked at: it is there, and as large as it should be. Equal contents are equal bytes: publishing the content of the newest
 * generation again changes nothing.
 * @return LC_OK; LC_NOT_FOUND if receipts are missing, as @p out says; LC_CORRUPT for what is
 * damaged, LC_INVALID for parts that do not fit together, both by name, or are too many. @p out is filled and
 * to be freed also then.
 */
LC_CHECKED lc_status lc__publish_run(struct lc__objects *store, const char *run,
    struct lc__published *out);
void lc__published_free(struct lc__published *published);

#endif
