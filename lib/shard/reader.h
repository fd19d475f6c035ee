/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_SHARD_READER_H
#define LC_SHARD_READER_H

#include "format/manifest.h"
#include "format/twh1.h"

/** The parts of an open shard, in the map; valid until lc_shard_close(). */
const struct lc__twh1 *lc__shard_twh1(const lc_shard *shard);

/** Compare a shard with its manifest; LC_CORRUPT names the difference. */
LC_CHECKED lc_status lc__shard_compare(const char *path, const struct lc__twh1 *shard,
    const struct lc__manifest_shard *said);

#endif
