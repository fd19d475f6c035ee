/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zip and tar archives, read member by member in bounded memory, and written from front
 * to back. Members that are written have no owner and no time: the same names and bytes
 * make the same archive at any time, in any time zone and locale. Any threads may read
 * and write archives of their own. LC_IO where libarchive cannot be loaded.
 */
#ifndef CACHEX_FORMATS_ARCHIVE_H
#define CACHEX_FORMATS_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "lmdbcache.h"

enum lc__archive_kind {
	LC__ARCHIVE_ZIP, /* stored and deflated, zip64 */
	LC__ARCHIVE_TAR, /* ustar, pax and GNU; plain, or compressed by gzip, xz, bzip2, zstd */
	LC__ARCHIVE_RAW /* one file that is compressed by one of those: the only member */
};

struct lc__archive;

/** A member of an archive. Borrowed until the next call. */
struct lc__archive_member {
	const char
	    *name;    /* as in the archive: UTF-8 or any other bytes, ended by a NUL */
	bool regular; /* a file, no directory, link or device */
	bool encrypted;
	bool sized;    /* size is known before it is read */
	uint64_t size; /* bytes, inflated */
};

/** Open; errors do not name the archive. The bytes must stay, and a file must be a
 *  regular one, or LC_INVALID. */
LC_CHECKED lc_status lc__archive_open_bytes(enum lc__archive_kind kind, const void *bytes,
    size_t size, struct lc__archive **out);
LC_CHECKED lc_status lc__archive_open_file(enum lc__archive_kind kind, const char *path,
    struct lc__archive **out);
/** Open a tar archive that may also be a pipe or a device; reads wait for its bytes. */
LC_CHECKED lc_status lc__archive_open_pipe(const char *path, struct lc__archive **out);

/** The next member; the unread rest of the last one is skipped.
 *  LC_END at the end; LC_CORRUPT for a damaged or cut archive, also for a tar
 *  archive that stops without the blocks that end one; LC_UNSUPPORTED for a name that
 *  is not known; LC_IO. */
LC_CHECKED lc_status lc__archive_next(struct lc__archive *archive,
    struct lc__archive_member *out);

/** Append the member's bytes. LC_CORRUPT if it is damaged, LC_INVALID if it is
 *  larger than @p limit. */
LC_CHECKED lc_status lc__archive_read(struct lc__archive *archive, uint64_t limit,
    struct lc__buf *out);

/** Append up to @p size bytes of the member; fewer only at its end. There damage is
 *  reported as LC_CORRUPT: a member is good once a call has returned fewer bytes than @p
 *  size. */
LC_CHECKED lc_status lc__archive_read_some(struct lc__archive *archive, size_t size,
    struct lc__buf *out);

/** NULL is harmless. */
void lc__archive_close(struct lc__archive *archive);

/* ---- writing ------------------------------------------------------------------ */

struct lc__archive_writer;

/** Where the bytes go. A failure that it returns is passed to the caller. */
typedef lc_status (*lc__archive_sink)(void *ctx, const void *data, size_t size);

/** Begin. Members of a zip archive are stored without compression, with their checksums
 *  after them because nothing is written twice; zip64 where it is needed. A tar archive
 *  is ustar, with pax records for names and sizes that need them. */
LC_CHECKED lc_status lc__archive_create(enum lc__archive_kind kind, lc__archive_sink sink,
    void *ctx, struct lc__archive_writer **out);

/** Begin a member of exactly @p size bytes, which follow. */
LC_CHECKED lc_status lc__archive_add(struct lc__archive_writer *writer, const char *name,
    uint64_t size);
LC_CHECKED lc_status lc__archive_append(struct lc__archive_writer *writer,
    const void *data, size_t size);

/** Write the end. Frees the writer, also on failure. */
LC_CHECKED lc_status lc__archive_finish(struct lc__archive_writer *writer);
/** Give up: nothing more is written. NULL is harmless. */
void lc__archive_discard(struct lc__archive_writer *writer);

#endif
