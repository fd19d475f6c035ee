/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A generation of a store as a source: its shards are read through a directory of copies
 * (copies.h), which a reader's forecast fills ahead (ahead.h).
 *
 * The manifest of the generation is read when the source is opened, those of its parts when
 * one of their shards is read; these are kept as copies. A copy is pinned while its shard is
 * open; reach() closes those that the reader does not need now.
 *
 * Where the limit is below the least cache, which is what a reader needs at once and fetches
 * ahead, nothing is fetched whole: rows are read by ranges, each block verified. The same is
 * done with a single shard that finds no room.
 */
#ifndef LC_REMOTE_REMOTE_H
#define LC_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "objects/objects.h"

struct lc__remote;

#define LC__REMOTE_AHEAD 4u
#define LC__REMOTE_THREADS 4u

struct lc__remote_options {
	const char *cache;   /* directory of copies */
	uint64_t limit;      /* most bytes of that directory */
	bool shared;         /* other users may write to the directory, on purpose */
	uint64_t generation; /* number of the generation; 0: the newest */
	uint32_t ahead;      /* shards fetched before they are needed */
	uint32_t threads;    /* number of threads that fetch */
	bool ranges;         /* read rows by ranges, whatever the limit */
};

/**
 * Open a source.
 * @param objects  taken over, on success
 * @param out      to be closed with lc_source_close()
 * @return LC_OK; LC_NO_FILE if there is no such generation; LC_CORRUPT; as
 * lc__copies_open(), lc_source_open_shards() and the store.
 */
LC_CHECKED lc_status lc__remote_source(struct lc__objects *objects,
    const struct lc__remote_options *how, const lc_source_options *options,
    lc_source **out);

/** Statistics so far, of all stores that a source reads. LC_UNSUPPORTED without any;
 *  LC_NO_MEMORY. */
LC_CHECKED lc_status lc__remote_stats(const lc_source *source, lc_fetch_stats *out);

#endif
