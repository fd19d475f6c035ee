/* SPDX-License-Identifier: BSD-2-Clause */
/* A warehouse on the disk: removing directories, the lock of a build, the room that is left. */
#ifndef CACHEX_BUILD_DISK_H
#define CACHEX_BUILD_DISK_H

#include <stdint.h>

#include "lmdbcache.h"

/**
 * Remove @p name in the directory @p parent (AT_FDCWD for a path), and what is in
 * it, links themselves and not what they lead to. It is fine if it is not there.
 * @param where  for messages: the parent's path
 */
LC_CHECKED lc_status lc__tree_remove(int parent, const char *name, const char *where);

/** Lock; the lock is gone when @p fd is closed, or the process ends. LC_BUSY names
 *  the process that has it. */
LC_CHECKED lc_status lc__lock_take(const char *warehouse, int *fd);

/** Bytes that may still be written below @p path. */
LC_CHECKED lc_status lc__space_left(const char *path, uint64_t *out);

/** LC_NO_SPACE, with both numbers, unless @p needed bytes are free. @p what needs
 *  them: "12 frames". */
LC_CHECKED lc_status lc__space_check(const char *path, uint64_t needed, const char *what);

#endif
