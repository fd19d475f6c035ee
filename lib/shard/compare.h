/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_SHARD_COMPARE_H
#define LC_SHARD_COMPARE_H

#include "format/manifest.h"
#include "format/twh1.h"

/** Whether a shard is what its manifest says; LC_CORRUPT names what differs. */
LC_CHECKED lc_status lc__shard_compare(const char *path,
    const struct lc__twh1 *shard, const struct lc__manifest_shard *said);

#endif
