/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies a generation into a directory of shards. */
#ifndef CACHEX_PUBLISH_PULL_H
#define CACHEX_PUBLISH_PULL_H

#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

struct lc__pulled {
	uint64_t generation;
	/* Samples, shards and bytes of the generation. */
	uint64_t samples, shards, bytes;
	uint64_t kept;                   /* shards that were there and correct */
	uint64_t fetched, fetched_bytes; /* shards fetched */
	uint64_t removed;                /* shards of another generation */
};

/**
 * Fetch a generation into a directory: DIR/obj as in the store, and DIR/manifest.json
 * last. With more than 4,096 shards that names the manifests in DIR/part, also as in the
 * store. Every byte is compared with its SHA-256 before its file appears; correct files
 * are kept. An interrupted pull continues. A reader of @p dir meanwhile finds no
 * manifest.
 * @param generation  0 for the newest
 * @return LC_OK; LC_NOT_FOUND if there is no such generation; LC_EXISTS if the directory
 * has a manifest that was not made by a pull, or is a store; LC_BUSY if another process
 * pulls there; LC_CORRUPT, naming object and part, for one that arrived damaged twice.
 */
LC_CHECKED lc_status lc__pull(struct lc__objects *store, uint64_t generation,
    const char *dir, unsigned threads, const lc_progress *progress,
    struct lc__pulled *out);

#endif
