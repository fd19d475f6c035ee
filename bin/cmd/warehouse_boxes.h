/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether boxes and masks of a shard are what a warehouse promises. */
#ifndef CACHEX_CMD_WAREHOUSE_BOXES_H
#define CACHEX_CMD_WAREHOUSE_BOXES_H

#include <stdint.h>

#include "lmdbcache.h"

/**
 * Look at every sample; a line to progress->damage for each that is wrong.
 * @param boxes  how many there are is added to it
 * @return LC_OK whatever is found; LC_CANCELLED if progress->step or a signal asks.
 */
LC_CHECKED lc_status warehouse_boxes_check(const lc_shard *shard, const char *path,
    const lc_progress *progress, uint64_t *boxes);

#endif
