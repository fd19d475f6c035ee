/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Producers: child processes that compute values from batches of items. They communicate
 * in frames over standard input and output (cachex-producer(5)). One thread serves all of
 * them.
 */
#ifndef CACHEX_FILL_PRODUCE_H
#define CACHEX_FILL_PRODUCE_H

#include <stdbool.h>

#include "fill/items.h"

/** How producers are run. */
struct lc__producers {
	const char *command; /* for /bin/sh -c */
	const char *module;  /* passed in CACHEX_MODULE; NULL for none */
	unsigned children;   /* most producers at once, at least 1 */
	unsigned ahead;      /* batches given to a producer beyond the one being computed
	                      * */
	unsigned retries;    /* fresh producers to which a failed batch is given */
	unsigned give_up;    /* stop after this many consecutive batches without a usable
	                   * value, all retries counted as one; 0 never */
	uint64_t timeout_ms; /* for one batch, from when the producer could start it; 0
	                      * for none */
	uint64_t start_timeout_ms; /* for the first batch of a producer; 0 for none */
	uint64_t end_timeout_ms;   /* to end when no work is left; 0 for 5 s */
	uint64_t frame_max;        /* largest size of an answer */
	bool isolate; /* split a batch that fails again into halves, until the failing
	               * items are known */
	/** Called with each line that producer @p child writes to its standard error;
	 *  NULL: lines are only kept for failures. */
	void (*line)(void *ctx, unsigned child, const char *line);
	/** Called with the numbers that producer @p child reported in an answer; may be
	 *  NULL. */
	void (*reported)(void *ctx, unsigned child, const struct lc__reported *all,
	    size_t n);
	void *line_ctx; /* context of both functions */
};

/** The source of the work. All functions are called in the thread that called
 *  lc__produce(). */
struct lc__work {
	/** Get a batch. LC_END: no more will come; LC_BUSY: none now; called again after
	 *  another one was taken back, and several times a second. */
	lc_status (*next)(void *ctx, struct lc__items **out);
	/** LC_OK if the value is accepted, else the item failed with lc_last_error();
	 *  LC_NO_MEMORY stops. Data of tensors may be at any address. NULL: all values
	 *  are accepted. */
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	/** Take a batch back, with an outcome for every item; ownership passes. */
	lc_status (*done)(void *ctx, struct lc__items *batch);
	/** Called several times a second; a status other than LC_OK stops at once. May be
	 *  NULL. */
	lc_status (*idle)(void *ctx);
	void *ctx;
};

/** Counts of events. */
struct lc__produced {
	uint64_t batches;   /* taken back */
	uint64_t started;   /* producers */
	uint64_t died;      /* producers that ended by themselves while they had work */
	uint64_t timed_out; /* killed for not answering in time */
	uint64_t garbage;   /* killed for an invalid answer */
	uint64_t retried;   /* batches given to another producer */
	uint64_t sent_bytes, received_bytes;
	unsigned running, busy; /* producers now, and those with work, when idle() is
	                           called */
};

/**
 * Run until no work is left. A signal with a handler only makes it call idle(). On return
 * no producer is left: each has seen the end of its standard input and ended, or was
 * killed with its process group. Batches in progress are dropped if it stops early.
 * @return LC_OK, even if items failed; LC_FAILED if the command does not exist or give_up
 * is reached, with the last failure in the error; the status of next(), done() or idle();
 * LC_INVALID for no children; LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__produce(const struct lc__producers *how,
    const struct lc__work *work, struct lc__produced *out);

#endif
