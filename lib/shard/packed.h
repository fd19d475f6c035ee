/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards that were packed before the version that takes them over exists, in a directory
 * to which any number of processes and machines write without a lock. A file is named by
 * its content, SAMPLES_HASH-SHA256.twh1, and appears whole: it does not matter which
 * process writes it, how often and in which order. Other files there are left alone.
 */
#ifndef LC_SHARD_PACKED_H
#define LC_SHARD_PACKED_H

#include <stdint.h>

#include "base/listdir.h"
#include "lmdbcache.h"

/** The directory. All zero: it has no shards. */
struct lc__packed {
	const char *dir;            /* borrowed */
	struct lc__dir_list shards; /* sorted: by SAMPLES_HASH */
};

/**
 * List the directory; a missing one has no shards.
 * @return LC_OK; LC_CORRUPT if it has two different shards of the same samples, naming
 * both.
 */
LC_CHECKED lc_status lc__packed_open(const char *dir, struct lc__packed *out);
void lc__packed_close(struct lc__packed *packed);

/**
 * The file name of a shard with this samples_hash; NULL if there is none.
 * @param sha256  gets the SHA-256 in the name; may be NULL
 */
const char *lc__packed_find(const struct lc__packed *packed, const char *samples_hash,
    char sha256[65]);

/** The path of a shard, malloc'ed; with an empty SHA-256, the path to write it to. NULL
 *  without memory. */
char *lc__packed_path(const char *dir, const char *samples_hash, const char *sha256);

/** The size of all shards there. */
LC_CHECKED lc_status lc__packed_bytes(const char *dir, uint64_t *out);

/** Remove the shards and the temporary files of killed processes, then the directory if
 *  it is empty. A missing directory is not an error. */
LC_CHECKED lc_status lc__packed_remove(const char *dir);

#endif
