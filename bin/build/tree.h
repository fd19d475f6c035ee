/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory and all that is in it. */
#ifndef CACHEX_BUILD_TREE_H
#define CACHEX_BUILD_TREE_H

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

#endif
