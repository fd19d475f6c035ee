/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples go into which shard. */
#ifndef LC_SHARD_PLAN_H
#define LC_SHARD_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "shard/writer.h"

/** One shard to be. */
struct lc__plan_shard {
	lc_shard_info info; /* laid out */
	uint64_t first;     /* its first sample */
	uint64_t row_bytes; /* of its metadata rows */
};

/** All of them. */
struct lc__plan {
	struct lc__plan_shard *shards; /* malloc'ed */
	size_t n;                      /* how many */
	uint64_t bytes;                /* of all files */
};

/**
 * Fill shards in order, each up to @p shard_bytes, but with one sample at least.
 * @param form      version, dtype and dimensions
 * @param metadata  with metadata rows and block checksums
 */
LC_CHECKED lc_status lc__plan_make(const lc_shard_info *form, bool metadata,
    const struct lc__shard_source *source, uint64_t samples,
    uint64_t shard_bytes, struct lc__plan *out);

void lc__plan_free(struct lc__plan *plan);

#endif
