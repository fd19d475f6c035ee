/* SPDX-License-Identifier: BSD-2-Clause */
/* How readers share a batch. */
#ifndef LC_ORDER_SPLIT_H
#define LC_ORDER_SPLIT_H

#include "lmdbcache.h"

/** One reader's share. */
struct lc__share {
	lc_split split;
	uint32_t reader, readers; /* r < R */
	uint64_t batch;           /* B */
};

/** Examples of a batch that are this reader's. */
uint64_t lc__share_rows(const struct lc__share *share);

/** Position in the batch, 0..B-1, of the reader's row @p row. */
uint64_t lc__share_at(const struct lc__share *share, uint64_t row);

#endif
