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
 * The objects may be of several stores, each with a handle of its own on the directory: the
 * room is that of all of them, and one handle publishes what all will need.
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

/** A reader's forecast. Its functions are called by any thread, several at once. */
struct lc__future {
	/** The @p k-th object, from 0, that is needed from @p now on, in order of first
	 *  need, over endless epochs, and its position. An object in use now comes first.
	 *  False at the end. */
	bool (*next)(void *ctx, uint64_t now, uint64_t k, uint64_t *object,
	    uint64_t *position);
	/** The position at which an object is needed first, at or after @p now;
	 *  LC__NEVER. */
	uint64_t (*when)(void *ctx, uint64_t object, uint64_t now);
	/** Identify it in its store; `when` and `now` are ignored. *copies is that of
	 *  lc__ahead_open() before, and becomes the handle that fetches it. */
	lc_status (*find)(void *ctx, uint64_t object, struct lc__wanted *out,
	    struct lc__copies **copies);
	void *ctx;
};

struct lc__ahead_stats {
	_Atomic uint64_t taken;    /* calls of lc__ahead_take() */
	_Atomic uint64_t stalls;   /* calls that had to wait */
	_Atomic uint64_t stall_ns; /* time that they waited, in all */
	_Atomic uint64_t prefetched;
	_Atomic uint64_t
	    failed; /* failed fetches ahead; the reader sees the error if it lasts */
};

struct lc__ahead;

/**
 * Start the threads.
 * @param copies   must stay valid until lc__ahead_end(), with no other forecast
 * @param ahead    most objects that are fetched before they are needed; 0: none
 * @param threads  number of fetching threads
 * @return LC_OK; LC_NO_MEMORY, also if no thread can be started; as lc__copies_tell().
 */
LC_CHECKED lc_status lc__ahead_open(struct lc__copies *copies,
    const struct lc__future *future, uint64_t now, uint64_t ahead, unsigned threads,
    struct lc__ahead **out);
/** Fetch nothing more ahead, and publish nothing. The threads' fetches in progress are
 *  interrupted; their partial files stay. From now on objects are taken without a forecast.
 *  Any thread; a second call does nothing. */
void lc__ahead_end(struct lc__ahead *ahead);
/** End it and free it. NULL is allowed. */
void lc__ahead_close(struct lc__ahead *ahead);

/** The reader has reached this position; positions never decrease. Costs almost
 *  nothing. */
void lc__ahead_move(struct lc__ahead *ahead, uint64_t now);

/** Take an object that is needed now, as lc__copies_take() does; give it back with
 *  lc__copies_give(). */
LC_CHECKED lc_status lc__ahead_take(struct lc__ahead *ahead, uint64_t object,
    struct lc__copy *out);

/** Wait until nothing is left to be fetched at this position, or until @p ms have passed:
 *  then false. */
bool lc__ahead_settle(struct lc__ahead *ahead, uint64_t ms);

const struct lc__ahead_stats *lc__ahead_stats(const struct lc__ahead *ahead);

#endif
