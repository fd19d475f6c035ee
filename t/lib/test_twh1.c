/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "format/twh1.h"
#include "format/twh1_row.h"
#include "shard_fixture.h"

#define COUNT(rows) (int)(sizeof(rows) / sizeof((rows)[0]))

/* ---- numbers --------------------------------------------------------------- */

static const struct {
	lc_dtype dtype;
	uint32_t code;
} code_rows[] = {
	{ LC_F32, 0 }, { LC_F16, 1 }, { LC_BF16, 2 }, { LC_F64, 3 },
	{ LC_BOOL, 4 }, { LC_U8, 5 }, { LC_I8, 6 }, { LC_U16, 7 }, { LC_I16, 8 },
	{ LC_U32, 9 }, { LC_I32, 10 }, { LC_U64, 11 }, { LC_I64, 12 },
	{ LC_C64, 13 }, { LC_C128, 14 }, { LC_F8_E4M3, 15 }, { LC_F8_E5M2, 16 },
	{ LC_F8_E8M0, 17 }, { LC_F8_E4M3FNUZ, 18 }, { LC_F8_E5M2FNUZ, 19 },
	{ LC_F4_E2M1_X2, 20 }, { LC_C32, 21 },
};

START_TEST(dtype_codes)
{
	ck_assert_int_eq(COUNT(code_rows), LC_DTYPE_COUNT);
	ck_assert_uint_eq(lc__twh1_dtype_code(code_rows[_i].dtype),
	    code_rows[_i].code);
}
END_TEST

static const struct {
	uint32_t ndim;
	uint64_t shape[5];
	lc_status status;
	uint32_t chw[3];
} chw_rows[] = {
	{ 0, { 0 }, LC_OK, { 1, 1, 1 } },
	{ 1, { 512 }, LC_OK, { 1, 1, 512 } },
	{ 1, { 0 }, LC_OK, { 1, 1, 0 } },
	{ 2, { 7, 9 }, LC_OK, { 1, 7, 9 } },
	{ 3, { 3, 640, 480 }, LC_OK, { 3, 640, 480 } },
	{ 4, { 2, 3, 4, 5 }, LC_OK, { 6, 4, 5 } },
	{ 5, { 2, 3, 4, 5, 6 }, LC_OK, { 24, 5, 6 } },
	{ 5, { 1ull << 40, 1ull << 40, 0, 5, 6 }, LC_OK, { 0, 5, 6 } },
	{ 5, { 0, 1ull << 40, 1ull << 40, 5, 6 }, LC_OK, { 0, 5, 6 } },
	{ 1, { UINT32_MAX }, LC_OK, { 1, 1, UINT32_MAX } },
	{ 1, { 1ull << 32 }, LC_UNSUPPORTED, { 0 } },
	{ 4, { 65536, 65536, 1, 1 }, LC_UNSUPPORTED, { 0 } },
};

START_TEST(chw_of_ranks)
{
	lc_tensor tensor = { .dtype = LC_U8, .ndim = chw_rows[_i].ndim };
	uint32_t chw[3] = { 0 };

	memcpy(tensor.shape, chw_rows[_i].shape, sizeof(chw_rows[_i].shape));
	ck_assert_int_eq(lc__twh1_chw(&tensor, chw), chw_rows[_i].status);
	ck_assert_mem_eq(chw, chw_rows[_i].chw, sizeof(chw));
}
END_TEST

