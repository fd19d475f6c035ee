/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/codec.h"

#include <string.h>

#include "base/error.h"
#include "codec/blocks.h"
#include "codec/u8pack.h"
#include "value/dtype.h"

/* ---- the table ------------------------------------------------------------------ */

struct lc__codec {
	const char *name;

	/** The largest ratio of raw to coded size. */
	unsigned most;

	/** Can tensors of this dtype be coded? */
	bool (*fits)(lc_dtype dtype);

	/** Code a tensor with at least one byte into @p out, which is empty. It stays
	 *  empty if these elements cannot be coded. LC_OK; LC_NO_MEMORY. */
	lc_status (*encode)(const lc_tensor *tensor, int level, struct lc__buf *out);

	/** As lc__codec_decode(), for a dtype that fits. */
	bool (*decode)(const void *in, size_t size, const lc_tensor *tensor, void *out);
};

static bool
fits_all(lc_dtype dtype)
{
	(void)dtype;
	return true;
}

static bool
fits_float(lc_dtype dtype)
{
	return dtype == LC_F16 || dtype == LC_BF16 || dtype == LC_F32 || dtype == LC_F64;
}

/* Complex numbers are shuffled as the floats of which they consist, opaque elements as
 * the widest numbers that divide their size. */
static unsigned
shuffle_width(lc_dtype dtype)
{
	const unsigned size = (unsigned)lc_dtype_size(dtype);

	if (lc__dtype_is_opaque(dtype))
		return size % 8 == 0 ? 8 : size & -size;
	return lc__dtype_is_complex(dtype) ? size / 2 : size;
}

static lc_status
encode_blocks(const lc_tensor *tensor, unsigned width, int level, struct lc__buf *out)
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

/* The packed form, with the numbers in blocks: the blocks are coded after it and moved to
 * the front. */
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
	return_if_error(
	    lc__blocks_encode(out->data, n, 1, level, out->data + packed, &coded));
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

/* One byte of an LZ4 block gives at most 255 (a further byte of a match's length); one
 * number of u8pack gives an element of at most 8 bytes. */
enum { lz4_most = 255, u8pack_most = 8 };

/* A row for each codec; LC_CODEC_NONE has no functions. */
static const struct lc__codec codecs[LC_CODEC_COUNT] = {
	[LC_CODEC_NONE] = { "none", 1, fits_all, NULL, NULL },
	[LC_CODEC_LZ4] = { "lz4", lz4_most, fits_all, encode_lz4, decode_lz4 },
	[LC_CODEC_SHUFFLE_LZ4] = { "shuffle-lz4", lz4_most, fits_all, encode_shuffle,
	    decode_shuffle },
	[LC_CODEC_U8PACK] = { "u8pack", u8pack_most, fits_float, encode_u8pack,
	    decode_u8pack },
	[LC_CODEC_U8PACK_LZ4] = { "u8pack-lz4", u8pack_most *lz4_most, fits_float,
	    encode_u8pack_lz4, decode_u8pack_lz4 },
};

/* ---- names ---------------------------------------------------------------------- */

const char *
lc_codec_name(lc_codec codec)
{
	if (codec == LC_CODEC_AUTO)
		return "auto";
	if (codec == LC_CODEC_DEFAULT)
		return "default";
	return (unsigned)codec < LC_CODEC_COUNT ? codecs[codec].name : NULL;
}

lc_status
lc_codec_parse(const char *name, lc_codec *out)
{
	for (unsigned i = 0; i <= LC_CODEC_DEFAULT; i++) {
		const char *known = lc_codec_name((lc_codec)i);
		if (known != NULL && strcmp(name, known) == 0) {
			*out = (lc_codec)i;
			return LC_OK;
		}
	}
	return lc__error(LC_INVALID, 0, "unknown codec '%s'", name);
}

lc_status
lc__codec_check(const char *operation, lc_codec codec, int level)
{
	if (lc_codec_name(codec) == NULL)
		return lc__error(LC_INVALID, 0, "%s: unknown codec %d", operation,
		    (int)codec);
	if (level < LC__LEVEL_MIN || level > LC__LEVEL_MAX)
		return lc__error(LC_INVALID, 0, "%s: level %d is not one of %d to %d",
		    operation, level, LC__LEVEL_MIN, LC__LEVEL_MAX);
	return LC_OK;
}

/* ---- choosing one --------------------------------------------------------------- */

/* Does coding save at least a twentieth of the raw size? */
static bool
shrinks(size_t raw, size_t coded)
{
	return coded <= raw - raw / 20 && coded < raw;
}

