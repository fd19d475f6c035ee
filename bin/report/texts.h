/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts how often each of many texts occurs. */
#ifndef CACHEX_REPORT_TEXTS_H
#define CACHEX_REPORT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The most texts with counts of their own, and the most bytes of such a text. All
 *  other texts are counted together. */
#define LC__TEXTS_MOST 4096
#define LC__TEXTS_BYTES 200

struct lc__texts_row {
	lc_id text;     /* any bytes, malloc'ed */
	uint64_t n;     /* how often the text occurred */
	uint64_t bytes; /* sum of the bytes given with it */
};

/** Set all members to zero to begin. */
struct lc__texts {
	struct lc__texts_row *rows; /* in the order met, until lc__texts_sort() */
	size_t n, room;
	uint16_t *slots;      /* hash table: 1 + index of a row; 0 for none */
	uint64_t all, others; /* number of texts; of those without a row */
	uint64_t others_bytes;
};

/** Count a text once, and @p bytes with it. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__texts_add(struct lc__texts *texts, lc_id text, uint64_t bytes);
/** Sort the rows: the most frequent first, equally frequent ones by text. Nothing may
 *  be added afterwards. */
void lc__texts_sort(struct lc__texts *texts);
void lc__texts_free(struct lc__texts *texts);

#endif
