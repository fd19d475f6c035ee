/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of malloc'ed strings. Zeroed is empty. */
#ifndef CACHEX_LABELS_STRINGS_H
#define CACHEX_LABELS_STRINGS_H

#include <stddef.h>

#include "lmdbcache.h"

struct lc__strings {
	char **items;
	size_t n, room;
};

/** Append a copy of @p text (NULL stays NULL). LC_NO_MEMORY. */
LC_CHECKED lc_status lc__strings_add(struct lc__strings *strings, const char *text);
/** Sort by bytes, each only once; none may be NULL. */
void lc__strings_sort(struct lc__strings *strings);
void lc__strings_free(struct lc__strings *strings);

#endif
