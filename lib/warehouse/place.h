/* SPDX-License-Identifier: BSD-2-Clause */
/* Paths in a warehouse: WAREHOUSE/current -> v20261121-0123456789ab, the versions, and
 * the module of samples from which they are built. */
#ifndef LC_WAREHOUSE_PLACE_H
#define LC_WAREHOUSE_PLACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/listdir.h"
#include "lmdbcache.h"

#define LC__WAREHOUSE_CURRENT "current"
#define LC__WAREHOUSE_MODULE "samples" /* WAREHOUSE is its root */
#define LC__WAREHOUSE_PACKED "packed"  /* shards of a future version */
#define LC__WAREHOUSE_REJECTED "rejected.jsonl"
#define LC__VERSION_NAME 64 /* room for a version's name */

/** "v20261121-" and the first 12 hex digits of the SHA-256 of
 *  VERSION ":" FINGERPRINT, both hex; the day is UTC's of @p ms since 1970. */
LC_CHECKED lc_status lc__version_name(const char version[65], const char fingerprint[65],
    uint64_t ms, char out[LC__VERSION_NAME]);

/**
 * Get the directory of a version: @p path itself if it has a manifest, else the target of
 * its `current`; for WAREHOUSE/current also its present target, so that a later switch
 * does not change what the caller reads. malloc'ed.
 * @return LC_OK; LC_NO_FILE if the path does not exist; LC_NOT_MODULE if it is neither;
 * LC_CORRUPT if `current` is dangling or leads outside; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__version_find(const char *path, char **out);

/** List the directories of a warehouse with names as of lc__version_name(), sorted: the
 *  oldest date first. Does not check whether they are complete. @p out is empty before,
 *  and after a failure. */
LC_CHECKED lc_status lc__version_list(const char *warehouse, struct lc__dir_list *out);

/**
 * Point `current` to a version, atomically and durably. One switch at a time: the caller
 * holds the warehouse's lock, because links left by killed switches are removed.
 */
LC_CHECKED lc_status lc__version_switch(const char *warehouse, const char *name);

#endif
