/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of lc__produce() share. */
#ifndef CACHEX_FILL_PRODUCING_H
#define CACHEX_FILL_PRODUCING_H

#include "fill/child.h"
#include "fill/produce.h"
#include "fill/protocol.h"

/** What producers failed at: it is given out again, in halves, or fails for good. */
struct lc__retry {
	const struct lc__producers *how;
	struct lc__subbatches queue; /* to be given to a producer before anything new */
	struct lc__produced *count;  /* what is given out again is counted here */
	unsigned in_vain; /* requests that came to nothing since a value was taken */
	char last[600];   /* why the last one did */
};

/** A call of lc__produce(). */
struct lc__producing {
	const struct lc__producers *how;
	const struct lc__work *work;
	struct lc__produced *count;
	struct lc__child *child;   /* how->children of them */
	struct pollfd *poll;       /* three of each: in, out, err */
	struct lc__items *batches; /* those that have not been taken back */
	struct lc__retry retry;
	struct lc__answer answer;     /* memory for reading */
	uint64_t requests;            /* the number of the last one */
	bool over;                    /* there is no more work to come */
	bool busy;                    /* there is none now */
	bool answered;                /* some producer has answered something */
	bool interrupted;             /* by a signal */
	uint64_t clock_ns;            /* what counts for time-outs */
	uint64_t turned_ns, idled_ns; /* when the clock was moved, idle() called */
};

/* produce.c */

/** Give producers what there is to do, and start them where they lack. */
LC_CHECKED lc_status lc__producing_feed(struct lc__producing *run);
/** Give a batch back if all of its items have an outcome. */
LC_CHECKED lc_status lc__producing_settle(struct lc__producing *run,
    struct lc__items *batch);
/** Free the batches that have not been given back. */
void lc__producing_drop(struct lc__producing *run);

/* responses.c */

/** A subbatch is too large for a request: give it out again in halves, or its one item fails. */
LC_CHECKED lc_status lc__retry_too_large(struct lc__retry *retry,
    struct lc__subbatch *subbatch, const char *why);

/** Read answers of a producer, one or all that there are; it may be lost by that. */
LC_CHECKED lc_status lc__producing_read(struct lc__producing *run,
    struct lc__child *child, bool all);
/** A producer has been stopped, for the reason @p what; its oldest request is to blame. */
LC_CHECKED lc_status lc__producing_lose(struct lc__producing *run,
    struct lc__child *child, const char *what);

/** See whether a producer has ended, or should have, or has taken too long. */
LC_CHECKED lc_status lc__producing_look_after(struct lc__producing *run,
    struct lc__child *child, bool tick);
/** How many ms may pass until something is to be seen there, @p most at most. */
uint64_t lc__producing_wait_for(const struct lc__producing *run,
    const struct lc__child *child, uint64_t most);

#endif
