/* SPDX-License-Identifier: BSD-2-Clause */
/* A warehouse on the disk: removing directories, the lock of a build, free space. */
#ifndef CACHEX_BUILD_DISK_H
#define CACHEX_BUILD_DISK_H

#include <stdint.h>

#include "lmdbcache.h"

/**
 * Remove @p name in the directory @p parent (AT_FDCWD for a path) with its content; links
 * are removed, not their targets. A missing one is not an error.
 * @param where  for messages: the parent's path
 */
LC_CHECKED lc_status lc__tree_remove(int parent, const char *name, const char *where);

/** Lock; closing @p fd or the end of the process releases the lock. LC_BUSY names the
 *  process that has it. */
LC_CHECKED lc_status lc__lock_take(const char *warehouse, int *fd);

/** Bytes that can still be written below @p path. */
LC_CHECKED lc_status lc__space_left(const char *path, uint64_t *out);

/** LC_NO_SPACE, with both numbers, unless @p needed bytes are free. @p what needs them:
 *  "12 frames". */
LC_CHECKED lc_status lc__space_check(const char *path, uint64_t needed, const char *what);

#endif
