/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables as Parquet: the bytes of a small one, and what a decoder made from the format's
 * documents alone reads in large ones. t/bin/parquet.sh asks other programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/fileio.h"
#include "need.h"
#include "report/parquet.h"
#include "run.h"

static char *
path_of(const char *name)
{
	return lc__path_join(run_scratch(), name);
}

static struct lc__buf
bytes_of(const char *path)
{
	struct lc__buf file = { 0 };

	assert_ok(lc__read_file(path, UINT64_MAX, &file));
	return file;
}

/* ---- every byte ------------------------------------------------------------------ */

START_TEST(small_file)
{
	static const struct lc__parquet_column columns[] = {
		{ "n", LC__PARQUET_UINT64, false }, { "t", LC__PARQUET_STRING, true } };
	static const char want[] = "PAR1"
	    /* The page of n: its header, and two numbers. */
	    "\x15\x00\x15\x20\x15\x20\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00"
	    "\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff"
	    /* The page of t: header, levels of 2 bytes (one run of bits: 1, 0), a text. */
	    "\x15\x00\x15\x18\x15\x18\x2c\x15\x04\x15\x00\x15\x06\x15\x06\x00\x00"
	    "\x02\x00\x00\x00\x03\x01\x02\x00\x00\x00" "ab"
	    /* Version 1; a schema of three: the root, n and t. */
	    "\x15\x02\x19\x3c\x48\x06schema\x15\x04\x00"
	    "\x15\x04\x25\x00\x18\x01n\x25\x1c\x4c\xac\x13\x40\x12\x00\x00\x00"
	    "\x15\x0c\x25\x02\x18\x01t\x25\x00\x4c\x1c\x00\x00\x00"
	    /* Two rows, one group of two chunks. */
	    "\x16\x04\x19\x1c\x19\x2c"
	    "\x26\x08\x1c\x15\x04\x19\x25\x00\x06\x19\x18\x01n\x15\x00\x16\x04\x16\x42\x16\x42"
	    "\x26\x08\x00\x00"
	    "\x26\x4a\x1c\x15\x0c\x19\x25\x00\x06\x19\x18\x01t\x15\x00\x16\x04\x16\x3a\x16\x3a"
	    "\x26\x4a\x00\x00"
	    "\x16\x7c\x16\x04\x00"
	    "\x28";
	/* Who wrote it; then the size of all from version 1 on. */
	static const char writer[] = "cachex version " PACKAGE_VERSION;
	const unsigned char end[] = { 0, 110 + sizeof(writer) - 1, 0, 0, 0, 'P', 'A', 'R', '1' };
	struct lc__buf all = { 0 };
	char *path = path_of("small.parquet");
	struct lc__parquet *table;
	struct lc__buf file;

	assert_ok(lc__parquet_begin(path, columns, 2, 0, &table));
	lc__parquet_unsigned(table, 1);
	lc__parquet_text(table, "ab", 2);
	assert_ok(lc__parquet_row(table));
	lc__parquet_unsigned(table, UINT64_MAX);
	lc__parquet_null(table);
	assert_ok(lc__parquet_row(table));
	assert_ok(lc__parquet_end(table, false));
	file = bytes_of(path);
	lc__buf_append(&all, want, sizeof(want) - 1);
	lc__buf_append(&all, &(unsigned char){ sizeof(writer) - 1 }, 1);
	lc__buf_append(&all, writer, sizeof(writer) - 1);
	lc__buf_append(&all, end, sizeof(end));
	for (size_t i = 0; i < file.size && i < all.size; i++)
		ck_assert_msg(file.data[i] == all.data[i], "byte %zu: %02x, expected %02x", i,
		    file.data[i], all.data[i]);
	ck_assert_uint_eq(file.size, all.size);
	lc__buf_free(&file);
	lc__buf_free(&all);
	free(path);
}
END_TEST

/* ---- a decoder ------------------------------------------------------------------- */

struct input {
	const unsigned char *at, *end;
};

