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
 * Lock the directory with this name, exclusively and without waiting; *@p out is a
 * descriptor for lc__unlock_directory().
 * @return LC_OK; LC_BUSY; LC_IO.
 */
LC_CHECKED lc_status lc__lock_directory(const char *dir, int *out);
/**
 * The same, shared; waits for the lock until lc__clock_ns() reaches @p deadline, then
 * LC_TIMEOUT. Where directories cannot be locked or read, *@p out is -1 and the result
 * LC_OK.
 */
LC_CHECKED lc_status lc__lock_directory_shared(const char *dir, uint64_t deadline,
    int *out);
/** Sleep before the next attempt to lock; LC_TIMEOUT after the deadline. */
LC_CHECKED lc_status lc__lock_pause(const char *dir, uint64_t deadline);
/** -1 is allowed. */
void lc__unlock_directory(int fd);

/* ---- data.mdb -------------------------------------------------------------------- */

/**
 * Keep other processes from opening the environment in @p dir, whose data file is @p fd:
 * LMDB may lock lock.mdb exclusively only with this lock. If a process is opening it: @p
 * wait for that, else LC_TIMEOUT.
 * @return LC_OK, also where files cannot be locked.
 */
LC_CHECKED lc_status lc__lock_opening(int fd, const char *dir, bool wait);
void lc__unlock_opening(int fd);

/* ---- lock.mdb -------------------------------------------------------------------- */

/*
 * LMDB extends the file with ftruncate(2) and writes through a map, which on a full disk
 * ends the process with SIGBUS; and it opens whatever has the name, even a link or a
 * FIFO. So the file is created here with its space before LMDB opens it; an existing one
 * is checked and gets the space that is missing.
 */

/** Slots for readers in a lock file that is created here. */
#define LC__MAX_READERS 1024

/**
 * Prepare the lock file @p path; create it if it is missing and @p create. Takes no lock,
 * so other processes may use the file meanwhile, and its size stays.
 * @return LC_OK, also where the file system is read-only and LMDB works without one;
 * LC_NOT_MODULE if it is not a regular file; LC_NO_SPACE, LC_PERMISSION, LC_IO.
 */
LC_CHECKED lc_status lc__lockfile_prepare(const char *path, bool create);
/** The same for the lock file in directory @p path, created if it is missing. @p name is
 *  the directory as the user gave it, for messages. */
LC_CHECKED lc_status lc__lockfile_prepare_in(const char *path, const char *name);

/** Open the lock file @p path, which must be a regular file; -1 with errno, ELOOP for
 *  a link. */
int lc__lockfile_open(const char *path);

/** Lock the lock file @p fd exclusively, without waiting: false with errno, EAGAIN or
 *  EACCES if a process has the environment open. */
bool lc__lockfile_lock(int fd);
/** Does another process have it locked? 1, 0, or -1 with errno set. Takes no lock. */
int lc__lockfile_is_locked(int fd);

/** Wait until a process that died has released the lock file of the module in @p path:
 *  the system releases its locks one by one. */
void lc__lockfile_wait_for_dying(const char *path);

/**
 * Exclude every other process that has the module open, or that opens it with LMDB's own
 * tools. Those that open it with this library are excluded by lc__lock_directory(), which
 * is taken before. This process may have the environment open.
 * @param path  the module's directory; @p name the same, for messages
 * @param out   a descriptor of lock.mdb, to be closed after the environment is closed
 * @return LC_OK; LC_BUSY if a process has it open; LC_IO.
 */
LC_CHECKED lc_status lc__lock_others_out(const char *path, const char *name, int *out);

#endif
