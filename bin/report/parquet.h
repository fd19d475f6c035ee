/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table as a Parquet file: columns of plain values, some of which may be null, in row
 * groups, without compression. parquet.c says which part of the format that is.
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

/** A table being written. */
struct lc__parquet;

/**
 * Begin a file that appears whole at the end.
 * @param columns  borrowed until the end; @p n of them, 1 at least
 * @param rows     of a row group, at most; 0: 65,536. One also ends at 64 MiB.
 * @return LC_OK; LC_IO, LC_PERMISSION, LC_NO_SPACE, LC_NO_MEMORY.
 */
LC_CHECKED lc_status lc__parquet_begin(const char *path,
    const struct lc__parquet_column *columns, size_t n, uint64_t rows,
    struct lc__parquet **out);

/**
 * Cells of a row, from the first column to the last; each must be of its column's type.
 * What cannot be kept (no memory, a text of 2^28 bytes) fails at the end of the row.
 * Bytes of a text that are not UTF-8 become U+FFFD.
 */
void lc__parquet_null(struct lc__parquet *table);
void lc__parquet_integer(struct lc__parquet *table, int64_t value);
void lc__parquet_unsigned(struct lc__parquet *table, uint64_t value);
void lc__parquet_real(struct lc__parquet *table, double value);
void lc__parquet_flag(struct lc__parquet *table, bool value);
void lc__parquet_text(struct lc__parquet *table, const void *text, size_t size);
/** End the row. LC_INVALID, LC_NO_MEMORY, or as writing fails. */
LC_CHECKED lc_status lc__parquet_row(struct lc__parquet *table);

/**
 * Write what is left and put the file in its place, with @p replace that of another.
 * Frees the table, also after a failure, which leaves nothing.
 * @return LC_OK; LC_EXISTS; as writing fails.
 */
LC_CHECKED lc_status lc__parquet_end(struct lc__parquet *table, bool replace);
/** Give up. NULL is harmless. */
void lc__parquet_discard(struct lc__parquet *table);

#endif
