/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of coded tensors, by hand, cut and damaged. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/blocks.h"
#include "codec/codec.h"
#include "coding.h"
#include "run.h"

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
	ck_assert(coding_decode(codec, in, size, &tensor, out));
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
	lc_tensor tensor = coding_make(LC_F32, n, RANDOM, &state);
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
	coding_unmake(&tensor);
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

	ck_assert(!coding_decode(bad_rows[_i].codec, bad_rows[_i].bytes, bad_rows[_i].size,
	    &tensor, out));
	free(out);
}
END_TEST

/* What codes best, and sizes that no bytes can make. */
START_TEST(most_that_bytes_make)
{
	const size_t n = 64 << 20;
	const lc_tensor tensor = { .dtype = LC_F64, .ndim = 1, .shape = { n / 8 },
		.data = calloc(n, 1), .nbytes = n };
	struct lc__buf buf = { 0 };
	lc_codec used;

	ck_assert_ptr_nonnull(tensor.data);
	ck_assert_int_eq(lc__codec_encode(coding[_i], 0, &tensor, &buf, &used), LC_OK);
	ck_assert_int_eq(used, coding[_i]);
	ck_assert(lc__codec_holds(used, buf.size, n));
	ck_assert(lc__codec_holds(used, 21, 40));
	ck_assert(lc__codec_holds(used, 21, 21));
	ck_assert(!lc__codec_holds(used, 21, 21 * 2040 + 2040));
	ck_assert(!lc__codec_holds(used, 64, (size_t)1 << 31));
	ck_assert(!lc__codec_holds(used, 0, 1 << 16));
	lc__buf_free(&buf);
	free((void *)(uintptr_t)tensor.data);
}
END_TEST

START_TEST(stored_as_it_is)
{
	ck_assert(lc__codec_holds(LC_CODEC_NONE, 40, 40));
	ck_assert(!lc__codec_holds(LC_CODEC_NONE, 40, 41));
	ck_assert(!lc__codec_holds(LC_CODEC_NONE, 41, 40));
	ck_assert(!lc__codec_holds((lc_codec)LC_CODEC_COUNT, 40, 40));
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
	lc_tensor tensor = coding_make(LC_F32, 600, UNIT, &state);

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
		ck_assert(!coding_decode(coding[_i], buf.data, size, &tensor, out));
	ck_assert(coding_decode(coding[_i], buf.data, buf.size, &tensor, out));
	ck_assert_ptr_nonnull(lc__buf_append(&buf, "", 1));
	ck_assert(!coding_decode(coding[_i], buf.data, buf.size, &tensor, out));
	free(out);
	coding_unmake(&tensor);
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
			refused += !coding_decode(coding[_i], buf.data, buf.size, &tensor, out);
			buf.data[i] ^= flip;
		}
	ck_assert_uint_gt(refused, 0);
	ck_assert(coding_decode(coding[_i], buf.data, buf.size, &tensor, out));
	ck_assert_mem_eq(out, tensor.data, tensor.nbytes);
	free(out);
	coding_unmake(&tensor);
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
		(void)coding_decode(coding[_i], stream, size, &tensor, out);
	}
	free(stream);
	free(out);
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("codec_bytes");
	TCase *tc = tcase_create("codec_bytes");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, bytes_of_lz4);
	tcase_add_test(tc, bytes_of_shuffle);
	tcase_add_test(tc, bytes_of_u8pack);
	tcase_add_test(tc, bytes_written_by_u8pack);
	tcase_add_test(tc, bytes_written_in_blocks);
	tcase_add_loop_test(tc, malformed, 0, ROWS(bad_rows));
	tcase_add_loop_test(tc, most_that_bytes_make, 0, CODING - 1);
	tcase_add_test(tc, stored_as_it_is);
	tcase_add_test(tc, number_without_entry);
	tcase_add_loop_test(tc, every_truncation, 0, CODING - 1);
	tcase_add_loop_test(tc, every_flipped_byte, 0, CODING - 1);
	tcase_add_loop_test(tc, fuzz, 0, CODING - 1);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
