/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes as independent LZ4 blocks of one size: a table of their coded sizes, then
 * the blocks. A block that LZ4 does not shrink is stored as it is. Blocks let
 * the bytes be shuffled, or widened, while they are in the cache, and keep
 * LZ4's ints small. The only includer of lz4.h.
 */
#ifndef LC_CODEC_BLOCKS_H
#define LC_CODEC_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Raw bytes of every block but the last. Part of the format. */
#define LC__BLOCK ((size_t)128 << 10)

/** The most bytes that lc__blocks_encode() writes for @p size bytes, 0 if that
 *  overflows. */
size_t lc__blocks_bound(size_t size);

/**
 * Code @p size bytes.
 * @param width  bytes of equal weight in elements of this size are put together
 *               first, block by block: 1 (nothing to do), 2, 4 or 8
 * @param level  lc_settings.level
 * @param out    room for lc__blocks_bound()
 * @param used   bytes written
 * @return LC_OK; LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__blocks_encode(const void *in, size_t size, unsigned width,
    int level, unsigned char *out, size_t *used);

/** Blocks being decoded. */
struct lc__blocks {
	const unsigned char *sizes; /* coded size of the next block */
	const unsigned char *data;  /* its bytes */
	size_t left;                /* raw bytes of it and the blocks after it */
};

/**
 * Start to decode. Compares the table with the bytes there are.
 * @param size  bytes at @p in
 * @param raw   bytes that were coded
 * @param used  bytes of table and blocks, at most @p size
 */
bool lc__blocks_open(struct lc__blocks *blocks, const void *in, size_t size, size_t raw,
    size_t *used);

/**
 * The next block while blocks->left is not 0, of min(left, LC__BLOCK) bytes
 * as they were before; shuffled ones stay so.
 * @param room  as many bytes
 * @return @p room, or a place in the input for a block that is stored as it
 * is; NULL if it is malformed.
 */
const unsigned char *lc__blocks_next(struct lc__blocks *blocks, void *room);

/** Decode all blocks into @p raw bytes. False unless that uses up the input. */
bool lc__blocks_decode(const void *in, size_t size, size_t raw, unsigned width,
    unsigned char *out);

#endif
