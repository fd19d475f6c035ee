/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of a module's directory. LMDB's lock file tells who has an environment
 * open, but an opener that waits for it is let in as if nothing had changed. So
 * whoever opens a module holds this lock shared for that moment, and whoever
 * replaces data.mdb holds it alone.
 */
#ifndef LC_ENV_DIRLOCK_H
#define LC_ENV_DIRLOCK_H

#include <stdbool.h>

#include "lmdbcache.h"

/**
 * Lock the directory that has this name once it is locked; *out is a descriptor for lc__dir_unlock().
 * @p alone does not wait: LC_BUSY. Shared waits; where directories cannot be
 * locked or not be read, *out is -1 and that is no failure.
 */
LC_CHECKED lc_status lc__dir_lock(const char *dir, bool alone, int *out);
/** -1 is harmless. */
void lc__dir_unlock(int fd);

#endif
