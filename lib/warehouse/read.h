/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of shards whose bytes are in memory, in place. */
#ifndef LC_WAREHOUSE_READ_H
#define LC_WAREHOUSE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "warehouse/shardset.h"
#include "warehouse/stream.h"

/**
 * Sample @p i of a shard in the modes MAP and MEMORY: verified when it is first used, and
 * at almost no cost after that.
 */
LC_CHECKED lc_status lc__wshard_sample(struct lc__wshard *shard, uint64_t i,
    struct lc__cost *cost, lc_sample *out);

/** Copy image, boxes and mask to the given addresses; those that are NULL are not
 *  copied. */
void lc__sample_copy(const lc_sample *sample, void *const out[3]);

/** LC_CORRUPT for an invalid metadata row. */
lc_status lc__wshard_bad_row(const struct lc__wshard *shard, uint64_t i);

/*
 * What is remembered of a good sample: a word with the position of the cache_id in its
 * row. 0 if nothing is known.
 */

/** Remember a sample, whose `meta` and `id` are set if there are rows. */
void lc__known_store(struct lc__wshard *shard, uint64_t i, const lc_sample *sample);
/** The word of a sample. */
uint64_t lc__known_load(const struct lc__wshard *shard, uint64_t i);
/** Must its row be decoded again, for the image's shape? */
bool lc__known_decodes(uint64_t word);
/** The cache_id in its row; false if the row has changed. */
bool lc__known_id(uint64_t word, lc_id row, lc_id *out);

/* ---- prefetching ----------------------------------------------------------------- */

/** Prefetch samples [first, first + n), as far as they exist. */
void lc__ahead_ask(struct lc__shardset *set, uint64_t first, uint64_t n);

/** Sample @p i of this shard is read in mode STREAM: if it follows the previous one,
 *  prefetch the next ones. */
void lc__ahead_follow(struct lc__shardset *set, struct lc__stream *stream,
    const struct lc__wshard *shard, uint64_t i);

#endif