static const struct {
	lc_shard_info in;
	bool metadata;
	uint64_t row_bytes;
	lc_status status;
	uint64_t image, boxes, mask, meta, checksum, size;
} layout_rows[] = {
	{ { .version = 1, .dtype = LC_F16, .channels = 3, .height = 640,
	    .width = 640, .max_boxes = 32, .samples = 10, .boxes_dtype = LC_F16 }, false, 0, LC_OK,
	    4096, 24580096, 24582656, 0, 0, 24583296 },
	{ { .version = 1, .dtype = LC_F32, .channels = 1, .height = 1,
	    .width = 3, .samples = 5 }, false, 0, LC_OK,
	    4096, 4156, 4156, 0, 0, 4156 },
	{ { .version = 2, .dtype = LC_U8, .channels = 1, .height = 1,
	    .width = 3, .max_boxes = 1, .samples = 5, .boxes_dtype = LC_U8 }, true, 100, LC_OK,
	    4096, 4160, 4224, 4288, 4480, 4528 },
	{ { .version = 2, .dtype = LC_U8, .channels = 1, .height = 256,
	    .width = 256, .samples = 1 }, true, 0, LC_OK,
	    4096, 69632, 69632, 69632, 69696, 69752 },
	{ { .version = 2, .dtype = LC_U8, .channels = 1, .height = 0,
	    .width = 3, .samples = 5 }, false, 0, LC_OK,
	    4096, 4096, 4096, 0, 0, 4096 },
	{ { .version = 1, .dtype = LC_U8, .channels = 1, .height = 1,
	    .width = 1, .samples = 1 }, false, 0, LC_UNSUPPORTED, 0, 0, 0, 0, 0, 0 },
	{ { .version = 2, .dtype = LC_U8, .channels = UINT32_MAX,
	    .height = UINT32_MAX, .width = 1, .samples = 1 }, false, 0, LC_INVALID,
	    0, 0, 0, 0, 0, 0 },
	{ { .version = 2, .dtype = LC_F64, .channels = 1, .height = 1,
	    .width = 1, .samples = UINT64_MAX / 8 }, false, 0, LC_INVALID,
	    0, 0, 0, 0, 0, 0 },
	{ { .version = 2, .dtype = LC_F64, .channels = 1, .height = 1,
	    .width = 1, .samples = 1 }, true, UINT64_MAX - 50, LC_INVALID,
	    0, 0, 0, 0, 0, 0 },
};

START_TEST(layouts)
{
	lc_shard_info info = layout_rows[_i].in;

	ck_assert_int_eq(lc__twh1_layout(&info, layout_rows[_i].metadata,
	    layout_rows[_i].row_bytes), layout_rows[_i].status);
	if (layout_rows[_i].status != LC_OK)
		return;
	ck_assert_uint_eq(info.image_offset, layout_rows[_i].image);
	ck_assert_uint_eq(info.boxes_offset, layout_rows[_i].boxes);
	ck_assert_uint_eq(info.mask_offset, layout_rows[_i].mask);
	ck_assert_uint_eq(info.meta_offset, layout_rows[_i].meta);
	ck_assert_uint_eq(info.checksum_offset, layout_rows[_i].checksum);
	ck_assert_uint_eq(info.file_size, layout_rows[_i].size);
}
END_TEST

/* ---- whole shards ---------------------------------------------------------- */

START_TEST(parse_v1)
{
	struct lc__twh1 shard;

	ck_assert_int_eq(lc__twh1_parse(fixture_v1(), FIXTURE_V1_SIZE, "x", &shard),
	    LC_OK);
	ck_assert_uint_eq(shard.info.version, 1);
	ck_assert_int_eq(shard.info.dtype, LC_F32);
	ck_assert_uint_eq(shard.info.width, 2);
	ck_assert_uint_eq(shard.info.max_boxes, 1);
	ck_assert_uint_eq(shard.info.samples, 2);
	ck_assert_uint_eq(shard.info.mask_offset, 4144);
	ck_assert_uint_eq(shard.sizes.image, 8);
	ck_assert_uint_eq(shard.sizes.boxes, 16);
	ck_assert_uint_eq(shard.sizes.mask, 4);
	ck_assert_ptr_null(shard.rows);
	ck_assert_ptr_null(shard.table);
}
END_TEST

