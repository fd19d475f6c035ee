/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One input on its way: lines of its shard to batches, and what comes back, in the
 * order of the lines, to chunks.
 */
#ifndef CACHEX_FILL_FEED_H
#define CACHEX_FILL_FEED_H

#include "fill/inputs.h"
#include "fill/stash.h"

enum lc__feed_state {
	LC__FEED_CLOSED, /* not open: not yet, or its turn is over */
	LC__FEED_OPEN,
	LC__FEED_HELD, /* another writer has it */
	LC__FEED_FINISHED,
	LC__FEED_STOPPED,  /* before its end */
	LC__FEED_ELSEWHERE /* filled by another one */
};

/** What a run has for all of its inputs. */
struct lc__feeding {
	const struct lc__inputs_fill *fill;
	const char *dir; /* of the module */
	struct lc__inputs_filled filled;
	size_t open;  /* inputs */
	uint64_t out; /* batches that are not back */
};

struct lc__sent; /* a batch that was given out, or a bad line */

struct lc__feed {
	struct lc__feeding *feeding;
	const struct lc__inputs_shard *source;
	enum lc__feed_state state;
	lc_writer *writer; /* while it is open */
	struct lc__shard *shard;
	struct lc__stash *stash; /* what came back and is not committed */
	struct lc__line line;    /* read and not in a batch */
	bool has_line;
	bool ended;                    /* nothing more of the shard is to be read */
	uint64_t chunks;               /* committed */
	struct lc__line_place done;    /* behind the last line whose result was taken */
	uint64_t offset;               /* committed */
	struct lc__sent *first, *last; /* in the order of their lines */
	uint64_t sent;                 /* how many */
	uint64_t items;                /* in batches of them, not taken yet */
	uint64_t records, bytes;       /* of the next chunk, so far; of its tensors */
};

/** Which chunk the next line will be in, as far as can be told. */
uint64_t lc__feed_chunk(const struct lc__feed *feed);

/** Open; the state tells if that was possible. */
LC_CHECKED lc_status lc__feed_open(struct lc__feed *feed);

/** Nothing is on its way, and all that came back is committed. */
bool lc__feed_is_idle(const struct lc__feed *feed);

/** Let go of one that is idle, to be opened again. */
void lc__feed_close(struct lc__feed *feed);

/**
 * The next batch of an open one, to be given to lc__feed_back(); NULL if there are no
 * more lines before it ends or stops. The state tells what became of it.
 */
LC_CHECKED lc_status lc__feed_next(struct lc__feed *feed, struct lc__items **out);

/** May the value be taken? As in lc__work, with a struct lc__inputs_fill. */
LC_CHECKED lc_status lc__feed_check(void *fill, const struct lc__item *item,
    const lc_value *value);

/** Take a batch back, which knows its feed. What stops the run is returned. */
LC_CHECKED lc_status lc__feed_back(struct lc__items *batch);

/** Everything that it holds; batches that are not back are no longer known. */
void lc__feed_free(struct lc__feed *feed);

#endif
