/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/table.h"

#include <string.h>

#include "base/error.h"
#include "codec/blocks.h"
#include "codec/u8pack.h"

static bool
fits_all(lc_dtype dtype)
{
	(void)dtype;
	return true;
}

static bool
fits_float(lc_dtype dtype)
{
	return dtype == LC_F16 || dtype == LC_BF16 || dtype == LC_F32 ||
	    dtype == LC_F64;
}

/* Complex numbers are shuffled as the floats that they consist of. */
static unsigned
shuffle_width(lc_dtype dtype)
{
	const unsigned size = (unsigned)lc_dtype_size(dtype);

	return dtype == LC_C64 || dtype == LC_C128 ? size / 2 : size;
}

static lc_status
encode_blocks(const lc_tensor *tensor, unsigned width, int level,
    struct lc__buf *out)
{
	const size_t bound = lc__blocks_bound(tensor->nbytes);

	if (bound == 0 || lc__buf_append(out, NULL, bound) == NULL)
		return lc__no_memory(NULL);
	return lc__blocks_encode(tensor->data, tensor->nbytes, width, level, out->data,
	    &out->size);
}

static lc_status
encode_lz4(const lc_tensor *tensor, int level, struct lc__buf *out)
{
	return encode_blocks(tensor, 1, level, out);
}

static bool
decode_lz4(const void *in, size_t size, const lc_tensor *tensor, void *out)
{
	return lc__blocks_decode(in, size, tensor->nbytes, 1, out);
}

static lc_status
encode_shuffle(const lc_tensor *tensor, int level, struct lc__buf *out)
{
	return encode_blocks(tensor, shuffle_width(tensor->dtype), level, out);
}

static bool
decode_shuffle(const void *in, size_t size, const lc_tensor *tensor, void *out)
{
	return lc__blocks_decode(in, size, tensor->nbytes, shuffle_width(tensor->dtype),
	    out);
}

static lc_status
encode_u8pack(const lc_tensor *tensor, int level, struct lc__buf *out)
{
	const unsigned width = (unsigned)lc_dtype_size(tensor->dtype);

	(void)level;
	if (!lc__u8pack(tensor->data, tensor->nbytes / width, width, out)) {
		if (out->failed)
			return lc__no_memory(NULL);
		out->size = 0;
	}
	return LC_OK;
}

static bool
decode_u8pack(const void *in, size_t size, const lc_tensor *tensor, void *out)
{
	const unsigned width = (unsigned)lc_dtype_size(tensor->dtype);
	const size_t n = tensor->nbytes / width;
	struct lc__runs runs;

	if (size < n)
		return false;
	lc__runs_open(&runs, (const unsigned char *)in + n, size - n, width);
	return lc__runs_decode(&runs, in, n, out) && lc__runs_done(&runs);
}

/* The packed form, with the numbers in blocks: those are made behind it and moved
 * to the front. */
static lc_status
encode_u8pack_lz4(const lc_tensor *tensor, int level, struct lc__buf *out)
{
	const size_t n = tensor->nbytes / lc_dtype_size(tensor->dtype);
	const size_t bound = lc__blocks_bound(n);
	size_t packed, coded;

	return_if_error(encode_u8pack(tensor, level, out));
	packed = out->size;
	if (packed == 0)
		return LC_OK;
	if (bound == 0 || lc__buf_append(out, NULL, bound) == NULL)
		return lc__no_memory(NULL);
	return_if_error(lc__blocks_encode(out->data, n, 1, level, out->data + packed,
	    &coded));
	out->size = packed + coded;
	if (lc__buf_append(out, NULL, packed - n) == NULL)
		return lc__no_memory(NULL);
	memcpy(out->data + packed + coded, out->data + n, packed - n);
	out->size = coded + packed - n;
	memmove(out->data, out->data + packed, out->size);
	return LC_OK;
}

static bool
decode_u8pack_lz4(const void *in, size_t size, const lc_tensor *tensor, void *out)
{
	const unsigned width = (unsigned)lc_dtype_size(tensor->dtype);
	unsigned char room[LC__BLOCK], *to = out;
	struct lc__blocks blocks;
	struct lc__runs runs;
	size_t used;

	if (!lc__blocks_open(&blocks, in, size, tensor->nbytes / width, &used))
		return false;
	lc__runs_open(&runs, (const unsigned char *)in + used, size - used, width);
	while (blocks.left > 0) {
		const size_t before = blocks.left;
		const unsigned char *numbers = lc__blocks_next(&blocks, room);
		if (numbers == NULL ||
		    !lc__runs_decode(&runs, numbers, before - blocks.left, to))
			return false;
		to += (before - blocks.left) * width;
	}
	return lc__runs_done(&runs);
}

/* A byte of an LZ4 block makes 255 at most (a further byte of a match's length); a number
 * of u8pack makes the largest element, 8. */
enum { lz4_most = 255, u8pack_most = 8 };

const struct lc__codec lc__codecs[LC_CODEC_COUNT] = {
	[LC_CODEC_NONE] = { "none", 1, fits_all, NULL, NULL },
	[LC_CODEC_LZ4] = { "lz4", lz4_most, fits_all, encode_lz4, decode_lz4 },
	[LC_CODEC_SHUFFLE_LZ4] = { "shuffle-lz4", lz4_most, fits_all, encode_shuffle,
	    decode_shuffle },
	[LC_CODEC_U8PACK] = { "u8pack", u8pack_most, fits_float, encode_u8pack,
	    decode_u8pack },
	[LC_CODEC_U8PACK_LZ4] = { "u8pack-lz4", u8pack_most * lz4_most, fits_float,
	    encode_u8pack_lz4, decode_u8pack_lz4 },
};
