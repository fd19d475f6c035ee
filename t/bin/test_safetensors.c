/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/safetensors.h"
#include "need.h"

static void
add(struct lc__safetensors *table, const char *name, lc_dtype dtype, uint32_t ndim,
    const uint64_t *shape)
{
	lc_tensor type;

	assert_ok(lc_tensor_init(&type, dtype, ndim, shape, NULL));
	assert_ok(lc__safetensors_add(table, lc_id_of(name), &type));
}

static lc_status
decode(const char *header, uint64_t data_size, struct lc__safetensors *out)
{
	memset(out, 0, sizeof(*out));
	return lc__safetensors_decode(header, strlen(header), data_size, out);
}

/* ---- what is written ---------------------------------------------------------- */

static const struct {
	const char *name, *row;
	lc_dtype dtype;
} dtype_rows[] = {
	/* In the order of their places. */
	{ "a", "U64", LC_U64 }, { "b", "I64", LC_I64 }, { "c", "F64", LC_F64 },
	{ "d", "C64", LC_C64 }, { "e", "F32", LC_F32 }, { "f", "U32", LC_U32 },
	{ "g", "I32", LC_I32 }, { "h", "BF16", LC_BF16 }, { "i", "F16", LC_F16 },
	{ "j", "U16", LC_U16 }, { "k", "I16", LC_I16 },
	{ "l", "F8_E5M2FNUZ", LC_F8_E5M2FNUZ }, { "m", "F8_E4M3FNUZ", LC_F8_E4M3FNUZ },
	{ "n", "F8_E8M0", LC_F8_E8M0 }, { "o", "F8_E4M3", LC_F8_E4M3 },
	{ "p", "F8_E5M2", LC_F8_E5M2 }, { "q", "I8", LC_I8 }, { "r", "U8", LC_U8 },
	{ "s", "F4", LC_F4_E2M1_X2 }, { "t", "BOOL", LC_BOOL }
};
#define DTYPES (sizeof(dtype_rows) / sizeof(dtype_rows[0]))

START_TEST(dtypes_by_weight)
{
	struct lc__safetensors table = { 0 }, again = { 0 };
	struct lc__buf file = { 0 }, want = { 0 };
	const uint64_t two = 2;
	uint64_t at = 0;

	for (size_t i = 0; i < DTYPES; i++) { /* any order: 7 and 20 share no divisor */
		const size_t k = i * 7 % DTYPES;
		add(&table, dtype_rows[k].name, dtype_rows[k].dtype, 1, &two);
	}
	assert_ok(lc__safetensors_encode(&table, &file));
	for (size_t i = 0; i < DTYPES; i++) {
		const uint64_t end = at + 2 * lc_dtype_size(dtype_rows[i].dtype);
		/* Two numbers of F4 are one element here. */
		lc__buf_printf(&want, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[%d],"
		    "\"data_offsets\":[%d,%d]}", i == 0 ? '{' : ',', dtype_rows[i].name,
		    dtype_rows[i].row, dtype_rows[i].dtype == LC_F4_E2M1_X2 ? 4 : 2,
		    (int)at, (int)end);
		at = end;
	}
	lc__buf_append(&want, "}", 1);
	ck_assert_uint_eq(table.data_size, at);
	ck_assert_uint_eq(file.size % 8, 0);
	ck_assert_uint_eq(lc__get64(file.data), file.size - 8);
	ck_assert_uint_lt(file.size - 8 - want.size, 8);
	ck_assert_mem_eq(file.data + 8, want.data, want.size);
	for (size_t i = 8 + want.size; i < file.size; i++)
		ck_assert_int_eq(file.data[i], ' ');
	assert_ok(lc__safetensors_decode(file.data + 8, file.size - 8, at, &again));
	for (size_t i = 0; i < DTYPES; i++) {
		const struct lc__safetensor tensor = lc__safetensors_at(&again, i);
		ck_assert_int_eq(tensor.type.dtype, dtype_rows[i].dtype);
		ck_assert_uint_eq(tensor.type.shape[0], 2);
		ck_assert_mem_eq(tensor.name.data, dtype_rows[i].name, 1);
	}
	lc__buf_free(&file);
	lc__buf_free(&want);
	lc__safetensors_free(&table);
	lc__safetensors_free(&again);
}
END_TEST

