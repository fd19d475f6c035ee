/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/blocks.h"
#include "codec/codec.h"

static const lc_codec coding[] = {
	LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK, LC_CODEC_U8PACK_LZ4,
	LC_CODEC_AUTO,
};
#define CODING (sizeof(coding) / sizeof(coding[0]))

/* ---- tensors --------------------------------------------------------------------- */

enum kind {
	RANDOM, CONSTANT, RAMP, UNIT, SIGNED, NORMALISED, NEGATIVE_ZERO, WITH_NAN,
	ODD_END, KINDS
};

static const float mean[] = { 0.485f, 0.456f, 0.406f };
static const float deviation[] = { 0.229f, 0.224f, 0.225f };

/* An element of 8 bit data as the float that a loader makes of it. */
static double
pixel(enum kind kind, size_t i, size_t n, unsigned k)
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

static void
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

/* A flat tensor of n elements, malloc'ed to the byte. Pixels wander, as in images. */
static lc_tensor
make(lc_dtype dtype, size_t n, enum kind kind, uint64_t *state)
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
			set_float(p, dtype, pixel(kind, i, n, k));
	}
	ck_assert_int_eq(lc_tensor_init(&tensor, dtype, 1, shape, data), LC_OK);
	return tensor;
}

static void
unmake(lc_tensor *tensor)
{
	free((void *)(uintptr_t)tensor->data);
}

/* Decode from and to memory that ends where bytes and tensor end. */
static bool
decode(lc_codec codec, const void *in, size_t size, const lc_tensor *tensor,
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

/* Code and compare what comes back; returns the codec used. */
static lc_codec
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
	out = aligned_alloc(64, (tensor->nbytes + 127) / 64 * 64);
	memset(out, 0xa5, tensor->nbytes + 1);
	ck_assert(decode(used, buf->data, buf->size, tensor, out));
	ck_assert_mem_eq(out, tensor->data, tensor->nbytes);
	ck_assert_uint_eq(out[tensor->nbytes], 0xa5);
	free(out);
	return used;
}

static bool
is_float(lc_dtype dtype)
{
	return dtype == LC_F16 || dtype == LC_BF16 || dtype == LC_F32 || dtype == LC_F64;
}

static bool
is_u8pack(lc_codec codec)
{
	return codec == LC_CODEC_U8PACK || codec == LC_CODEC_U8PACK_LZ4;
}

/* ---- round trips ------------------------------------------------------------------ */

START_TEST(every_dtype)
{
	const lc_dtype dtype = (lc_dtype)_i;
	const size_t block = LC__BLOCK / lc_dtype_size(dtype);
	const size_t sizes[] = { 1, 15, 63, 64, 65, 2047, 2049, 5000, block - 1, block,
		block + 1, 3 * block + 17 };
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (unsigned kind = 0; kind < KINDS; kind++) {
			lc_tensor tensor = make(dtype, sizes[s], kind, &state);
			for (size_t c = 0; c < CODING; c++) {
				const lc_codec used = round_trip(coding[c], 0, &tensor, &buf);
				if (is_u8pack(coding[c]) && !is_float(dtype))
					ck_assert_int_eq(used, LC_CODEC_NONE);
				else if (kind == CONSTANT && sizes[s] > 4096)
					ck_assert_int_ne(used, LC_CODEC_NONE);
				else if (kind == RANDOM)
					ck_assert_int_eq(used, LC_CODEC_NONE);
			}
			unmake(&tensor);
		}
	lc__buf_free(&buf);
}
END_TEST

