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

/** A value was taken. */
void lc__retry_worked(struct lc__retry *retry);
/** A request was answered, but none of its values could be taken. */
void lc__retry_in_vain(struct lc__retry *retry, const char *why);

/** Requests that a lost producer had not come to are given out again as they are. */
void lc__retry_untouched(struct lc__retry *retry, struct lc__portions *work);

/**
 * A producer was lost on a portion. It is given out again, as one or in halves, or its
 * items have failed; @p portion is gone then.
 */
LC_CHECKED lc_status lc__retry_lost(struct lc__retry *retry,
    struct lc__portion *portion, const char *why);
/** The same of items that a producer has left out: they are known, and not halved. */
LC_CHECKED lc_status lc__retry_left_out(struct lc__retry *retry,
    struct lc__portion *portion, const char *why);
/** The same of a portion that is too large for a request. */
LC_CHECKED lc_status lc__retry_too_large(struct lc__retry *retry,
    struct lc__portion *portion, const char *why);

/** LC_FAILED, with the last reason, if it is of no use to go on. */
LC_CHECKED lc_status lc__retry_check(const struct lc__retry *retry);

#endif
