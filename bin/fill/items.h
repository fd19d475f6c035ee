/* SPDX-License-Identifier: BSD-2-Clause */
/* Items on their way to a producer and back. */
#ifndef CACHEX_FILL_ITEMS_H
#define CACHEX_FILL_ITEMS_H

#include "base/buf.h"
#include "lmdbcache.h"

/** What became of an item. */
enum lc__item_outcome {
	LC__ITEM_OPEN,   /* nothing yet */
	LC__ITEM_DONE,   /* value is set and was found to be good */
	LC__ITEM_FAILED  /* why is set */
};

/** One input of a producer, and its result. */
struct lc__item {
	lc_id id;             /* cache_id of the result */
	const char *key;      /* what the payload is called: "text", "json", "path"; NULL for
	                         none */
	lc_id payload;        /* bytes; text where they are UTF-8 */
	uint64_t tag;         /* whatever the maker of the batch wants to know again */

	enum lc__item_outcome outcome;
	lc_value *value;      /* owned; its tensors' data lie in the batch, at any address */
	char *why;            /* malloc'ed: one line of UTF-8 */
	unsigned attempts;    /* how often a producer was given it */
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
	struct lc__buf standard_error; /* the last that the producer of a failed item wrote */

	size_t open;            /* lc__produce()'s: items that producers have */
	struct lc__items *before, *behind; /* lc__produce()'s: among those it has */
};

/** Room for @p count items, all zero; NULL without memory. */
struct lc__items *lc__items_new(size_t count);
/** With values, texts, memory and frames. NULL is harmless. */
void lc__items_free(struct lc__items *batch);

/** The item failed; @p why is made one line of UTF-8. */
LC_CHECKED lc_status lc__item_fail(struct lc__item *item, const char *why,
    size_t size);
/** Values of the batch lie in @p frame: it is the batch's then. */
LC_CHECKED lc_status lc__items_keep(struct lc__items *batch, struct lc__buf *frame);
/** Note what a producer wrote last. */
LC_CHECKED lc_status lc__items_stderr(struct lc__items *batch, const char *text,
    size_t size);

#endif