START_TEST(headers_byte_by_byte)
{
	static const uint64_t shape[] = { 2, 0, 3 }, large[] = { 1, (uint64_t)5 << 30 };
	static const char want[] = "\x90\x01\0\0\0\0\0\0"
	    "{\"\\u0001\\n\\\"\\\\/\x7f\xc3\xa9\":{\"dtype\":\"F32\",\"shape\":[],"
	    "\"data_offsets\":[0,4]},"
	    "\"tab\\t\\b\\f\\r\\u001f\":{\"dtype\":\"F32\",\"shape\":[],"
	    "\"data_offsets\":[4,8]},"
	    "\"empty\":{\"dtype\":\"F16\",\"shape\":[2,0,3],\"data_offsets\":[8,8]},"
	    "\"empty too\":{\"dtype\":\"F16\",\"shape\":[2,0,3],\"data_offsets\":[8,8]},"
	    "\"half\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[8,10]},"
	    "\"5 GiB\":{\"dtype\":\"U8\",\"shape\":[1,5368709120],"
	    "\"data_offsets\":[10,5368709130]}}     ";
	struct lc__safetensors table = { 0 };
	struct lc__buf file = { 0 };
	size_t i;

	add(&table, "5 GiB", LC_U8, 2, large);
	add(&table, "half", LC_F16, 0, NULL);
	add(&table, "empty too", LC_F16, 3, shape);
	add(&table, "empty", LC_F16, 3, shape);
	add(&table, "tab\t\b\f\r\x1f", LC_F32, 0, NULL);
	add(&table, "\x01\n\"\\/\x7f\xc3\xa9", LC_F32, 0, NULL);
	assert_ok(lc__safetensors_encode(&table, &file));
	ck_assert_uint_eq(file.size, sizeof(want) - 1);
	ck_assert_mem_eq(file.data, want, file.size);
	ck_assert_uint_eq(table.data_size, 5368709130);
	ck_assert(lc__safetensors_is(file.data, file.size));
	ck_assert(lc__safetensors_find(&table, lc_id_of("half"), &i));
	ck_assert_uint_eq(lc__safetensors_at(&table, i).begin, 8);
	ck_assert(!lc__safetensors_find(&table, lc_id_of("hal"), &i));
	ck_assert(!lc__safetensors_find(&table, lc_id_of("halff"), &i));
	lc__buf_free(&file);
	lc__safetensors_free(&table);
}
END_TEST

START_TEST(nothing_at_all)
{
	struct lc__safetensors table = { 0 };
	struct lc__buf file = { 0 };
	size_t i;

	assert_ok(lc__safetensors_encode(&table, &file));
	ck_assert_uint_eq(file.size, 16);
	ck_assert_mem_eq(file.data, "\x08\0\0\0\0\0\0\0{}      ", 16);
	ck_assert(!lc__safetensors_find(&table, lc_id_of("a"), &i));
	assert_ok(lc__safetensors_decode(file.data + 8, 8, 0, &table));
	ck_assert_uint_eq(table.count, 0);
	lc__buf_free(&file);
	lc__safetensors_free(&table);
}
END_TEST

static const struct {
	const char *name;
	lc_dtype dtype;
	const char *text;
} refused_rows[] = {
	{ "a", LC_C128, "safetensors has no dtype c128" },
	{ "a", LC_C32, "safetensors has no dtype c32" },
	{ "a", LC_F4_E2M1_X2,
	    "safetensors has no shape for f4_e2m1_x2[]: two numbers of F4" },
	{ "a", LC_OPAQUE, "safetensors has no dtype opaque5:pose" },
	{ "\xff", LC_U8,
	    "safetensors cannot have the name '\\xff', which is not UTF-8" },
	{ "__metadata__", LC_U8, "safetensors has no tensor named __metadata__" },
};

