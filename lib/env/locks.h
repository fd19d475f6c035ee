/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The locks of a module between processes. There are three:
 *
 * - The directory is locked with flock(2): shared by a process for the moment in which it
 *   opens the module, exclusively by one that replaces data.mdb or removes the module.
 * - data.mdb is locked with flock(2) while LMDB opens it, so that one process does so at a
 *   time.
 * - lock.mdb is locked with fcntl(2), its first byte, which LMDB locks shared for as long
 *   as it has the module open. Closing any descriptor of lock.mdb gives up all locks that
 *   the process has on it: no function here may be called for a module that this process
 *   has open, where it does not say so.
 */
#ifndef LC_ENV_LOCKS_H
#define LC_ENV_LOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "lmdbcache.h"

/* ---- the directory --------------------------------------------------------------- */

/**
 * Lock the directory that has this name, exclusively and without waiting; *@p out is a
 * descriptor for lc__unlock_directory(). @return LC_OK; LC_BUSY; LC_IO.
 */
LC_CHECKED lc_status lc__lock_directory(const char *dir, int *out);
/**
 * The same, shared, and waiting for the lock until @p deadline of lc__clock_ns(), then
 * LC_TIMEOUT. Where directories cannot be locked or read, *@p out is -1, which is not a
 * failure.
 */
LC_CHECKED lc_status lc__lock_directory_shared(const char *dir, uint64_t deadline,
    int *out);
/** Sleep before a lock is asked for again; LC_TIMEOUT when the deadline has passed. */
LC_CHECKED lc_status lc__lock_pause(const char *dir, uint64_t deadline);
/** -1 is harmless. */
void lc__unlock_directory(int fd);

/* ---- data.mdb -------------------------------------------------------------------- */

/**
 * Keep other processes from opening the environment in @p dir, whose data file is @p fd:
 * LMDB may lock lock.mdb exclusively only with this lock. If one is opening it: @p wait
 * for that, else LC_TIMEOUT. @return LC_OK, also where files cannot be locked.
 */
LC_CHECKED lc_status lc__lock_opening(int fd, const char *dir, bool wait);
void lc__unlock_opening(int fd);

/* ---- lock.mdb -------------------------------------------------------------------- */

/*
 * LMDB makes the file longer with ftruncate(2) and writes through a map, which on a full
 * disk ends the process with SIGBUS; and it opens whatever has the name, also a link or a
 * FIFO. So the file is made here with its space before LMDB opens it, and one that exists
 * is checked and gets the space that it lacks.
 */

/** Slots for readers in a lock file that we make. */
#define LC__MAX_READERS 1024

/**
 * Prepare the lock file @p path; make it if it is missing and @p create. No lock is taken,
 * so that other processes may use the file meanwhile, and its size stays.
 * @return LC_OK, also where the file system is read-only and LMDB does without one;
 * LC_NOT_MODULE if it is not a regular file; LC_NO_SPACE, LC_PERMISSION, LC_IO.
 */
LC_CHECKED lc_status lc__lockfile_prepare(const char *path, bool create);
/** The same of the one in directory @p path, made if it is missing. @p name is the
 *  directory as the user knows it, for messages. */
LC_CHECKED lc_status lc__lockfile_prepare_in(const char *path, const char *name);

/** Open the lock file @p path, which must be a regular file; -1 with errno, ELOOP for
 *  a link. */
int lc__lockfile_open(const char *path);

/** Lock the lock file @p fd exclusively, without waiting: false with errno, EAGAIN or
 *  EACCES if a process has the environment open. */
bool lc__lockfile_lock(int fd);
/** Does another process have it locked? 1, 0, or -1 with errno. Takes no lock. */
int lc__lockfile_is_locked(int fd);

/** Wait for a process that has died to give up the lock file of the module in @p path: it
 *  loses its locks one by one. */
void lc__lockfile_wait_for_dying(const char *path);

/**
 * Lock out every other process that has the module open, or opens it with LMDB's own
 * tools. Openers of the library are kept out by lc__lock_directory(), taken before.
 * @param path  the module's directory; @p name the same, for messages
 * @param out   a descriptor of lock.mdb, to be closed after the environment is closed.
 * This process may have the environment open.
 * @return LC_OK; LC_BUSY if a process has it open; LC_IO.
 */
LC_CHECKED lc_status lc__lock_others_out(const char *path, const char *name, int *out);

#endif
