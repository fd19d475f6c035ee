/* SPDX-License-Identifier: BSD-2-Clause */
#include "order/split.h"

/* Every reader has B / R, and the first B mod R readers one more: both splits. */
uint64_t
lc__share_rows(const struct lc__share *share)
{
	return share->batch / share->readers +
	    (share->reader < share->batch % share->readers);
}

uint64_t
lc__share_at(const struct lc__share *share, uint64_t row)
{
	const uint64_t r = share->reader, longer = share->batch % share->readers;

	if (share->split == LC_SPLIT_STRIDED)
		return r + row * share->readers;
	return r * (share->batch / share->readers) + (r < longer ? r : longer) + row;
}
