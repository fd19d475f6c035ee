/* SPDX-License-Identifier: BSD-2-Clause */
/* Strings: lists of them, printable text, and numbers in text. */
#ifndef CACHEX_LABELS_STRINGS_H
#define CACHEX_LABELS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** A list of malloc'ed strings. All zero is empty. */
struct lc__strings {
	char **items;
	size_t n, room;
};

/** Append a copy of @p text; NULL is stored as NULL. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__strings_add(struct lc__strings *strings, const char *text);
/** Sort by bytes and remove duplicates. No item may be NULL. */
void lc__strings_sort(struct lc__strings *strings);
void lc__strings_free(struct lc__strings *strings);

/**
 * Copy bytes of a file or of its name as one line of UTF-8: each control character, and
 * each byte that is not UTF-8, becomes \xNN. If @p room (with the terminator) is too
 * small, the end is left out, but no character is cut. 4 bytes for each byte of the
 * text, and 1, are always enough.
 * @return bytes written without the terminator
 */
size_t lc__printable(const char *text, char *out, size_t room);

/**
 * Parse a decimal number, or one of the forms of nan and inf that writers of labels
 * use; blanks around it are ignored. False if @p text is anything else.
 */
bool lc__number_parse(const char *text, double *out);

#endif
