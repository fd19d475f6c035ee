/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A build in progress: the plan of its shards, the older build whose shards it may take over,
 * and its state file.
 */
#ifndef LC_SHARD_BUILDING_H
#define LC_SHARD_BUILDING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"
#include "base/team.h"
#include "format/manifest.h"
#include "shard/build.h"
#include "shard/outdir.h"
#include "shard/packed.h"

/* ---- the plan: which samples go into which shard --------------------------------- */

/** A shard to be written. */
struct lc__plan_shard {
	const struct lc__shard_series *series; /* the series that it belongs to */
	uint64_t number;                       /* in the series, from 0 */
	lc_shard_info info;                    /* laid out */
	uint64_t first;                        /* its first sample in the series */
	uint64_t row_bytes;                    /* of its metadata rows */
	char samples_hash[LC__HASH128_HEX];    /* twh1(5); "" without hashes */
};

/** All of them, series after series. */
struct lc__plan {
	struct lc__plan_shard *shards; /* malloc'ed */
	size_t n, room;                /* how many; allocated */
	uint64_t bytes;                /* bytes of all files */
	uint64_t samples;              /* in all of them */
};

/**
 * Divide a build's samples among shards, in order, at least one sample in each. For a
 * source without hashes, each shard is filled up to shard_bytes. For one with hashes, a
 * shard ends before the sample with the lowest hash rank, of those that give it 1/2 to
 * 3/2 of shard_bytes. So the end of a shard depends only on the samples around it, and
 * adding or removing a sample usually moves the end of one shard only.
 */
LC_CHECKED lc_status lc__plan_make(const struct lc__build *build, struct lc__plan *out);

void lc__plan_free(struct lc__plan *plan);

/* ---- reuse: shards of an older build that a new one takes over ------------------------ */

/** The older build. All zero: it has no shards. */
struct lc__reuse {
	const char *dir;                          /* borrowed */
	struct lc__manifest manifest;             /* manifest of the older build */
	const struct lc__manifest_shard **sorted; /* those with a samples_hash, by it */
	size_t n;                                 /* how many */
};

/** Read its manifest. If that is missing or damaged, there are no shards to take over. */
LC_CHECKED lc_status lc__reuse_open(const char *dir, struct lc__reuse *out);
void lc__reuse_close(struct lc__reuse *older);

/** A shard there with the same samples, form and size, and the requested checksum; NULL
 *  if there is none. */
const struct lc__manifest_shard *lc__reuse_find(const struct lc__reuse *older,
    const struct lc__manifest_shard *wanted, bool no_sha256);

/** Can files of directory @p from (may be NULL) be linked in @p dir? */
bool lc__reuse_links(const char *from, const char *dir);

/** Does a file have this size, and a shard's header and checksum section? */
bool lc__reuse_looks_whole(const char *path, const lc_shard_info *info);

/**
 * Take over a shard of directory @p from to @p path, where it may be already. For a
 * linked shard, size, header and checksum section are checked; a shard that cannot be
 * linked is copied and checked whole. Counts its bytes as steps of the work.
 * @param info   the expected header
 * @param taken  false if that shard is missing or damaged: then @p path is free
 */
LC_CHECKED lc_status lc__reuse_take(const char *from,
    const struct lc__manifest_shard *shard, const lc_shard_info *info, const char *path,
    struct lc__team *team, bool *taken);

/* ---- the build ------------------------------------------------------------------------ */

struct lc__building {
	const struct lc__build *build;
	struct lc__plan plan;
	struct lc__outdir dir;
	struct lc__manifest manifest; /* shards[i] is plan.shards[i]; one with a checksum
	                               * is done, maybe by an earlier run */
	bool *kept;                   /* shard i exists, as recorded by an earlier run of
	                               * the same build */
	bool resumed;                 /* the state file belongs to this build */
	struct lc__reuse older;       /* the build whose shards may be taken over */
	struct lc__packed packed;     /* packed shards that may be taken over */
	uint32_t task, tasks;         /* for lc__build_pack() */
	pthread_mutex_t lock;         /* guards manifest and reused */
	uint64_t reused;              /* shards not written by this run */
};

/** Is a shard's checksum known, of the kind that the build computes? */
bool lc__shard_done(const struct lc__building *b, size_t i);

/**
 * Check the files in the directory, which is locked, and prepare it for the build. Fails
 * if there are files that must not be touched, or if the disk is too full. On success the
 * state file belongs to this build, and every series has its directory.
 */
LC_CHECKED lc_status lc__build_prepare(struct lc__building *b);

/** Record in the state file that shard @p i is done, in a time that does not depend on the
 *  number of shards. Called by the thread that has written it. */
LC_CHECKED lc_status lc__state_add(const struct lc__building *b, uint64_t i);

#endif
