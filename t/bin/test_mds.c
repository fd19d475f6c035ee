/* SPDX-License-Identifier: BSD-2-Clause */
/* MDS in memory: encodings, samples, heads of shards, texts, the index. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/mds.h"
#include "formats/value_json.h"
#include "need.h"

#define ROWS(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

/* ---- encodings ------------------------------------------------------------------ */

static const struct {
	const char *text;
	enum lc__mds_kind kind;
	uint64_t size;
	bool written; /* the text comes back */
} encoding_rows[] = {
	{ "bytes", LC__MDS_BYTES, 0, true }, { "str", LC__MDS_STR, 0, true },
	{ "int", LC__MDS_INT, 8, true }, { "json", LC__MDS_JSON, 0, true },
	{ "uint8", LC__MDS_NUMBER, 1, true }, { "int8", LC__MDS_NUMBER, 1, true },
	{ "uint16", LC__MDS_NUMBER, 2, true }, { "int16", LC__MDS_NUMBER, 2, true },
	{ "uint32", LC__MDS_NUMBER, 4, true }, { "int32", LC__MDS_NUMBER, 4, true },
	{ "uint64", LC__MDS_NUMBER, 8, true }, { "int64", LC__MDS_NUMBER, 8, true },
	{ "float16", LC__MDS_NUMBER, 2, true }, { "float32", LC__MDS_NUMBER, 4, true },
	{ "float64", LC__MDS_NUMBER, 8, true }, { "ndarray", LC__MDS_ARRAY, 0, true },
	{ "ndarray:", LC__MDS_ARRAY, 0, false },
	{ "ndarray:float16", LC__MDS_ARRAY, 0, true },
	{ "ndarray:float16:16,128,128", LC__MDS_ARRAY, 524288, true },
	{ "ndarray:uint8:7", LC__MDS_ARRAY, 7, true },
	{ "str_int", LC__MDS_STR_INT, 0, true },
	{ "str_float", LC__MDS_STR_FLOAT, 0, true },
	{ "str_decimal", LC__MDS_STR_DECIMAL, 0, true },
	{ "jpeg", LC__MDS_IMAGE, 0, true }, { "png", LC__MDS_IMAGE, 0, false },
	{ "pil", LC__MDS_PIXELS, 0, true }, { "pkl", LC__MDS_PICKLE, 0, true },
	{ "list[png]", LC__MDS_IMAGES, 0, false },
	{ "list[pil]", LC__MDS_PIXELS_LIST, 0, true },
	{ "jpegarray", LC__MDS_JPEGS, 0, false },
};

START_TEST(encodings)
{
	struct lc__mds_encoding encoding;
	struct lc__buf text = { 0 };

	assert_ok(lc__mds_encoding_parse(encoding_rows[_i].text, &encoding));
	ck_assert_int_eq(encoding.kind, encoding_rows[_i].kind);
	ck_assert_uint_eq(lc__mds_encoding_size(&encoding), encoding_rows[_i].size);
	lc__mds_encoding_text(&encoding, &text);
	if (encoding_rows[_i].written) {
		ck_assert_uint_eq(text.size, strlen(encoding_rows[_i].text));
		ck_assert_mem_eq(text.data, encoding_rows[_i].text, text.size);
	}
	lc__buf_free(&text);
}
END_TEST

static const struct {
	const char *encoding;
	lc_status status;
	const char *text;
} bad_encodings[] = {
	{ "", LC_UNSUPPORTED, "encoding '' is not known" },
	{ "jpg", LC_UNSUPPORTED, "encoding 'jpg' is not known" },
	{ "ndarrays", LC_UNSUPPORTED, "encoding 'ndarrays' is not known" },
	{ "ndarray:bfloat16", LC_CORRUPT,
	    "'ndarray:bfloat16' is not an encoding of an array" },
	{ "ndarray:f32", LC_CORRUPT, "'ndarray:f32' is not an encoding of an array" },
	{ "ndarray::3", LC_CORRUPT, "'ndarray::3' is not an encoding of an array" },
	{ "ndarray:uint8:", LC_CORRUPT, "'ndarray:uint8:' is not an encoding of an array" },
	{ "ndarray:uint8:0", LC_CORRUPT, "'ndarray:uint8:0' is not an encoding of an array" },
	{ "ndarray:uint8:-1", LC_CORRUPT,
	    "'ndarray:uint8:-1' is not an encoding of an array" },
	{ "ndarray:uint8:3,", LC_CORRUPT,
	    "'ndarray:uint8:3,' is not an encoding of an array" },
	{ "ndarray:uint8:3;4", LC_CORRUPT,
	    "'ndarray:uint8:3;4' is not an encoding of an array" },
	{ "ndarray:uint8:3:4", LC_CORRUPT,
	    "'ndarray:uint8:3:4' is not an encoding of an array" },
	{ "ndarray:uint8:18446744073709551616", LC_CORRUPT,
	    "'ndarray:uint8:18446744073709551616' is not an encoding of an array" },
	{ "ndarray:uint8:4294967296,4294967296", LC_CORRUPT,
	    "'ndarray:uint8:4294967296,4294967296' is not an encoding of an array" },
	{ "ndarray:uint8:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", LC_UNSUPPORTED,
	    "rank is above 16" },
};

