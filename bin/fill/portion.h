/* SPDX-License-Identifier: BSD-2-Clause */
/* Those items of a batch that one request has. */
#ifndef CACHEX_FILL_PORTION_H
#define CACHEX_FILL_PORTION_H

#include <stdbool.h>

#include "fill/items.h"

struct lc__portion {
	struct lc__portion *next; /* in its queue */
	struct lc__items *batch;
	uint64_t number;          /* of its last request */
	size_t bytes;             /* that this request has */
	unsigned failures;        /* producers that were lost on it */
	bool fresh;               /* for a producer that has had nothing else */
	bool half;                /* of one that failed */
	bool twin_failed;         /* so did the other half */
	struct lc__portion *twin; /* the other half, until it has come to its end */
	size_t count;
	uint32_t item[];          /* positions in the batch */
};

/** First in, first out. All zero is empty. */
struct lc__portions {
	struct lc__portion *first, *last;
	size_t count;
};

/** Of all items without an outcome, of which there must be one; NULL without memory. */
struct lc__portion *lc__portion_of(struct lc__items *batch);
/** It has failed: take the second half of the items off into a new one; NULL without
 *  memory. */
struct lc__portion *lc__portion_halve(struct lc__portion *portion);
/** It has come to its end, in one way or the other: the other half knows then. */
void lc__portion_tell_twin(struct lc__portion *portion, bool failed);
/** NULL is harmless. */
void lc__portion_free(struct lc__portion *portion);
/** Keep only the items that still have no outcome. */
void lc__portion_prune(struct lc__portion *portion);
/** Item @p i of the portion. */
static inline struct lc__item *
lc__portion_item(const struct lc__portion *portion, size_t i)
{
	return &portion->batch->items[portion->item[i]];
}

void lc__portions_append(struct lc__portions *queue, struct lc__portion *portion);
void lc__portions_prepend(struct lc__portions *queue, struct lc__portion *portion);
/** NULL if it is empty. */
struct lc__portion *lc__portions_take(struct lc__portions *queue);
/** Free what is in it; batches stay. */
void lc__portions_free(struct lc__portions *queue);

#endif
