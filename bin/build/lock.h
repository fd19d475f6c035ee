/* SPDX-License-Identifier: BSD-2-Clause */
/* One build at a time in a warehouse. */
#ifndef CACHEX_BUILD_LOCK_H
#define CACHEX_BUILD_LOCK_H

#include "lmdbcache.h"

/** Lock; the lock is gone when @p fd is closed, or the process ends. LC_BUSY names
 *  the process that has it. */
LC_CHECKED lc_status lc__lock_take(const char *warehouse, int *fd);

#endif