START_TEST(malformed_encodings)
{
	struct lc__mds_encoding encoding;

	ck_assert_int_eq(lc__mds_encoding_parse(bad_encodings[_i].encoding, &encoding),
	    bad_encodings[_i].status);
	ck_assert_str_eq(lc_last_error()->text, bad_encodings[_i].text);
}
END_TEST

/* ---- columns -------------------------------------------------------------------- */

#define BYTES(text) text, sizeof(text) - 1

/* Values as their JSON; NULL and the error where there is none. */
static const struct {
	const char *encoding, *bytes;
	size_t size;
	const char *json, *error;
} value_rows[] = {
	{ "bytes", BYTES("a\0b"), "{\"$bytes\":\"YQBi\"}", NULL },
	{ "bytes", "", 0, "{\"$bytes\":\"\"}", NULL },
	{ "str", BYTES("h\xc3\xa9"), "\"h\xc3\xa9\"", NULL },
	{ "str", BYTES("h\xc3"), NULL, "text that is not UTF-8" },
	{ "int", BYTES("\xfe\xff\xff\xff\xff\xff\xff\xff"), "-2", NULL },
	{ "int", BYTES("\1\0\0\0"), NULL, "a number of 4 bytes, which has 8" },
	{ "uint8", BYTES("\xff"), "255", NULL },
	{ "int8", BYTES("\xff"), "-1", NULL },
	{ "uint16", BYTES("\xfe\xff"), "65534", NULL },
	{ "int16", BYTES("\xfe\xff"), "-2", NULL },
	{ "uint32", BYTES("\xff\xff\xff\xff"), "4294967295", NULL },
	{ "int32", BYTES("\0\0\0\x80"), "-2147483648", NULL },
	{ "int32", BYTES("\0\0\0\x80\0"), NULL, "a number of 5 bytes, which has 4" },
	{ "uint64", BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"),
	    "{\"$u64\":\"18446744073709551615\"}", NULL },
	{ "int64", BYTES("\0\0\0\0\0\0\0\x80"), "-9223372036854775808", NULL },
	{ "float16", BYTES("\0\x3e"), "1.5", NULL },
	{ "float32", BYTES("\0\0\x80\x3f"), "1.0", NULL },
	{ "float64", BYTES("\0\0\0\0\0\0\xe0\xbf"), "-0.5", NULL },
	{ "str_int", BYTES("18446744073709551615"),
	    "{\"$u64\":\"18446744073709551615\"}", NULL },
	{ "str_int", BYTES("-9223372036854775808"), "-9223372036854775808", NULL },
	{ "str_int", BYTES("-9223372036854775809"), "\"-9223372036854775809\"", NULL },
	{ "str_int", BYTES("99999999999999999999"), "\"99999999999999999999\"", NULL },
	{ "str_int", BYTES("-"), NULL, "an integer without a digit" },
	{ "str_int", BYTES("1e3"), NULL, "an integer that is '1e3'" },
	{ "str_float", BYTES("1e-07"), "1e-07", NULL },
	{ "str_float", BYTES("nan"), "{\"$float\":\"nan\"}", NULL },
	{ "str_float", BYTES("-inf"), "{\"$float\":\"-inf\"}", NULL },
	{ "str_float", BYTES("0x10"), NULL, "a number that is '0x10'" },
	{ "str_float", BYTES(" 1"), NULL, "a number that is ' 1'" },
	{ "str_float", BYTES("1\0"), NULL, "a number that is '1\\x00'" },
	{ "str_float", BYTES(""), NULL, "a number that is ''" },
	{ "str_decimal", BYTES("1.20"), "\"1.20\"", NULL },
	{ "json", BYTES("{\"a\": [1, 2.5, null]}"), "{\"a\":[1,2.5,null]}", NULL },
	{ "ndarray:uint8:2,3", BYTES("abcdef"), "{\"$tensor\":\"u8[2,3]\"}", NULL },
	{ "ndarray:uint8:2,3", BYTES("abcdefg"), NULL,
	    "an array of 7 bytes, of which its shape makes 6" },
	{ "ndarray:int16", BYTES("\x08\2\1abcd"), "{\"$tensor\":\"i16[2,1]\"}", NULL },
	{ "ndarray:int16", BYTES("\x05\2\0abcd"), "{\"$tensor\":\"i16[2]\"}", NULL },
	{ "ndarray:int16", BYTES("\x06\2\0\0\0abcd"), "{\"$tensor\":\"i16[2]\"}", NULL },
	{ "ndarray:int16", BYTES("\x07\2\0\0\0\0\0\0\0abcd"), "{\"$tensor\":\"i16[2]\"}",
	    NULL },
	{ "ndarray:int16", BYTES("\x07\2\0\0\0\0\0\0"), NULL, "an array that is cut" },
	{ "ndarray:int16", BYTES(""), NULL, "an array that is cut" },
	{ "ndarray:int16", BYTES("\0ab"), "{\"$tensor\":\"i16[]\"}", NULL },
	{ "ndarray:int16", BYTES("\x44"), NULL, "rank 17 is above 16" },
	{ "ndarray:int16", BYTES("\x0b\0\0\0\0\1\0\0\0\0\0\0\0\1\0\0\0"), NULL,
	    "an array whose shape overflows" },
	{ "ndarray", BYTES("\x42\4\1\1\2\3\4\5\6\7\x08"),
	    "{\"$tensor\":\"f64[1]\"}", NULL },
	{ "ndarray", BYTES("\x42\4\0\1"), NULL,
	    "an array of 1 bytes, of which its shape makes 0" },
	{ "ndarray", BYTES("\x42\4\0"), "{\"$tensor\":\"f64[0]\"}", NULL },
	{ "ndarray", BYTES("\x10\4\2abcd"), "{\"$tensor\":\"u16[2]\"}", NULL },
	{ "ndarray", BYTES("\x0a\4\2abcd"), NULL, "an array of dtype 10, which does not exist" },
	{ "ndarray", BYTES(""), NULL, "an array that is cut" },
	{ "pkl", BYTES("."), NULL, "pickled, which could run any program" },
};

