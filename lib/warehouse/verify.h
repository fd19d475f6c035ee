/* SPDX-License-Identifier: BSD-2-Clause */
/* Block checksums of a shard, each compared once for a handle, or always. */
#ifndef LC_WAREHOUSE_VERIFY_H
#define LC_WAREHOUSE_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "warehouse/shardset.h"

/** Bytes of a file. */
struct lc__sample_range {
	uint64_t from, to;
};

/** Is none of the blocks with these bytes to be compared? */
bool lc__range_good(const struct lc__wshard *shard, struct lc__sample_range range);

/** The range extended to the whole of its first and last block. */
struct lc__sample_range lc__range_blocks(const struct lc__wshard *shard,
    struct lc__sample_range range);

/**
 * Compare the blocks with these bytes, except those that were right before and need not
 * be compared again.
 * @param bytes   address of the byte at range.from; the rest of its blocks lies before
 *                and after it
 * @param sample  in the shard, for messages
 * @return LC_OK; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__range_verify(struct lc__wshard *shard,
    struct lc__sample_range range, const unsigned char *bytes, uint64_t sample,
    struct lc__cost *cost);

/**
 * The same for a shard of a supplier: missing bytes are fetched, and those that do not
 * match are fetched again and repaired. On success the bytes are in their place.
 */
LC_CHECKED lc_status lc__range_supply(struct lc__wshard *shard,
    struct lc__sample_range range, uint64_t sample, struct lc__cost *cost);
/** Drop the samples of a shard that is read by ranges and not in use. */
void lc__range_drop(struct lc__wshard *shard);

/* The positions of the regions of sample @p i in its file. */
struct lc__sample_range lc__image_range(const struct lc__twh1 *shard, uint64_t i);
struct lc__sample_range lc__boxes_range(const struct lc__twh1 *shard, uint64_t i);
struct lc__sample_range lc__mask_range(const struct lc__twh1 *shard, uint64_t i);
/** The two offsets that bound its row. Needs metadata. */
struct lc__sample_range lc__offsets_range(const struct lc__twh1 *shard, uint64_t i);
/** A row as returned by lc__twh1_row_at(). */
struct lc__sample_range lc__row_range(const struct lc__twh1 *shard, lc_id row);

#endif
