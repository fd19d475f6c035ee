/* SPDX-License-Identifier: BSD-2-Clause */
/* Words that users choose from: lists that end with NULL, in the order of their
 * numbers. */
#ifndef LC_BASE_WORDS_H
#define LC_BASE_WORDS_H

#include "lmdbcache.h"

/** The word of a number, NULL for a number past the list. */
const char *lc__word(const char *const *words, unsigned i);

/** The number of a word. LC_INVALID, naming @p what, if the word is not in the list. */
LC_CHECKED lc_status lc__word_parse(const char *what, const char *const *words,
    const char *name, unsigned *out);

#endif