START_TEST(values)
{
	struct lc__mds_encoding encoding;
	struct lc__loaded loaded = { 0 };
	char *text;

	assert_ok(lc__mds_encoding_parse(value_rows[_i].encoding, &encoding));
	if (value_rows[_i].json == NULL) {
		const lc_status status = lc__mds_decode(&encoding, value_rows[_i].bytes,
		    value_rows[_i].size, &loaded, &loaded.value);
		ck_assert_int_ne(status, LC_OK);
		if (value_rows[_i].error != NULL)
			ck_assert_str_eq(lc_last_error()->text, value_rows[_i].error);
	} else {
		assert_ok(lc__mds_decode(&encoding, value_rows[_i].bytes,
		    value_rows[_i].size, &loaded, &loaded.value));
		text = lc__value_json_text(loaded.value);
		ck_assert_str_eq(text, value_rows[_i].json);
		free(text);
	}
	lc__loaded_free(&loaded);
}
END_TEST

/* What is written in front of arrays, and that it is read again. */
static const struct {
	const char *encoding;
	lc_dtype dtype;
	uint32_t ndim;
	uint64_t shape[3];
	const char *head;
	size_t size;
} head_rows[] = {
	{ "ndarray:uint8:2", LC_U8, 1, { 2 }, "", 0 },
	{ "ndarray:uint8", LC_U8, 2, { 2, 255 }, "\x08\2\xff", 3 },
	{ "ndarray:uint8", LC_U8, 2, { 2, 256 }, "\x09\2\0\0\1", 5 },
	{ "ndarray:uint8", LC_U8, 1, { 65535 }, "\x05\xff\xff", 3 },
	{ "ndarray:uint8", LC_U8, 1, { 65536 }, "\x06\0\0\1\0", 5 },
	{ "ndarray:uint8", LC_U8, 1, { 1ull << 32 }, "\x07\0\0\0\0\1\0\0\0", 9 },
	{ "ndarray", LC_F64, 3, { 1, 2, 3 }, "\x42\x0c\1\2\3", 5 },
	{ "ndarray", LC_F16, 1, { 1 }, "\x12\4\1", 3 },
	{ "ndarray", LC_I64, 1, { 1 }, "\x41\4\1", 3 },
};

