/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lc__produce() share. */
#ifndef CACHEX_FILL_PRODUCING_H
#define CACHEX_FILL_PRODUCING_H

#include "fill/child.h"
#include "fill/produce.h"
#include "fill/protocol.h"

/** Work that failed: it is handed out again, in halves, or fails for good. */
struct lc__retry {
	const struct lc__producers *how;
	struct lc__subbatches queue; /* to be handed out before anything new */
	struct lc__produced *count;  /* counts what is handed out again */
	unsigned in_vain; /* requests without a usable value since one was taken */
	char last[600];   /* why the last one failed */
};

/** A call of lc__produce(). */
struct lc__producing {
	const struct lc__producers *how;
	const struct lc__work *work;
	struct lc__produced *count;
	struct lc__child *child;   /* how->children of them */
	struct pollfd *poll;       /* three of each: in, out, err */
	struct lc__items *batches; /* those not taken back yet */
	struct lc__retry retry;
	struct lc__answer answer;     /* memory for reading */
	uint64_t requests;            /* the number of the last one */
	bool over;                    /* no more work will come */
	bool busy;                    /* no work is available now */
	bool answered;                /* some producer has answered */
	bool interrupted;             /* by a signal */
	uint64_t clock_ns;            /* the clock for time-outs */
	uint64_t turned_ns, idled_ns; /* when the clock was advanced, and idle() called */
};

/* produce.c */

/** Hand out work, and start producers where needed. */
LC_CHECKED lc_status lc__producing_feed(struct lc__producing *run);
/** Give a batch back if all of its items have an outcome. */
LC_CHECKED lc_status lc__producing_settle(struct lc__producing *run,
    struct lc__items *batch);
/** Free the batches that were not given back. */
void lc__producing_drop(struct lc__producing *run);

/* responses.c */

/** A subbatch is too large for a request: hand it out again in halves, or its only item
 *  fails. */
LC_CHECKED lc_status lc__retry_too_large(struct lc__retry *retry,
    struct lc__subbatch *subbatch, const char *why);

/** Read one answer of a producer, or all available ones; the producer may be lost by
 *  that. */
LC_CHECKED lc_status lc__producing_read(struct lc__producing *run,
    struct lc__child *child, bool all);
/** A producer has been stopped for the reason @p what; its oldest request is to blame. */
LC_CHECKED lc_status lc__producing_lose(struct lc__producing *run,
    struct lc__child *child, const char *what);

/** Check whether a producer has ended, or should have, or has taken too long. */
LC_CHECKED lc_status lc__producing_look_after(struct lc__producing *run,
    struct lc__child *child, bool tick);
/** How many ms until the next check there, at most @p most. */
uint64_t lc__producing_wait_for(const struct lc__producing *run,
    const struct lc__child *child, uint64_t most);

#endif
