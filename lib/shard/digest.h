/* SPDX-License-Identifier: BSD-2-Clause */
/* The checksum of a whole shard for the manifest. */
#ifndef LC_SHARD_DIGEST_H
#define LC_SHARD_DIGEST_H

#include <stdbool.h>

#include "base/checksum.h"
#include "base/hash.h"
#include "base/team.h"

/** A checksum being computed: SHA-256, or XXH3 if SHA-256 is left out. */
struct lc__digest {
	struct lc__checksum *sha256;      /* or NULL */
	struct lc__hash128 *xxh3;         /* or NULL */
	struct lc__digest_thread *thread; /* thread for SHA-256, or NULL */
};

/** The result; the unused one is "". */
struct lc__digest_text {
	char sha256[65];            /* hex */
	char xxh3[LC__HASH128_HEX]; /* hex */
};

/** Begin. */
LC_CHECKED lc_status lc__digest_begin(struct lc__digest *digest, bool no_sha256);
LC_CHECKED lc_status lc__digest_update(struct lc__digest *digest, const void *data,
    size_t size);
/**
 * From now on compute SHA-256, which takes longer than writing, on a thread of its own,
 * if one can be started.
 */
void lc__digest_behind(struct lc__digest *digest);
/** Add the next bytes, which are hashed while the caller continues: they must stay
 *  unchanged until the next call for this digest has returned. */
LC_CHECKED lc_status lc__digest_hand(struct lc__digest *digest, const void *data,
    size_t size);
LC_CHECKED lc_status lc__digest_end(struct lc__digest *digest,
    struct lc__digest_text *out);
/** All zero is allowed. */
void lc__digest_free(struct lc__digest *digest);

/** The checksum of a file; counts its bytes as steps of the work. */
LC_CHECKED lc_status lc__file_digest(const char *path, bool no_sha256,
    struct lc__team *team, struct lc__digest_text *out);

#endif