START_TEST(array_heads)
{
	struct lc__mds_encoding encoding;
	struct lc__buf head = { 0 };
	lc_tensor tensor;

	assert_ok(lc__mds_encoding_parse(head_rows[_i].encoding, &encoding));
	assert_ok(lc_tensor_init(&tensor, head_rows[_i].dtype, head_rows[_i].ndim,
	    head_rows[_i].shape, NULL));
	lc__mds_array_head(&encoding, &tensor, &head);
	ck_assert_uint_eq(head.size, head_rows[_i].size);
	if (head.size > 0)
		ck_assert_mem_eq(head.data, head_rows[_i].head, head.size);
	lc__buf_free(&head);
}
END_TEST

START_TEST(lists_and_pixels)
{
	static const char rgb[] = "\2\0\0\0\1\0\0\0\3\0\0\0RGBabcdef";
	static const char list[] = "\0\0\0\0\2\0\0\0\1\0\0\0\3\0\0\0abcd";
	struct lc__mds_pixels pixels;
	struct lc__mds_list images;
	const void *one;
	size_t size;

	assert_ok(lc__mds_pixels(BYTES(rgb), &pixels));
	ck_assert_uint_eq(pixels.width, 2);
	ck_assert_uint_eq(pixels.height, 1);
	ck_assert_uint_eq(pixels.channels, 3);
	ck_assert_mem_eq(pixels.data, "abcdef", 6);
	ck_assert_int_eq(lc__mds_pixels(rgb, sizeof(rgb) - 2, &pixels), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "an image of 2 x 1 with 5 bytes");
	ck_assert_int_eq(lc__mds_pixels(rgb, 14, &pixels), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "an image that is cut");
	ck_assert_int_eq(lc__mds_pixels(BYTES("\1\0\0\0\1\0\0\0\1\0\0\0Pa"), &pixels),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, "an image of mode 'P'");
	assert_ok(lc__mds_list(LC__MDS_IMAGES, BYTES(list), &images));
	ck_assert(lc__mds_list_next(&images, &one, &size));
	ck_assert_uint_eq(size, 1);
	ck_assert_mem_eq(one, "a", 1);
	ck_assert(lc__mds_list_next(&images, &one, &size));
	ck_assert_uint_eq(size, 3);
	ck_assert_mem_eq(one, "bcd", 3);
	ck_assert(!lc__mds_list_next(&images, &one, &size));
	assert_ok(lc__mds_list(LC__MDS_JPEGS, list + 4, sizeof(list) - 5, &images));
	ck_assert_uint_eq(images.left, 2);
	ck_assert_int_eq(lc__mds_list(LC__MDS_IMAGES, list, sizeof(list) - 2, &images),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "a list whose elements do not fill it");
	ck_assert_int_eq(lc__mds_list(LC__MDS_IMAGES, list, 12, &images), LC_CORRUPT);
	ck_assert_int_eq(lc__mds_list(LC__MDS_IMAGES, list, 7, &images), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, "a list that is cut");
}
END_TEST

/* ---- samples and heads of shards ------------------------------------------------- */

static struct lc__mds_columns
make_columns(void)
{
	struct lc__mds_columns columns = { calloc(3, sizeof(*columns.column)), 3, 2 };

	columns.column[0].name = strdup("a");
	columns.column[1].name = strdup("b\"\xc3\xa9\xf0\x9f\x98\x80\x7f");
	columns.column[2].name = strdup("c");
	assert_ok(lc__mds_encoding_parse("str", &columns.column[0].encoding));
	assert_ok(lc__mds_encoding_parse("ndarray:float16:2,1",
	    &columns.column[1].encoding));
	assert_ok(lc__mds_encoding_parse("json", &columns.column[2].encoding));
	columns.column[1].size = 4;
	return columns;
}

