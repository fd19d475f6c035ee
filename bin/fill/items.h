/* SPDX-License-Identifier: BSD-2-Clause */
/* Items being sent to a producer and back. */
#ifndef CACHEX_FILL_ITEMS_H
#define CACHEX_FILL_ITEMS_H

#include <stdbool.h>

#include "base/buf.h"
#include "lmdbcache.h"

/** A number that a producer reports about its work, such as a loss. */
struct lc__reported {
	char name[65]; /* letters, digits and _ . / - */
	double value;  /* may be NaN or infinite */
};

/** The most numbers of an answer; further ones are ignored. */
#define LC__REPORTED_MOST 8

/** The outcome of an item. */
enum lc__item_outcome {
	LC__ITEM_OPEN,  /* nothing yet */
	LC__ITEM_DONE,  /* value is set and was accepted */
	LC__ITEM_FAILED /* why is set */
};

/** One input of a producer, and its result. */
struct lc__item {
	lc_id id;        /* cache_id of the result */
	const char *key; /* the name of the payload: "text", "json", "path"; NULL for none
	                  * */
	lc_id payload;   /* bytes; sent as text if they are UTF-8 */
	uint64_t tag;    /* any number that the creator of the batch needs */

	enum lc__item_outcome outcome;
	lc_value *value;   /* owned; the data of its tensors is in the batch, at any
	                    * address */
	char *why;         /* malloc'ed: one line of UTF-8 */
	unsigned attempts; /* how often it was given to a producer */
};

/**
 * Created by the caller, given back with every item's outcome. Items with an outcome from
 * the start are not given to a producer.
 */
struct lc__items {
	struct lc__item *items; /* their bytes are in `memory`, or elsewhere for as long
	                         * */
	size_t count;
	uint64_t tag;           /* the creator's, such as the number of an input */
	void *memory;           /* freed with free(): of ids and payloads */
	struct lc__buf *frames; /* answers that contain the data of values */
	size_t n_frames, frames_room;
	struct lc__buf
	    standard_error; /* the last line that the producer of a failed item wrote */

	size_t open;                       /* lc__produce()'s: items given to producers */
	struct lc__items *before, *behind; /* lc__produce()'s: in the list of its batches
	                                    * */
};

/** Room for @p count items, all zero; NULL without memory. */
struct lc__items *lc__items_new(size_t count);

/** Frees values, texts, memory and frames, too. NULL is allowed. */
void lc__items_free(struct lc__items *batch);

/** The item failed; @p why is converted to one line of UTF-8. */
LC_CHECKED lc_status lc__item_fail(struct lc__item *item, const char *why, size_t size);

/** Values of the batch point into @p frame, whose ownership passes to the batch. */
LC_CHECKED lc_status lc__items_keep(struct lc__items *batch, struct lc__buf *frame);

/** Record the last line that a producer wrote. */
LC_CHECKED lc_status lc__items_stderr(struct lc__items *batch, const char *text,
    size_t size);

/** The items of a batch in one request to a producer: all open ones, or half of a request
 *  that failed. */
struct lc__subbatch {
	struct lc__subbatch *next; /* in its queue */
	struct lc__items *batch;
	uint64_t number;           /* number of the last request for it */
	size_t bytes;              /* that this request has */
	unsigned failures;         /* producers that were lost because of it */
	bool fresh;                /* only for a producer that has had no other work */
	bool half;                 /* of one that failed */
	bool twin_failed;          /* the other half failed, too */
	struct lc__subbatch *twin; /* the other half, until it is done */
	size_t count;
	uint32_t item[]; /* positions in the batch */
};

/** First in, first out. All zero is empty. */
struct lc__subbatches {
	struct lc__subbatch *first, *last;
	size_t count;
};

/** Of all items without an outcome, at least one; NULL without memory. */
struct lc__subbatch *lc__subbatch_of(struct lc__items *batch);

/** It has failed: move the second half of its items to a new one; NULL without memory. */
struct lc__subbatch *lc__subbatch_halve(struct lc__subbatch *subbatch);

/** It is done, in one way or the other; informs the other half. */
void lc__subbatch_tell_twin(struct lc__subbatch *subbatch, bool failed);

/** NULL is allowed. */
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

/** Free its content; batches stay. */
void lc__subbatches_free(struct lc__subbatches *queue);

/** Bytes of a value's tensors. */
uint64_t lc__item_bytes(const lc_value *value);

/** Does this status of a put concern this item only, and not the next? */
bool lc__item_is_at_fault(lc_status status);

#endif
