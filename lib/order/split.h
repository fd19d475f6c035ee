/* SPDX-License-Identifier: BSD-2-Clause */
/* How readers divide a batch. */
#ifndef LC_ORDER_SPLIT_H
#define LC_ORDER_SPLIT_H

#include "lmdbcache.h"

/** The rows of one reader. */
struct lc__share {
	lc_split split;
	uint32_t reader, readers; /* r < R */
	uint64_t batch;           /* B */
};

/** Examples of the reader in a batch: B / R, and the first B mod R readers have one more.
 *  The same for all splits. */
static inline uint64_t
lc__share_rows(const struct lc__share *share)
{
	return share->batch / share->readers +
	    (share->reader < share->batch % share->readers);
}

/** Position in the batch, 0 to B - 1, of row @p row of the reader. */
static inline uint64_t
lc__share_at(const struct lc__share *share, uint64_t row)
{
	const uint64_t r = share->reader, longer = share->batch % share->readers;

	if (share->split == LC_SPLIT_STRIDED)
		return r + row * share->readers;
	return r * (share->batch / share->readers) + (r < longer ? r : longer) + row;
}

#endif
