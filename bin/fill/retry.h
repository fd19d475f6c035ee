/* SPDX-License-Identifier: BSD-2-Clause */
/* What producers failed at: given out again, in halves, or for good. */
#ifndef CACHEX_FILL_RETRY_H
#define CACHEX_FILL_RETRY_H

#include "fill/items.h"
#include "fill/produce.h"

struct lc__retry {
	const struct lc__producers *how;
	struct lc__portions queue;  /* to be given to a producer before anything new */
	struct lc__produced *count; /* what is given out again is counted here */
	unsigned in_vain;           /* requests that came to nothing since a value was taken */
	char last[600];             /* why the last one did */
};

/** The same of a portion that is too large for a request. */
LC_CHECKED lc_status lc__retry_too_large(struct lc__retry *retry,
    struct lc__portion *portion, const char *why);

#endif
