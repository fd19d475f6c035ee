/* SPDX-License-Identifier: BSD-2-Clause */
/* The original of a file that is going to be replaced. */
#ifndef CACHEX_MIGRATE_BACKUP_H
#define CACHEX_MIGRATE_BACKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** LC_INVALID if @p wanted, which may be NULL, is the name of the file or of the one that
 *  takes its place: the original would be lost with it. LC_NO_FILE, LC_IO and others
 *  where that cannot be seen. */
LC_CHECKED lc_status lc__backup_check(const char *wanted, const char *file,
    const char *temporary);
/** The n-th name for the original of a file of stage 1 or 2, from 1: FILE.stage1.backup,
 *  FILE.stage1.backup.2 and on. False if it does not fit. */
bool lc__backup_name(const char *file, unsigned stage, unsigned n, char *out,
    size_t room);
/** A name for it: @p wanted, or the first of those above under which nothing is or this
 *  very file. LC_EXISTS if something else is under @p wanted. */
LC_CHECKED lc_status lc__backup_choose(const char *file, unsigned stage,
    const char *wanted, char *out, size_t room);
/** Make the file appear there, as another link to it or as a copy, durable. Nothing is
 *  done if it is there. */
LC_CHECKED lc_status lc__backup_make(const char *file, const char *backup);
/** The first @p size bytes of a file to the start of another one. */
LC_CHECKED lc_status lc__backup_copy(int from, const char *from_path, uint64_t size,
    int to, const char *to_path);

#endif
