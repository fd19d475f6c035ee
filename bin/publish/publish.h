/* SPDX-License-Identifier: BSD-2-Clause */
/* Publishes a complete run as the next generation. */
#ifndef CACHEX_PUBLISH_PUBLISH_H
#define CACHEX_PUBLISH_PUBLISH_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "publish/receipt.h"

/** How many missing receipts are named. */
#define LC__MISSING_NAMED 3

struct lc__published {
	char run[LC__RUN_ID];
	uint64_t generation;
	bool there; /* it was published already */
	uint64_t parts, missing;
	uint64_t samples, shards, bytes;
	char *names[LC__MISSING_NAMED]; /* parts without a receipt; malloc'ed */
};

/**
 * The run whose id begins with these digits, or with NULL the only one.
 * @return LC_OK; LC_NOT_FOUND if there is none; LC_INVALID if there are several, naming
 * them.
 */
LC_CHECKED lc_status lc__run_find(struct lc__objects *store, const char *digits,
    char run[LC__RUN_ID]);

/**
 * Publish a run. Every object that it names is touched, so that a collection keeps it,
 * and checked: it must exist with the right size. Equal contents give equal bytes:
 * publishing the content of the newest generation again changes nothing.
 * @return LC_OK; LC_NOT_FOUND if receipts are missing, listed in @p out; LC_CORRUPT for
 * damage, LC_INVALID for parts that do not fit together, both by name, or that are too
 * many. Free @p out in these cases too.
 */
LC_CHECKED lc_status lc__publish_run(struct lc__objects *store, const char *run,
    struct lc__published *out);
void lc__published_free(struct lc__published *published);

#endif
