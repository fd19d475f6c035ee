/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a table as a Parquet file: columns of plain values, optionally with nulls, in
 * row groups, uncompressed. parquet.c describes the part of the format that it uses.
 */
#ifndef CACHEX_REPORT_PARQUET_H
#define CACHEX_REPORT_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

enum lc__parquet_type {
	LC__PARQUET_INT64,
	LC__PARQUET_UINT64,
	LC__PARQUET_DOUBLE,
	LC__PARQUET_BOOLEAN,
	LC__PARQUET_STRING /* UTF-8 */
};

struct lc__parquet_column {
	const char *name;
	enum lc__parquet_type type;
	bool nullable;
};

/** A table that is being written. */
struct lc__parquet;

/**
 * Begin a file, which appears under its name only when it is complete.
 * @param columns  @p n of them, at least 1; borrowed until the end
 * @param rows     most rows of a row group; 0: 65,536. A group also ends at 64 MiB.
 * @return LC_OK; LC_IO, LC_PERMISSION, LC_NO_SPACE, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__parquet_begin(const char *path,
    const struct lc__parquet_column *columns, size_t n, uint64_t rows,
    struct lc__parquet **out);

/**
 * Add the next cell of a row, from the first column to the last; its type must be that
 * of its column. A cell that cannot be kept (no memory, a text of 2^28 bytes or more)
 * makes the end of the row fail. Bytes of a text that are not UTF-8 become U+FFFD.
 */
void lc__parquet_null(struct lc__parquet *table);
void lc__parquet_integer(struct lc__parquet *table, int64_t value);
void lc__parquet_unsigned(struct lc__parquet *table, uint64_t value);
void lc__parquet_real(struct lc__parquet *table, double value);
void lc__parquet_flag(struct lc__parquet *table, bool value);
void lc__parquet_text(struct lc__parquet *table, const void *text, size_t size);
/** End the row. LC_INVALID, LC_NO_MEMORY, or an error of writing. */
LC_CHECKED lc_status lc__parquet_row(struct lc__parquet *table);

/**
 * Write the rest and rename the file into place; @p replace allows it to replace
 * another. Frees the table also after a failure, which leaves no file.
 * @return LC_OK; LC_EXISTS; an error of writing.
 */
LC_CHECKED lc_status lc__parquet_end(struct lc__parquet *table, bool replace);
/** Abandon the file. NULL is harmless. */
void lc__parquet_discard(struct lc__parquet *table);

#endif
