/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An entry of a stash (stash.h): a batch that came back, as bytes. Numbers are
 * little-endian.
 *
 *     0  "cxstash1"
 *     8  u64  XXH3 of what follows, up to the frames' bytes
 *    16  u64  bytes of the entry
 *    24  u64  the source: which input, and what its lines are
 *    32  u32  items, at least one
 *    36  u32  frames, at least one
 *    40  the items, in the order of their lines: u64 line, u64 XXH3 of the payload,
 *        u32 bytes of the id, the id
 *        the frames: u64 bytes, u64 XXH3
 *        the frames' bytes: answers as they came, without their lengths
 */
#ifndef CACHEX_FILL_STASHED_H
#define CACHEX_FILL_STASHED_H

#include "fill/shard.h"
#include "fill/protocol.h"

/** What tells its input from others. */
uint64_t lc__stashed_source(lc_id fingerprint, const char *key);

/**
 * Append everything in front of the frames' bytes.
 * @param behind       the line of each item is the one before this place; by the items' tags
 * @param first_frame  the batch's frames from here on
 */
LC_CHECKED lc_status lc__stashed_write(uint64_t source, const struct lc__items *batch,
    const struct lc__line_place *behind, size_t first_frame, struct lc__buf *out);

/** An entry that was read; borrowed from its bytes. */
struct lc__stashed {
	uint64_t source;
	uint32_t items, frames;
	uint64_t first, last;         /* lines */
	const unsigned char *item_at; /* where the items begin */
	const unsigned char *table;   /* of the frames */
	const unsigned char *data;    /* their bytes */
};

/** How many bytes the entry has that begins here; 0 if none does, or one that is longer
 *  than @p most. @p head has LC__STASHED_HEAD bytes. */
#define LC__STASHED_HEAD 40
uint64_t lc__stashed_size(const unsigned char *head, uint64_t most);

/** Read and check all of it. False for anything that lc__stashed_write() and the frames
 *  do not make. */
bool lc__stashed_read(const unsigned char *bytes, size_t size, struct lc__stashed *out);

/**
 * Give those items of @p batch a value that the entry has one for: of the same line, id
 * and payload, without an outcome, and found to be good. Values lie in the entry's bytes.
 * @param check  as in lc__work
 * @param found  how many
 */
LC_CHECKED lc_status lc__stashed_give(const struct lc__stashed *entry,
    struct lc__answer *answer,
    lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value),
    void *ctx, struct lc__items *batch, const struct lc__line_place *behind,
    size_t *found);

#endif
