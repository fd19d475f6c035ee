/* SPDX-License-Identifier: BSD-2-Clause */
/* Removing and renaming the directory of a module that nobody has open. */
#ifndef LC_ENV_REMOVE_H
#define LC_ENV_REMOVE_H

#include "lmdbcache.h"

/**
 * Remove the directory @p dir with its files. It vanishes at once: first it gets a name
 * that no module has. @return LC_OK; LC_NO_FILE; LC_BUSY if anybody has the module
 * open; LC_NOT_MODULE if it is none or holds directories; LC_PERMISSION, LC_IO.
 */
LC_CHECKED lc_status lc__env_remove(const char *dir);

/** Give the directory another name in the same root; durable on LC_OK. As
 *  lc__env_remove(), and LC_EXISTS if something has that name. */
LC_CHECKED lc_status lc__env_rename(const char *dir, const char *to);

#endif
