/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each of many texts occurs. */
#ifndef CACHEX_REPORT_TEXTS_H
#define CACHEX_REPORT_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"

/** The most texts with counts of their own, and the most bytes of one: all further ones are
 *  counted together. */
#define LC__TEXTS_MOST 4096
#define LC__TEXTS_BYTES 200

struct lc__texts_row {
	lc_id text;     /* any bytes, malloc'ed */
	uint64_t n;     /* how often it came */
	uint64_t bytes; /* sum of what came with it */
};

/** All zero is empty. */
struct lc__texts {
	struct lc__texts_row *rows; /* in the order of their first */
	size_t n, room;
	uint16_t *slots;      /* 1 + a row, by the hash of its text; 0 for none */
	uint64_t all, others; /* texts, and of them those without a row */
	uint64_t others_bytes;
};

/** Count a text, with @p bytes. LC_NO_MEMORY. */
LC_CHECKED lc_status lc__texts_add(struct lc__texts *texts, lc_id text, uint64_t bytes);
/** Order the rows: the most frequent first, of equally many by their texts. Nothing is added
 *  afterwards. */
void lc__texts_sort(struct lc__texts *texts);
void lc__texts_free(struct lc__texts *texts);

#endif