START_TEST(several_megabytes)
{
	const lc_dtype dtypes[] = { LC_U8, LC_F16, LC_F32, LC_I64 };
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(dtypes[_i], 3 * 640 * 640, NORMALISED, &state);

	for (size_t c = 0; c < CODING; c++)
		round_trip(coding[c], 0, &tensor, &buf);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

static const int levels[] = { LC__LEVEL_MIN, -100, -1, 0, 1, 3, 9, LC__LEVEL_MAX };

START_TEST(every_level)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, 100000, RAMP, &state);

	for (size_t c = 0; c < CODING; c++)
		if (!is_u8pack(coding[c]))
			ck_assert_int_ne(round_trip(coding[c], levels[_i], &tensor, &buf),
			    LC_CODEC_NONE);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(levels_trade_time_for_size)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, 100000, UNIT, &state);
	size_t sizes[3];

	for (int i = 0; i < 3; i++) {
		const int chosen[] = { -50, 0, 9 };
		lc_codec used;
		ck_assert_int_eq(lc__codec_encode(LC_CODEC_U8PACK_LZ4, chosen[i], &tensor,
		    &buf, &used), LC_OK);
		ck_assert_int_eq(used, LC_CODEC_U8PACK_LZ4);
		sizes[i] = buf.size;
	}
	ck_assert_uint_ge(sizes[0], sizes[1]);
	ck_assert_uint_gt(sizes[1], sizes[2]);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(memory_is_used_again)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, 50000, UNIT, &state);
	const unsigned char *data;

	round_trip(LC_CODEC_AUTO, 0, &tensor, &buf);
	data = buf.data;
	for (size_t c = 0; c < CODING; c++)
		round_trip(coding[c], 0, &tensor, &buf);
	ck_assert_ptr_eq(buf.data, data);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(empty_tensor)
{
	const lc_tensor tensor = { .dtype = LC_F32, .ndim = 1, .shape = { 0 } };
	struct lc__buf buf = { 0 };
	unsigned char out[1];

	for (size_t c = 0; c < CODING; c++) {
		ck_assert_int_eq(round_trip(coding[c], 0, &tensor, &buf), LC_CODEC_NONE);
		ck_assert(!lc__codec_decode(coding[c], "", 0, &tensor, out));
	}
	lc__buf_free(&buf);
}
END_TEST

/* ---- u8pack ----------------------------------------------------------------------- */

/* Every k, one behind the other and again. */
static lc_tensor
all_pixels(lc_dtype dtype, size_t n, enum kind kind)
{
	uint64_t state = 1;
	lc_tensor tensor = make(dtype, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		set_float(data + i * lc_dtype_size(dtype), dtype,
		    pixel(kind, i, n, i % (n / 3 + 1) % 256));
	return tensor;
}

/* The packed size is numbers and tables to the byte: 4.0 times less for f32. */
static const struct {
	lc_dtype dtype;
	enum kind kind;
	size_t n, runs, entries; /* entries of all runs */
} packed_rows[] = {
	{ LC_F32, UNIT, 3 << 20, 1, 256 },
	{ LC_F64, UNIT, 3 << 16, 1, 256 },
	{ LC_F32, SIGNED, 3 << 16, 1, 256 },
	{ LC_F64, SIGNED, 3 << 16, 1, 256 },
	{ LC_F32, NORMALISED, 3 << 16, 3, 768 },
	{ LC_F64, NORMALISED, 3 << 16, 3, 768 },
	{ LC_F32, ODD_END, 3 << 16, 2, 257 },
};

START_TEST(packed_size)
{
	const size_t n = packed_rows[_i].n, width = lc_dtype_size(packed_rows[_i].dtype);
	struct lc__buf buf = { 0 };
	lc_tensor tensor = all_pixels(packed_rows[_i].dtype, n, packed_rows[_i].kind);

	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	ck_assert_uint_eq(buf.size, n + 8 * packed_rows[_i].runs +
	    width * packed_rows[_i].entries);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK_LZ4, 0, &tensor, &buf),
	    LC_CODEC_U8PACK_LZ4);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* What differs in its bits differs: -0.0 from 0.0, and one NaN from another. */
