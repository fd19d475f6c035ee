/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys that threads of a handle are computing. Thread-safe.
 *
 * A call claims every key that it lacks and nobody else is computing, computes
 * and publishes those, and only then waits for those of others: whoever waits
 * has nothing that another may be waiting for. A function that calls again while
 * it computes is the exception; a wait that could never end is refused.
 */
#ifndef LC_STORE_INFLIGHT_H
#define LC_STORE_INFLIGHT_H

#include <pthread.h>
#include <stdbool.h>

#include "lmdbcache.h"
#include "store/lru.h"

struct lc__inflight;
struct lc__inflight_key;

/** A call under way, from before its claims to behind its last wait. */
struct lc__inflight_call {
	pthread_t thread;                /* that makes it */
	const struct lc__inflight_key *waiting; /* for this claim now, or NULL */
	struct lc__inflight_call *next;  /* of those that wait */
};

/** A key that a call lacks. */
struct lc__want {
	size_t at;               /* position in the caller's keys */
	lc_id id;                /* borrowed until lc__inflight_leave() */
	uint64_t hash;           /* of the id */
	struct lc__inflight_key *claim; /* of the key; held */
	size_t first;            /* where the key comes first among the call's wants */
	bool mine;               /* this call's claim, else another's */
};

/** What comes of a claim. */
struct lc__outcome {
	struct lc__block *block; /* the result; NULL: given up, to be looked up again */
	const void *note;        /* what the one who published it knows of the block */
};

/** NULL without memory. */
struct lc__inflight *lc__inflight_new(void);
/** No call may be under way. NULL is harmless. */
void lc__inflight_free(struct lc__inflight *inflight);

/** A number that changes when results are published: if it is the same before a
 *  look-up and after the claims, what was not found then is not there now. */
uint64_t lc__inflight_number(struct lc__inflight *inflight);

/**
 * Claim the keys that nobody is computing: sets claim, first and mine of each
 * want. Then lc__inflight_publish() is due, and lc__inflight_leave().
 * @return LC_OK; LC_NO_MEMORY, and nothing is claimed.
 */
LC_CHECKED lc_status lc__inflight_claim(struct lc__inflight *inflight,
    struct lc__inflight_call *call, struct lc__want *wants, size_t n);

/** Set what comes of a want that is mine, once a key; holds the block. Of one that
 *  is not set nothing comes: whoever waits looks it up again. */
void lc__inflight_set(struct lc__want *want, struct lc__outcome outcome);

/** End the claims that are mine and wake those who wait for them. */
void lc__inflight_publish(struct lc__inflight *inflight, struct lc__want *wants,
    size_t n);

/**
 * Wait for what comes of a want.
 * @param out  its block is borrowed until lc__inflight_leave()
 * @return LC_OK; LC_INVALID, naming the key, if its thread waits for this one.
 */
LC_CHECKED lc_status lc__inflight_wait(struct lc__inflight *inflight,
    struct lc__inflight_call *call, const struct lc__want *want,
    struct lc__outcome *out);

/** Let go of the wants' claims. */
void lc__inflight_leave(struct lc__inflight *inflight, struct lc__want *wants,
    size_t n);

/* Around a fork: hold it still, go on; in the child, where only the calling thread
 * exists, what other threads were computing is given up. */
void lc__inflight_before_fork(struct lc__inflight *inflight);
void lc__inflight_after_fork_parent(struct lc__inflight *inflight);
void lc__inflight_after_fork_child(struct lc__inflight *inflight);

#endif
