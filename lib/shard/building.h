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

/* ---- the plan: which samples go into which shard ------------------------------------- */

/** A shard that is to be written. */
struct lc__plan_shard {
	const struct lc__shard_series *series; /* that it belongs to */
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
LC_CHECKED lc_status lc__plan_make(const struct lc__build *build, struct lc__plan *out);

void lc__plan_free(struct lc__plan *plan);

/* ---- reuse: shards of an older build that a new one takes over ------------------------ */

/** The older build. Zeros: it has no shards. */
struct lc__reuse {
	const char *dir;                          /* borrowed */
	struct lc__manifest manifest;             /* of it */
	const struct lc__manifest_shard **sorted; /* those with a samples_hash, by it */
	size_t n;                                 /* how many */
};

/** Read its manifest. If that is missing or damaged, there are no shards to take. */
LC_CHECKED lc_status lc__reuse_open(const char *dir, struct lc__reuse *out);
void lc__reuse_close(struct lc__reuse *older);

/** The shard there with the same samples, form and size, and the checksum that is
 *  asked for; NULL if there is none. */
const struct lc__manifest_shard *lc__reuse_find(const struct lc__reuse *older,
    const struct lc__manifest_shard *wanted, bool no_sha256);

/** Whether files of directory @p from, or NULL, can have links in @p dir. */
bool lc__reuse_links(const char *from, const char *dir);

/** Whether a file is a shard of this size, header and checksum section. */
bool lc__reuse_looks_whole(const char *path, const lc_shard_info *info);

/**
 * Take a shard of directory @p from over to @p path, where it may be already. A linked shard
 * has its size, header and checksum section checked; one that cannot be linked is copied
 * and checked whole. Counts its bytes as steps of the work.
 * @param info   what its header must say
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
	                                 is done, perhaps by an earlier run */
	bool *kept;                   /* shard i is there, as an earlier run of this same
	                                 build noted it */
	bool resumed;                 /* the state file is of this same build */
	struct lc__reuse older;       /* the build whose shards may be taken over */
	struct lc__packed packed;     /* and the packed ones */
	uint32_t task, tasks;         /* lc__build_pack()'s */
	pthread_mutex_t lock;         /* guards manifest and reused */
	uint64_t reused;              /* shards not written by this run */
};

/** Whether a shard's checksum is known, of the kind that the build makes. */
bool lc__shard_done(const struct lc__building *b, size_t i);

/**
 * Look at the files in the directory, which is locked, and clear it for the build. Files
 * that must not be touched stop it, and so does a disk that is too full. On success the
 * state file is of this build, and every series has its directory.
 */
LC_CHECKED lc_status lc__build_prepare(struct lc__building *b);

/** Write into the state file which shards are done. The caller holds the lock, or there are
 *  no other threads. */
LC_CHECKED lc_status lc__state_write(const struct lc__building *b);

#endif