static const struct {
	const char *sizes;
	size_t size;
	const char *error;
} split_rows[] = {
	{ "\1\0\0\0\2\0\0\0", 15, NULL },
	{ "\0\0\0\0\0\0\0\0", 12, NULL },
	{ "\1\0\0\0\2\0\0\0", 16, "1 bytes are of no column" },
	{ "\1\0\0\0\2\0\0\0", 14, "column 'c': 2 bytes, of which 1 are there" },
	{ "\4\0\0\0\0\0\0\0", 11, "column 'a': 4 bytes, of which 3 are there" },
	{ "\0\0\0\0\0\0\0\0", 11,
	    "column 'b\"\\xc3\\xa9\\xf0\\x9f\\x98\\x80\\x7f': 4 bytes, of which 3 are there" },
	{ "\xff\xff\xff\xff\0\0\0\0", 12, "column 'a': 4294967295 bytes, of which 4 are there" },
};

START_TEST(samples)
{
	struct lc__mds_columns columns = make_columns();
	struct lc__mds_piece pieces[3];

	if (split_rows[_i].error == NULL) {
		assert_ok(lc__mds_split(&columns, split_rows[_i].sizes,
		    split_rows[_i].size, pieces));
		ck_assert_uint_eq(pieces[0].at, 8);
		ck_assert_uint_eq(pieces[0].size, split_rows[_i].sizes[0]);
		ck_assert_uint_eq(pieces[1].at, 8 + pieces[0].size);
		ck_assert_uint_eq(pieces[1].size, 4);
		ck_assert_uint_eq(pieces[2].at + pieces[2].size, split_rows[_i].size);
	} else {
		ck_assert_int_eq(lc__mds_split(&columns, split_rows[_i].sizes,
		    split_rows[_i].size, pieces), LC_CORRUPT);
		ck_assert_str_eq(lc_last_error()->text, split_rows[_i].error);
	}
	lc__mds_columns_free(&columns);
}
END_TEST

static const struct {
	uint32_t words[4], samples;
	uint64_t size;
	const char *error;
} shard_rows[] = {
	{ { 2, 16, 20, 20 }, 2, 20, NULL },
	{ { 2, 30, 30, 31 }, 2, 31, NULL },
	{ { 0, 8 }, 0, 8, NULL },
	{ { 3, 16, 20, 20 }, 2, 20, "3 samples, of which the index has 2" },
	{ { 2, 15, 20, 20 }, 2, 20, "the first sample begins at 15, among the places" },
	{ { 2, 16, 20, 19 }, 2, 19, "sample 1 ends at 19, before it begins at 20" },
	{ { 2, 16, 20, 21 }, 2, 20, "the samples end at 21 of 20 bytes" },
	{ { 2, 16, 20, 20 }, 2, 21, "the samples end at 20 of 21 bytes" },
};

START_TEST(heads)
{
	unsigned char head[16];
	uint64_t begin, end;

	for (size_t i = 0; i < 4; i++)
		lc__set32(head + 4 * i, shard_rows[_i].words[i]);
	if (shard_rows[_i].error != NULL) {
		ck_assert_int_eq(lc__mds_check_head(head, shard_rows[_i].samples,
		    shard_rows[_i].size), LC_CORRUPT);
		ck_assert_str_eq(lc_last_error()->text, shard_rows[_i].error);
		return;
	}
	assert_ok(lc__mds_check_head(head, shard_rows[_i].samples, shard_rows[_i].size));
	for (uint32_t i = 0; i < shard_rows[_i].samples; i++) {
		lc__mds_place(head, i, &begin, &end);
		ck_assert_uint_eq(begin, shard_rows[_i].words[1 + i]);
		ck_assert_uint_eq(end, shard_rows[_i].words[2 + i]);
	}
}
END_TEST

/* ---- texts ---------------------------------------------------------------------- */

#define LISTS "\"column_encodings\": [\"str\", \"ndarray:float16:2,1\", \"json\"], " \
	"\"column_names\": [\"a\", \"b\\\"\\u00e9\\ud83d\\ude00\\u007f\", \"c\"], " \
	"\"column_sizes\": [null, 4, null], \"compression\": null, " \
	"\"format\": \"mds\", \"hashes\": [], "