static uint64_t
varint(struct input *in)
{
	uint64_t n = 0;

	for (unsigned shift = 0;; shift += 7) {
		ck_assert(in->at < in->end && shift < 64);
		n |= (uint64_t)(*in->at & 127) << shift;
		if (*in->at++ < 128)
			return n;
	}
}

/* Go to the next field of a struct: its number, 0 at the end. */
static int
next_field(struct input *in, int *last, unsigned *type)
{
	unsigned byte;

	ck_assert(in->at < in->end);
	byte = *in->at++;
	if (byte == 0)
		return 0;
	ck_assert_uint_gt(byte >> 4, 0);
	*type = byte & 15;
	return *last += (int)(byte >> 4);
}

static uint64_t
list_size(struct input *in)
{
	const unsigned byte = *in->at++;

	return byte >> 4 < 15 ? byte >> 4 : varint(in);
}

static void
skip(struct input *in, unsigned type)
{
	int last = 0;
	uint64_t n;
	unsigned of;

	switch (type) {
	case 1:
	case 2:
		return;
	case 3:
		in->at++;
		return;
	case 5:
	case 6:
		varint(in);
		return;
	case 8:
		n = varint(in);
		ck_assert_uint_le(n, (size_t)(in->end - in->at));
		in->at += n;
		return;
	case 9:
		of = *in->at & 15;
		n = list_size(in);
		while (n-- > 0)
			skip(in, of);
		return;
	case 12:
		while (next_field(in, &last, &of) != 0)
			skip(in, of);
		return;
	default:
		ck_abort_msg("a Thrift type %u", type);
	}
}

/* Find field @p id of the struct that begins here; false if there is none. */
static bool
find(struct input in, int id, struct input *out)
{
	int last = 0, found;
	unsigned type;

	while ((found = next_field(&in, &last, &type)) != 0) {
		if (found == id) {
			*out = in;
			return true;
		}
		skip(&in, type);
	}
	return false;
}

static uint64_t
number(struct input in, int id)
{
	struct input at;

	ck_assert(find(in, id, &at));
	return varint(&at) >> 1;
}

/* Element @p i of the list of structs in a field. */
static struct input
element(struct input in, int id, uint64_t i)
{
	struct input at;
	uint64_t n;

	ck_assert(find(in, id, &at));
	n = list_size(&at);
	ck_assert_uint_lt(i, n);
	while (i-- > 0)
		skip(&at, 12);
	return at;
}

static uint64_t
count(struct input in, int id)
{
	struct input at;

	ck_assert(find(in, id, &at));
	return list_size(&at);
}

static struct input
metadata_of(const struct lc__buf *file)
{
	uint32_t size;

	ck_assert_uint_ge(file->size, 12);
	ck_assert_mem_eq(file->data, "PAR1", 4);
	ck_assert_mem_eq(file->data + file->size - 4, "PAR1", 4);
	size = lc__get32(file->data + file->size - 8);
	ck_assert_uint_le(size, file->size - 12);
	return (struct input) { file->data + file->size - 8 - size, file->data + file->size - 8 };
}

/* The levels of a page, one a row; without them all are 1. */
static void
read_levels(struct input *in, uint64_t rows, unsigned char *out)
{
	struct input levels;
	uint64_t header;

	levels.at = in->at + 4;
	levels.end = in->at = levels.at + lc__get32(in->at);
	ck_assert(in->at <= in->end);
	header = varint(&levels);
	if (header & 1) {
		ck_assert_uint_eq(header >> 1, (rows + 7) / 8);
		for (uint64_t i = 0; i < rows; i++)
			out[i] = levels.at[i / 8] >> i % 8 & 1;
		levels.at += header >> 1;
	} else {
		ck_assert_uint_eq(header >> 1, rows);
		memset(out, *levels.at++, rows);
	}
	ck_assert(levels.at == levels.end);
}

/* What a cell should be, by its row: the truth that the test writes from. */
static bool
is_null(size_t column, uint64_t row)
{
	return column >= 5 && (column == 5 || (row * 7 + column) % 3 == 0);
}

static uint64_t
bits_of(size_t column, uint64_t row)
{
	uint64_t state = row * 100 + column;

	return run_random(&state) | (uint64_t)(row % 2) << 63;
}