START_TEST(parse_v2)
{
	struct lc__twh1 shard;
	lc_id row;

	ck_assert_int_eq(lc__twh1_parse(fixture_v2(), FIXTURE_V2_SIZE, "x", &shard),
	    LC_OK);
	ck_assert_int_eq(shard.info.dtype, LC_F16);
	ck_assert_int_eq(shard.info.boxes_dtype, LC_F16);
	ck_assert_uint_eq(shard.blocks, 1);
	ck_assert_uint_eq(shard.block, 65536);
	ck_assert(lc__twh1_block_good(&shard, 0));
	ck_assert(lc__twh1_row_at(&shard, 1, &row));
	ck_assert_uint_eq(row.size, 21);
	ck_assert_mem_eq((const char *)row.data + 12, "b", 1);
}
END_TEST

static const struct {
	lc_dtype image, boxes;
	uint32_t field;
	uint64_t boxes_offset, mask_offset, size; /* of 3 u8 images, 2 boxes each */
} pair_rows[] = {
	{ LC_F16, LC_F16, 0x00000001, 4160, 4224, 4236 },
	{ LC_F16, LC_F32, 0x00010001, 4160, 4288, 4312 },
	{ LC_U8, LC_F32, 0x00010005, 4160, 4288, 4312 },
	{ LC_F32, LC_F16, 0x00020000, 4160, 4224, 4236 },
	{ LC_F64, LC_U8, 0x00060003, 4160, 4224, 4230 },
	{ LC_U8, LC_F8_E5M2, 0x00110005, 4160, 4224, 4230 },
};

/* The header's bits, the offsets that follow from them, and both back again. */
START_TEST(two_dtypes)
{
	lc_shard_info info = { .version = 2, .dtype = pair_rows[_i].image,
		.boxes_dtype = pair_rows[_i].boxes, .channels = 1, .height = 1,
		.width = 2, .max_boxes = 2, .samples = 3 };
	unsigned char *file = calloc(1, pair_rows[_i].size);
	struct lc__twh1 shard;

	ck_assert_int_eq(lc__twh1_layout(&info, false, 0), LC_OK);
	ck_assert_uint_eq(info.boxes_offset, pair_rows[_i].boxes_offset);
	ck_assert_uint_eq(info.mask_offset, pair_rows[_i].mask_offset);
	ck_assert_uint_eq(info.file_size, pair_rows[_i].size);
	lc__twh1_put_header(&info, file);
	ck_assert_uint_eq(lc__get32(file + 8), pair_rows[_i].field);
	ck_assert_int_eq(lc__twh1_parse(file, info.file_size, "x", &shard), LC_OK);
	ck_assert_int_eq(shard.info.dtype, pair_rows[_i].image);
	ck_assert_int_eq(shard.info.boxes_dtype, pair_rows[_i].boxes);
	ck_assert_uint_eq(shard.sizes.mask,
	    2 * lc_dtype_size(pair_rows[_i].boxes));
	ck_assert_uint_eq(shard.sizes.boxes, 4 * shard.sizes.mask);
	ck_assert_int_eq(lc__twh1_parse(file, info.file_size - 1, "x", &shard),
	    LC_CORRUPT);
	/* Boxes where their elements may not stand. */
	lc__set64(file + 48, info.boxes_offset + 1);
	ck_assert_int_eq(lc__twh1_parse(file, info.file_size, "x", &shard),
	    lc_dtype_size(pair_rows[_i].boxes) > 1 ? LC_CORRUPT : LC_OK);
	free(file);
}
END_TEST

/* Version 1 refuses two dtypes; where there are no boxes, theirs does not count. */
START_TEST(one_dtype_in_v1)
{
	lc_shard_info info = { .version = 1, .dtype = LC_F16,
		.boxes_dtype = LC_F32, .channels = 1, .height = 1, .width = 2,
		.max_boxes = (uint32_t)_i, .samples = 3 };

	ck_assert_int_eq(lc__twh1_layout(&info, false, 0),
	    _i ? LC_UNSUPPORTED : LC_OK);
	if (_i)
		ck_assert_str_eq(lc_last_error()->text, "shard_version 1 has one "
		    "dtype: boxes of f32 do not go with images of f16");
	else
		ck_assert_int_eq(info.boxes_dtype, LC_F16);
}
END_TEST

