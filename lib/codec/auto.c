/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/auto.h"

#include "base/error.h"
#include "codec/table.h"

/* A tensor up to PIECES * PIECE is coded whole, of a larger one so many pieces. LZ4 does
 * worse on up to 64 KiB, where its hash table is another. */
#define PIECES 4
#define PIECE ((size_t)72 << 10)

/*
 * The codecs to try and how many bytes of theirs are worth 100 of u8pack, which
 * decodes at the speed of memory: LZ4 must save a fifth more to be chosen instead. After
 * u8pack it has a fraction of the bytes to do, so that it is ahead of the other two
 * when they are as small. Of equals the first is chosen.
 */
static const struct {
	lc_codec codec;
	unsigned worth;
} candidates[] = {
	{ LC_CODEC_U8PACK, 100 },
	{ LC_CODEC_U8PACK_LZ4, 80 },
	{ LC_CODEC_LZ4, 75 },
	{ LC_CODEC_SHUFFLE_LZ4, 75 },
};

/* Part of a tensor as a flat one; whole elements, as PIECE is a multiple of any. */
static lc_tensor
piece_of(const lc_tensor *tensor, unsigned number)
{
	lc_tensor piece = { .dtype = tensor->dtype, .data = tensor->data,
		.nbytes = tensor->nbytes };

	if (tensor->nbytes > PIECES * PIECE) {
		const size_t last = (tensor->nbytes - PIECE) / 16;
		piece.data = (const char *)tensor->data +
		    last / (PIECES - 1) * number * 16;
		piece.nbytes = PIECE;
	}
	return piece;
}

/* Bytes of the coded sample; 0 if the codec does not fit it. */
static lc_status
code_sample(const lc_tensor *tensor, const struct lc__codec *codec, int level,
    struct lc__buf *scratch, size_t *out)
{
	const unsigned pieces = tensor->nbytes > PIECES * PIECE ? PIECES : 1;
	size_t sum = 0;

	*out = 0;
	for (unsigned i = 0; i < pieces; i++) {
		const lc_tensor piece = piece_of(tensor, i);
		scratch->size = 0;
		return_if_error(codec->encode(&piece, level, scratch));
		if (scratch->size == 0)
			return LC_OK;
		sum += scratch->size;
	}
	*out = sum;
	return LC_OK;
}

lc_status
lc__codec_choose(const lc_tensor *tensor, int level, unsigned without,
    struct lc__buf *scratch, lc_codec *out)
{
	const size_t raw = tensor->nbytes > PIECES * PIECE ? PIECES * PIECE :
	    tensor->nbytes;
	lc_codec best = LC_CODEC_NONE;
	double best_cost = 0;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		const lc_codec codec = candidates[i].codec;
		size_t size;
		double cost;
		if ((without >> codec & 1) != 0 || !lc__codecs[codec].fits(tensor->dtype) ||
		    (codec == LC_CODEC_SHUFFLE_LZ4 && lc_dtype_size(tensor->dtype) == 1))
			continue;
		return_if_error(code_sample(tensor, &lc__codecs[codec], level, scratch,
		    &size));
		if (size == 0 || !lc__codec_shrinks(raw, size))
			continue;
		cost = (double)size / candidates[i].worth;
		if (best == LC_CODEC_NONE || cost < best_cost) {
			best = codec;
			best_cost = cost;
		}
	}
	*out = best;
	return LC_OK;
}