static size_t
text_of(size_t column, uint64_t row, char out[64])
{
	return (size_t)snprintf(out, 64, "%zu-é-%.*s%llu", column, (int)(row % 20),
	    "____________________", (unsigned long long)row);
}

static const struct lc__parquet_column every_type[] = {
	{ "i", LC__PARQUET_INT64, false }, { "u", LC__PARQUET_UINT64, false },
	{ "d", LC__PARQUET_DOUBLE, false }, { "b", LC__PARQUET_BOOLEAN, false },
	{ "s", LC__PARQUET_STRING, false },
	{ "nothing", LC__PARQUET_INT64, true },
	{ "in", LC__PARQUET_INT64, true }, { "un", LC__PARQUET_UINT64, true },
	{ "dn", LC__PARQUET_DOUBLE, true }, { "bn", LC__PARQUET_BOOLEAN, true },
	{ "sn", LC__PARQUET_STRING, true },
};
enum { COLUMNS = sizeof(every_type) / sizeof(every_type[0]) };

static void
put_cell(struct lc__parquet *table, size_t column, uint64_t row)
{
	const uint64_t bits = bits_of(column, row);
	char text[64];

	if (is_null(column, row))
		lc__parquet_null(table);
	else if (every_type[column].type == LC__PARQUET_INT64)
		lc__parquet_integer(table, (int64_t)bits);
	else if (every_type[column].type == LC__PARQUET_UINT64)
		lc__parquet_unsigned(table, bits);
	else if (every_type[column].type == LC__PARQUET_DOUBLE)
		lc__parquet_real(table, (double)(int64_t)bits / 1e6);
	else if (every_type[column].type == LC__PARQUET_BOOLEAN)
		lc__parquet_flag(table, bits & 1);
	else
		lc__parquet_text(table, text, text_of(column, row, text));
}

/* A value of the page, at its place among those that are not null. */
static void
check_value(struct input *in, size_t column, uint64_t row, uint64_t place)
{
	const uint64_t bits = bits_of(column, row);
	const double real = (double)(int64_t)bits / 1e6;
	char text[64];
	size_t size;

	switch (every_type[column].type) {
	case LC__PARQUET_BOOLEAN:
		ck_assert_uint_eq(in->at[place / 8] >> place % 8 & 1, bits & 1);
		return;
	case LC__PARQUET_STRING:
		size = text_of(column, row, text);
		ck_assert_uint_eq(lc__get32(in->at), size);
		ck_assert_mem_eq(in->at + 4, text, size);
		in->at += 4 + size;
		return;
	case LC__PARQUET_DOUBLE:
		ck_assert_mem_eq(in->at, &real, 8);
		in->at += 8;
		return;
	default:
		ck_assert_uint_eq(lc__get64(in->at), bits);
		in->at += 8;
	}
}

static void
check_page(struct input page, size_t column, uint64_t row, uint64_t rows)
{
	unsigned char levels[1000];
	uint64_t place = 0;

	memset(levels, 1, sizeof(levels));
	if (every_type[column].nullable)
		read_levels(&page, rows, levels);
	for (uint64_t i = 0; i < rows; i++) {
		ck_assert_uint_eq(levels[i], !is_null(column, row + i));
		if (levels[i])
			check_value(&page, column, row + i, place++);
	}
	if (every_type[column].type == LC__PARQUET_BOOLEAN)
		page.at += (place + 7) / 8;
	ck_assert(page.at == page.end);
}

static void
check_chunk(const struct lc__buf *file, struct input chunk, size_t column, uint64_t row,
    uint64_t rows)
{
	struct input meta, page, header;
	uint64_t size;

	ck_assert(find(chunk, 3, &meta));
	ck_assert_uint_eq(number(meta, 4), 0);
	ck_assert_uint_eq(number(meta, 5), rows);
	ck_assert_uint_eq(number(meta, 6), number(meta, 7));
	page = (struct input) { file->data + number(meta, 9),
		file->data + number(meta, 9) + number(meta, 7) };
	header = page;
	ck_assert_uint_eq(number(header, 1), 0);
	size = number(header, 3);
	skip(&page, 12);
	ck_assert_uint_eq((uint64_t)(page.end - page.at), size);
	check_page(page, column, row, rows);
}