/* A header has no room for its name, of images or of boxes. */
START_TEST(no_opaque_dtypes)
{
	lc_shard_info info = { .version = 2, .dtype = LC_F16, .boxes_dtype = LC_F32,
		.channels = 1, .height = 1, .width = 2, .max_boxes = 1, .samples = 3 };
	lc_dtype dtype;

	ck_assert_int_eq(lc_dtype_opaque("pose", 8, &dtype), LC_OK);
	if (_i == 0)
		info.dtype = dtype;
	else
		info.boxes_dtype = dtype;
	ck_assert_int_eq(lc__twh1_layout(&info, false, 0), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text,
	    "shards have no opaque dtype: opaque8:pose");
}
END_TEST

/* A header of 64, 72 or 80 bytes: what lies behind it are images, not offsets. */
START_TEST(short_headers)
{
	const uint64_t header = 64 + 8 * (uint64_t)_i;
	unsigned char bytes[80 + 8];
	struct lc__twh1 shard;

	memcpy(bytes, fixture_v1(), 80);
	memset(bytes + 64, 0xee, sizeof(bytes) - 64);
	lc__set32(bytes + 28, 0);
	lc__set64(bytes + 32, 1);
	lc__set64(bytes + 40, header);
	ck_assert_int_eq(lc__twh1_parse(bytes, header + 8, "x", &shard), LC_OK);
	ck_assert_uint_eq(shard.info.image_offset, header);
	ck_assert_uint_eq(shard.info.meta_offset, 0);
	ck_assert_uint_eq(shard.info.checksum_offset, 0);
	ck_assert_int_eq(lc__twh1_parse(bytes, header + 7, "x", &shard),
	    LC_CORRUPT);
}
END_TEST

