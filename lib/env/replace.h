/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another file takes the place of a module's data.mdb: nobody else may have the module
 * open meanwhile, and the new file belongs to the owner of the old one.
 */
#ifndef LC_ENV_REPLACE_H
#define LC_ENV_REPLACE_H

#include <sys/stat.h>

#include "lmdbcache.h"

/**
 * Lock out every other process that has the module open, or opens it with LMDB's own
 * tools. Openers of the library are kept out by lc__dir_lock(), taken before.
 * @param path  the module's directory; @p name the same, for messages
 * @param out   a descriptor of lock.mdb. Closing it gives up every lock of this process
 * on that file, so it is closed after the environment is
 * @return LC_OK; LC_BUSY if a process has it open; LC_IO.
 */
LC_CHECKED lc_status lc__env_lock_others_out(const char *path, const char *name,
    int *out);

/** Give @p fd, which is @p path, the owner and the mode of another file. Without the
 *  right to change the owner it stays. */
LC_CHECKED lc_status lc__env_copy_owner(const struct stat *of, int fd,
    const char *path);

#endif
