/* SPDX-License-Identifier: BSD-2-Clause */
/* Which samples go into which shard. */
#ifndef LC_SHARD_PLAN_H
#define LC_SHARD_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "shard/build.h"

/** One shard to be. */
struct lc__plan_shard {
	const struct lc__shard_series *series; /* that it is of */
	uint64_t number;    /* in the series, from 0 */
	lc_shard_info info; /* laid out */
	uint64_t first;     /* its first sample in the series */
	uint64_t row_bytes; /* of its metadata rows */
	char samples_hash[LC__HASH128_HEX]; /* twh1(5); "" without hashes */
};

/** All of them, series after series. */
struct lc__plan {
	struct lc__plan_shard *shards; /* malloc'ed */
	size_t n, room;                /* how many; allocated */
	uint64_t bytes;                /* of all files */
	uint64_t samples;              /* in all of them */
};

/**
 * Fill shards with a build's samples in order, one at least in each. A source
 * without hashes fills them up to shard_bytes. One with hashes has them cut before
 * the sample whose hash comes first in order, of those that make a shard of 1/2 to
 * 3/2 of shard_bytes: so it depends on the samples around where a shard ends, and a
 * sample more or less moves the end of its own shard at most times.
 */
LC_CHECKED lc_status lc__plan_make(const struct lc__build *build,
    struct lc__plan *out);

void lc__plan_free(struct lc__plan *plan);

#endif
