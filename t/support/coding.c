/* SPDX-License-Identifier: BSD-2-Clause */
#include "coding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "codec/codec.h"
#include "run.h"

const lc_codec coding[CODING] = {
	LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK, LC_CODEC_U8PACK_LZ4,
	LC_CODEC_AUTO,
};

static const float mean[] = { 0.485f, 0.456f, 0.406f };
static const float deviation[] = { 0.229f, 0.224f, 0.225f };

double
image_pixel(enum kind kind, size_t i, size_t n, unsigned k)
{
	const size_t channel = i / (n / 3 + 1);

	switch (kind) {
	case SIGNED: return k / 127.5 - 1;
	case NORMALISED: return (k / 255.0f - mean[channel]) / deviation[channel];
	case NEGATIVE_ZERO: return i % 7 == 0 ? -0.0 : k / 255.0f;
	case WITH_NAN: return i == n / 2 ? (double)NAN : k / 255.0f;
	case ODD_END: return i == n - 1 ? 1234.5 : k / 255.0f;
	default: return k / 255.0f;
	}
}

void
set_float(unsigned char *p, lc_dtype dtype, double value)
{
	const float narrow = (float)value;
	uint64_t wide;
	uint32_t bits;

	memcpy(&wide, &value, sizeof(wide));
	memcpy(&bits, &narrow, sizeof(bits));
	switch (lc_dtype_size(dtype)) {
	case 1: *p = (unsigned char)(bits >> 24); break;
	case 2: lc__set16(p, (uint16_t)(bits >> 16)); break;
	case 4: lc__set32(p, bits); break;
	default: lc__set64(p, wide); break;
	}
}

lc_tensor
coding_make(lc_dtype dtype, size_t n, enum kind kind, uint64_t *state)
{
	const size_t width = lc_dtype_size(dtype);
	const uint64_t shape[1] = { n };
	unsigned char *data = calloc(n, width);
	unsigned k = 128;
	lc_tensor tensor;

	ck_assert_ptr_nonnull(data);
	for (size_t i = 0; i < n; i++) {
		unsigned char *p = data + i * width;
		const uint64_t dice = run_random(state);
		k = (k + 256 + (unsigned)(dice >> 60) - 7) % 256;
		if (kind == RANDOM)
			for (size_t b = 0; b < width; b++)
				p[b] = (unsigned char)(run_random(state) >> 50);
		else if (kind == CONSTANT)
			memset(p, 0x41, width);
		else if (kind == RAMP)
			memcpy(p, (uint64_t[]){ htole64(i / 16), 0 }, width);
		else
			set_float(p, dtype, image_pixel(kind, i, n, k));
	}
	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, 1, shape, data), LC_OK);
	return tensor;
}

void
coding_unmake(lc_tensor *tensor)
{
	free((void *)(uintptr_t)tensor->data);
}

bool
coding_decode(lc_codec codec, const void *in, size_t size, const lc_tensor *tensor,
    unsigned char *out)
{
	unsigned char *copy = malloc(size + 1);
	bool good;

	ck_assert_ptr_nonnull(copy);
	memmove(copy + 1, in, size);
	good = lc__codec_decode(codec, copy + 1, size, tensor, out);
	free(copy);
	return good;
}

lc_codec
round_trip(lc_codec codec, int level, const lc_tensor *tensor, struct lc__buf *buf)
{
	lc_codec used = LC_CODEC_DEFAULT;
	unsigned char *out;

	ck_assert_int_eq(lc__codec_encode(codec, level, tensor, buf, &used), LC_OK);
	if (used == LC_CODEC_NONE) {
		ck_assert_uint_eq(buf->size, 0);
		return used;
	}
	ck_assert(codec == LC_CODEC_AUTO || used == codec);
	ck_assert_uint_gt(buf->size, 0);
	ck_assert_uint_le(buf->size, tensor->nbytes - tensor->nbytes / 20);
	ck_assert(lc__codec_holds(used, buf->size, tensor->nbytes));
	out = aligned_alloc(64, (tensor->nbytes + 127) / 64 * 64);
	memset(out, 0xa5, tensor->nbytes + 1);
	ck_assert(coding_decode(used, buf->data, buf->size, tensor, out));
	ck_assert_mem_eq(out, tensor->data, tensor->nbytes);
	ck_assert_uint_eq(out[tensor->nbytes], 0xa5);
	free(out);
	return used;
}
