/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The plain part of Apache Parquet (parquet-format, README.md, Encodings.md and
 * parquet.thrift):
 *
 *     "PAR1"
 *     for each row group, for each column: a page header, a data page (version 1)
 *     the metadata of the file, u32 its size, "PAR1"
 *
 * A page has the definition levels, if its column may be null, and then the values that
 * are not null, PLAIN: little-endian numbers, bits from the lowest, texts with a u32 size.
 * A level is 1 for a value and 0 for a null; levels are u32 bytes of all of them, and one
 * run: ULEB128 n << 1 and a byte if all n are alike, else ULEB128 (n + 7) / 8 << 1 | 1 and
 * their bits.
 *
 * Headers and metadata are structs of Thrift's compact protocol: fields as a byte of the
 * distance to the number of the field before and of the type, then the value; 0 ends them.
 */
#include "report/parquet.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/newfile.h"
#include "base/utf8.h"

#define MAGIC "PAR1"
#define GROUP_ROWS 65536
#define GROUP_BYTES ((uint64_t)64 << 20)
#define MOST_TEXT ((size_t)1 << 28)

struct cells {
	/* PLAIN, but booleans are a byte each until they are written. */
	struct lc__buf values;
	struct lc__buf levels; /* one byte per row, if the column is nullable */
	uint64_t present;      /* number of values that are not null */
};

struct lc__parquet {
	struct lc__newfile file;
	const struct lc__parquet_column *columns;
	size_t n, at;            /* number of columns; the column of the next cell */
	uint64_t group_rows;     /* most rows of a group */
	uint64_t rows, all_rows; /* rows in this group; rows in the groups before it */
	uint64_t size;           /* bytes of the file so far */
	uint64_t groups;
	struct lc__buf metadata; /* metadata of the groups written so far */
	bool too_long;           /* a text of this row has 2^28 bytes or more */
	struct cells cells[];
};

/* ---- Thrift's compact protocol -------------------------------------------------- */

enum { T_TRUE = 1, T_FALSE, T_I8, T_I32 = 5, T_I64, T_BINARY = 8, T_LIST, T_STRUCT = 12 };

/* A Thrift struct that is being written; field numbers are stored as differences. */
struct thrift {
	struct lc__buf *out;
	int last;
};

static void
put_byte(struct lc__buf *out, unsigned byte)
{
	const unsigned char c = (unsigned char)byte;

	lc__buf_append(out, &c, 1);
}

/* ULEB128. */
static void
put_varint(struct lc__buf *out, uint64_t n)
{
	for (; n > 127; n >>= 7)
		put_byte(out, (unsigned)(n & 127) | 128);
	put_byte(out, (unsigned)n);
}

static void
put_field(struct thrift *t, int id, unsigned type)
{
	put_byte(t->out, (unsigned)(id - t->last) << 4 | type);
	t->last = id;
}

/* Zigzag: the sign is the lowest bit. All numbers here are positive. */
static void
put_number(struct thrift *t, int id, unsigned type, uint64_t n)
{
	put_field(t, id, type);
	put_varint(t->out, n << 1);
}

static void
put_text(struct thrift *t, int id, const char *text)
{
	put_field(t, id, T_BINARY);
	put_varint(t->out, strlen(text));
	lc__buf_append(t->out, text, strlen(text));
}

static void
put_list_header(struct lc__buf *out, uint64_t n, unsigned type)
{
	put_byte(out, (unsigned)(n < 15 ? n : 15) << 4 | type);
	if (n >= 15)
		put_varint(out, n);
}

static void
put_list(struct thrift *t, int id, uint64_t n, unsigned type)
{
	put_field(t, id, T_LIST);
	put_list_header(t->out, n, type);
}

static struct thrift
put_struct(struct thrift *t, int id)
{
	put_field(t, id, T_STRUCT);
	return (struct thrift){ t->out, 0 };
}

static void
end_struct(struct thrift *t)
{
	put_byte(t->out, 0);
}

/* ---- metadata ------------------------------------------------------------------- */