/* A tensor up to PIECES * PIECE is coded whole; of a larger one, this many pieces. Pieces
 * are larger than 64 KiB because LZ4 compresses less up to there, with another hash
 * table. */
#define PIECES 4
#define PIECE ((size_t)72 << 10)

/*
 * The codecs to try, and the size of theirs that is worth 100 of u8pack, which decodes at
 * the speed of memory: LZ4 must save a fifth more to be chosen instead. LZ4 after u8pack
 * has only a fraction of the bytes to decode, so it beats the other two at equal size. Of
 * equals the first is chosen.
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

/* A piece of a tensor, as a flat tensor. Numbers stay whole, because PIECE is a multiple
 * of every size. An opaque element may be cut: only its bytes are coded. */
static lc_tensor
piece_of(const lc_tensor *tensor, unsigned number)
{
	lc_tensor piece = {
		.dtype = tensor->dtype,
		.data = tensor->data,
		.nbytes = tensor->nbytes,
	};

	if (tensor->nbytes > PIECES * PIECE) {
		const size_t last = (tensor->nbytes - PIECE) / 16;
		piece.data = (const char *)tensor->data +
		    last / (PIECES - 1) * number * 16;
		piece.nbytes = PIECE;
	}
	return piece;
}

/* Size of the coded sample; 0 if the codec does not support it. */
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

/*
 * Choose by coding a sample of the tensor, or all of it if it is small.
 * @param without codecs to leave out, a bit (1 << codec) each
 * @param scratch overwritten
 * @return LC_OK, with *out LC_CODEC_NONE if no codec shrinks the sample enough;
 * LC_NO_MEMORY.
 */
static lc_status
choose(const lc_tensor *tensor, int level, unsigned without, struct lc__buf *scratch,
    lc_codec *out)
{
	const size_t raw = tensor->nbytes > PIECES * PIECE ? PIECES * PIECE
							   : tensor->nbytes;
	lc_codec best = LC_CODEC_NONE;
	double best_cost = 0;

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		const lc_codec codec = candidates[i].codec;
		size_t size;
		double cost;
		if ((without >> codec & 1) != 0 || !codecs[codec].fits(tensor->dtype) ||
		    (codec == LC_CODEC_SHUFFLE_LZ4 && shuffle_width(tensor->dtype) == 1))
			continue;
		return_if_error(
		    code_sample(tensor, &codecs[codec], level, scratch, &size));
		if (size == 0 || !shrinks(raw, size))
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

/* ---- coding --------------------------------------------------------------------- */

/* Code with one codec; *used is LC_CODEC_NONE if the tensor does not shrink. */
static lc_status
encode_with(lc_codec codec, int level, const lc_tensor *tensor, struct lc__buf *out,
    lc_codec *used)
{
	out->size = 0;
	*used = LC_CODEC_NONE;
	if (codec == LC_CODEC_NONE || !codecs[codec].fits(tensor->dtype))
		return LC_OK;
	return_if_error(codecs[codec].encode(tensor, level, out));
	if (out->size > 0 && shrinks(tensor->nbytes, out->size))
		*used = codec;
	else
		out->size = 0;
	return LC_OK;
}

lc_status
lc__codec_encode(lc_codec codec, int level, const lc_tensor *tensor, struct lc__buf *out,
    lc_codec *used)
{
	unsigned without = 0;

	out->size = 0;
	out->failed = false;
	*used = LC_CODEC_NONE;
	if (tensor->nbytes == 0)
		return LC_OK;
	if (codec != LC_CODEC_AUTO)
		return encode_with(codec, level, tensor, out, used);
	/* A codec that fits the sample may not fit the whole tensor: then try the next
	 * best. */
	do {
		return_if_error(choose(tensor, level, without, out, &codec));
		return_if_error(encode_with(codec, level, tensor, out, used));
		without |= 1u << codec;
	} while (*used != codec);
	return LC_OK;
}

bool
lc__codec_holds(lc_codec codec, size_t size, size_t nbytes)
{
	if ((unsigned)codec >= LC_CODEC_COUNT)
		return false;
	if (codec == LC_CODEC_NONE)
		return size == nbytes;
	return nbytes / codecs[codec].most <= size;
}

bool
lc__codec_decode(lc_codec codec, const void *in, size_t size, const lc_tensor *tensor,
    void *out)
{
	if ((unsigned)codec >= LC_CODEC_COUNT || codec == LC_CODEC_NONE ||
	    !codecs[codec].fits(tensor->dtype) || tensor->nbytes == 0 ||
	    tensor->nbytes % lc_dtype_size(tensor->dtype) != 0)
		return false;
	return codecs[codec].decode(in, size, tensor, out);
}
