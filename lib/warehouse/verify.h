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

/** Whether no block that has some of these bytes is to be compared. */
bool lc__range_good(const struct lc__wshard *shard, struct lc__sample_range range);

/** The same range with the whole of its first and last block. */
struct lc__sample_range lc__range_blocks(const struct lc__wshard *shard,
    struct lc__sample_range range);

/**
 * Compare the blocks that have some of these bytes, unless they were right before and need
 * not be compared again.
 * @param bytes   what stands at range.from & all before and behind it in its blocks
 * @param sample  in the shard, for messages
 * @return LC_OK; LC_CORRUPT.
 */
LC_CHECKED lc_status lc__range_verify(struct lc__wshard *shard,
    struct lc__sample_range range, const unsigned char *bytes, uint64_t sample,
    struct lc__cost *cost);

/**
 * The same of a shard that a supplier has: bytes that are missing are fetched, and those that
 * do not match are fetched again and mended. The bytes are in their place then.
 */
LC_CHECKED lc_status lc__range_supply(struct lc__wshard *shard,
    struct lc__sample_range range, uint64_t sample, struct lc__cost *cost);
/** Forget the samples of a shard that is read by ranges; nobody uses it. */
void lc__range_drop(struct lc__wshard *shard);

/* Where the parts of sample @p i are in its file. */
struct lc__sample_range lc__image_range(const struct lc__twh1 *shard, uint64_t i);
struct lc__sample_range lc__boxes_range(const struct lc__twh1 *shard, uint64_t i);
struct lc__sample_range lc__mask_range(const struct lc__twh1 *shard, uint64_t i);
/** Of the two offsets that say where its row is. Needs metadata. */
struct lc__sample_range lc__offsets_range(const struct lc__twh1 *shard, uint64_t i);
/** Of a row as lc__twh1_row_at() gives it. */
struct lc__sample_range lc__row_range(const struct lc__twh1 *shard, lc_id row);

#endif