START_TEST(what_it_cannot_hold)
{
	struct lc__safetensors table = { 0 };
	lc_dtype dtype = refused_rows[_i].dtype;
	lc_tensor type;

	if (dtype == LC_OPAQUE)
		assert_ok(lc_dtype_opaque("pose", 5, &dtype));
	assert_ok(lc_tensor_init(&type, dtype, 0, NULL, NULL));
	ck_assert_int_eq(lc__safetensors_add(&table, lc_id_of(refused_rows[_i].name), &type),
	    LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, refused_rows[_i].text);
	ck_assert_uint_eq(table.count, 0);
	lc__safetensors_free(&table);
}
END_TEST

START_TEST(one_name_twice)
{
	struct lc__safetensors table = { 0 };
	struct lc__buf file = { 0 };

	add(&table, "a", LC_U8, 0, NULL);
	add(&table, "b", LC_U8, 0, NULL);
	add(&table, "a", LC_F32, 0, NULL);
	ck_assert_int_eq(lc__safetensors_encode(&table, &file), LC_INVALID);
	ck_assert_str_eq(lc_last_error()->text, "two tensors have the name 'a'");
	lc__buf_free(&file);
	lc__safetensors_free(&table);
}
END_TEST

/* 100,000,000 bytes are allowed, and not one more. */
START_TEST(largest_header)
{
	enum { name_size = 65000, count = 1537 };
	struct lc__safetensors table = { 0 }, again = { 0 };
	struct lc__buf file = { 0 };
	char *name = malloc(name_size);
	const lc_tensor type = { .dtype = LC_U8, .ndim = 1 };
	/* Beside its name a row has 50 bytes and a comma or brace before it. */
	const size_t last = 100000000 - (size_t)count * (name_size + 51) - 51 - 1;

	memset(name, 'x', name_size);
	for (int i = 0; i < count; i++) {
		name[sprintf(name, "%06d", i)] = 'x';
		assert_ok(lc__safetensors_add(&table, (lc_id){ name, name_size }, &type));
	}
	free(name);
	name = calloc(1, last + 1);
	memset(name, 'y', last);
	assert_ok(lc__safetensors_add(&table, (lc_id){ name, last }, &type));
	assert_ok(lc__safetensors_encode(&table, &file));
	ck_assert_uint_eq(lc__get64(file.data), 100000000);
	ck_assert_int_eq(file.data[file.size - 1], '}');
	assert_ok(lc__safetensors_decode(file.data + 8, file.size - 8, 0, &again));
	ck_assert_uint_eq(again.count, count + 1);
	add(&table, "z", LC_U8, 0, NULL);
	file.size = 0;
	ck_assert_int_eq(lc__safetensors_encode(&table, &file), LC_UNSUPPORTED);
	ck_assert_str_eq(lc_last_error()->text, "1539 tensors need a header of more than "
	    "the 100000000 bytes that safetensors allows");
	free(name);
	lc__buf_free(&file);
	lc__safetensors_free(&table);
	lc__safetensors_free(&again);
}
END_TEST

/* ---- what is read --------------------------------------------------------------- */

