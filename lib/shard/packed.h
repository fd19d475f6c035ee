/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards that were packed ahead of the version that takes them over, in a directory that any
 * number of processes and machines write to without a lock. A file is named by its content,
 * SAMPLES_HASH-SHA256.twh1, and appears whole: who writes it, how often and in which order
 * makes no difference. Other files there are left alone.
 */
#ifndef LC_SHARD_PACKED_H
#define LC_SHARD_PACKED_H

#include <stdint.h>

#include "base/listdir.h"
#include "lmdbcache.h"

/** The directory. Zeros: it has no shards. */
struct lc__packed {
	const char *dir;            /* borrowed */
	struct lc__dir_list shards; /* sorted: by SAMPLES_HASH */
};

/**
 * List the directory; one that is missing has no shards.
 * @return LC_OK; LC_CORRUPT if it has two different shards of the same samples, naming both.
 */
LC_CHECKED lc_status lc__packed_open(const char *dir, struct lc__packed *out);
void lc__packed_close(struct lc__packed *packed);

/**
 * The name of the file of a shard with this samples_hash; NULL if there is none.
 * @param sha256  gets its SHA-256, as the name says it; NULL if nobody asks
 */
const char *lc__packed_find(const struct lc__packed *packed, const char *samples_hash,
    char sha256[65]);

/** The path of a shard, malloc'ed; without its SHA-256, "", the one to write it under.
 *  NULL without memory. */
char *lc__packed_path(const char *dir, const char *samples_hash, const char *sha256);

/** Bytes of all shards there. */
LC_CHECKED lc_status lc__packed_bytes(const char *dir, uint64_t *out);

/** Remove the shards, what killed processes have left of unfinished ones, and then the
 *  directory if it is empty. It is fine if it is missing. */
LC_CHECKED lc_status lc__packed_remove(const char *dir);

#endif