static const struct {
	int version;
	size_t offset;
	const char *hex;
	lc_status status;
	const char *text;
} malformed_rows[] = {
	{ 1, 0, "54574832", LC_NOT_MODULE, "x: not a TWH1 shard" },
	{ 1, 4, "00000000", LC_CORRUPT, "x: bad shard_version 0" },
	{ 1, 4, "03000000", LC_VERSION,
	    "x: shard_version 3 is newer than this library" },
	{ 1, 8, "02000000", LC_CORRUPT, "x: bad dtype 2" },
	{ 1, 12, "01000000", LC_UNSUPPORTED,
	    "x: big-endian shards are not supported" },
	{ 1, 12, "00000001", LC_CORRUPT, "x: bad endianness 16777216" },
	{ 1, 16, "03000000", LC_CORRUPT,
	    "x: boxes_offset 4112 overlaps what ends at 4120" },
	{ 1, 16, "ffffffff ffffffff ffffffff", LC_CORRUPT,
	    "x: image of 4294967295 x 4294967295 x 4294967295 overflows" },
	{ 1, 32, "0000000000000080", LC_CORRUPT,
	    "x: 9223372036854775808 samples of image do not fit the file's 4152 bytes" },
	{ 1, 32, "0300000000000000", LC_CORRUPT,
	    "x: boxes_offset 4112 overlaps what ends at 4120" },
	{ 1, 40, "3f00000000000000", LC_CORRUPT,
	    "x: image_offset lies in the header: 63" },
	{ 1, 40, "4100000000000000", LC_CORRUPT,
	    "x: image_offset 65 is not a multiple of the element size" },
	{ 1, 40, "f8ffffffffffffff", LC_CORRUPT,
	    "x: 2 samples of image do not fit the file's 4152 bytes" },
	{ 1, 48, "3c10000000000000", LC_CORRUPT,
	    "x: 2 samples of boxes do not fit the file's 4152 bytes" },
	{ 1, 56, "3410000000000000", LC_CORRUPT,
	    "x: 2 samples of mask do not fit the file's 4152 bytes" },
	{ 1, 56, "1010000000000000", LC_CORRUPT,
	    "x: mask_offset 4112 overlaps what ends at 4144" },
	{ 1, 8, "00000100", LC_CORRUPT, "x: bad dtype 65536" },
	{ 2, 8, "16000000", LC_CORRUPT, "x: bad dtype 22" },
	{ 2, 8, "01001700", LC_CORRUPT, "x: bad dtype 1507329" },
	{ 2, 8, "0100ffff", LC_CORRUPT, "x: bad dtype 4294901761" },
	{ 2, 8, "01000100", LC_CORRUPT,
	    "x: the header does not match its checksum" },
	{ 2, 40, "4800000000000000", LC_CORRUPT,
	    "x: image_offset lies in the header: 72" },
	{ 2, 64, "0110000000000000", LC_CORRUPT, "x: bad meta_offset 4097" },
	{ 2, 64, "f8ffffffffffffff", LC_CORRUPT,
	    "x: bad meta_offset 18446744073709551608" },
	{ 2, 64, "4810000000000000", LC_CORRUPT, "x: no metadata section at 4168" },
	{ 2, 64, "e810000000000000", LC_CORRUPT, "x: no metadata section at 4328" },
	{ 2, 64, "0000000000000000", LC_CORRUPT,
	    "x: the header does not match its checksum" },
	{ 2, 72, "0000000000000000", LC_CORRUPT, "x: unexpected bytes after 4258" },
	{ 2, 72, "c810000000000000", LC_CORRUPT, "x: no checksum section at 4296" },
	{ 2, 72, "a110000000000000", LC_CORRUPT, "x: bad checksum_offset 4257" },
	{ 2, 72, "f8ffffffffffffff", LC_CORRUPT,
	    "x: bad checksum_offset 18446744073709551608" },
	{ 2, 4168, "0300000000000000", LC_CORRUPT,
	    "x: wrong number of metadata rows: 3" },
	{ 2, 4176, "ffffffffffffffff", LC_CORRUPT,
	    "x: metadata does not fit the file's bytes: 4336" },
	{ 2, 4292, "00080000", LC_CORRUPT, "x: bad checksum block size 2048" },
	{ 2, 4292, "00000000", LC_CORRUPT, "x: bad checksum block size 0" },
	{ 2, 4292, "01000100", LC_CORRUPT, "x: bad checksum block size 65537" },
	{ 2, 4292, "00100000", LC_CORRUPT, "x: wrong number of checksums: 1" },
	{ 2, 4296, "0200000000000000", LC_CORRUPT,
	    "x: wrong number of checksums: 2" },
	{ 2, 4320, "00", LC_CORRUPT,
	    "x: the checksum section does not match its checksum" },
	{ 2, 76, "01", LC_CORRUPT, "x: bad checksum_offset 4294971584" },
};

START_TEST(malformed)
{
	const bool v1 = malformed_rows[_i].version == 1;
	const size_t size = v1 ? FIXTURE_V1_SIZE : FIXTURE_V2_SIZE;
	unsigned char *bytes = fixture_copy(v1 ? fixture_v1() : fixture_v2(), size);
	struct lc__twh1 shard;

	fixture_hex(malformed_rows[_i].hex, bytes + malformed_rows[_i].offset);
	ck_assert_int_eq(lc__twh1_parse(bytes, size, "x", &shard),
	    malformed_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, malformed_rows[_i].text);
	free(bytes);
}
END_TEST

START_TEST(cut_short)
{
	struct lc__twh1 shard;

	for (size_t n = 0; n < FIXTURE_V2_SIZE; n++) {
		unsigned char *bytes = fixture_copy(fixture_v2(), n);
		ck_assert_int_eq(lc__twh1_parse(bytes, n, "x", &shard),
		    n < 4 ? LC_NOT_MODULE : LC_CORRUPT);
		free(bytes);
	}
	for (size_t n = 4; n < FIXTURE_V1_SIZE; n++) {
		unsigned char *bytes = fixture_copy(fixture_v1(), n);
		ck_assert_int_eq(lc__twh1_parse(bytes, n, "x", &shard),
		    LC_CORRUPT);
		free(bytes);
	}
}
END_TEST

