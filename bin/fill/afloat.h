/* SPDX-License-Identifier: BSD-2-Clause */
/* Records that were put and that no commit may hold yet, in the order of the puts. */
#ifndef CACHEX_FILL_AFLOAT_H
#define CACHEX_FILL_AFLOAT_H

#include "lmdbcache.h"

/** All zero is none. */
struct lc__afloat {
	uint64_t *bytes; /* of each record's tensors; malloc'ed */
	size_t first, end, room;
};

/** One more record was put; @p pending are not committed of all puts so far. */
LC_CHECKED lc_status lc__afloat_add(struct lc__afloat *afloat, uint64_t bytes,
    uint64_t pending);
/** How many there are when @p pending are not committed, and the bytes of all. */
size_t lc__afloat_count(struct lc__afloat *afloat, uint64_t pending, uint64_t *bytes);
void lc__afloat_free(struct lc__afloat *afloat);

#endif
