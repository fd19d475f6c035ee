/* SPDX-License-Identifier: BSD-2-Clause */
/* Text: lists of strings, text that can be shown, numbers. */
#ifndef CACHEX_LABELS_STRINGS_H
#define CACHEX_LABELS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "lmdbcache.h"

/** Malloc'ed strings. All zero is empty. */
struct lc__strings {
	char **items;
	size_t n, room;
};

/** Append a copy of @p text (NULL stays NULL). LC_NO_MEMORY. */
LC_CHECKED lc_status lc__strings_add(struct lc__strings *strings, const char *text);
/** Sort by bytes, each only once; none may be NULL. */
void lc__strings_sort(struct lc__strings *strings);
void lc__strings_free(struct lc__strings *strings);

/**
 * Copy bytes of a file or of its name as one line of UTF-8: control characters and
 * what is not UTF-8 become \xNN, byte by byte. What does not fit into @p room (with
 * its terminator) is left out, never a part of a character. 4 bytes for each of the
 * text and 1 are always enough.
 * @return bytes written without the terminator
 */
size_t lc__printable(const char *text, char *out, size_t room);

/**
 * All of @p text is a decimal number, or one of the forms of nan and inf that
 * writers of labels write; blanks around it are ignored.
 */
bool lc__number_parse(const char *text, double *out);

#endif