START_TEST(any_order_and_spelling)
{
	struct lc__safetensors table;
	struct lc__safetensor tensor;

	assert_ok(decode("{ \"b\\u0041\\n\" : {\"data_offsets\":[ 4 , 12 ],\n\"more\":{\"x\":"
	    "[1,{\"dtype\":3}]},\"shape\":[ 2 ,1\t],\"\\u0064type\":\"F\\u00332\"},\r\n"
	    "\"__metadata__\":{\"format\":\"pt\",\"\":\"\\ud83d\\ude00\"},"
	    "\"e\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[4,4]},"
	    "\"a\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[0,4]}} \t\r\n ", 12,
	    &table));
	ck_assert_uint_eq(table.count, 3);
	tensor = lc__safetensors_at(&table, 0);
	ck_assert_uint_eq(tensor.name.size, 1);
	ck_assert_mem_eq(tensor.name.data, "a", 1);
	ck_assert_uint_eq(tensor.type.ndim, 0);
	ck_assert_uint_eq(tensor.type.nbytes, 4);
	tensor = lc__safetensors_at(&table, 1);
	ck_assert_mem_eq(tensor.name.data, "e", 1);
	ck_assert_uint_eq(tensor.type.nbytes, 0);
	tensor = lc__safetensors_at(&table, 2);
	ck_assert_uint_eq(tensor.name.size, 3);
	ck_assert_mem_eq(tensor.name.data, "bA\n", 3);
	ck_assert_int_eq(tensor.type.dtype, LC_F32);
	ck_assert_uint_eq(tensor.type.ndim, 2);
	ck_assert_uint_eq(tensor.type.shape[0], 2);
	ck_assert_uint_eq(tensor.type.shape[1], 1);
	ck_assert_uint_eq(tensor.begin, 4);
	ck_assert_uint_eq(tensor.type.nbytes, 8);
	lc__safetensors_free(&table);
}
END_TEST

START_TEST(metadata_of_none)
{
	struct lc__safetensors table;

	assert_ok(decode("{\"__metadata__\":null}", 0, &table));
	lc__safetensors_free(&table);
	assert_ok(decode("{\"__metadata__\":{}}", 0, &table));
	lc__safetensors_free(&table);
}
END_TEST

#define U8_2(name, begin, end) \
	"\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" #begin "," #end "]}"