static const struct {
	uint64_t rows, group;
} sizes[] = { { 0, 10 }, { 1, 10 }, { 8, 8 }, { 9, 8 }, { 1000, 0 }, { 1000, 7 } };

START_TEST(every_value)
{
	const uint64_t rows = sizes[_i].rows, most = sizes[_i].group ? sizes[_i].group : 65536;
	char *path = path_of("all.parquet");
	struct lc__parquet *table;
	struct lc__buf file;
	struct input meta;
	uint64_t row = 0;

	assert_ok(lc__parquet_begin(path, every_type, COLUMNS, sizes[_i].group, &table));
	for (uint64_t r = 0; r < rows; r++) {
		for (size_t c = 0; c < COLUMNS; c++)
			put_cell(table, c, r);
		assert_ok(lc__parquet_row(table));
	}
	assert_ok(lc__parquet_end(table, false));
	file = bytes_of(path);
	meta = metadata_of(&file);
	ck_assert_uint_eq(number(meta, 3), rows);
	ck_assert_uint_eq(count(meta, 2), COLUMNS + 1);
	ck_assert_uint_eq(count(meta, 4), (rows + most - 1) / most);
	for (uint64_t g = 0; g < count(meta, 4); g++) {
		const struct input group = element(meta, 4, g);
		const uint64_t n = rows - row < most ? rows - row : most;
		ck_assert_uint_eq(number(group, 3), n);
		for (size_t c = 0; c < COLUMNS; c++)
			check_chunk(&file, element(group, 1, c), c, row, n);
		row += n;
	}
	ck_assert_uint_eq(row, rows);
	/* For t/bin/parquet.sh. */
	if (getenv("PARQUET_DIR") != NULL && chdir(getenv("PARQUET_DIR")) == 0) {
		char name[40];
		snprintf(name, sizeof(name), "all-%d.parquet", _i);
		assert_ok(lc__write_file_atomic(name, file.data, file.size));
	}
	lc__buf_free(&file);
	free(path);
}
END_TEST

/* ---- edges ----------------------------------------------------------------------- */

START_TEST(not_utf8)
{
	static const struct lc__parquet_column column[] = { { "t", LC__PARQUET_STRING, false } };
	char *path = path_of("t.parquet");
	struct lc__parquet *table;
	struct lc__buf file;

	assert_ok(lc__parquet_begin(path, column, 1, 0, &table));
	lc__parquet_text(table, "a\xff\xc3z", 4);
	assert_ok(lc__parquet_row(table));
	assert_ok(lc__parquet_end(table, false));
	file = bytes_of(path);
	ck_assert_ptr_nonnull(memmem(file.data, file.size,
	    "\x08\x00\x00\x00" "a\xef\xbf\xbd\xef\xbf\xbdz", 12));
	lc__buf_free(&file);
	free(path);
}
END_TEST

START_TEST(places)
{
	static const struct lc__parquet_column column[] = { { "t", LC__PARQUET_INT64, false } };
	char *path = path_of("p.parquet");
	struct lc__parquet *table;

	assert_ok(lc__parquet_begin(path, column, 1, 0, &table));
	ck_assert_int_eq(access(path, F_OK), -1);
	lc__parquet_discard(table);
	ck_assert_int_eq(access(path, F_OK), -1);
	assert_ok(lc__write_file_atomic(path, "other", 5));
	assert_ok(lc__parquet_begin(path, column, 1, 0, &table));
	ck_assert_int_eq(lc__parquet_end(table, false), LC_EXISTS);
	assert_ok(lc__parquet_begin(path, column, 1, 0, &table));
	assert_ok(lc__parquet_end(table, true));
	lc__parquet_discard(NULL);
	free(path);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("parquet");
	TCase *tc = tcase_create("parquet");

	tcase_set_timeout(tc, 300);
	tcase_add_test(tc, small_file);
	tcase_add_loop_test(tc, every_value, 0, (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_test(tc, not_utf8);
	tcase_add_test(tc, places);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
