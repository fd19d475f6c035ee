/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which users besides the owner may use a module: the modes of its directory and files
 * alone decide. Readers write lock.mdb. The directory of a shared module is writable by
 * its group and has the set-group-ID bit, which gives new files the group; their modes
 * are set when they are created, whatever the umask of the process.
 */
#ifndef LC_ENV_SHARE_H
#define LC_ENV_SHARE_H

#include "lmdbcache.h"

/** Get who may use the module in @p dir. LC_NO_FILE ... */
LC_CHECKED lc_status lc__share_read(const char *dir, lc_share *out);
/** Change that, for the directory, data.mdb and the other files of the module.
 *  LC_PERMISSION for a user who is not the owner, or not in the group. */
LC_CHECKED lc_status lc__share_write(const char *dir, lc_share share);

/** Give a directory that was created for a copy of a module the modes of the module's
 *  directory, as far as this user can; does nothing if that is not shared. */
void lc__share_copy(const char *from, const char *to);

/** Give a file that was created in a module's directory the right mode; does nothing in a
 *  directory that is not shared. On failure the mode stays. */
void lc__share_new_file(const char *dir, int fd, const char *name);
/** The same by the path of the file. */
void lc__share_new_path(const char *path, int fd);

#endif
