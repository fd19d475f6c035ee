/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HTML page that needs no other file, and the elements that go into it.
 * It is well-formed XML too. All text of a dataset goes through here: markup is escaped,
 * and bytes that are not UTF-8 or not characters of XML become U+FFFD.
 */
#ifndef CACHEX_REPORT_PAGE_H
#define CACHEX_REPORT_PAGE_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

void lc__page_begin(FILE *out, const char *title);
void lc__page_end(FILE *out);

/** Text, escaped: also fit for an attribute in double quotes. */
void lc__page_str(FILE *out, const char *text);
/** The same of any bytes. */
void lc__page_text(FILE *out, const void *text, size_t size);
/**
 * A name that may be long or of any direction of writing: cut in its middle
 * beyond 56 characters, shown whole when pointed at.
 */
void lc__page_id(FILE *out, const void *text, size_t size);

/** 1,234,567 */
void lc__page_count(FILE *out, uint64_t n);
/** "2.5 %" of all; nothing if there is none. */
void lc__page_share(FILE *out, uint64_t n, uint64_t all);
/** "1.5 GiB" */
void lc__page_bytes(FILE *out, uint64_t bytes);
/** "2026-11-21 15:04:05 UTC" */
void lc__page_time(FILE *out, uint64_t ms);

/** A strip of tiles, each with a number and what it is, which is escaped. */
void lc__page_strip(FILE *out);
void lc__page_strip_end(FILE *out);
void lc__page_tile_count(FILE *out, uint64_t n, const char *what);
void lc__page_tile_bytes(FILE *out, uint64_t bytes, const char *what);
/** @p text is escaped. */
void lc__page_tile(FILE *out, const char *text, const char *what);

/** A PNG file as a picture; @p alt is escaped. */
void lc__page_png(FILE *out, const struct lc__buf *png, uint32_t width, uint32_t height,
    const char *alt);

/**
 * A drawing as SVG that is as wide as the page, and a narrow one for narrow pages; @p alt is
 * escaped.
 */
void lc__page_svg(FILE *out, const struct lc__buf *wide, const struct lc__buf *narrow,
    const char *alt);

/** A section with a heading. */
void lc__page_section(FILE *out, const char *title);
void lc__page_section_end(FILE *out);
/**
 * A table and its head: titles separated by '|'; a title that begins with '#' is of
 * a column of numbers. Rows are the caller's; cells of numbers have class "n".
 */
void lc__page_table(FILE *out, const char *titles);
void lc__page_table_end(FILE *out);
/** Cells of a row. */
void lc__page_cell_count(FILE *out, uint64_t n);
void lc__page_cell_share(FILE *out, uint64_t n, uint64_t all);
void lc__page_cell_str(FILE *out, const char *text);
void lc__page_cell_id(FILE *out, const char *text);
/** A row of a name and a value, both escaped; the value as code. */
void lc__page_row(FILE *out, const char *name, const char *value);
/** A cell with a bar, @p share of it from 0 to 1. */
void lc__page_cell_meter(FILE *out, double share);
/** "and 1,234 more" if not all were shown. */
void lc__page_more(FILE *out, uint64_t shown, uint64_t all, const char *what);

#endif
