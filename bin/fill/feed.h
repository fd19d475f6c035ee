/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One input being filled: turns lines of its shard into batches, and the results, in the
 * order of the lines, into chunks.
 */
#ifndef CACHEX_FILL_FEED_H
#define CACHEX_FILL_FEED_H

#include "fill/inputs.h"
#include "fill/stash.h"

enum lc__feed_state {
	LC__FEED_CLOSED, /* not open: not yet, or its turn is over */
	LC__FEED_OPEN,
	LC__FEED_HELD, /* another writer holds it */
	LC__FEED_FINISHED,
	LC__FEED_STOPPED,  /* stopped before its end */
	LC__FEED_ELSEWHERE /* another process fills it */
};

/** What all inputs of a run share. */
struct lc__feeding {
	const struct lc__inputs_fill *fill;
	const char *dir; /* of the module */
	struct lc__inputs_filled filled;
	size_t open;  /* inputs */
	uint64_t out; /* batches that have not come back */
};

struct lc__sent; /* a batch that was handed out, or a bad line */

struct lc__feed {
	struct lc__feeding *feeding;
	const struct lc__inputs_shard *source;
	enum lc__feed_state state;
	lc_writer *writer; /* while it is open */
	struct lc__shard *shard;
	struct lc__stash *stash; /* came back and is not committed */
	struct lc__line line;    /* read and not in a batch */
	bool has_line;
	bool ended;                    /* nothing more of the shard will be read */
	uint64_t chunks;               /* committed */
	struct lc__line_place done;    /* after the last line whose result was taken */
	uint64_t offset;               /* committed */
	struct lc__sent *first, *last; /* in the order of their lines */
	uint64_t sent;                 /* how many */
	uint64_t items;                /* in batches, not taken yet */
	uint64_t records, bytes;       /* of the next chunk, so far; of its tensors */
};

/** The chunk of the next line, as far as it is known. */
uint64_t lc__feed_chunk(const struct lc__feed *feed);

/** Open it; the state tells whether that was possible. */
LC_CHECKED lc_status lc__feed_open(struct lc__feed *feed);

/** Is nothing handed out, and everything that came back committed? */
bool lc__feed_is_idle(const struct lc__feed *feed);

/** Close an idle one, to be opened again. */
void lc__feed_close(struct lc__feed *feed);

/**
 * Get the next batch of an open one, to be passed to lc__feed_back(); NULL if no lines
 * are left before it ends or stops. The state tells which.
 */
LC_CHECKED lc_status lc__feed_next(struct lc__feed *feed, struct lc__items **out);

/** May the value be taken? As in lc__work, with a struct lc__inputs_fill. */
LC_CHECKED lc_status lc__feed_check(void *fill, const struct lc__item *item,
    const lc_value *value);

/** Take a batch back, which knows its feed. Returns an error that stops the run. */
LC_CHECKED lc_status lc__feed_back(struct lc__items *batch);

/** Free everything; batches that have not come back are no longer known. */
void lc__feed_free(struct lc__feed *feed);

#endif
