/* SPDX-License-Identifier: BSD-2-Clause */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/fileio.h"
#include "format/npy.h"
#include "formats/npz.h"
#include "made_value.h"
#include "need.h"

#define LIMIT (1u << 20)

struct file {
	char *bytes;
	size_t size;
};

static struct file
written(const lc_value *value, bool bits)
{
	struct file file;
	FILE *out = open_memstream(&file.bytes, &file.size);

	assert_ok(lc__npz_check(value, bits));
	assert_ok(lc__npz_write(out, value, bits));
	ck_assert_int_eq(fclose(out), 0);
	return file;
}

static lc_value *
tensor_value(lc_dtype dtype, const void *data, uint64_t n)
{
	lc_tensor tensor;

	assert_ok(lc_tensor_init(&tensor, dtype, 1, &n, data));
	return lc_value_tensor(&tensor);
}

/* ---- round trips ---------------------------------------------------------------- */

START_TEST(random_values)
{
	uint64_t seed = run_seed();
	const struct made_value how = { .tensors = true, .deep = 5 };

	for (int round = 0; round < 300; round++) {
		lc_value *value = lc_value_map();
		struct lc__loaded loaded = { 0 };
		struct file file, again;
		lc_value_set(value, "root", make_value(&seed, how));
		file = written(value, false);
		ck_assert(lc__npz_is(file.bytes, file.size));
		assert_ok(lc__npz_read(file.bytes, file.size, LC__NPY_ANY_DTYPE, LIMIT,
		    &loaded));
		ck_assert(lc_value_equal(value, loaded.value));
		again = written(loaded.value, false);
		ck_assert_uint_eq(again.size, file.size);
		ck_assert_mem_eq(again.bytes, file.bytes, file.size);
		free(file.bytes);
		free(again.bytes);
		lc__loaded_free(&loaded);
		lc_value_free(value);
	}
}
END_TEST

/* The hour and its zone do not stand in the file, nor does the locale matter. */
START_TEST(same_bytes)
{
	static const char *const zones[] = { "UTC", "Asia/Tokyo", "America/Lima" };
	lc_value *value = lc_value_map();
	struct file files[3];

	lc_value_set(value, "\xc3\xa9", tensor_value(LC_U8, "abc", 3));
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(setenv("TZ", zones[i], 1), 0);
		files[i] = written(value, false);
		ck_assert_uint_eq(files[i].size, files[0].size);
		ck_assert_mem_eq(files[i].bytes, files[0].bytes, files[0].size);
	}
	for (int i = 0; i < 3; i++)
		free(files[i].bytes);
	lc_value_free(value);
}
END_TEST

START_TEST(raw_bits)
{
	lc_value *value = lc_value_map();
	struct lc__loaded loaded = { 0 };
	struct file file;

	lc_value_set(value, "half", tensor_value(LC_BF16, "abcd", 2));
	lc_value_set(value, "byte", tensor_value(LC_U8, "xy", 2));
	assert_status(lc__npz_check(value, false), LC_UNSUPPORTED);
	file = written(value, true);
	assert_status(lc__npz_read(file.bytes, file.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded), LC_UNSUPPORTED);
	lc__loaded_free(&loaded);
	assert_ok(lc__npz_read(file.bytes, file.size, LC_BF16, LIMIT, &loaded));
	ck_assert(lc_value_equal(value, loaded.value));
	lc__loaded_free(&loaded);
	free(file.bytes);
	lc_value_free(value);
}
END_TEST

/* ---- what it cannot hold ----------------------------------------------------------- */

static lc_value *
map_of(const char *name, lc_value *part)
{
	lc_value *map = lc_value_map();

	lc_value_set(map, name, part);
	return map;
}

static lc_value *
list_of(lc_value *list, lc_value *part)
{
	lc_value_append(list, part);
	return list;
}

