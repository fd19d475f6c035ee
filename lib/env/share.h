/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who besides its owner may use a module: the modes of its directory and files say so, and
 * nothing else does. Readers write lock.mdb. The directory of a shared module is writable
 * by its group and has the set-group-ID bit, which gives new files the group; their modes
 * are set when they are made, whatever the umask of the process is.
 */
#ifndef LC_ENV_SHARE_H
#define LC_ENV_SHARE_H

#include "lmdbcache.h"

/** Who may use the module in @p dir. LC_NO_FILE … */
LC_CHECKED lc_status lc__share_read(const char *dir, lc_share *out);
/** Change that: the directory, data.mdb and the other files of the module. LC_PERMISSION
 *  for a user who is not the owner, or not in the group. */
LC_CHECKED lc_status lc__share_write(const char *dir, lc_share share);

/** Give a directory that was made for a copy of a module the modes of the module's, as far
 *  as this user can; nothing where that is not shared. */
void lc__share_copy(const char *from, const char *to);

/** Give a file that was made in a module's directory the mode that belongs there; nothing
 *  in a directory that is not shared. A failure leaves it as it is. */
void lc__share_new_file(const char *dir, int fd, const char *name);
/** The same by the path of the file. */
void lc__share_new_path(const char *path, int fd);

#endif
