/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zip and tar archives, written front to back. Members have no owner and no time: the
 * same names and bytes make the same archive, whatever the hour, its zone and the
 * locale.
 */
#ifndef CACHEX_FORMATS_ARCHIVE_WRITE_H
#define CACHEX_FORMATS_ARCHIVE_WRITE_H

#include "formats/archive.h"

struct lc__archive_writer;

/** Where the bytes go. What it returns goes up to the caller. */
typedef lc_status (*lc__archive_sink)(void *ctx, const void *data, size_t size);

/** Begin. Members of a zip archive are stored as they are, with their checksums behind
 *  them as nothing is written twice; zip64 where it is needed. A tar archive is ustar,
 *  with pax records for names and sizes that need them. */
LC_CHECKED lc_status lc__archive_create(enum lc__archive_kind kind,
    lc__archive_sink sink, void *ctx, struct lc__archive_writer **out);

/** Begin a member, of which exactly @p size bytes follow. */
LC_CHECKED lc_status lc__archive_add(struct lc__archive_writer *writer,
    const char *name, uint64_t size);
LC_CHECKED lc_status lc__archive_append(struct lc__archive_writer *writer,
    const void *data, size_t size);

/** Write the end. Frees the writer, also on failure. */
LC_CHECKED lc_status lc__archive_finish(struct lc__archive_writer *writer);
/** Give up: nothing more is written. NULL is harmless. */
void lc__archive_discard(struct lc__archive_writer *writer);

#endif