/* Seal a mutated shard again, so that what lies behind the checksums is reached. */
static void
reseal(unsigned char *bytes)
{
	lc__set64(bytes + 4304, lc__hash64(bytes, 80));
	lc__set64(bytes + 4320, lc__hash64(bytes, 4288));
	lc__set64(bytes + 4328, lc__hash64(bytes + 4288, 40));
}

static void
read_everything(const struct lc__twh1 *shard)
{
	volatile unsigned char sum = 0;
	struct lc__twh1_row row;
	lc_id bytes;

	for (uint64_t b = 0; b < shard->blocks; b++)
		(void)lc__twh1_block_good(shard, b);
	for (uint64_t i = 0; i < shard->info.samples && i < 8; i++) {
		if (shard->sizes.image > 0)
			sum += shard->file[shard->info.image_offset +
			    (i + 1) * shard->sizes.image - 1];
		if (shard->rows != NULL && lc__twh1_row_at(shard, i, &bytes) &&
		    lc__twh1_row_decode(bytes, &row))
			for (size_t k = 0; k < row.cache_id.size; k++)
				sum += ((const unsigned char *)row.cache_id.data)[k];
	}
	(void)sum;
}

START_TEST(mutations)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 40000; round++) {
		const bool v1 = round % 4 == 0;
		const size_t size = v1 ? FIXTURE_V1_SIZE : FIXTURE_V2_SIZE;
		unsigned char *bytes = fixture_copy(v1 ? fixture_v1() :
		    fixture_v2(), size);
		struct lc__twh1 shard;

		for (uint64_t n = run_random(&seed) % 4 + 1; n > 0; n--) {
			const uint64_t r = run_random(&seed);
			const size_t at = r % 4 == 0 ? r / 4 % size :
			    r % 4 == 1 && !v1 ? 4160 + r / 4 % 176 : r / 4 % 80;
			bytes[at] = (unsigned char)(r >> 56);
		}
		if (!v1 && round % 2 == 0)
			reseal(bytes);
		if (lc__twh1_parse(bytes, size, "x", &shard) == LC_OK)
			read_everything(&shard);
		free(bytes);
	}
}
END_TEST

/* Every single flipped bit of a sealed shard is noticed. */
START_TEST(every_bit)
{
	unsigned char *bytes = fixture_copy(fixture_v2(), FIXTURE_V2_SIZE);
	struct lc__twh1 shard;

	for (size_t bit = 0; bit < 8 * FIXTURE_V2_SIZE; bit++) {
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
		ck_assert(lc__twh1_parse(bytes, FIXTURE_V2_SIZE, "x", &shard) !=
		    LC_OK || !lc__twh1_block_good(&shard, 0));
		bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	}
	free(bytes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("twh1");
	TCase *tc = tcase_create("twh1");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, dtype_codes, 0, COUNT(code_rows));
	tcase_add_loop_test(tc, chw_of_ranks, 0, COUNT(chw_rows));
	tcase_add_loop_test(tc, layouts, 0, COUNT(layout_rows));
	tcase_add_test(tc, parse_v1);
	tcase_add_test(tc, parse_v2);
	tcase_add_loop_test(tc, two_dtypes, 0, COUNT(pair_rows));
	tcase_add_loop_test(tc, one_dtype_in_v1, 0, 2);
	tcase_add_loop_test(tc, no_opaque_dtypes, 0, 2);
	tcase_add_loop_test(tc, short_headers, 0, 3);
	tcase_add_loop_test(tc, malformed, 0, COUNT(malformed_rows));
	tcase_add_test(tc, cut_short);
	tcase_add_test(tc, mutations);
	tcase_add_test(tc, every_bit);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