/* Numbers of the enums in parquet.thrift. */
enum { BOOLEAN = 0, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6 };
enum { REQUIRED = 0, OPTIONAL = 1 };
enum { PLAIN = 0, RLE = 3 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };

static const unsigned physical[] = {
	[LC__PARQUET_INT64] = INT64,
	[LC__PARQUET_UINT64] = INT64,
	[LC__PARQUET_DOUBLE] = DOUBLE,
	[LC__PARQUET_BOOLEAN] = BOOLEAN,
	[LC__PARQUET_STRING] = BYTE_ARRAY,
};

/* SchemaElement */
static void
put_column_schema(struct lc__buf *out, const struct lc__parquet_column *column)
{
	struct thrift t = { out, 0 }, logical, kind;

	put_number(&t, 1, T_I32, physical[column->type]);
	put_number(&t, 3, T_I32, column->nullable ? OPTIONAL : REQUIRED);
	put_text(&t, 4, column->name);
	if (column->type == LC__PARQUET_STRING) {
		put_number(&t, 6, T_I32, CONVERTED_UTF8);
		logical = put_struct(&t, 10);
		kind = put_struct(&logical, LOGICAL_STRING);
		end_struct(&kind);
		end_struct(&logical);
	} else if (column->type == LC__PARQUET_UINT64) {
		put_number(&t, 6, T_I32, CONVERTED_UINT_64);
		logical = put_struct(&t, 10);
		kind = put_struct(&logical, LOGICAL_INTEGER);
		put_field(&kind, 1, T_I8);
		put_byte(out, 64);
		put_field(&kind, 2, T_FALSE); /* isSigned = false */
		end_struct(&kind);
		end_struct(&logical);
	}
	end_struct(&t);
}

/* ColumnChunk with its ColumnMetaData */
static void
put_chunk(struct lc__parquet *table, size_t i, uint64_t offset, uint64_t size)
{
	const struct lc__parquet_column *column = &table->columns[i];
	struct thrift t = { &table->metadata, 0 }, data;

	put_number(&t, 2, T_I64, offset);
	data = put_struct(&t, 3);
	put_number(&data, 1, T_I32, physical[column->type]);
	put_list(&data, 2, 2, T_I32);
	put_varint(data.out, PLAIN << 1);
	put_varint(data.out, RLE << 1);
	put_list(&data, 3, 1, T_BINARY);
	put_varint(data.out, strlen(column->name));
	lc__buf_append(data.out, column->name, strlen(column->name));
	put_number(&data, 4, T_I32, 0); /* codec = UNCOMPRESSED */
	put_number(&data, 5, T_I64, table->rows);
	put_number(&data, 6, T_I64, size);
	put_number(&data, 7, T_I64, size);
	put_number(&data, 9, T_I64, offset);
	end_struct(&data);
	end_struct(&t);
}

/* FileMetaData, followed by its size and the magic number */
static void
put_metadata(const struct lc__parquet *table, struct lc__buf *out)
{
	struct thrift t = { out, 0 }, root = { out, 0 };
	unsigned char size[4];

	put_number(&t, 1, T_I32, 1);
	put_list(&t, 2, table->n + 1, T_STRUCT);
	put_text(&root, 4, "schema");
	put_number(&root, 5, T_I32, table->n);
	end_struct(&root);
	for (size_t i = 0; i < table->n; i++)
		put_column_schema(out, &table->columns[i]);
	put_number(&t, 3, T_I64, table->all_rows);
	put_list(&t, 4, table->groups, T_STRUCT);
	lc__buf_append(out, table->metadata.data, table->metadata.size);
	put_text(&t, 6, "cachex version " PACKAGE_VERSION);
	end_struct(&t);
	lc__set32(size, (uint32_t)out->size);
	lc__buf_append(out, size, sizeof(size));
	lc__buf_append(out, MAGIC, 4);
}

/* ---- pages ---------------------------------------------------------------------- */

static lc_status
write_bytes(struct lc__parquet *table, const struct lc__buf *bytes)
{
	if (bytes->failed)
		return lc__no_memory(table->file.path);
	table->size += bytes->size;
	return lc__write_full(table->file.fd, bytes->data, bytes->size, table->file.path);
}

