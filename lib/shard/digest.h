/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of a whole shard that the manifest has of it. */
#ifndef LC_SHARD_DIGEST_H
#define LC_SHARD_DIGEST_H

#include <stdbool.h>

#include "base/checksum.h"
#include "base/hash.h"
#include "base/team.h"

/** A checksum on its way: SHA-256, or XXH3 where that is left out. */
struct lc__digest {
	struct lc__checksum *sha256;      /* or NULL */
	struct lc__hash128 *xxh3;         /* or NULL */
	struct lc__digest_thread *thread; /* that computes SHA-256, or NULL */
};

/** What became of it; the other one is "". */
struct lc__digest_text {
	char sha256[65];            /* hex */
	char xxh3[LC__HASH128_HEX]; /* hex */
};

/** Begin. */
LC_CHECKED lc_status lc__digest_begin(struct lc__digest *digest, bool no_sha256);
LC_CHECKED lc_status lc__digest_update(struct lc__digest *digest, const void *data,
    size_t size);
/**
 * Let SHA-256, which takes longer than writing what it is of, be computed by a thread of its
 * own from now on, if one can be started.
 */
void lc__digest_behind(struct lc__digest *digest);
/** The bytes that come next, hashed while the caller goes on: they stay until the next call
 *  for this digest has returned. */
LC_CHECKED lc_status lc__digest_hand(struct lc__digest *digest, const void *data,
    size_t size);
LC_CHECKED lc_status lc__digest_end(struct lc__digest *digest,
    struct lc__digest_text *out);
/** Zeros are harmless. */
void lc__digest_free(struct lc__digest *digest);

/** That of a file, counting its bytes as steps of the work. */
LC_CHECKED lc_status lc__file_digest(const char *path, bool no_sha256,
    struct lc__team *team, struct lc__digest_text *out);

#endif
