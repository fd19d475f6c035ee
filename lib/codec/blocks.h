/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bytes as independent LZ4 blocks of one size: a table of their coded sizes, then the
 * blocks. A block that LZ4 does not shrink is stored raw. With blocks the bytes can be
 * shuffled or widened while they are in the cache, and sizes fit LZ4's ints. The only
 * file that includes lz4.h.
 */
#ifndef LC_CODEC_BLOCKS_H
#define LC_CODEC_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Raw size of every block but the last. Part of the format. */
#define LC__BLOCK ((size_t)128 << 10)

/** The most bytes that lc__blocks_encode() writes for @p size bytes; 0 if that
 *  overflows. */
size_t lc__blocks_bound(size_t size);

/**
 * Code @p size bytes.
 * @param width  element size: within each block, bytes of equal weight are grouped first;
 *               1 (no grouping), 2, 4 or 8
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
 * Begin to decode. Checks the table against the size of the input.
 * @param size  bytes at @p in
 * @param raw   bytes that were coded
 * @param used  size of table and blocks, at most @p size
 */
bool lc__blocks_open(struct lc__blocks *blocks, const void *in, size_t size, size_t raw,
    size_t *used);

/**
 * Decode the next block, while blocks->left is not 0: min(left, LC__BLOCK) bytes, still
 * shuffled if they were.
 * @param room  for as many bytes
 * @return @p room, or a pointer into the input for a block that is stored raw; NULL if it
 * is malformed.
 */
const unsigned char *lc__blocks_next(struct lc__blocks *blocks, void *room);

/** Decode all blocks into @p raw bytes. False unless the input is used up exactly. */
bool lc__blocks_decode(const void *in, size_t size, size_t raw, unsigned width,
    unsigned char *out);

#endif
