/* SPDX-License-Identifier: BSD-2-Clause */
/* Items on their way to a producer and back. */
#ifndef CACHEX_FILL_ITEMS_H
#define CACHEX_FILL_ITEMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** What became of an item. */
enum lc__item_outcome {
	LC__ITEM_OPEN,  /* nothing yet */
	LC__ITEM_DONE,  /* value is set and was found to be good */
	LC__ITEM_FAILED /* why is set */
};

/** One input of a producer, and its result. */
struct lc__item {
	lc_id id;        /* cache_id of the result */
	const char *key; /* what the payload is called: "text", "json", "path"; NULL for
	                         none */
	lc_id payload;   /* bytes; text where they are UTF-8 */
	uint64_t tag;    /* whatever the maker of the batch wants to know again */

	enum lc__item_outcome outcome;
	lc_value *value;   /* owned; its tensors' data lie in the batch, at any address */
	char *why;         /* malloc'ed: one line of UTF-8 */
	unsigned attempts; /* how often a producer was given it */
};

/**
 * Made by who has work, given back with every item's outcome. What has an outcome
 * from the start is given to no producer.
 */
struct lc__items {
	struct lc__item *items; /* their bytes lie in `memory` or elsewhere for as long */
	size_t count;
	uint64_t tag;           /* the maker's, such as the number of an input */
	void *memory;           /* freed with free(): of ids and payloads */
	struct lc__buf *frames; /* answers that values lie in */
	size_t n_frames, frames_room;
	struct lc__buf
	    standard_error; /* the last that the producer of a failed item wrote */

	size_t open; /* lc__produce()'s: items that producers have */
	struct lc__items *before, *behind; /* lc__produce()'s: among those it has */
};

/** Room for @p count items, all zero; NULL without memory. */
struct lc__items *lc__items_new(size_t count);

/** With values, texts, memory and frames. NULL is harmless. */
void lc__items_free(struct lc__items *batch);

/** The item failed; @p why is made one line of UTF-8. */
LC_CHECKED lc_status lc__item_fail(struct lc__item *item, const char *why, size_t size);

/** Values of the batch lie in @p frame: it is the batch's then. */
LC_CHECKED lc_status lc__items_keep(struct lc__items *batch, struct lc__buf *frame);

/** Note what a producer wrote last. */
LC_CHECKED lc_status lc__items_stderr(struct lc__items *batch, const char *text,
    size_t size);

/** The items of a batch that one request asks a producer for: all that are open, or half of
 *  a request that failed. */
struct lc__subbatch {
	struct lc__subbatch *next; /* in its queue */
	struct lc__items *batch;
	uint64_t number;           /* of its last request */
	size_t bytes;              /* that this request has */
	unsigned failures;         /* producers that were lost on it */
	bool fresh;                /* for a producer that has had nothing else */
	bool half;                 /* of one that failed */
	bool twin_failed;          /* so did the other half */
	struct lc__subbatch *twin; /* the other half, until it has come to its end */
	size_t count;
	uint32_t item[]; /* positions in the batch */
};

/** First in, first out. All zero is empty. */
struct lc__subbatches {
	struct lc__subbatch *first, *last;
	size_t count;
};

/** Of all items without an outcome, of which there must be one; NULL without memory. */
struct lc__subbatch *lc__subbatch_of(struct lc__items *batch);

/** It has failed: take the second half of the items off into a new one; NULL without
 *  memory. */
struct lc__subbatch *lc__subbatch_halve(struct lc__subbatch *subbatch);

/** It has come to its end, in one way or the other: the other half knows then. */
void lc__subbatch_tell_twin(struct lc__subbatch *subbatch, bool failed);

/** NULL is harmless. */
void lc__subbatch_free(struct lc__subbatch *subbatch);

/** Keep only the items that still have no outcome. */
void lc__subbatch_prune(struct lc__subbatch *subbatch);

/** Item @p i of the subbatch. */
static inline struct lc__item *
lc__subbatch_item(const struct lc__subbatch *subbatch, size_t i)
{
	return &subbatch->batch->items[subbatch->item[i]];
}

void lc__subbatches_append(struct lc__subbatches *queue, struct lc__subbatch *subbatch);

void lc__subbatches_prepend(struct lc__subbatches *queue, struct lc__subbatch *subbatch);

/** NULL if it is empty. */
struct lc__subbatch *lc__subbatches_take(struct lc__subbatches *queue);

/** Free what is in it; batches stay. */
void lc__subbatches_free(struct lc__subbatches *queue);

/** Bytes of a value's tensors. */
uint64_t lc__item_bytes(const lc_value *value);

/** Does what a put returned speak against this item only, and not against the next? */
bool lc__item_is_at_fault(lc_status status);

#endif
