/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tells whether an input shard is still the same: XXH3-128 of its size, as eight
 * bytes little-endian, its first MiB and its last MiB; of a smaller file both are all of
 * it.
 */
#ifndef CACHEX_FILL_FINGERPRINT_H
#define CACHEX_FILL_FINGERPRINT_H

#include "lmdbcache.h"

#define LC__FINGERPRINT 16 /* bytes: the hash's canonical form, big-endian */

/** @param size  gets the file's size; LC_INVALID if it is no regular file. */
LC_CHECKED lc_status lc__fingerprint(const char *path,
    unsigned char out[LC__FINGERPRINT], uint64_t *size);

#endif
