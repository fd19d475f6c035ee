/* SPDX-License-Identifier: BSD-2-Clause */
/* Coded tensors: codec/. Input: codec, dtype, size of the tensor, then its coded bytes;
 * or, with the highest bit of the codec, elements that are coded and decoded again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "codec/codec.h"

enum { MOST = 1 << 20 };

static void
decode(lc_codec codec, const lc_tensor *tensor, const void *in, size_t size)
{
	void *room = NULL;

	if (posix_memalign(&room, 64, tensor->nbytes > 0 ? tensor->nbytes : 1) != 0)
		abort();
	if (lc__codec_decode(codec, in, size, tensor, room))
		fuzz_touch(room, tensor->nbytes);
	free(room);
}

static void
round_trip(lc_codec codec, const lc_tensor *tensor)
{
	struct lc__buf coded = { 0 };
	lc_codec used;
	void *room = NULL;

	fuzz_require(lc__codec_encode(codec, 1, tensor, &coded, &used) == LC_OK);
	if (used != LC_CODEC_NONE) {
		if (posix_memalign(&room, 64, tensor->nbytes + 1) != 0)
			abort();
		fuzz_require(lc__codec_decode(used, coded.data, coded.size, tensor, room));
		fuzz_require(memcmp(room, tensor->data, tensor->nbytes) == 0);
		free(room);
	}
	lc__buf_free(&coded);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_bytes in = { data, data + size };
	const uint8_t choice = fuzz_u8(&in);
	const lc_dtype dtype = (lc_dtype)(fuzz_u8(&in) % LC_DTYPE_COUNT);
	const uint32_t told = fuzz_u32(&in) % MOST;
	const size_t item = lc_dtype_size(dtype), left = fuzz_left(&in);
	void *bytes = fuzz_copy(in.at, left);
	const bool encode = choice & 0x80;
	const uint64_t elements = (encode ? left : told) / item;
	lc_codec codec = (lc_codec)(choice % LC_CODEC_COUNT);
	lc_tensor tensor;

	if (codec == LC_CODEC_NONE)
		codec = LC_CODEC_AUTO;
	fuzz_require(lc_tensor_init(&tensor, dtype, 1, &elements, bytes) == LC_OK);
	if (encode)
		round_trip(codec, &tensor);
	else if (codec != LC_CODEC_AUTO)
		decode(codec, &tensor, bytes, left);
	free(bytes);
	return 0;
}
