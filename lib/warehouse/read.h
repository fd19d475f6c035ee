/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of shards whose bytes are in memory, in place. */
#ifndef LC_WAREHOUSE_READ_H
#define LC_WAREHOUSE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "warehouse/shardset.h"
#include "warehouse/stream.h"

/**
 * Sample @p i of a shard in the modes MAP and MEMORY: verified when it is looked at
 * for the first time, and at next to no cost after that.
 */
LC_CHECKED lc_status lc__wshard_sample(struct lc__wshard *shard, uint64_t i,
    struct lc__cost *cost, lc_sample *out);

/** Copy image, boxes and mask to where they are wanted: not where that is NULL. */
void lc__sample_copy(const lc_sample *sample, void *const out[3]);

/** LC_CORRUPT for a metadata row that makes no sense. */
lc_status lc__wshard_bad_row(const struct lc__wshard *shard, uint64_t i);

/*
 * What is remembered of a sample that was good: a word that says where in its row
 * the cache_id is. 0 where nothing is known.
 */

/** Remember a sample, whose `meta` and `id` are set where there are rows. */
void lc__known_store(struct lc__wshard *shard, uint64_t i, const lc_sample *sample);
/** The word of a sample. */
uint64_t lc__known_load(const struct lc__wshard *shard, uint64_t i);
/** Whether its row has to be decoded again, for the image's shape. */
bool lc__known_decodes(uint64_t word);
/** The cache_id in its row; false if the row is no longer what it was. */
bool lc__known_id(uint64_t word, lc_id row, lc_id *out);

/* ---- asking the system for samples before they are read ------------------------------- */

/** Samples [first, first + n), as far as there are such. */
void lc__ahead_ask(struct lc__shardset *set, uint64_t first, uint64_t n);

/** Sample @p i, which is in this shard, is read in mode STREAM: if it follows the one
 *  before, ask for those after it. */
void lc__ahead_follow(struct lc__shardset *set, struct lc__stream *stream,
    const struct lc__wshard *shard, uint64_t i);

#endif
