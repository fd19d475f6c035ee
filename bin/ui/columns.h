/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of cells on standard output, in columns as wide as their content. */
#ifndef CACHEX_UI_COLUMNS_H
#define CACHEX_UI_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "lmdbcache.h"

/**
 * Print with control characters, and bytes that are not UTF-8, as \xNN; returns the
 * approximate number of columns.
 */
int ident_print(FILE *out, lc_id id);

/**
 * Print on standard output as an item of a list: NUL-ended if @p null, else a line; as
 * it is, but escaped on a terminal.
 */
void ident_item(lc_id id, bool null);

/** "{features: f32[512], label: plain}"; "?" without memory. Free it. */
char *describe_value(const lc_value *value);

/** Cut to about @p columns columns and append "…"; returns @p text. */
char *describe_cut(char *text, size_t columns);

/** Bytes of all its tensors, strings and bytes. */
uint64_t describe_bytes(const lc_value *value);

#define COLUMNS_MOST 6 /* columns of a row */

#define COLUMNS_BATCH 500 /* rows whose widths are found together */

struct columns {
	const char *align; /* a letter a column: l left, r right */
	int widths[COLUMNS_MOST];
	struct lc__buf text; /* the cells of the batch, one after the other */
	struct lc__buf rows; /* the same with blanks between, to be written */
	struct {
		size_t end; /* offset in text */
		int width;  /* columns on a terminal */
	} cells[COLUMNS_BATCH * COLUMNS_MOST];
	size_t count; /* of cells */
	int status;   /* an exit status */
};

/** Begin; @p align has a letter for each cell of a row. */
void columns_begin(struct columns *columns, const char *align);

/** The next cell: plain text. A row is complete with its last cell. */
void columns_text(struct columns *columns, const char *text);

/** The next cell: a cache_id, as ident_print() writes it. */
void columns_id(struct columns *columns, lc_id id);

/** Print what is held back; false if memory ran out for some of it. */
bool columns_print(struct columns *columns);

/** The same; reports; an exit status. */
int columns_end(struct columns *columns);

#endif