/* Pack booleans, a byte each, into bits, the lowest bit first. */
static void
put_bits(struct lc__buf *out, const struct lc__buf *bytes)
{
	for (size_t i = 0; i < bytes->size; i += 8) {
		unsigned eight = 0;
		for (size_t k = i; k < i + 8 && k < bytes->size; k++)
			eight |= (unsigned)bytes->data[k] << (k - i);
		put_byte(out, eight);
	}
}

static void
put_levels(struct lc__buf *out, const struct cells *cells, uint64_t rows)
{
	unsigned char size[4];
	struct lc__buf run = { 0 };

	if (cells->present == 0 || cells->present == rows) {
		put_varint(&run, rows << 1);
		put_byte(&run, cells->present > 0);
	} else {
		put_varint(&run, (rows + 7) / 8 << 1 | 1);
		put_bits(&run, &cells->levels);
	}
	lc__set32(size, (uint32_t)run.size);
	lc__buf_append(out, size, sizeof(size));
	lc__buf_append(out, run.data, run.size);
	out->failed |= run.failed;
	lc__buf_free(&run);
}

/* PageHeader with its DataPageHeader */
static void
put_page_header(struct lc__buf *out, uint64_t rows, uint64_t size)
{
	struct thrift t = { out, 0 }, data;

	put_number(&t, 1, T_I32, 0); /* type = DATA_PAGE */
	put_number(&t, 2, T_I32, size);
	put_number(&t, 3, T_I32, size);
	data = put_struct(&t, 5);
	put_number(&data, 1, T_I32, rows);
	put_number(&data, 2, T_I32, PLAIN);
	put_number(&data, 3, T_I32, RLE);
	put_number(&data, 4, T_I32, RLE);
	end_struct(&data);
	end_struct(&t);
}

/* Write a column of the group, as one page. */
static lc_status
write_column(struct lc__parquet *table, size_t i)
{
	const struct lc__parquet_column *column = &table->columns[i];
	struct cells *cells = &table->cells[i];
	struct lc__buf header = { 0 }, first = { 0 };
	const uint64_t offset = table->size;
	bool packed = column->type == LC__PARQUET_BOOLEAN;
	lc_status status;

	if (cells->values.failed || cells->levels.failed)
		return lc__no_memory(table->file.path);
	if (column->nullable)
		put_levels(&first, cells, table->rows);
	if (packed)
		put_bits(&first, &cells->values);
	put_page_header(&header, table->rows,
	    first.size + (packed ? 0 : cells->values.size));
	status = write_bytes(table, &header);
	if (status == LC_OK)
		status = write_bytes(table, &first);
	if (status == LC_OK && !packed)
		status = write_bytes(table, &cells->values);
	if (status == LC_OK)
		put_chunk(table, i, offset, table->size - offset);
	lc__buf_free(&header);
	lc__buf_free(&first);
	cells->values.size = cells->levels.size = 0;
	cells->present = 0;
	return status;
}

static lc_status
write_group(struct lc__parquet *table)
{
	const uint64_t start = table->size;
	struct thrift t = { &table->metadata, 0 };

	if (table->rows == 0)
		return LC_OK;
	put_list(&t, 1, table->n, T_STRUCT);
	for (size_t i = 0; i < table->n; i++)
		return_if_error(write_column(table, i));
	put_number(&t, 2, T_I64, table->size - start);
	put_number(&t, 3, T_I64, table->rows);
	end_struct(&t);
	table->all_rows += table->rows;
	table->rows = 0;
	table->groups++;
	return table->metadata.failed ? lc__no_memory(table->file.path) : LC_OK;
}

/* ---- cells ---------------------------------------------------------------------- */

static void
put_cell(struct lc__parquet *table, bool present, const void *value, size_t size)
{
	struct cells *cells = &table->cells[table->at];

	if (table->columns[table->at++].nullable)
		put_byte(&cells->levels, present);
	if (present)
		lc__buf_append(&cells->values, value, size);
	cells->present += present;
}

