/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HTML page that needs no other file, and its elements. It is also well-formed XML.
 * All text from a dataset is written by these functions: they escape markup, and
 * replace bytes that are not UTF-8 or not characters of XML by U+FFFD.
 */
#ifndef CACHEX_REPORT_PAGE_H
#define CACHEX_REPORT_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

void lc__page_begin(FILE *out, const char *title);
void lc__page_end(FILE *out);

/** Write a text, escaped. It may be in an attribute in double quotes. */
void lc__page_str(FILE *out, const char *text);
/** Write @p size bytes in the same way. */
void lc__page_text(FILE *out, const void *text, size_t size);
/**
 * Write a name that may be long, or of any direction of writing. Beyond 56 characters
 * its middle is left out; a tooltip shows the whole name.
 */
void lc__page_id(FILE *out, const void *text, size_t size);

/** Write a number as 1,234,567. */
void lc__page_count(FILE *out, uint64_t n);
/** Write @p n as a share of @p all, "2.5 %"; nothing if @p all is 0. */
void lc__page_share(FILE *out, uint64_t n, uint64_t all);
/** Write a number of bytes as "1.5 GiB". */
void lc__page_bytes(FILE *out, uint64_t bytes);
/** Write a time as "2026-11-21 15:04:05 UTC". */
void lc__page_time(FILE *out, uint64_t ms);

/** A row of tiles, each with a number and what it counts (escaped). */
void lc__page_strip(FILE *out);
void lc__page_strip_end(FILE *out);
void lc__page_tile_count(FILE *out, uint64_t n, const char *what);
void lc__page_tile_bytes(FILE *out, uint64_t bytes, const char *what);
/** Write a tile with a text in place of a number; @p text is escaped. */
void lc__page_tile(FILE *out, const char *text, const char *what);

/** Write a PNG file as an image; @p alt is escaped. */
void lc__page_png(FILE *out, const struct lc__buf *png, uint32_t width, uint32_t height,
    const char *alt);

/**
 * Write an SVG drawing that is as wide as the page, and another one for narrow pages;
 * @p alt is escaped.
 */
void lc__page_svg(FILE *out, const struct lc__buf *wide, const struct lc__buf *narrow,
    const char *alt);

/** A section with a heading. */
void lc__page_section(FILE *out, const char *title);
void lc__page_section_end(FILE *out);
/**
 * Begin a table. @p titles are separated by '|'; '#' before a title marks a column of
 * numbers. The caller writes the rows; cells with numbers have the class "n".
 */
void lc__page_table(FILE *out, const char *titles);
void lc__page_table_end(FILE *out);
/** Cells of a row. */
void lc__page_cell_count(FILE *out, uint64_t n);
void lc__page_cell_share(FILE *out, uint64_t n, uint64_t all);
void lc__page_cell_str(FILE *out, const char *text);
void lc__page_cell_id(FILE *out, const char *text);
/** A row with a name and a value, both escaped; the value is set as code. */
void lc__page_row(FILE *out, const char *name, const char *value);
/** A cell with a bar; @p share is from 0 to 1. */
void lc__page_cell_meter(FILE *out, double share);
/** Write "and 1,234 more" if not all were shown. */
void lc__page_more(FILE *out, uint64_t shown, uint64_t all, const char *what);

#endif
