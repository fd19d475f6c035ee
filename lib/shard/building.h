/* SPDX-License-Identifier: BSD-2-Clause */
/* A build on its way, for the files that it is written down in. */
#ifndef LC_SHARD_BUILDING_H
#define LC_SHARD_BUILDING_H

#include <pthread.h>

#include "shard/build.h"
#include "shard/outdir.h"
#include "shard/plan.h"
#include "shard/reuse.h"

struct lc__building {
	const struct lc__build *build;
	struct lc__plan plan;
	struct lc__outdir dir;
	struct lc__manifest manifest; /* shards[i] is plan.shards[i]; a checksum says
	                                 that it is done, or was by an earlier run */
	bool *kept;                   /* shard i stands there, as an earlier run of
	                                 this same build noted it */
	bool resumed;                 /* the state file is of this same build */
	struct lc__reuse older;       /* the build whose shards may be taken over */
	pthread_mutex_t lock;         /* guards manifest and reused */
	uint64_t reused;              /* shards not written by this run */
};

/** Whether a shard's checksum is known, of the kind that the build makes. */
bool lc__shard_done(const struct lc__building *b, size_t i);

/**
 * Look at what stands in the directory, which is locked, and clear it for the
 * build: what is not to be touched stops it, and so does a disk too full. On
 * success the state file tells of this build, and every series has its directory.
 */
LC_CHECKED lc_status lc__build_prepare(struct lc__building *b);

/** Note in the state file which shards are done. Holds the lock, or is alone. */
LC_CHECKED lc_status lc__state_write(const struct lc__building *b);

#endif
