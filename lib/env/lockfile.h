/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LMDB's lock file, before LMDB opens it. LMDB makes it longer by ftruncate(2) and
 * writes through a map, which on a full disk ends the process with SIGBUS; and it opens
 * whatever has the name, a link or a FIFO too. So the file is made here with its space,
 * and one that is there is looked at, and gets the space that it lacks.
 */
#ifndef LC_ENV_LOCKFILE_H
#define LC_ENV_LOCKFILE_H

#include <stdbool.h>

#include "lmdbcache.h"

#define LC__MAX_READERS 1024 /* slots of a lock file that we make */

/**
 * Prepare the lock file @p path; make it if it is missing and @p create. Nobody of this
 * process has it open: closing it here would drop LMDB's locks. No lock is taken, so
 * that other processes may use it meanwhile, and its size stays.
 * @return LC_OK, also where the file system is read-only and LMDB does without one;
 * LC_NOT_MODULE if it is no regular file; LC_NO_SPACE, LC_PERMISSION, LC_IO.
 */
LC_CHECKED lc_status lc__lockfile_prepare(const char *path, bool create);

/** The same of the one in directory @p path, made if it is missing. @p name is the
 *  directory as the user knows it, for messages. */
LC_CHECKED lc_status lc__lockfile_prepare_in(const char *path, const char *name);

/** Open the lock file @p path, which must be a regular file; -1 with errno, ELOOP for
 *  a link. The same rule. */
int lc__lockfile_open(const char *path);

#endif
