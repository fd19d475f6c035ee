/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LC_SHARD_COMPARE_H
#define LC_SHARD_COMPARE_H

#include "format/manifest.h"

/** Whether a shard is what its manifest says; LC_CORRUPT names what differs. */
LC_CHECKED lc_status lc__shard_compare(const char *path,
    const lc_shard_info *has, const struct lc__manifest_shard *said);

#endif
