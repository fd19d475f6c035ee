/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Producers: child processes that turn batches of items into values, spoken to in
 * frames over their standard input and output (cachex-producer(5)). One thread
 * feeds all of them.
 */
#ifndef CACHEX_FILL_PRODUCE_H
#define CACHEX_FILL_PRODUCE_H

#include <stdbool.h>

#include "fill/items.h"

/** How producers are run. */
struct lc__producers {
	const char *command; /* for /bin/sh -c */
	const char *module;  /* told to them in CACHEX_MODULE; NULL for none */
	unsigned children;   /* at most so many at once, 1 at least */
	unsigned ahead;      /* batches given to one beyond the one it works on */
	unsigned retries;    /* fresh producers that a failed batch is given to */
	unsigned give_up; /* stop after so many batches in a row of which no value could
	                          be taken, all retries counted as one; 0 never */
	uint64_t timeout_ms; /* for one batch, from when the producer could begin on it;
	                          0 for none */
	uint64_t start_timeout_ms; /* for the first batch of a producer; 0 for none */
	uint64_t end_timeout_ms; /* to end when there is nothing more to do; 0 for 5 s */
	uint64_t frame_max;      /* bytes of an answer */
	bool isolate; /* give a batch that fails again in halves, until it is known
	                          which items do it */
	/** Told of each line that producer @p child writes to its standard error;
	 *  NULL: the lines are only kept for failures. */
	void (*line)(void *ctx, unsigned child, const char *line);
	void *line_ctx;
};

/** Who has the work. All are called in the thread that called lc__produce(). */
struct lc__work {
	/** A batch to be worked on. LC_END: there will be no more; LC_BUSY: none
	 *  now; it is asked again when another one has been taken back, and several times
	 *  a second. */
	lc_status (*next)(void *ctx, struct lc__items **out);
	/** LC_OK if the value may be taken, else the item failed, of lc_last_error();
	 *  LC_NO_MEMORY stops. Tensors' data may lie at any address. NULL: everything
	 *  may be taken. */
	lc_status (*check)(void *ctx, const struct lc__item *item, const lc_value *value);
	/** Take a batch back, whose items all have an outcome; owned. */
	lc_status (*done)(void *ctx, struct lc__items *batch);
	/** Called several times a second; what it returns stops at once. NULL: nobody. */
	lc_status (*idle)(void *ctx);
	void *ctx;
};

/** What happened. */
struct lc__produced {
	uint64_t batches;   /* taken back */
	uint64_t started;   /* producers */
	uint64_t died;      /* of them, by themselves while they had work */
	uint64_t timed_out; /* killed for having no answer */
	uint64_t garbage;   /* killed for what they answered */
	uint64_t retried;   /* batches given to another producer */
	uint64_t sent_bytes, received_bytes;
};

/**
 * Run until there is no more work. A signal that has a handler only makes it call idle().
 * When this returns no producer is left: they have seen the end of their standard input
 * and ended, or were killed with their process group. Batches in flight are dropped if it
 * stops early.
 * @return LC_OK, also when items failed; LC_FAILED if the command is not there or
 * give_up is reached, with the last failure in the error; what next(), done() or
 * idle() returned; LC_INVALID for no children; LC_NO_MEMORY, LC_IO.
 */
LC_CHECKED lc_status lc__produce(const struct lc__producers *how,
    const struct lc__work *work, struct lc__produced *out);

#endif
