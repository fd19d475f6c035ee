/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of two warehouses, found again by their names. */
#ifndef CACHEX_CMD_WAREHOUSE_SAMPLES_H
#define CACHEX_CMD_WAREHOUSE_SAMPLES_H

#include <stdint.h>

#include "lmdbcache.h"

enum sample_change { SAMPLE_SAME, SAMPLE_CHANGED, SAMPLE_ADDED, SAMPLE_REMOVED };

#define SAMPLE_CHANGES 4

/**
 * Compare by cache_id, without the key of the recipe that it begins with in a
 * warehouse, and by a hash of image, boxes and mask. Samples without a cache_id are
 * found by their number. @p seen is told of each in the order of their names.
 * @return LC_OK; LC_CORRUPT for a sample that cannot be read; LC_CANCELLED,
 * LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status warehouse_samples_compare(lc_warehouse *old,
    lc_warehouse *new, const lc_progress *progress,
    void (*seen)(void *ctx, lc_id name, enum sample_change change), void *ctx);

#endif
