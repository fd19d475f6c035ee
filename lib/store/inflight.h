/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys that threads of this process are computing, by module. Thread-safe. A call
 * claims every missing key that no other call computes. It computes and publishes those,
 * and only then waits for the keys of others: so a waiting call never holds what another
 * one waits for. The exception is a computing function that makes another call; a wait
 * that could never end is refused.
 */
#ifndef LC_STORE_INFLIGHT_H
#define LC_STORE_INFLIGHT_H

#include <pthread.h>
#include <stdbool.h>

#include "lmdbcache.h"
#include "store/lru.h"

struct lc__inflight;
struct lc__inflight_key;

/** A running call, from its first claim to the end of its last wait. */
struct lc__inflight_call {
	pthread_t thread;                       /* that makes the call */
	const struct lc__inflight_key *waiting; /* the claim for which it waits now; or
	                                         * NULL */
	struct lc__inflight_call *next;         /* the next call that waits */
};

/** A key that is missing for a call. */
struct lc__want {
	size_t at;                      /* position in the caller's keys */
	lc_id id;                       /* borrowed until lc__inflight_leave() */
	uint64_t hash;                  /* of the id */
	struct lc__inflight_key *claim; /* on the key; held */
	size_t first; /* position of the key's first want in this call */
	bool mine;    /* this call has the claim, not another one */
};

/** The outcome of a claim. */
struct lc__inflight_outcome {
	struct lc__block
	    *block;       /* the result; NULL: it was given up and must be looked up again
	                   * */
	const void *note; /* the publisher's note about the block */
};

/** NULL without memory. */
struct lc__inflight *lc__inflight_new(void);
/** No call may be running. NULL is allowed. */
void lc__inflight_free(struct lc__inflight *inflight);

/** A number that changes when results are published. If it is the same before a look-up and
 *  after the claims, a key that was not found then is still missing. */
uint64_t lc__inflight_number(struct lc__inflight *inflight);

/**
 * Claim the keys that no other call computes: sets claim, first and mine of each want.
 * The caller must then call lc__inflight_publish() and lc__inflight_leave().
 * @return LC_OK; LC_NO_MEMORY, with nothing claimed.
 */
LC_CHECKED lc_status lc__inflight_claim(struct lc__inflight *inflight,
    struct lc__inflight_call *call, struct lc__want *wants, size_t n);

/** Set the outcome of a want with mine set, once for each key; holds the block. If it is
 *  not set, waiting calls look the key up again. */
void lc__inflight_set(struct lc__want *want, struct lc__inflight_outcome outcome);

/** Complete the claims with mine set, and wake the calls that wait for them. */
void lc__inflight_publish(struct lc__inflight *inflight, struct lc__want *wants,
    size_t n);

/**
 * Wait for the outcome of a want.
 * @param deadline_ns  as lc__cond_wait() has it
 * @param out          its block is borrowed until lc__inflight_leave()
 * @return LC_OK; LC_TIMEOUT; LC_INVALID, naming the key, if its thread waits for this one.
 */
LC_CHECKED lc_status lc__inflight_wait(struct lc__inflight *inflight,
    struct lc__inflight_call *call, const struct lc__want *want, uint64_t deadline_ns,
    struct lc__inflight_outcome *out);

/** Release the claims of all wants. */
void lc__inflight_leave(struct lc__inflight *inflight, struct lc__want *wants, size_t n);

/* Around a fork: take the lock, release it. The child has only the calling thread: there,
 * the computations of other threads are given up. */
void lc__inflight_before_fork(struct lc__inflight *inflight);
void lc__inflight_after_fork_parent(struct lc__inflight *inflight);
void lc__inflight_after_fork_child(struct lc__inflight *inflight);

#endif