void
lc__parquet_null(struct lc__parquet *table)
{
	put_cell(table, false, NULL, 0);
}

void
lc__parquet_unsigned(struct lc__parquet *table, uint64_t value)
{
	unsigned char bytes[8];

	lc__set64(bytes, value);
	put_cell(table, true, bytes, sizeof(bytes));
}

void
lc__parquet_integer(struct lc__parquet *table, int64_t value)
{
	lc__parquet_unsigned(table, (uint64_t)value);
}

void
lc__parquet_real(struct lc__parquet *table, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	lc__parquet_unsigned(table, bits);
}

void
lc__parquet_flag(struct lc__parquet *table, bool value)
{
	const unsigned char byte = value;

	put_cell(table, true, &byte, 1);
}

void
lc__parquet_text(struct lc__parquet *table, const void *text, size_t size)
{
	struct lc__buf *values = &table->cells[table->at].values;
	const unsigned char *from = text;
	const size_t start = values->size;
	unsigned char length[4] = { 0 };

	if (size >= MOST_TEXT) {
		table->too_long = true;
		size = 0;
	}
	put_cell(table, true, length, sizeof(length));
	for (size_t i = 0; i < size;) {
		const size_t n = lc__utf8_length(from + i, size - i);
		lc__buf_append(values, n > 0 ? (const char *)from + i : "\xef\xbf\xbd",
		    n > 0 ? n : 3);
		i += n > 0 ? n : 1;
	}
	if (!values->failed)
		lc__set32(values->data + start, (uint32_t)(values->size - start - 4));
}

lc_status
lc__parquet_row(struct lc__parquet *table)
{
	uint64_t bytes = 0;

	table->at = 0;
	table->rows++;
	if (table->too_long)
		return lc__error(LC_INVALID, 0, "%s: a text of %zu bytes or more",
		    table->file.path, MOST_TEXT);
	for (size_t i = 0; i < table->n; i++) {
		if (table->cells[i].values.failed || table->cells[i].levels.failed)
			return lc__no_memory(table->file.path);
		bytes += table->cells[i].values.size;
	}
	return table->rows >= table->group_rows || bytes >= GROUP_BYTES
	    ? write_group(table)
	    : LC_OK;
}

/* ---- beginning and end ------------------------------------------------------------ */

lc_status
lc__parquet_begin(const char *path, const struct lc__parquet_column *columns, size_t n,
    uint64_t rows, struct lc__parquet **out)
{
	static const struct lc__buf magic = { .data = (unsigned char *)MAGIC, .size = 4 };
	struct lc__parquet *table = calloc(1,
	    sizeof(*table) + n * sizeof(table->cells[0]));
	lc_status status;

	if (table == NULL)
		return lc__no_memory(path);
	table->columns = columns;
	table->n = n;
	table->group_rows = rows > 0 && rows < GROUP_ROWS ? rows : GROUP_ROWS;
	status = lc__newfile_open(path, 0666, &table->file);
	if (status != LC_OK) {
		free(table);
		return status;
	}
	status = write_bytes(table, &magic);
	if (status != LC_OK) {
		lc__parquet_discard(table);
		return status;
	}
	*out = table;
	return LC_OK;
}

lc_status
lc__parquet_end(struct lc__parquet *table, bool replace)
{
	struct lc__buf metadata = { 0 };
	lc_status status = write_group(table);

	if (status == LC_OK) {
		put_metadata(table, &metadata);
		status = write_bytes(table, &metadata);
	}
	lc__buf_free(&metadata);
	if (status == LC_OK)
		status = replace ? lc__newfile_replace(&table->file)
				 : lc__newfile_add(&table->file);
	lc__parquet_discard(table);
	return status;
}

void
lc__parquet_discard(struct lc__parquet *table)
{
	if (table == NULL)
		return;
	lc__newfile_discard(&table->file);
	for (size_t i = 0; i < table->n; i++) {
		lc__buf_free(&table->cells[i].values);
		lc__buf_free(&table->cells[i].levels);
	}
	lc__buf_free(&table->metadata);
	free(table);
}