START_TEST(texts)
{
	static const char config[] = "{" LISTS "\"size_limit\": 67108864, \"version\": 2}";
	static const char entry[] = "{" LISTS "\"raw_data\": {\"basename\": "
	    "\"shard.00000.mds\", \"bytes\": 20, \"hashes\": {}}, \"samples\": 3, "
	    "\"size_limit\": null, \"version\": 2, \"zip_data\": null}";
	struct lc__mds_columns columns = make_columns();
	struct lc__buf text = { 0 };

	lc__mds_config(&columns, 1 << 26, &text);
	ck_assert_uint_eq(text.size, sizeof(config) - 1);
	ck_assert_mem_eq(text.data, config, text.size);
	text.size = 0;
	lc__mds_index_entry(&columns, 0, "shard.00000.mds", 20, 3, &text);
	ck_assert_uint_eq(text.size, sizeof(entry) - 1);
	ck_assert_mem_eq(text.data, entry, text.size);
	lc__buf_free(&text);
	lc__mds_columns_free(&columns);
}
END_TEST

/* ---- the index ------------------------------------------------------------------ */

#define RAW "\"raw_data\":{\"basename\":\"s.mds\",\"bytes\":20,\"hashes\":{\"sha1\":\"ab\"}}"
#define COLUMNS "\"column_names\":[\"a\",\"b\"],\"column_encodings\":[\"str\",\"int\"]," \
	"\"column_sizes\":[null,8]"
#define SHARD(columns, rest) "{\"version\":2,\"format\":\"mds\"," columns "," rest "}"
#define GOOD SHARD(COLUMNS, RAW ",\"samples\":3")
#define INDEX(shard) "{\"shards\":[" shard "],\"version\":2}"

START_TEST(good_index)
{
	static const char text[] = " {\"more\":[{}], \"shards\" : [ " GOOD " , "
	    SHARD("\"column_names\":[\"x\"],\"column_encodings\":[\"ndarray:uint8:3\"],"
	    "\"column_sizes\":[3]", "\"samples\":4,\"compression\":\"zstd:3\",\"size_limit\":1,"
	    "\"hashes\":[],\"zip_data\":{\"basename\":\"d/s.zstd\",\"bytes\":7},\"raw_data\":"
	    "{\"basename\":\"d/s..mds\",\"bytes\":9,\"hashes\":null}") "\n, " GOOD
	    "\n] , \"version\":2 } ";
	struct lc__mds_index index = { 0 };

	ck_assert(lc__mds_index_is(BYTES(text)));
	assert_ok(lc__mds_index_read(BYTES(text), &index));
	ck_assert_uint_eq(index.shards, 3);
	ck_assert_uint_eq(index.samples, 10);
	ck_assert_uint_eq(index.column_sets, 3);
	ck_assert_uint_eq(index.columns[0].count, 2);
	ck_assert_uint_eq(index.columns[0].sizes, 1);
	ck_assert_str_eq(index.columns[0].column[1].name, "b");
	ck_assert_uint_eq(index.columns[0].column[1].size, 8);
	ck_assert_str_eq(index.shard[0].raw.name, "s.mds");
	ck_assert_uint_eq(index.shard[0].raw.bytes, 20);
	ck_assert_uint_eq(index.shard[0].raw.hashes, 1);
	ck_assert_str_eq(index.shard[0].raw.hash[0].algorithm, "sha1");
	ck_assert_str_eq(index.shard[0].raw.hash[0].hex, "ab");
	ck_assert_ptr_null(index.shard[0].zip.name);
	ck_assert_ptr_null(index.shard[0].compression);
	ck_assert_str_eq(index.shard[1].compression, "zstd:3");
	ck_assert_str_eq(index.shard[1].zip.name, "d/s.zstd");
	ck_assert_uint_eq(index.shard[1].samples, 4);
	ck_assert_uint_eq(index.shard[1].columns, 1);
	lc__mds_index_free(&index);
}
END_TEST

#define NAMES(names, encodings, sizes) "\"column_names\":" names \
	",\"column_encodings\":" encodings ",\"column_sizes\":" sizes
#define FILE_OF(name, bytes) "\"samples\":3,\"raw_data\":{\"basename\":" name \
	",\"bytes\":" bytes "}"

