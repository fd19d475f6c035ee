/* SPDX-License-Identifier: BSD-2-Clause */
/* Batches out of the lines of a shard. */
#ifndef CACHEX_FILL_LINES_H
#define CACHEX_FILL_LINES_H

#include "fill/feed.h"

/** Items that were given out, or are known to be bad. */
struct lc__sent {
	struct lc__sent *next;
	struct lc__feed *feed;
	struct lc__items *batch; /* NULL while it is out */
	bool bad;                /* a line that is bad: one item that failed */
	size_t taken;            /* items whose result was taken */
	size_t asked;            /* items that a producer was asked for */
	size_t recalled;         /* frames of the batch that the stash has already */
	struct lc__line_place *behind; /* the line of each item; by the items' tags */
};

/** With its batch. NULL is harmless. */
void lc__sent_free(struct lc__sent *sent);

/**
 * The next lines of an open feed as a batch, up to the end of the chunk that they are in
 * if none of them fails. @p bad gets a line behind them that is bad. Either is NULL where
 * there is none. feed->ended is set at the end of the shard, and behind a bad line unless
 * what fails is skipped.
 */
LC_CHECKED lc_status lc__lines_take(struct lc__feed *feed, struct lc__sent **out,
    struct lc__sent **bad);

#endif