#define ONE(dtype, shape, offsets) \
	"{\"a\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static const struct {
	const char *header;
	uint64_t data;
	lc_status status;
	const char *text;
} bad_rows[] = {
	{ "", 0, LC_CORRUPT, "the header does not begin with {" },
	{ " {}", 0, LC_CORRUPT, "the header does not begin with {" },
	{ "[]", 0, LC_CORRUPT, "the header does not begin with {" },
	{ "{", 0, LC_CORRUPT, "header: column 2: the text ends too early" },
	{ "{} x", 0, LC_CORRUPT, "header: column 4: something follows the object" },
	{ "{},", 0, LC_CORRUPT, "header: column 3: something follows the object" },
	{ "{\"\xff\":1}", 0, LC_CORRUPT, "header: column 3: not UTF-8" },
	{ "{\"a\":{\"dtype\":\"U8\xc0\x80\"}}", 0, LC_CORRUPT,
	    "header: column 18: not UTF-8" },
	{ "{\"\\ud800\":{}}", 0, LC_CORRUPT, "header: half of a surrogate pair" },
	{ "{\"a\":7}", 0, LC_CORRUPT, "header: 'a': its description is not an object" },
	{ "{\"a\":null}", 0, LC_CORRUPT, "header: 'a': its description is not an object" },
	{ "{\"a\":[\"U8\",[2],[0,2]]}", 2, LC_CORRUPT,
	    "header: 'a': its description is not an object" },
	{ "{\"a\":{}}", 0, LC_CORRUPT, "header: 'a': it has no dtype" },
	{ "{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,0]}}", 0, LC_CORRUPT,
	    "header: 'a': it has no shape" },
	{ "{\"a\":{\"dtype\":\"U8\",\"shape\":[0]}}", 0, LC_CORRUPT,
	    "header: 'a': it has no data_offsets" },
	{ "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 0, LC_CORRUPT,
	    "header: 'a': it has two dtype" },
	{ "{\"a\":{\"shape\":[],\"sh\\u0061pe\":[]}}", 0, LC_CORRUPT,
	    "header: 'a': it has two shape" },
	{ ONE("7", "[]", "[0,1]"), 1, LC_CORRUPT, "header: 'a': its dtype is not a string" },
	{ ONE("\"F4\"", "[2,3]", "[0,3]"), 3, LC_UNSUPPORTED,
	    "header: 'a': its last dimension has 3 numbers of F4, and a byte has two" },
	{ ONE("\"F4\"", "[]", "[0,1]"), 1, LC_UNSUPPORTED,
	    "header: 'a': its last dimension has 1 numbers of F4, and a byte has two" },
	{ ONE("\"F4\"", "[2,4]", "[0,8]"), 8, LC_CORRUPT,
	    "header: 'a': dtype and shape make 4 bytes, its data_offsets 8" },
	{ ONE("\"F6_E2M3\"", "[4]", "[0,3]"), 3, LC_UNSUPPORTED,
	    "header: 'a': dtype 'F6_E2M3' is not one that modules have" },
	{ ONE("\"C32\"", "[1]", "[0,4]"), 4, LC_UNSUPPORTED,
	    "header: 'a': dtype 'C32' is not one that modules have" },
	{ ONE("\"u8\"", "[1]", "[0,1]"), 1, LC_UNSUPPORTED,
	    "header: 'a': dtype 'u8' is not one that modules have" },
	{ ONE("\"\"", "[1]", "[0,1]"), 1, LC_UNSUPPORTED,
	    "header: 'a': dtype '' is not one that modules have" },
	{ ONE("\"U8\"", "1", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[-1]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[1.0]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[1e0]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[\"1\"]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[[1]]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[18446744073709551616]", "[0,1]"), 1, LC_CORRUPT,
	    "header: 'a': its shape is not a list of sizes" },
	{ ONE("\"U8\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"), 1,
	    LC_UNSUPPORTED, "header: 'a': rank 17 is above 16" },
	{ ONE("\"F32\"", "[4611686018427387904,4]", "[0,0]"), 0, LC_CORRUPT,
	    "header: 'a': its shape overflows" },
	{ ONE("\"U8\"", "[0,18446744073709551615,2]", "[0,0]"), 0, LC_CORRUPT,
	    "header: 'a': its shape overflows" },
	{ ONE("\"U8\"", "[1]", "[0]"), 1, LC_CORRUPT,
	    "header: 'a': its data_offsets are not two offsets" },
	{ ONE("\"U8\"", "[1]", "[0,1,2]"), 1, LC_CORRUPT,
	    "header: 'a': its data_offsets are not two offsets" },
	{ ONE("\"U8\"", "[1]", "{}"), 1, LC_CORRUPT,
	    "header: 'a': its data_offsets are not two offsets" },
	{ ONE("\"U8\"", "[0]", "[1,0]"), 1, LC_CORRUPT,
	    "header: 'a': its data_offsets 1 to 0 are not in the 1 bytes of data" },
	{ ONE("\"U8\"", "[2]", "[0,2]"), 1, LC_CORRUPT,
	    "header: 'a': its data_offsets 0 to 2 are not in the 1 bytes of data" },
	{ ONE("\"F32\"", "[1]", "[0,2]"), 2, LC_CORRUPT,
	    "header: 'a': dtype and shape make 4 bytes, its data_offsets 2" },
	{ ONE("\"U8\"", "[1]", "[0,2]"), 2, LC_CORRUPT,
	    "header: 'a': dtype and shape make 1 bytes, its data_offsets 2" },
	{ ONE("\"U8\"", "[2]", "[0,2]"), 3, LC_CORRUPT,
	    "the tensors end at 2 of 3 bytes of data" },
	{ "{}", 1, LC_CORRUPT, "the tensors end at 0 of 1 bytes of data" },
	{ ONE("\"U8\"", "[2]", "[1,3]"), 3, LC_CORRUPT,
	    "'a': it begins at 1 of the data, the one before it ends at 0" },
	{ "{" U8_2("a", 0, 2) "," U8_2("b", 3, 5) "}", 5, LC_CORRUPT,
	    "'b': it begins at 3 of the data, the one before it ends at 2" },
	{ "{" U8_2("a", 0, 2) "," U8_2("b", 1, 3) "}", 3, LC_CORRUPT,
	    "'b': it begins at 1 of the data, the one before it ends at 2" },
	{ "{" U8_2("a", 0, 2) "," U8_2("b", 0, 2) "}", 2, LC_CORRUPT,
	    "'b': it begins at 0 of the data, the one before it ends at 2" },
	{ "{" U8_2("a", 0, 2) "," U8_2("a", 2, 4) "}", 4, LC_CORRUPT,
	    "two tensors have the name 'a'" },
	{ "{" U8_2("a", 0, 2) "," U8_2("\\u0061", 2, 4) "}", 4, LC_CORRUPT,
	    "two tensors have the name 'a'" },
	{ "{\"__metadata__\":[]}", 0, LC_CORRUPT, "header: __metadata__ is not an object" },
	{ "{\"__metadata__\":{\"a\":1}}", 0, LC_CORRUPT,
	    "header: __metadata__: 'a' is not a string" },
	{ "{\"__metadata__\":{\"a\":{\"b\":\"c\"}}}", 0, LC_CORRUPT,
	    "header: __metadata__: 'a' is not a string" },
	{ "{\"__metadata__\":{\"a\":null}}", 0, LC_CORRUPT,
	    "header: __metadata__: 'a' is not a string" },
	{ "{\"__metadata__\":{\"a\":\"\\udc00\"}}", 0, LC_CORRUPT,
	    "header: __metadata__: half of a surrogate pair" },
	{ "{\"__metadata__\":{},\"__metad\\u0061ta__\":{}}", 0, LC_CORRUPT,
	    "header: two __metadata__" },
};

START_TEST(malformed_headers)
{
	struct lc__safetensors table;

	ck_assert_int_eq(decode(bad_rows[_i].header, bad_rows[_i].data, &table),
	    bad_rows[_i].status);
	ck_assert_str_eq(lc_last_error()->text, bad_rows[_i].text);
	lc__safetensors_free(&table);
}
END_TEST

static const struct {
	uint64_t header, file;
	const char *text;
} size_rows[] = {
	{ 2, 10, NULL },
	{ 100000000, 100000008, NULL },
	{ 3, 10, "a header of 3 bytes in a file of 10" },
	{ 0, 7, "a header of 0 bytes in a file of 7" },
	{ 100000001, UINT64_MAX, "a header of 100000001 bytes, of which 100000000 are "
	    "allowed" },
	{ UINT64_MAX, 10, "a header of 18446744073709551615 bytes, of which 100000000 are "
	    "allowed" },
};

START_TEST(header_sizes)
{
	unsigned char prefix[8];
	size_t size = 0;

	lc__set64(prefix, size_rows[_i].header);
	if (size_rows[_i].text == NULL) {
		assert_ok(lc__safetensors_header_size(prefix, size_rows[_i].file, &size));
		ck_assert_uint_eq(size, size_rows[_i].header);
		return;
	}
	ck_assert_int_eq(lc__safetensors_header_size(prefix, size_rows[_i].file, &size),
	    LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text, size_rows[_i].text);
}
END_TEST

/* ---- any bytes ------------------------------------------------------------------ */

/* What is taken for good is good: it is written again as the same table. */
static void
check_sound(struct lc__safetensors *table, uint64_t data_size)
{
	uint64_t at = 0;
	size_t found;

	for (size_t i = 0; i < table->count; i++) {
		const struct lc__safetensor tensor = lc__safetensors_at(table, i);
		lc_tensor type;
		assert_ok(lc_tensor_init(&type, tensor.type.dtype, tensor.type.ndim,
		    tensor.type.shape, NULL));
		ck_assert_uint_eq(tensor.type.nbytes, type.nbytes);
		ck_assert_uint_eq(tensor.begin, at);
		ck_assert(lc__safetensors_find(table, tensor.name, &found));
		ck_assert_uint_eq(found, i);
		at += type.nbytes;
	}
	ck_assert_uint_eq(at, data_size);
}

START_TEST(mutations)
{
	static const char good[] = "{\"__metadata__\":{\"a\":\"b\\u00e9\"},"
	    U8_2("a", 0, 2) "," U8_2("b\\n", 2, 4)
	    ",\"c\":{\"dtype\":\"F16\",\"shape\":[2,1,3],\"data_offsets\":[4,16]},"
	    "\"d\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[16,24]}}   ";
	static const char alphabet[] = "{}[]\",:\\0123456789eu. -abd\x80\xc3_FUI";
	uint64_t seed = run_seed();
	int taken = 0;

	for (int round = 0; round < 60000; round++) {
		size_t size = sizeof(good) - 1;
		char *text = malloc(size); /* of its very size, for the sanitizer */
		const int changes = 1 + (int)(run_random(&seed) % 4);
		uint64_t data = run_random(&seed) % 8 ? 24 : run_random(&seed) % 64;
		struct lc__safetensors table = { 0 };
		memcpy(text, good, size);
		for (int i = 0; i < changes; i++) {
			const size_t at = run_random(&seed) % size;
			const size_t from = run_random(&seed) % size;
			switch (run_random(&seed) % 4) {
			case 0:
				text[at] = (char)run_random(&seed);
				break;
			case 1:
				text[at] = text[from];
				break;
			case 2: /* one byte less */
				memmove(text + at, text + at + 1, size - at - 1);
				text = realloc(text, --size);
				break;
			default:
				text[at] = alphabet[run_random(&seed) %
				    (sizeof(alphabet) - 1)];
			}
		}
		if (lc__safetensors_decode(text, size, data, &table) == LC_OK) {
			check_sound(&table, data);
			taken++;
		}
		lc__safetensors_free(&table);
		free(text);
	}
	ck_assert_int_gt(taken, 0);
}
END_TEST

START_TEST(random_tables)
{
	uint64_t seed = run_seed();

	for (int round = 0; round < 300; round++) {
		const size_t count = run_random(&seed) % 40;
		struct lc__safetensors table = { 0 }, again = { 0 };
		struct lc__buf file = { 0 };
		size_t at;
		for (size_t i = 0; i < count; i++) {
			uint64_t shape[LC_MAX_NDIM];
			const uint32_t ndim = (uint32_t)(run_random(&seed) % 5);
			char name[32];
			lc_dtype dtype;
			for (uint32_t k = 0; k < ndim; k++)
				shape[k] = run_random(&seed) % 5;
			snprintf(name, sizeof(name), "%c\"%zu", (int)(1 +
			    run_random(&seed) % 126), i);
			dtype = dtype_rows[run_random(&seed) % DTYPES].dtype;
			if (dtype == LC_F4_E2M1_X2 && ndim == 0)
				dtype = LC_U8;
			add(&table, name, dtype, ndim, shape);
		}
		assert_ok(lc__safetensors_encode(&table, &file));
		assert_ok(lc__safetensors_decode(file.data + 8, file.size - 8,
		    table.data_size, &again));
		ck_assert_uint_eq(again.count, count);
		check_sound(&again, table.data_size);
		for (size_t i = 0; i < count; i++) {
			const struct lc__safetensor one = lc__safetensors_at(&table, i);
			struct lc__safetensor other;
			ck_assert(lc__safetensors_find(&again, one.name, &at));
			other = lc__safetensors_at(&again, at);
			ck_assert_uint_eq(one.begin, other.begin);
			other.name = one.name;
			ck_assert_mem_eq(&one.type, &other.type, sizeof(one.type));
		}
		lc__buf_free(&file);
		lc__safetensors_free(&table);
		lc__safetensors_free(&again);
	}
}
END_TEST

#define ROWS(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

int
main(void)
{
	Suite *suite = suite_create("safetensors");
	TCase *tc = tcase_create("safetensors");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, dtypes_by_weight);
	tcase_add_test(tc, headers_byte_by_byte);
	tcase_add_test(tc, nothing_at_all);
	tcase_add_loop_test(tc, what_it_cannot_hold, 0, ROWS(refused_rows));
	tcase_add_test(tc, one_name_twice);
	tcase_add_test(tc, largest_header);
	tcase_add_test(tc, any_order_and_spelling);
	tcase_add_test(tc, metadata_of_none);
	tcase_add_loop_test(tc, malformed_headers, 0, ROWS(bad_rows));
	tcase_add_loop_test(tc, header_sizes, 0, ROWS(size_rows));
	tcase_add_test(tc, mutations);
	tcase_add_test(tc, random_tables);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