static const struct {
	const char *text;
	lc_status status;
	const char *error;
} bad_indexes[] = {
	{ "", LC_CORRUPT, "index.json: column 1: the text ends too early" },
	{ "[]", LC_CORRUPT, "index.json: column 1: no object begins here" },
	{ "{\"shards\":[]", LC_CORRUPT, "index.json: column 13: the text ends too early" },
	{ "{\"shards\":[]}", LC_CORRUPT, "index.json: version is missing" },
	{ "{\"version\":2}", LC_CORRUPT, "index.json: shards is missing" },
	{ "{\"version\":1,\"shards\":[]}", LC_VERSION, "index.json: version 1, not 2" },
	{ "{\"version\":\"2\",\"shards\":[]}", LC_VERSION,
	    "index.json: version \"2\", not 2" },
	{ "{\"version\":2,\"shards\":{}}", LC_CORRUPT, "index.json: shards is not an array" },
	{ INDEX("7"), LC_CORRUPT, "index.json: shards[0] is not an object" },
	{ INDEX(GOOD ",null"), LC_CORRUPT, "index.json: shards[1] is not an object" },
	{ INDEX("{\"a\":1,\"a\":2}"), LC_CORRUPT,
	    "index.json: shards[0]: the name 'a' occurs twice" },
	{ INDEX("{}"), LC_VERSION, "index.json: a shard of version 0, not 2" },
	{ INDEX("{\"version\":3}"), LC_VERSION, "index.json: a shard of version 3, not 2" },
	{ INDEX("{\"version\":2}"), LC_CORRUPT, "index.json: shards[0]: format is missing" },
	{ INDEX("{\"version\":2,\"format\":\"csv\"}"), LC_UNSUPPORTED,
	    "index.json: shards of format 'csv', not mds" },
	{ INDEX("{\"version\":2,\"format\":\"mds\"}"), LC_CORRUPT,
	    "index.json: shards[0]: column_names is missing" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"str\"]", "[]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_names is not as long as column_encodings and "
	    "column_sizes" },
	{ INDEX(SHARD(NAMES("[1]", "[\"str\"]", "[null]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_names has an element that is not a string" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[null]", "[null]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_encodings has an element that is not a string" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"str\"]", "[-1]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_sizes has an element that is not a size" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"str\"]", "[4294967296]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_sizes has more than a shard can hold" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"int\"]", "[4]"), RAW)), LC_CORRUPT,
	    "index.json: shards[0]: column_sizes has another size than an encoding" },
	{ INDEX(SHARD(NAMES("[\"a\",\"a\"]", "[\"int\",\"int\"]", "[8,8]"), RAW)),
	    LC_CORRUPT, "index.json: shards[0]: column_names has a name twice" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"pkl\"]", "[null]"), RAW)), LC_UNSUPPORTED,
	    "index.json: column 'a' is pickled: to read it could run any program" },
	{ INDEX(SHARD(NAMES("[\"a\"]", "[\"own\"]", "[null]"), RAW)), LC_UNSUPPORTED,
	    "index.json: column 'a': encoding 'own' is not known" },
	{ INDEX(SHARD(COLUMNS, RAW)), LC_CORRUPT,
	    "index.json: shards[0]: samples is missing" },
	{ INDEX(SHARD(COLUMNS, RAW ",\"samples\":-1")), LC_CORRUPT,
	    "index.json: shards[0]: samples is out of range" },
	{ INDEX(SHARD(COLUMNS, RAW ",\"samples\":4294967294")), LC_CORRUPT,
	    "index.json: shards[0]: samples is out of range" },
	{ INDEX(SHARD(COLUMNS, "\"samples\":3")), LC_CORRUPT,
	    "index.json: shards[0]: raw_data is missing" },
	{ INDEX(SHARD(COLUMNS, "\"samples\":3,\"raw_data\":[]")), LC_CORRUPT,
	    "index.json: shards[0]: raw_data is not an object" },
	{ INDEX(SHARD(COLUMNS, "\"samples\":3,\"raw_data\":{\"bytes\":1}")), LC_CORRUPT,
	    "index.json: shards[0]: basename is missing" },
	{ INDEX(SHARD(COLUMNS, "\"samples\":3,\"raw_data\":{\"basename\":\"a\"}")),
	    LC_CORRUPT, "index.json: shards[0]: bytes is missing" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"/etc/passwd\"", "1"))), LC_CORRUPT,
	    "index.json: shards[0]: basename leads out of the directory" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"../a\"", "1"))), LC_CORRUPT,
	    "index.json: shards[0]: basename leads out of the directory" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"a/../../b\"", "1"))), LC_CORRUPT,
	    "index.json: shards[0]: basename leads out of the directory" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"a/..\"", "1"))), LC_CORRUPT,
	    "index.json: shards[0]: basename leads out of the directory" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"\"", "1"))), LC_CORRUPT,
	    "index.json: shards[0]: basename leads out of the directory" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"a\"", "-1"))), LC_CORRUPT,
	    "index.json: shards[0]: bytes is out of range" },
	{ INDEX(SHARD(COLUMNS, FILE_OF("\"a\"", "1,\"hashes\":{\"md5\":1}"))), LC_CORRUPT,
	    "index.json: shards[0]: hashes has an element that is not a string" },
	{ INDEX(SHARD(COLUMNS, RAW ",\"samples\":1,\"compression\":\"gz\"")), LC_CORRUPT,
	    "index.json: shards[0]: zip_data is missing" },
};

