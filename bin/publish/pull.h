/* SPDX-License-Identifier: BSD-2-Clause */
/* A generation as a directory of shards. */
#ifndef CACHEX_PUBLISH_PULL_H
#define CACHEX_PUBLISH_PULL_H

#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

struct lc__pulled {
	uint64_t generation;
	uint64_t samples, shards, bytes; /* of all */
	uint64_t kept;                   /* shards that were there and are whole */
	uint64_t fetched, fetched_bytes; /* the others */
	uint64_t removed;                /* shards of another generation */
};

/**
 * Fetch a generation into a directory: DIR/obj as in the store, and DIR/manifest.json last.
 * Of more than 4,096 shards that names the manifests in DIR/part, also as in the store.
 * Every byte is compared with its SHA-256 before it has a name; what is there is kept if it
 * is right. A stopped pull continues. A reader of @p dir finds no manifest before the end.
 * @param generation  0 for the newest
 * @return LC_OK; LC_NOT_FOUND if there is no such generation; LC_EXISTS if the directory
 * has a manifest that no pull has made, or is a store; LC_BUSY if another one pulls
 * there; LC_CORRUPT, which names object and part, for one that was damaged twice.
 */
LC_CHECKED lc_status lc__pull(struct lc__objects *store, uint64_t generation,
    const char *dir, unsigned threads, const lc_progress *progress,
    struct lc__pulled *out);

#endif
