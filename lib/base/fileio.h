/* SPDX-License-Identifier: BSD-2-Clause */
/* Whole reads and writes, atomic replacement. Knows bytes and paths only. */
#ifndef LC_BASE_FILEIO_H
#define LC_BASE_FILEIO_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** Read @p size bytes, or fewer at the end of the file; *got is their number. EINTR is
 *  retried. */
LC_CHECKED lc_status lc__read_full(int fd, void *data, size_t size, size_t *got,
    const char *path);
/** Write @p size bytes. EINTR and short writes are retried. */
LC_CHECKED lc_status lc__write_full(int fd, const void *data, size_t size,
    const char *path);
/**
 * Start writing a new file to the disk, from *begun to @p end, once that is some MiB, and
 * advance *begun: the final sync then waits for less. A hint.
 */
void lc__write_behind(int fd, uint64_t *begun, uint64_t end);
/** The same, of all that was written, when nothing more comes. */
void lc__write_rest_behind(int fd, uint64_t begun);
/** Open a regular file for reading; anything else is LC_INVALID. Does not block on a FIFO
 *  and does not read a device. */
LC_CHECKED lc_status lc__open_regular(const char *path, int *fd);
/** Append a whole file to @p out; LC_INVALID if it is larger than @p limit. */
LC_CHECKED lc_status lc__read_file(const char *path, uint64_t limit, struct lc__buf *out);
/** The same for a regular file, opened as by lc__open_regular(). */
LC_CHECKED lc_status lc__read_regular(const char *path, uint64_t limit,
    struct lc__buf *out);
/**
 * Replace @p path by these bytes, as base/newfile.h describes. On failure the old file
 * stays and no temporary file is left.
 */
LC_CHECKED lc_status lc__write_file_atomic(const char *path, const void *data,
    size_t size);
/**
 * For callers that accept a missing file: LC_IO, naming @p path, if it is a symbolic link
 * whose target is missing, since then data was lost; else LC_OK.
 */
LC_CHECKED lc_status lc__no_lost_link(const char *path);
/** fsync a directory. */
LC_CHECKED lc_status lc__sync_dir(const char *path);
/** fsync the directory that holds @p path. */
LC_CHECKED lc_status lc__sync_parent(const char *path);
/** mkdir -p. The parent of a new directory is synced. */
LC_CHECKED lc_status lc__make_dirs(const char *path);
/** "a/b" malloc'ed, NULL without memory. */
char *lc__path_join(const char *dir, const char *name);

#endif
