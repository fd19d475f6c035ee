/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/blocks.h"

#include <lz4.h>
#include <lz4hc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/shuffle.h"

/* The most that LZ4 needs for a block that does not shrink. */
#define BLOCK_BOUND LZ4_COMPRESSBOUND(LC__BLOCK)

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
count(size_t size)
{
	return size / LC__BLOCK + (size % LC__BLOCK != 0);
}

size_t
lc__blocks_bound(size_t size)
{
	const size_t more = count(size) * sizeof(uint32_t) + BLOCK_BOUND;

	return size > SIZE_MAX - more ? 0 : size + more;
}

lc_status
lc__blocks_encode(const void *in, size_t size, unsigned width, int level,
    unsigned char *out, size_t *used)
{
	unsigned char shuffled[LC__BLOCK];
	const unsigned char *raw = in, *block;
	unsigned char *next = out + count(size) * sizeof(uint32_t);
	unsigned char *sizes = out;
	size_t here, coded;
	void *hc = NULL;

	if (level > 0 && (hc = malloc((size_t)LZ4_sizeofStateHC())) == NULL)
		return lc__no_memory(NULL);
	for (; size > 0; size -= here, raw += here) {
		here = least(size, LC__BLOCK);
		block = raw;
		if (width > 1) {
			lc__shuffle(raw, here, width, shuffled);
			block = shuffled;
		}
		/* LZ4 returns 0 or at most BLOCK_BOUND. */
		if (level > 0)
			coded = (size_t)LZ4_compress_HC_extStateHC(hc,
			    (const char *)block, (char *)next, (int)here, BLOCK_BOUND,
			    level);
		else
			coded = (size_t)LZ4_compress_fast((const char *)block,
			    (char *)next, (int)here, BLOCK_BOUND, level < 0 ? -level : 1);
		if (coded == 0 || coded >= here) {
			coded = here;
			memcpy(next, block, here);
		}
		lc__set32(sizes, (uint32_t)coded);
		sizes += sizeof(uint32_t);
		next += coded;
	}
	free(hc);
	*used = (size_t)(next - out);
	return LC_OK;
}

bool
lc__blocks_open(struct lc__blocks *blocks, const void *in, size_t size, size_t raw,
    size_t *used)
{
	const size_t n = count(raw);
	uint64_t sum = 0;

	if (size / sizeof(uint32_t) < n)
		return false;
	blocks->sizes = in;
	blocks->data = blocks->sizes + n * sizeof(uint32_t);
	blocks->left = raw;
	for (size_t i = 0; i < n; i++) {
		const uint32_t coded = lc__get32(blocks->sizes + i * sizeof(coded));
		if (coded == 0 || coded > least(raw - i * LC__BLOCK, LC__BLOCK))
			return false;
		sum += coded;
	}
	if (sum > size - n * sizeof(uint32_t))
		return false;
	*used = n * sizeof(uint32_t) + (size_t)sum;
	return true;
}

const unsigned char *
lc__blocks_next(struct lc__blocks *blocks, void *room)
{
	const size_t here = least(blocks->left, LC__BLOCK);
	const uint32_t coded = lc__get32(blocks->sizes);
	const unsigned char *data = blocks->data;

	blocks->sizes += sizeof(coded);
	blocks->data += coded;
	blocks->left -= here;
	if (coded == here)
		return data;
	if (LZ4_decompress_safe((const char *)data, room, (int)coded, (int)here) !=
	    (int)here)
		return NULL;
	return room;
}

bool
lc__blocks_decode(const void *in, size_t size, size_t raw, unsigned width,
    unsigned char *out)
{
	unsigned char shuffled[LC__BLOCK];
	const unsigned char *block;
	struct lc__blocks blocks;
	size_t here, used;

	if (!lc__blocks_open(&blocks, in, size, raw, &used) || used != size)
		return false;
	for (; blocks.left > 0; out += here) {
		here = least(blocks.left, LC__BLOCK);
		block = lc__blocks_next(&blocks, width > 1 ? shuffled : out);
		if (block == NULL)
			return false;
		if (width > 1)
			lc__unshuffle(block, here, width, out);
		else if (block != out)
			memcpy(out, block, here);
	}
	return true;
}
