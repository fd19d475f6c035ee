/* SPDX-License-Identifier: BSD-2-Clause */
/* Text and numbers written as JSON, and JSON laid out anew. */
#ifndef LC_BASE_JSON_WRITE_H
#define LC_BASE_JSON_WRITE_H

#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/json_scan.h"

/** What is escaped in a string besides quotes, backslashes and bytes below 0x20. */
enum lc__json_escapes {
	LC__JSON_LETTERS =
	    1, /* nothing more, but \n and not \u000a where there is a letter */
	LC__JSON_DEL = 2,  /* 0x7f */
	LC__JSON_ASCII = 4 /* all beyond ASCII, from U+10000 as surrogate pairs */
};

/** Append text as the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD.
 *  @param escapes  enum lc__json_escapes, or'ed */
void lc__json_put_text(struct lc__buf *out, const void *text, size_t size,
    unsigned escapes);
/** The same between quotes. */
void lc__json_put_string(struct lc__buf *out, const void *text, size_t size,
    unsigned escapes);
/** Write a string with its quotes, 0x7f escaped. */
void lc__json_string(FILE *out, const void *text, size_t size);

/**
 * Write a finite number with the fewest digits that read back as the same double, in a
 * form that no reader takes for an integer: 1.0, 0.1, 1e+100.
 */
void lc__json_real(FILE *out, double number);

/** Append JSON without the blanks between its tokens. Malformed JSON stays malformed: of
 *  "1 2" one blank is kept. */
void lc__json_put_compact(struct lc__buf *out, struct lc__json_slice json);
/** Append well-formed JSON with a line for each member and element, indented by two
 *  blanks a level. */
void lc__json_put_indented(struct lc__buf *out, struct lc__json_slice json);

#endif
