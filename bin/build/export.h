/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of frames that are not in a version, a JSON object a line. */
#ifndef CACHEX_BUILD_EXPORT_H
#define CACHEX_BUILD_EXPORT_H

#include <stdbool.h>

#include "build/samples.h"
#include "lmdbcache.h"

/**
 * Write the list of all frames of the dataset that are not among the samples.
 * @param path  NULL only computes the SHA-256
 */
LC_CHECKED lc_status lc__rejected_write(const struct lc__samples *samples,
    const char *path, char sha256[65]);

/** Write the note, or remove it; a missing one is not an error. */
LC_CHECKED lc_status lc__rebuild_note(const char *warehouse, bool wanted);

bool lc__rebuild_noted(const char *warehouse);

/** Remove the shards that were packed for a version. */
LC_CHECKED lc_status lc__packed_forget(const char *warehouse);

#endif
