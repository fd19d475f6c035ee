/* SPDX-License-Identifier: BSD-2-Clause */
/* The codecs: round trips, what is chosen, and names. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "codec/blocks.h"
#include "codec/codec.h"
#include "coding.h"
#include "run.h"

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
			lc_tensor tensor = coding_make(dtype, sizes[s], kind, &state);
			for (size_t c = 0; c < CODING; c++) {
				const lc_codec used = round_trip(coding[c], 0, &tensor, &buf);
				if (is_u8pack(coding[c]) && !is_float(dtype))
					ck_assert_int_eq(used, LC_CODEC_NONE);
				else if (kind == CONSTANT && sizes[s] > 4096)
					ck_assert_int_ne(used, LC_CODEC_NONE);
				else if (kind == RANDOM)
					ck_assert_int_eq(used, LC_CODEC_NONE);
			}
			coding_unmake(&tensor);
		}
	lc__buf_free(&buf);
}
END_TEST

START_TEST(several_megabytes)
{
	const lc_dtype dtypes[] = { LC_U8, LC_F16, LC_F32, LC_I64 };
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(dtypes[_i], 3 * 640 * 640, NORMALISED, &state);

	for (size_t c = 0; c < CODING; c++)
		round_trip(coding[c], 0, &tensor, &buf);
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

static const int levels[] = { LC__LEVEL_MIN, -100, -1, 0, 1, 3, 9, LC__LEVEL_MAX };

START_TEST(every_level)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(LC_F32, 100000, RAMP, &state);

	for (size_t c = 0; c < CODING; c++)
		if (!is_u8pack(coding[c]))
			ck_assert_int_ne(round_trip(coding[c], levels[_i], &tensor, &buf),
			    LC_CODEC_NONE);
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(levels_trade_time_for_size)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(LC_F32, 100000, UNIT, &state);
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
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

START_TEST(memory_is_used_again)
{
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(LC_F32, 50000, UNIT, &state);
	const unsigned char *data;

	round_trip(LC_CODEC_AUTO, 0, &tensor, &buf);
	data = buf.data;
	for (size_t c = 0; c < CODING; c++)
		round_trip(coding[c], 0, &tensor, &buf);
	ck_assert_ptr_eq(buf.data, data);
	coding_unmake(&tensor);
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
	lc_tensor tensor = coding_make(dtype, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		set_float(data + i * lc_dtype_size(dtype), dtype,
		    image_pixel(kind, i, n, i % (n / 3 + 1) % 256));
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
	coding_unmake(&tensor);
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
	lc_tensor tensor = coding_make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		lc__set32(data + 4 * i,
		    bits[run_random(&state) % (sizeof(bits) / sizeof(bits[0]))]);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK_LZ4, 0, &tensor, &buf),
	    LC_CODEC_U8PACK_LZ4);
	coding_unmake(&tensor);
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
	lc_tensor tensor = coding_make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t i = 0; i < n; i++)
		lc__set32(data + 4 * i, (uint32_t)(i % 256));
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	lc__set32(data + 4 * places[_i], 256);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_NONE);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK_LZ4, 0, &tensor, &buf),
	    LC_CODEC_NONE);
	coding_unmake(&tensor);
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
	lc_tensor tensor = coding_make(dtype, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;
	const unsigned shift = (unsigned)(run_random(&state) % (8 * width - 8));

	for (unsigned k = 0; k < 256; k++)
		values[k] = htole64(_i % 3 == 0 ? run_random(&state) :
		    (uint64_t)k << shift);
	for (size_t i = 0; i < n; i++)
		memcpy(data + i * width, &values[run_random(&state) % 256], width);
	ck_assert_int_eq(round_trip(LC_CODEC_U8PACK, 0, &tensor, &buf), LC_CODEC_U8PACK);
	coding_unmake(&tensor);
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
	lc_tensor tensor = coding_make(auto_rows[_i].dtype, auto_rows[_i].n,
	    auto_rows[_i].kind, &state);

	ck_assert_int_eq(round_trip(LC_CODEC_AUTO, 0, &tensor, &buf),
	    auto_rows[_i].used);
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* The sample does not see what makes the whole unfit for u8pack. */
START_TEST(auto_is_misled)
{
	const size_t n = 1 << 20;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(LC_F32, n, CONSTANT, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;
	lc_codec used;

	for (size_t i = 0; i < 1000; i++)
		lc__set32(data + 4 * (n / 6 + i), (uint32_t)i);
	used = round_trip(LC_CODEC_AUTO, 0, &tensor, &buf);
	ck_assert(used == LC_CODEC_LZ4 || used == LC_CODEC_SHUFFLE_LZ4);
	coding_unmake(&tensor);
	lc__buf_free(&buf);
}
END_TEST

/* The sample's places are constant, everything else is random. */
START_TEST(auto_is_disappointed)
{
	const size_t n = 1 << 22;
	uint64_t state = run_seed();
	struct lc__buf buf = { 0 };
	lc_tensor tensor = coding_make(LC_F32, n, RANDOM, &state);
	unsigned char *data = (unsigned char *)(uintptr_t)tensor.data;

	for (size_t third = 0; third < 4; third++) {
		const size_t middle = tensor.nbytes / 3 * third;
		const size_t from = middle < 80000 ? 0 : middle - 80000;
		const size_t to = middle + 80000 < tensor.nbytes ? middle + 80000 :
		    tensor.nbytes;
		memset(data + from, 0, to - from);
	}
	ck_assert_int_eq(round_trip(LC_CODEC_AUTO, 0, &tensor, &buf), LC_CODEC_NONE);
	coding_unmake(&tensor);
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
	tcase_add_loop_test(tc, auto_chooses, 0, ROWS(auto_rows));
	tcase_add_test(tc, auto_is_misled);
	tcase_add_test(tc, auto_is_disappointed);
	tcase_add_loop_test(tc, names, 0, ROWS(name_rows));
	tcase_add_test(tc, unknown_names);
	tcase_add_test(tc, check_refuses);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
