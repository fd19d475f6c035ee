/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory of verified copies of objects: a cache that all processes of a host share.
 *
 *	DIR/obj/AA/SHA256.twh1, DIR/part/AA/SHA256.json
 *	                    copies, under the names that they have in the store
 *	DIR/tmp/SHA256.KIND one that is being fetched, or the beginning of one
 *	DIR/roster          who uses what (roster.h)
 *
 * Objects never change, and their names are their SHA-256: a copy is hashed while it
 * arrives, and gets its name when it is right. Wrong bytes are fetched once more; then the
 * error names object and part. An interrupted fetch, also of a killed process,
 * continues where it stopped: the bytes so far are hashed again first, and the hash of the
 * whole decides.
 *
 * Limit    The copies, partial ones too, never take more than the limit on the disk: room is
 *          reserved before a fetch begins. Each process keeps to the limit that it was opened
 *          with. The roster takes 4 KiB, and 384 bytes for each copy, more.
 * Pins     A copy that a process has taken is not removed until it gives it back or dies.
 * Victims  The copy goes whose next use is the farthest, of all ranks that told theirs
 *          (lc__copies_rank()); among those of which nothing is known, which go first, the
 *          one that was taken the longest ago. Partial ones go before all others.
 * Loss     It is a cache: no copy is the only one. Files, or all of the directory, may be
 *          removed at any time. Nothing is synced: after a loss of power files may be
 *          damaged.
 * Damage   A copy is not hashed again when it is taken. Whoever reads it verifies the block
 *          checksums of the shard, or the SHA-256 of a manifest, and says so with
 *          lc__copies_drop() or repairs it with lc__copies_mend().
 * Disk     Where the disk is full before the limit is reached, copies go as if it were.
 * Files    Links and other files in the directory are neither followed nor touched.
 * Threads  Any number. After fork(2) the child has a handle of its own, without pins: maps of
 *          copies that its parent had taken stay valid.
 */
#ifndef LC_REMOTE_COPIES_H
#define LC_REMOTE_COPIES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"
#include "remote/roster.h"

/** Counts since the directory was opened. */
struct lc__copies_stats {
	_Atomic uint64_t hits;    /* copies that existed when they were taken */
	_Atomic uint64_t fetched; /* objects fetched whole */
	/* Bytes from the store, with ranges and failed tries. */
	_Atomic uint64_t bytes;
	_Atomic uint64_t ranges;  /* calls of lc__copies_read() */
	_Atomic uint64_t evicted; /* copies that were removed to make room */
	_Atomic uint64_t again;   /* objects that arrived damaged and were requested again
	                           * */
	_Atomic uint64_t resumed; /* fetches that continued where one stopped */
	_Atomic uint64_t mended;  /* blocks that were damaged on the disk */
	_Atomic uint64_t failed;  /* fetches that ended with an error */
	_Atomic uint64_t full;    /* times that the disk was full below the limit */
};

struct lc__copies;

/** An object to fetch. */
struct lc__wanted {
	/* Name of the object, "obj/4f/4f….twh1" with its SHA-256. */
	char name[LC__ROSTER_NAME];
	uint64_t size; /* size of the object, bytes */
	/* The part that it belongs to, for messages; may be NULL. Borrowed. */
	const char *part;
	uint64_t when; /* position of its next use, if it is fetched ahead; 0: now */
	uint64_t now;  /* the reader's, if another handle is its rank */
};

/** A copy that this process has pinned. */
struct lc__copy {
	/* Path of the file, malloc'ed; lc__copies_give() frees it. */
	char *path;
	int row;              /* its row in the roster */
	uint64_t incarnation; /* incarnation of that roster */
};

/**
 * Open the directory, which is made if it is not there.
 * @param limit    bytes on the disk
 * @param shared   other users may write to it, on purpose
 * @param objects  the store; stays until it is closed
 * @return LC_OK; LC_FILESYSTEM, LC_PERMISSION and others as lc__roster_open().
 */
LC_CHECKED lc_status lc__copies_open(const char *dir, uint64_t limit, bool shared,
    struct lc__objects *objects, struct lc__copies **out);
/** NULL is allowed. Everything taken must have been given back. */
void lc__copies_close(struct lc__copies *copies);

/**
 * Take a copy, pinned. If several threads or processes need one object, one of them
 * fetches it, and the others wait; if it dies, another one continues. Copies are removed
 * for it only if no rank needs them before this one needs the object.
 * @return LC_OK; LC_NO_SPACE if it does not fit within the limit or on the disk without
 * removing what is pinned or needed earlier; LC_CORRUPT, naming object and part, if it is
 * missing in the store or has wrong bytes; LC_TIMEOUT if another process fetches it
 * without progress for two minutes; LC_CANCELLED once lc__thread_stopped(); as get_range().
 */
LC_CHECKED lc_status lc__copies_take(struct lc__copies *copies,
    const struct lc__wanted *wanted, struct lc__copy *out);
void lc__copies_give(struct lc__copies *copies, struct lc__copy *copy);

/** The row of a copy. LC__ROW_COMING without a fetcher is reported as LC__ROW_FREE. */
LC_CHECKED lc_status lc__copies_look(struct lc__copies *copies, const char *name,
    enum lc__row_state *out);
/** Bytes that are free below the limit. */
LC_CHECKED lc_status lc__copies_room(struct lc__copies *copies, uint64_t *out);

/** Remove a copy. If it is pinned it loses its name, so that it is fetched again, and
 *  counts until it is given back.
 *  @param taken  only this one, and not one that has replaced it; or NULL */
LC_CHECKED lc_status lc__copies_drop(struct lc__copies *copies, const char *name,
    const struct lc__copy *taken);
/** Write bytes that were verified into a copy that is damaged there. */
LC_CHECKED lc_status lc__copies_mend(struct lc__copies *copies,
    const struct lc__copy *copy, uint64_t from, const void *bytes, size_t size);

/** Read a range of an object directly from the store: exactly these bytes, not
 *  verified. */
LC_CHECKED lc_status lc__copies_read(struct lc__copies *copies,
    const struct lc__wanted *wanted, uint64_t from, size_t size, void *out);

/** The forecast of a handle, for itself and for the others. Both functions are called
 *  while the roster is locked. */
struct lc__copies_rank {
	/** Its position; never decreases. */
	uint64_t (*now)(void *ctx);
	/** The next use of the copy with this name, from @p now on, or LC__NEVER. Called
	 *  if it is unknown or past. */
	uint64_t (*when)(void *ctx, const char *name, uint64_t now);
	void *ctx;
};

/**
 * Make the handle a rank: before copies are evicted, its needs are published. Beyond
 * LC__ROSTER_RANKS handles nothing is published. The functions are not called any more when
 * this has returned with other ones.
 */
void lc__copies_rank(struct lc__copies *copies, const struct lc__copies_rank *rank);
/** It is none any more, unless it has become one with another @p ctx: the functions are not
 *  called any more with this one. */
void lc__copies_unrank(struct lc__copies *copies, const void *ctx);

/** Publish changes to the others. */
LC_CHECKED lc_status lc__copies_tell(struct lc__copies *copies);

struct lc__copies_stats *lc__copies_stats(struct lc__copies *copies);
uint64_t lc__copies_limit(const struct lc__copies *copies);

#endif