START_TEST(malformed_indexes)
{
	struct lc__mds_index index = { 0 };

	ck_assert_int_eq(lc__mds_index_read(bad_indexes[_i].text,
	    strlen(bad_indexes[_i].text), &index), bad_indexes[_i].status);
	ck_assert_str_eq(lc_last_error()->text, bad_indexes[_i].error);
	lc__mds_index_free(&index);
}
END_TEST

/* ---- any bytes ------------------------------------------------------------------ */

START_TEST(mutated_indexes)
{
	static const char good[] = INDEX(GOOD ",\n" GOOD);
	uint64_t seed = run_seed();
	int taken = 0;

	for (int round = 0; round < 20000; round++) {
		size_t size = sizeof(good) - 1;
		char *text = malloc(size); /* of its very size, for the sanitizer */
		struct lc__mds_index index = { 0 };
		memcpy(text, good, size);
		for (int i = 1 + (int)(run_random(&seed) % 3); i > 0; i--) {
			const size_t at = run_random(&seed) % size;
			if (run_random(&seed) % 3 == 0) {
				memmove(text + at, text + at + 1, size - at - 1);
				text = realloc(text, --size);
			} else {
				text[at] = run_random(&seed) % 2 ? (char)run_random(&seed) :
				    text[run_random(&seed) % size];
			}
		}
		taken += lc__mds_index_read(text, size, &index) == LC_OK;
		lc__mds_index_free(&index);
		free(text);
	}
	ck_assert_int_gt(taken, 0);
}
END_TEST

START_TEST(random_columns)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 100000; round++) {
		const size_t size = run_random(&seed) % 24;
		unsigned char *bytes = malloc(size + (size == 0));
		const size_t row = run_random(&seed) % ROWS(encoding_rows);
		struct lc__mds_encoding encoding;
		struct lc__loaded loaded = { 0 };
		struct lc__mds_pixels pixels;
		struct lc__mds_list list;
		const void *one;
		size_t n;
		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)(run_random(&seed) %
			    (run_random(&seed) % 2 ? 256 : 5));
		assert_ok(lc__mds_encoding_parse(encoding_rows[row].text, &encoding));
		if (!lc__mds_is_image(encoding.kind))
			(void)!lc__mds_decode(&encoding, bytes, size, &loaded, &loaded.value);
		(void)!lc__mds_pixels(bytes, size, &pixels);
		if (lc__mds_list(round % 2 ? LC__MDS_JPEGS : LC__MDS_IMAGES, bytes, size,
		    &list) == LC_OK)
			while (lc__mds_list_next(&list, &one, &n))
				ck_assert((const unsigned char *)one + n <= bytes + size);
		lc__loaded_free(&loaded);
		free(bytes);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("mds");
	TCase *tc = tcase_create("mds");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, encodings, 0, ROWS(encoding_rows));
	tcase_add_loop_test(tc, malformed_encodings, 0, ROWS(bad_encodings));
	tcase_add_loop_test(tc, values, 0, ROWS(value_rows));
	tcase_add_loop_test(tc, array_heads, 0, ROWS(head_rows));
	tcase_add_test(tc, lists_and_pixels);
	tcase_add_loop_test(tc, samples, 0, ROWS(split_rows));
	tcase_add_loop_test(tc, heads, 0, ROWS(shard_rows));
	tcase_add_test(tc, texts);
	tcase_add_test(tc, good_index);
	tcase_add_loop_test(tc, malformed_indexes, 0, ROWS(bad_indexes));
	tcase_add_test(tc, mutated_indexes);
	tcase_add_test(tc, random_columns);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
