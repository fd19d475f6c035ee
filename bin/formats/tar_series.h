/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tar archives that records go into: one file, or in a directory a series
 * GROUP/shard-000000.tar for each group of records. Each archive appears whole.
 */
#ifndef CACHEX_FORMATS_TAR_SERIES_H
#define CACHEX_FORMATS_TAR_SERIES_H

#include "formats/outgoing.h"

/** The most series that are being written at once; of more, the one that got nothing
 *  for the longest time ends its archive. */
#define LC__TAR_OPEN 64

struct lc__tar_series;
struct lc__archive_writer;

/** Begin: one archive if the path ends with .tar, otherwise a directory. */
LC_CHECKED lc_status lc__tar_series_begin(const char *path,
    const struct lc__outgoing_how *how, struct lc__tar_series **out);

/**
 * The archive that the next record goes into.
 * @param group  "bucket_64x64", or "" for none
 * @param bytes  that the record will take
 */
LC_CHECKED lc_status lc__tar_series_at(struct lc__tar_series *series, const char *group,
    uint64_t bytes, struct lc__archive_writer **out);

/** Have everything in place and on disk; where files may be replaced, those that are
 *  left of a longer series go. Frees it, also on failure. */
LC_CHECKED lc_status lc__tar_series_finish(struct lc__tar_series *series,
    uint64_t *bytes);
/** Give up; archives in place stay. NULL is harmless. */
void lc__tar_series_discard(struct lc__tar_series *series);

#endif