START_TEST(bits_are_kept)
{
	const uint32_t bits[] = { 0, 0x80000000, 0x7fc00000, 0xffc00001, 0x7f800001,
		0x7f800000, 1, 0x3f800000, 0x3f800001 };
	const size_t n = 6000;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		lc__set32(data + 4 * i,
		    bits[run_random(&state) % (sizeof(bits) / sizeof(bits[0]))]);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK_LZ4, 0, &tensor, &buf),
	    LC_CODEC_U8PACK_LZ4);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* 257 different elements among 2,048: no matter where the last one stands. */
START_TEST(too_many_values)
{
	static const size_t places[] = { 256, 257, 511, 512, 1000, 2046 };
	const size_t n = 8192;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		lc__set32(data + 4 * i, (uint32_t)(i % 256));
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	lc__set32(data + 4 * places[_i], 256);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_NONE);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK_LZ4, 0, &tensor, &buf),
	    LC_CODEC_NONE);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* Random sets of 256 values of every kind of distance, in random order. */
START_TEST(any_256_values)
{
	const lc_dtype dtype = _i % 2 == 0 ? LC_F32 : LC_F64;
	const size_t n = 4096, width = lc_dtype_size(dtype);
	uint64_t state = run_seed() + (uint64_t)_i;
	uint64_t values[256];
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(dtype, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;
	const unsigned shift = (unsigned)(run_random(&state) % (8 * width - 8));

	for (unsigned k = 0; k < 256; k++)
		values[k] = htole64(_i % 3 == 0 ? run_random(&state) :
		    (uint64_t)k << shift);
	for (size_t i = 0; i < n; i++)
		memcpy(data + i * width, &values[run_random(&state) % 256], width);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* ---- the bytes -------------------------------------------------------------------- */

/* 40 elements in LZ4 by hand: 4 literals and a match of 9 + 19 bytes 4 back, then 8
 * literals, as the end of a block has. */
#define BLOCK_40 "\x4f" "abcd" "\x04\x00\x09" "\x80" "01234567"
#define BLOCK_40_RAW "abcdabcdabcdabcdabcdabcdabcdabcd01234567"
#define CODED_SIZE 17

static void
expect_decoded(lc_codec codec, lc_dtype dtype, const void *in, size_t size,
    const void *raw, size_t nbytes)
{
	const lc_tensor tensor = { .dtype = dtype, .nbytes = nbytes };
	unsigned char out[256];

	memset(out, 0xa5, sizeof(out));
	ck_assert(decode(codec, in, size, &tensor, out));
	ck_assert_mem_eq(out, raw, nbytes);
	ck_assert_uint_eq(out[nbytes], 0xa5);
}

START_TEST(bytes_of_lz4)
{
	static const char stream[] = "\x11\0\0\0" BLOCK_40;

	expect_decoded(LC_CODEC_LZ4, LC_U8, stream, 4 + CODED_SIZE, BLOCK_40_RAW, 40);
	expect_decoded(LC_CODEC_LZ4, LC_F64, stream, 4 + CODED_SIZE, BLOCK_40_RAW, 40);
	/* A block of its raw size stands there as it is. */
	expect_decoded(LC_CODEC_LZ4, LC_U8, "\5\0\0\0hello", 9, "hello", 5);
}
END_TEST

START_TEST(bytes_of_shuffle)
{
	static const struct {
		lc_dtype dtype;
		const char *in, *raw;
	} rows[] = {
		{ LC_F16, "abcdefghABCDEFGH", "aAbBcCdDeEfFgGhH" },
		{ LC_I32, "abcdefghABCDEFGH", "aeAEbfBFcgCGdhDH" },
		{ LC_C64, "abcdefghABCDEFGH", "aeAEbfBFcgCGdhDH" },
		{ LC_U64, "abcdefghABCDEFGH", "acegACEGbdfhBDFH" },
		{ LC_C128, "abcdefghABCDEFGH", "acegACEGbdfhBDFH" },
		{ LC_U8, "abcdefghABCDEFGH", "abcdefghABCDEFGH" },
	};
	static const char stream[] = "\x11\0\0\0" BLOCK_40;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char bytes[20] = "\x10\0\0\0";
		memcpy(bytes + 4, rows[i].in, 16);
		expect_decoded(LC_CODEC_SHUFFLE_LZ4, rows[i].dtype, bytes, 20, rows[i].raw,
		    16);
	}
	expect_decoded(LC_CODEC_SHUFFLE_LZ4, LC_F16, stream, 4 + CODED_SIZE,
	    "aabbccddaabbccddaabbccdda0b1c2d3a4b5c6d7", 40);
	expect_decoded(LC_CODEC_SHUFFLE_LZ4, LC_F32, stream, 4 + CODED_SIZE,
	    "acacbdbdcac0dbd1aca2bdb3cac4dbd5aca6bdb7", 40);
	expect_decoded(LC_CODEC_SHUFFLE_LZ4, LC_F64, stream, 4 + CODED_SIZE,
	    "abcdabc3bcdabcd4cdabcd05dabcda16abcdab27", 40);
}
END_TEST

/* Two runs: {1.0f, 2.0f} three times, {-0.0f} twice. */
#define TWO_RUNS "\1\3\0\0\0\0\0\0" "\0\0\x80\x3f" "\0\0\0\x40" \
	"\0\2\0\0\0\0\0\0" "\0\0\0\x80"
#define TWO_RUNS_SIZE 28
#define TWO_RUNS_RAW "\0\0\0\x40" "\0\0\x80\x3f" "\0\0\0\x40" "\0\0\0\x80" "\0\0\0\x80"

START_TEST(bytes_of_u8pack)
{
	expect_decoded(LC_CODEC_U8PACK, LC_F32, "\1\0\1\0\0" TWO_RUNS,
	    5 + TWO_RUNS_SIZE, TWO_RUNS_RAW, 20);
	expect_decoded(LC_CODEC_U8PACK_LZ4, LC_F32, "\5\0\0\0" "\1\0\1\0\0" TWO_RUNS,
	    9 + TWO_RUNS_SIZE, TWO_RUNS_RAW, 20);
	expect_decoded(LC_CODEC_U8PACK, LC_F16, "\1\0\1" "\1\3\0\0\0\0\0\0" "abAB", 15,
	    "ABabAB", 6);
	expect_decoded(LC_CODEC_U8PACK, LC_F64, "\0" "\0\1\0\0\0\0\0\0" "abcdABCD", 17,
	    "abcdABCD", 8);
}
END_TEST

/* What encoding writes: values are numbered as they come. */
START_TEST(bytes_written_by_u8pack)
{
	static const char run[] = "\2\x60\0\0\0\0\0\0" "AAAA" "CCCC" "BBBB";
	static const char elements[] = "AAAACCCCAAAABBBB";
	char data[4 * 96];
	const lc_tensor tensor = { .dtype = LC_F32, .ndim = 1, .shape = { 96 },
		.data = data, .nbytes = sizeof(data) };
	struct lc__buf buf = { 0 };
	lc_codec used;

	for (size_t i = 0; i < sizeof(data); i += 16)
		memcpy(data + i, elements, 16);
	ck_assert_int_eq(lc__codec_encode(LC_CODEC_U8PACK, 0, &tensor, &buf, &used),
	    LC_OK);
	ck_assert_int_eq(used, LC_CODEC_U8PACK);
	ck_assert_uint_eq(buf.size, 96 + 20);
	for (size_t i = 0; i < 96; i += 4)
		ck_assert_mem_eq(buf.data + i, "\0\1\0\2", 4);
	ck_assert_mem_eq(buf.data + 96, run, 20);
	lc__buf_free(&buf);
}
END_TEST

/* One block that shrinks, one that does not: its coded bytes are its shuffled ones. */
START_TEST(bytes_written_in_blocks)
{
	const size_t n = LC__BLOCK / 2;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, n, RANDOM, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;
	size_t first;

	memset(data, 0, LC__BLOCK);
	round_trip(LC_CODEC_SHUFFLE_LZ4, 0, &tensor, &buf);
	first = lc__get32(buf.data);
	ck_assert_uint_lt(first, LC__BLOCK / 100);
	ck_assert_uint_eq(lc__get32(buf.data + 4), LC__BLOCK);
	ck_assert_uint_eq(buf.size, 8 + first + LC__BLOCK);
	for (size_t i = 0; i < LC__BLOCK; i++)
		ck_assert_uint_eq(buf.data[8 + first + i % 4 * (LC__BLOCK / 4) + i / 4],
		    data[LC__BLOCK + i]);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* ---- damage ----------------------------------------------------------------------- */

static const struct {
	lc_codec codec;
	lc_dtype dtype;
	const char *bytes;
	size_t size, nbytes;
} bad_rows[] = {
	{ LC_CODEC_NONE, LC_U8, "\1\0\0\0x", 5, 1 },
	{ LC_CODEC_AUTO, LC_U8, "\1\0\0\0x", 5, 1 },
	{ LC_CODEC_DEFAULT, LC_U8, "\1\0\0\0x", 5, 1 },
	{ (lc_codec)LC_CODEC_COUNT, LC_U8, "\1\0\0\0x", 5, 1 },
	/* a table that is cut, a block of no bytes, more than its raw size, too few bytes,
	 * too many */
	{ LC_CODEC_LZ4, LC_U8, "\1\0\0", 3, 1 },
	{ LC_CODEC_LZ4, LC_U8, "\0\0\0\0", 4, 1 },
	{ LC_CODEC_LZ4, LC_U8, "\2\0\0\0xy", 6, 1 },
	{ LC_CODEC_LZ4, LC_U8, "\xff\xff\xff\xffx", 5, 1 },
	{ LC_CODEC_LZ4, LC_U8, "\2\0\0\0x", 5, 2 },
	{ LC_CODEC_LZ4, LC_U8, "\1\0\0\0xy", 6, 1 },
	/* fewer bytes than the tensor has, more, and a match before the block's start */
	{ LC_CODEC_LZ4, LC_U8, "\x11\0\0\0" BLOCK_40, 21, 41 },
	{ LC_CODEC_LZ4, LC_U8, "\x11\0\0\0" BLOCK_40, 21, 39 },
	{ LC_CODEC_LZ4, LC_U8, "\x11\0\0\0" "\x4f" "abcd" "\x05\0\x09" "\x80" "01234567",
	    21, 40 },
	/* not a multiple of the element's size */
	{ LC_CODEC_SHUFFLE_LZ4, LC_F32, "\3\0\0\0abc", 7, 3 },
	/* not a float; numbers that are cut; no run; a table that is cut; bytes behind */
	{ LC_CODEC_U8PACK, LC_I32, "\0" "\0\1\0\0\0\0\0\0" "AAAA", 13, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0", 1, 8 },
	{ LC_CODEC_U8PACK, LC_F32, "\0", 1, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\1\0\0\0\0\0", 8, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\1\0\0\0\0\0\0" "AAA", 12, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\1\0\0\0\0\0\0" "AAAAB", 14, 4 },
	/* a run of no elements, of too few, of too many, a number without an entry */
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\0\0\0\0\0\0\0" "AAAA", 13, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0\0" "\0\1\0\0\0\0\0\0" "AAAA", 14, 8 },
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\2\0\0\0\0\0\0" "AAAA", 13, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\0" "\0\1\0\0\0\0\0\x80" "AAAA", 13, 4 },
	{ LC_CODEC_U8PACK, LC_F32, "\1" "\0\1\0\0\0\0\0\0" "AAAA", 13, 4 },
	{ LC_CODEC_U8PACK, LC_F16, "\1" "\1\1\0\0\0\0\0\0" "AA", 11, 2 },
	{ LC_CODEC_U8PACK_LZ4, LC_F32, "\1\0\0\0" "\1" "\0\1\0\0\0\0\0\0" "AAAA", 17, 4 },
	{ LC_CODEC_U8PACK_LZ4, LC_F32, "\1\0\0\0" "\0", 5, 4 },
};

START_TEST(malformed)
{
	const lc_tensor tensor = { .dtype = bad_rows[_i].dtype,
		.nbytes = bad_rows[_i].nbytes };
	unsigned char *out = malloc(tensor.nbytes);

	ck_assert(!decode(bad_rows[_i].codec, bad_rows[_i].bytes, bad_rows[_i].size,
	    &tensor, out));
	free(out);
}
END_TEST

/* A number above the table in every place of the vectors that look for it. */
START_TEST(number_without_entry)
{
	enum { N = 77 };
	const lc_tensor tensor = { .dtype = LC_F16, .nbytes = 2 * N };
	unsigned char stream[N + 12], out[2 * N];

	for (size_t place = 0; place < N; place++) {
		memset(stream, 0, N);
		memcpy(stream + N, "\1\x4d\0\0\0\0\0\0" "AABB", 12);
		stream[place] = 1;
		ck_assert(lc__codec_decode(LC_CODEC_U8PACK, stream, sizeof(stream), &tensor,
		    out));
		stream[place] = 2;
		ck_assert(!lc__codec_decode(LC_CODEC_U8PACK, stream, sizeof(stream), &tensor,
		    out));
	}
}
END_TEST

/* A small stream of each codec, with its tensor. */
static lc_tensor
small_stream(lc_codec codec, struct lc__buf *buf)
{
	uint64_t state = 42;
	lc_codec used;
	lc_tensor tensor = make(LC_F32, 600, UNIT, &state);

	for (size_t i = 0; i < 600; i++)
		((unsigned char *)(uintptr_t)tensor.data)[4 * i] &= 3;
	ck_assert_int_eq(lc__codec_encode(codec, 0, &tensor, buf, &used), LC_OK);
	ck_assert_int_eq(used, codec);
	return tensor;
}

START_TEST(every_truncation)
{
	struct lc__buf buf = { 0 };
	lc_tensor tensor = small_stream(coding[_i], &buf);
	unsigned char *out = malloc(tensor.nbytes);

	for (size_t size = 0; size < buf.size; size++)
		ck_assert(!decode(coding[_i], buf.data, size, &tensor, out));
	ck_assert(decode(coding[_i], buf.data, buf.size, &tensor, out));
	ck_assert_ptr_nonnull(lc__buf_append(&buf, "", 1));
	ck_assert(!decode(coding[_i], buf.data, buf.size, &tensor, out));
	free(out);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* False, or as many bytes as the tensor has: what else they touch, sanitizers see. */
START_TEST(every_flipped_byte)
{
	struct lc__buf buf = { 0 };
	lc_tensor tensor = small_stream(coding[_i], &buf);
	unsigned char *out = malloc(tensor.nbytes);
	size_t refused = 0;

	for (size_t i = 0; i < buf.size; i++)
		for (unsigned flip = 1; flip < 256; flip++) {
			buf.data[i] ^= flip;
			refused += !decode(coding[_i], buf.data, buf.size, &tensor, out);
			buf.data[i] ^= flip;
		}
	ck_assert_uint_gt(refused, 0);
	ck_assert(decode(coding[_i], buf.data, buf.size, &tensor, out));
	ck_assert_mem_eq(out, tensor.data, tensor.nbytes);
	free(out);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* Streams with many changes, and of random bytes. */
START_TEST(fuzz)
{
	uint64_t state = run_seed() + (uint64_t)_i;
	struct lc__buf buf = { 0 };
	lc_tensor tensor = small_stream(coding[_i], &buf);
	unsigned char *out = malloc(tensor.nbytes), *stream = malloc(buf.size);

	for (int round = 0; round < 20000; round++) {
		const size_t size = 1 + run_random(&state) % buf.size;
		const unsigned changes = (unsigned)(run_random(&state) % 8);
		memcpy(stream, buf.data, size);
		for (unsigned c = 0; c < changes; c++)
			stream[run_random(&state) % size] = (unsigned char)run_random(&state);
		if (round % 4 == 0)
			for (size_t i = 4; i < size; i++)
				stream[i] = (unsigned char)run_random(&state);
		(void)decode(coding[_i], stream, size, &tensor, out);
	}
	free(stream);
	free(out);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* ---- auto ------------------------------------------------------------------------- */

static const struct {
	lc_dtype dtype;
	enum kind kind;
	size_t n;
	lc_codec used;
} auto_rows[] = {
	{ LC_F32, RANDOM, 1 << 20, LC_CODEC_NONE },
	{ LC_F32, RANDOM, 100, LC_CODEC_NONE },
	{ LC_F16, RANDOM, 1 << 20, LC_CODEC_NONE },
	{ LC_U8, RANDOM, 1 << 20, LC_CODEC_NONE },
	{ LC_F32, UNIT, 1 << 20, LC_CODEC_U8PACK },
	{ LC_F32, NORMALISED, 1 << 20, LC_CODEC_U8PACK },
	{ LC_F64, SIGNED, 1 << 20, LC_CODEC_U8PACK },
	{ LC_F32, CONSTANT, 1 << 20, LC_CODEC_U8PACK_LZ4 },
	{ LC_F32, CONSTANT, 1 << 14, LC_CODEC_U8PACK_LZ4 },
	{ LC_U8, CONSTANT, 1 << 20, LC_CODEC_LZ4 },
	{ LC_BOOL, CONSTANT, 1 << 10, LC_CODEC_LZ4 },
	{ LC_I64, RAMP, 1 << 20, LC_CODEC_SHUFFLE_LZ4 },
	{ LC_I32, RAMP, 1 << 12, LC_CODEC_SHUFFLE_LZ4 },
};

START_TEST(auto_chooses)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(auto_rows[_i].dtype, auto_rows[_i].n,
	    auto_rows[_i].kind, &state);

	ck_assert_int_eq(round_trip(LC_CODEC_AUTO, 0, &tensor, &buf),
	    auto_rows[_i].used);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* The sample does not see what makes the whole unfit for u8pack. */
START_TEST(auto_is_misled)
{
	const size_t n = 1 << 20;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;
	lc_codec used;

	for (size_t i = 0; i < 1000; i++)
		lc__set32(data + 4 * (n / 6 + i), (uint32_t)i);
	used = round_trip(LC_CODEC_AUTO, 0, &tensor, &buf);
	ck_assert(used == LC_CODEC_LZ4 || used == LC_CODEC_SHUFFLE_LZ4);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* The sample's places are constant, everything else is random. */
START_TEST(auto_is_disappointed)
{
	const size_t n = 1 << 22;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = make(LC_F32, n, RANDOM, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t third = 0; third < 4; third++) {
		const size_t middle = tensor.nbytes / 3 * third;
		const size_t from = middle < 80000 ? 0 : middle - 80000;
		const size_t to = middle + 80000 < tensor.nbytes ? middle + 80000 :
		    tensor.nbytes;
		memset(data + from, 0, to - from);
	}
	ck_assert_int_eq(round_trip(LC_CODEC_AUTO, 0, &tensor, &buf), LC_CODEC_NONE);
	unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* ---- names and checks ------------------------------------------------------------- */

static const struct {
	lc_codec codec;
	const char *name;
} name_rows[] = {
	{ LC_CODEC_NONE, "none" }, { LC_CODEC_LZ4, "lz4" },
	{ LC_CODEC_SHUFFLE_LZ4, "shuffle-lz4" }, { LC_CODEC_U8PACK, "u8pack" },
	{ LC_CODEC_U8PACK_LZ4, "u8pack-lz4" }, { LC_CODEC_AUTO, "auto" },
	{ LC_CODEC_DEFAULT, "default" },
};

START_TEST(names)
{
	lc_codec got = LC_CODEC_NONE;

	ck_assert_str_eq(lc_codec_name(name_rows[_i].codec), name_rows[_i].name);
	ck_assert_int_eq(lc_codec_parse(name_rows[_i].name, &got), LC_OK);
	ck_assert_int_eq(got, name_rows[_i].codec);
	ck_assert_int_eq(lc__codec_check("put", got, 0), LC_OK);
}
END_TEST

START_TEST(unknown_names)
{
	lc_codec got;

	ck_assert_ptr_null(lc_codec_name((lc_codec)LC_CODEC_COUNT));
	ck_assert_ptr_null(lc_codec_name((lc_codec)253));
	ck_assert_ptr_null(lc_codec_name((lc_codec)256));
	ck_assert_int_eq(lc_codec_parse("LZ4", &got), LC_INVALID);
	ck_assert_int_eq(lc_codec_parse("", &got), LC_INVALID);
	ck_assert_int_eq(lc_codec_parse("zstd", &got), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "unknown codec 'zstd'");
}
END_TEST

START_TEST(check_refuses)
{
	ck_assert_int_eq(lc__codec_check("put", (lc_codec)77, 0), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: unknown codec 77");
	ck_assert_int_eq(lc__codec_check("put", LC_CODEC_LZ4, 13), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "put: level 13 is not one of -65537 to 12");
	ck_assert_int_eq(lc__codec_check("put", LC_CODEC_LZ4, -65538), LC_INVALID);
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		ck_assert_int_eq(lc__codec_check("put", LC_CODEC_LZ4, levels[i]), LC_OK);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("codec");
	TCase *tc = tcase_create("codec");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, every_dtype, 0, LC_DTYPE_COUNT);
	tcase_add_loop_test(tc, several_megabytes, 0, 4);
	tcase_add_loop_test(tc, every_level, 0, ROWS(levels));
	tcase_add_test(tc, levels_trade_time_for_size);
	tcase_add_test(tc, memory_is_used_again);
	tcase_add_test(tc, empty_tensor);
	tcase_add_loop_test(tc, packed_size, 0, ROWS(packed_rows));
	tcase_add_test(tc, bits_are_kept);
	tcase_add_loop_test(tc, too_many_values, 0, 6);
	tcase_add_loop_test(tc, any_256_values, 0, 24);
	tcase_add_test(tc, bytes_of_lz4);
	tcase_add_test(tc, bytes_of_shuffle);
	tcase_add_test(tc, bytes_of_u8pack);
	tcase_add_test(tc, bytes_written_by_u8pack);
	tcase_add_test(tc, bytes_written_in_blocks);
	tcase_add_loop_test(tc, malformed, 0, ROWS(bad_rows));
	tcase_add_test(tc, number_without_entry);
	tcase_add_loop_test(tc, every_truncation, 0, CODING - 1);
	tcase_add_loop_test(tc, every_flipped_byte, 0, CODING - 1);
	tcase_add_loop_test(tc, fuzz, 0, CODING - 1);
	tcase_add_loop_test(tc, auto_chooses, 0, ROWS(auto_rows));
	tcase_add_test(tc, auto_is_misled);
	tcase_add_test(tc, auto_is_disappointed);
	tcase_add_loop_test(tc, names, 0, ROWS(name_rows));
	tcase_add_test(tc, unknown_names);
	tcase_add_test(tc, check_refuses);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
