/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects fetched before they are needed, in the order of first need, into a directory of
 * copies (copies.h) from which the one goes that is needed last (Belady). Its reader's
 * future says what comes; positions are the reader's own, such as batches, and every rank
 * of a host that shares the directory counts in the same unit.
 *
 *	what is fetched   the next objects that are needed from now on, at most so many
 *	what goes for it  only what is needed later than it, by any rank; what is needed
 *	                  the latest first. Copies of which no rank knows a use go before.
 *	when              as soon as there is room by that rule
 *
 * Without room for what is needed now, lc__ahead_take() fails with LC_NO_SPACE: read it by
 * ranges, lc__copies_read().
 */
#ifndef LC_REMOTE_AHEAD_H
#define LC_REMOTE_AHEAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lmdbcache.h"
#include "remote/copies.h"

/** What a reader will need. Its functions are called by any thread, by several at once. */
struct lc__future {
	/** The @p k-th object that is needed from @p now on, from 0, in the order in which
	 *  they are needed first, over epochs without end, and where. An object that is in
	 *  use now comes first. False at the end. */
	bool (*next)(void *ctx, uint64_t now, uint64_t k, uint64_t *object,
	    uint64_t *position);
	/** Where an object is needed first, at or after @p now; LC__NEVER. */
	uint64_t (*when)(void *ctx, uint64_t object, uint64_t now);
	/** Which object it is in the store; `when` is ignored. */
	lc_status (*find)(void *ctx, uint64_t object, struct lc__wanted *out);
	void *ctx;
};

struct lc__ahead_stats {
	_Atomic uint64_t taken;    /* lc__ahead_take() */
	_Atomic uint64_t stalls;   /* of them, those that had to wait */
	_Atomic uint64_t stall_ns; /* in all */
	_Atomic uint64_t prefetched;
	_Atomic uint64_t
	    failed; /* fetches ahead; the reader sees the error if it lasts */
};

struct lc__ahead;

/**
 * Start the threads.
 * @param copies   stays, and has no other future
 * @param ahead    objects that are fetched before they are needed, at most; 0: none
 * @param threads  that fetch
 * @return LC_OK; LC_NO_MEMORY, also if no thread can be started; as lc__copies_tell().
 */
LC_CHECKED lc_status lc__ahead_open(struct lc__copies *copies,
    const struct lc__future *future, uint64_t now, uint64_t ahead, unsigned threads,
    struct lc__ahead **out);
/** Stop. Fetches under way are cut off; their beginnings stay. NULL is harmless. */
void lc__ahead_close(struct lc__ahead *ahead);

/** The reader is at this position now; never one before. Costs next to nothing. */
void lc__ahead_move(struct lc__ahead *ahead, uint64_t now);

/** Have an object that is needed now, as lc__copies_take(); lc__copies_give() gives it
 *  back. */
LC_CHECKED lc_status lc__ahead_take(struct lc__ahead *ahead, uint64_t object,
    struct lc__copy *out);

/** Wait until nothing is left to be fetched at this position, or until @p ms have passed:
 *  then false. */
bool lc__ahead_settle(struct lc__ahead *ahead, uint64_t ms);

const struct lc__ahead_stats *lc__ahead_stats(const struct lc__ahead *ahead);

#endif