START_TEST(refused)
{
	lc_value *const byte = tensor_value(LC_U8, "x", 1);
	const struct {
		lc_value *value;
		const char *message;
	} rows[] = {
		{ lc_value_copy(byte), ".npz cannot hold a tensor without a name" },
		{ lc_value_str("cat"), ".npz cannot hold plain data" },
		{ map_of("label", lc_value_str("cat")), "label: .npz cannot hold plain data" },
		{ map_of("a", map_of("b", lc_value_nil())), "a.b: .npz cannot hold plain data" },
		{ map_of("a", list_of(lc_value_tuple(), lc_value_copy(byte))),
		    "a: .npz cannot hold a tuple" },
		{ map_of("a", lc_value_tagged("t", lc_value_copy(byte))),
		    "a: .npz cannot hold a tagged value" },
		{ map_of("a", lc_value_pairs()), "a: .npz cannot hold pairs" },
		{ map_of("a", lc_value_map()), "a: .npz cannot hold an empty part" },
		{ map_of("a", lc_value_list()), "a: .npz cannot hold an empty part" },
		{ lc_value_list(), ".npz cannot hold an empty part" },
		{ map_of("a.b", lc_value_copy(byte)),
		    "a\\.b: .npz cannot hold a name with a dot or a backslash" },
		{ map_of("a\\b", lc_value_copy(byte)),
		    "a\\\\b: .npz cannot hold a name with a dot or a backslash" },
		{ map_of("\xff", lc_value_copy(byte)),
		    "\xff: .npz cannot hold a name that is not UTF-8" },
		{ map_of("x", map_of("0", lc_value_copy(byte))),
		    "x: .npz cannot hold a map that would read as a list" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_ok(lc_value_check(rows[i].value));
		assert_status(lc__npz_check(rows[i].value, true), LC_UNSUPPORTED);
		ck_assert_str_eq(lc_last_error()->text, rows[i].message);
		lc_value_free(rows[i].value);
	}
	lc_value_free(byte);
}
END_TEST

START_TEST(empty)
{
	lc_value *value = lc_value_map();
	struct file file = written(value, false);
	struct lc__loaded loaded = { 0 };

	ck_assert(lc__npz_is(file.bytes, file.size));
	assert_ok(lc__npz_read(file.bytes, file.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded));
	ck_assert(lc_value_equal(value, loaded.value));
	lc__loaded_free(&loaded);
	free(file.bytes);
	lc_value_free(value);
}
END_TEST

/* ---- archives by hand --------------------------------------------------------------- */

static uint32_t
crc32_of(const unsigned char *data, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static void
put16(struct lc__buf *out, unsigned number)
{
	const unsigned char bytes[2] = { (unsigned char)number,
		(unsigned char)(number >> 8) };

	lc__buf_append(out, bytes, 2);
}

static void
put32(struct lc__buf *out, uint32_t number)
{
	put16(out, number & 0xffff);
	put16(out, number >> 16);
}

/* What the local and the central header share, from "version needed" on. */
static void
put_common(struct lc__buf *out, unsigned flags, const struct lc__buf *data,
    const char *name)
{
	put16(out, 20);
	put16(out, flags);
	put16(out, 0); /* stored */
	put32(out, 0x00210000);
	put32(out, crc32_of(data->data, data->size));
	put32(out, (uint32_t)data->size);
	put32(out, (uint32_t)data->size);
	put16(out, (unsigned)strlen(name));
	put16(out, 0);
}

/* An archive of one stored member. */
static void
archive(struct lc__buf *out, const char *name, unsigned flags,
    const struct lc__buf *data)
{
	size_t central;

	lc__buf_append(out, "PK\3\4", 4);
	put_common(out, flags, data, name);
	lc__buf_append(out, name, strlen(name));
	lc__buf_append(out, data->data, data->size);
	central = out->size;
	lc__buf_append(out, "PK\1\2\24\0", 6);
	put_common(out, flags, data, name);
	for (int i = 0; i < 3; i++)
		put16(out, 0);
	put32(out, 0);
	put32(out, 0);
	lc__buf_append(out, name, strlen(name));
	lc__buf_append(out, "PK\5\6\0\0\0\0\1\0\1\0", 12);
	put32(out, (uint32_t)(out->size - 12 - central));
	put32(out, (uint32_t)central);
	put16(out, 0);
}

/* A .npy file of n bytes that says it has `says`. */
static void
npy(struct lc__buf *out, uint64_t says, size_t n)
{
	lc_tensor tensor;
	static char zeros[5000];

	assert_ok(lc_tensor_init(&tensor, LC_U8, 1, &says, zeros));
	assert_ok(lc__npy_encode_header(&tensor, false, out));
	lc__buf_append(out, zeros, n);
}

static const struct {
	const char *name;
	unsigned flags;
	uint64_t says;
	size_t has;
	lc_status status;
	const char *message; /* how it begins */
} member_rows[] = {
	{ "a.npy", 0, 100, 100, LC_OK, "" },
	{ "a.npy", 0, 0, 0, LC_OK, "" },
	{ "a.npy", 0, 100, 99, LC_CORRUPT, "a.npy: " },
	{ "a.npy", 0, 100, 101, LC_CORRUPT, "a.npy: bytes after the last element" },
	{ "a.npy", 0, LIMIT, 100, LC_UNSUPPORTED, "a.npy: larger than the limit" },
	{ "a.npy", 0, UINT64_C(1) << 62, 100, LC_UNSUPPORTED, "a.npy: larger than the limit" },
	{ "a.npy", 1, 100, 100, LC_UNSUPPORTED, "a.npy: encrypted" },
	{ "a.txt", 0, 100, 100, LC_UNSUPPORTED, "a.txt: not a .npy file" },
	{ ".npy", 0, 100, 100, LC_UNSUPPORTED, ".npy: not a .npy file" },
	{ "a..b.npy", 0, 1, 1, LC_INVALID, "a..b.npy: a name is empty" },
};

START_TEST(members)
{
	struct lc__buf file = { 0 }, data = { 0 };
	struct lc__loaded loaded = { 0 };
	const char *message = member_rows[_i].message;

	npy(&data, member_rows[_i].says, member_rows[_i].has);
	archive(&file, member_rows[_i].name, member_rows[_i].flags, &data);
	assert_status(lc__npz_read(file.data, file.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded), member_rows[_i].status);
	if (*message != '\0')
		ck_assert_msg(strncmp(lc_last_error()->text, message, strlen(message))
		    == 0, "%s", lc_last_error()->text);
	lc__loaded_free(&loaded);
	lc__buf_free(&file);
	lc__buf_free(&data);
}
END_TEST

/* Larger than what is inflated at first: the checksum and the end count all the same. */
START_TEST(large_member)
{
	enum { n = 300000 };
	char *bytes = calloc(1, n + 1);
	struct lc__buf file = { 0 }, data = { 0 };
	struct lc__loaded loaded = { 0 };

	lc_value *value = map_of("a", tensor_value(LC_U8, bytes, n));
	struct file good = written(value, false);
	assert_ok(lc__npz_read(good.bytes, good.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded));
	ck_assert(lc_value_equal(loaded.value, value));
	lc__loaded_free(&loaded);
	good.bytes[n] ^= 1; /* near the end of the data: headers take 200 bytes */
	assert_status(lc__npz_read(good.bytes, good.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded), LC_CORRUPT);
	lc__loaded_free(&loaded);

	assert_ok(lc__npy_encode_header(&(lc_tensor){ .dtype = LC_U8, .ndim = 1,
	    .shape = { n }, .data = bytes, .nbytes = n }, false, &data));
	lc__buf_append(&data, bytes, n + 1);
	archive(&file, "a.npy", 0, &data);
	assert_status(lc__npz_read(file.data, file.size, LC__NPY_ANY_DTYPE, LIMIT,
	    &loaded), LC_CORRUPT);
	ck_assert_str_eq(lc_last_error()->text,
	    "a.npy: bytes after the last element");
	lc__loaded_free(&loaded);
	lc__buf_free(&file);
	lc__buf_free(&data);
	free(good.bytes);
	lc_value_free(value);
	free(bytes);
}
END_TEST

/* Every byte of a file changed, and every shorter file: refused or read, never more. */
START_TEST(damage)
{
	lc_value *value = map_of("a", tensor_value(LC_U8, "hello", 5));
	struct file file = written(value, false);

	for (size_t i = 0; i < file.size; i++) {
		struct lc__loaded loaded = { 0 };
		char *copy = malloc(file.size);
		memcpy(copy, file.bytes, file.size);
		copy[i] = (char)(copy[i] ^ 0x55);
		if (lc__npz_read(copy, file.size, LC__NPY_ANY_DTYPE, LIMIT, &loaded)
		    == LC_OK && lc_value_find(loaded.value, "a") != NULL)
			ck_assert(lc_value_equal(loaded.value, value));
		lc__loaded_free(&loaded);
		free(copy);
		copy = malloc(i + 1);
		memcpy(copy, file.bytes, i);
		ck_assert_int_ne(lc__npz_read(copy, i, LC__NPY_ANY_DTYPE, LIMIT,
		    &loaded), LC_OK);
		lc__loaded_free(&loaded);
		free(copy);
	}
	free(file.bytes);
	lc_value_free(value);
}
END_TEST

/* ---- NumPy ------------------------------------------------------------------------- */

static bool
python(const char *script)
{
	char command[8000];

	snprintf(command, sizeof(command), "python3 -c '%s' >/dev/null 2>&1", script);
	return system(command) == 0;
}

START_TEST(numpy_writes)
{
	struct lc__buf file = { 0 };
	struct lc__loaded loaded = { 0 };
	const lc_value *part;
	lc_tensor tensor;
	char path[4200], script[6000];

	if (!python("import numpy"))
		return;
	snprintf(path, sizeof(path), "%s/n.npz", run_scratch());
	for (int i = 0; i < 2; i++) {
		snprintf(script, sizeof(script), "import numpy as n; n.%s(\"%.1000s\", **{"
		    "\"a.0\": n.arange(6, dtype=\"<f4\"), \"a.1\": "
		    "n.asfortranarray(n.arange(6, dtype=\">i2\").reshape(2,3)), "
		    "\"b\": n.zeros(100000, \"u1\")})",
		    i == 0 ? "savez" : "savez_compressed", path);
		ck_assert(python(script));
		assert_ok(lc__read_file(path, LIMIT, &file));
		assert_ok(lc__npz_read(file.data, file.size, LC__NPY_ANY_DTYPE, LIMIT,
		    &loaded));
		part = lc_value_find(loaded.value, "a.1");
		assert_ok(lc_value_as_tensor(part, &tensor));
		ck_assert_uint_eq(tensor.shape[1], 3);
		for (int j = 0; j < 6; j++)
			ck_assert_uint_eq(lc__get16((const unsigned char *)tensor.data +
			    2 * j), (unsigned)j);
		lc__loaded_free(&loaded);
		lc__buf_free(&file);
	}
}
END_TEST

START_TEST(numpy_reads)
{
	char script[6000], path[4200];
	lc_value *value = map_of("\xc3\xa9", map_of("x",
	    list_of(lc_value_list(), tensor_value(LC_U8, "\1\2\3", 3))));
	struct file file;

	if (python("import numpy")) {
		lc_value_set(value, "y", tensor_value(LC_U8, "", 0));
		file = written(value, false);
		snprintf(path, sizeof(path), "%s/w.npz", run_scratch());
		assert_ok(lc__write_file_atomic(path, file.bytes, file.size));
		snprintf(script, sizeof(script), "import numpy, zipfile\n"
		    "assert zipfile.ZipFile(\"%.1000s\").testzip() is None\n"
		    "z = numpy.load(\"%.1000s\")\n"
		    "assert z.files == [\"\xc3\xa9.x.0\", \"y\"]\n"
		    "assert z[\"\xc3\xa9.x.0\"].tolist() == [1, 2, 3]\n"
		    "assert z[\"y\"].shape == (0,)", path, path);
		ck_assert(python(script));
		free(file.bytes);
	}
	lc_value_free(value);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

int
main(void)
{
	Suite *suite = suite_create("npz");
	TCase *tc = tcase_create("npz");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, random_values);
	tcase_add_test(tc, same_bytes);
	tcase_add_test(tc, raw_bits);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, empty);
	tcase_add_loop_test(tc, members, 0, ROWS(member_rows));
	tcase_add_test(tc, large_member);
	tcase_add_test(tc, damage);
	tcase_add_test(tc, numpy_writes);
	tcase_add_test(tc, numpy_reads);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
