/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole reads and writes, atomic replacement. Knows bytes and paths only. */
#ifndef LC_BASE_FILEIO_H
#define LC_BASE_FILEIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Read until @p size bytes or the end; *got says how many. EINTR is retried. */
LC_CHECKED lc_status lc__read_full(int fd, void *data, size_t size, size_t *got,
    const char *path);
/** Write all of @p size bytes. EINTR and short writes are retried. */
LC_CHECKED lc_status lc__write_full(int fd, const void *data, size_t size,
    const char *path);
/**
 * Have the disk begin to write what a new file holds from *begun to @p end, once that is
 * some MiB, and set *begun: the sync at the end then has little left to wait for. A hint.
 */
void lc__write_behind(int fd, uint64_t *begun, uint64_t end);
/** Open a file for reading that must be a regular one, or LC_INVALID: a FIFO is not waited
 *  for, nor is a device read. */
LC_CHECKED lc_status lc__open_regular(const char *path, int *fd);
/** Append a whole file to @p out; LC_INVALID if it is larger than @p limit. */
LC_CHECKED lc_status lc__read_file(const char *path, uint64_t limit, struct lc__buf *out);
/** The same for a file that must be a regular one, as lc__open_regular() has it. */
LC_CHECKED lc_status lc__read_regular(const char *path, uint64_t limit,
    struct lc__buf *out);
/**
 * Replace @p path by these bytes, as base/newfile.h says. On failure the old file stays
 * and no temporary one is left.
 */
LC_CHECKED lc_status lc__write_file_atomic(const char *path, const void *data,
    size_t size);
/**
 * For callers for whom a file may be missing: LC_IO, naming @p path, if it is a symbolic
 * link to nothing. Somebody put it there, so what it led to is lost. LC_OK otherwise.
 */
LC_CHECKED lc_status lc__no_lost_link(const char *path);
/** fsync a directory. */
LC_CHECKED lc_status lc__sync_dir(const char *path);
/** fsync the directory that holds @p path. */
LC_CHECKED lc_status lc__sync_parent(const char *path);
/** mkdir -p; a directory made is synced into its parent. */
LC_CHECKED lc_status lc__make_dirs(const char *path);
/** "a/b" malloc'ed, NULL without memory. */
char *lc__path_join(const char *dir, const char *name);

#endif
