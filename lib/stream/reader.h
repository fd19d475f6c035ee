/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A reader, from the inside. Its workers take the numbers of batches in order and put
 * what they read into the slots of a ring, from which lc_reader_next() hands it out in
 * order.
 */
#ifndef LC_STREAM_READER_H
#define LC_STREAM_READER_H

#include "stream/job.h"

enum lc__slot_state {
	LC__SLOT_FREE,   /* not claimed, or to be tried again */
	LC__SLOT_TAKEN,  /* a worker is at it */
	LC__SLOT_READY,
	LC__SLOT_FAILED
};

struct lc__slot {
	enum lc__slot_state state;
	struct lc__batch *batch; /* of a ready one */
	lc_error error;          /* of a failed one */
};

struct lc__worker {
	lc_reader *reader;
	struct lc__job *job;
	pthread_t thread;
};

struct lc_reader {
	struct lc__reader_rule rule;
	unsigned n_threads;      /* asked for */
	unsigned ahead;          /* slots, at least 1 */
	uint64_t memory;         /* bytes of batches at most */
	uint64_t timeout_ms;
	struct lc__worker *workers;
	unsigned started;        /* of them */

	pthread_mutex_t lock;    /* guards what follows */
	pthread_cond_t work;     /* a worker may find something to do */
	pthread_cond_t done;     /* lc_reader_next() may */
	bool stop;
	uint64_t next;           /* batch to be handed out */
	uint64_t claim;          /* batch to be claimed; next to next + ahead */
	uint64_t turn;           /* rises with each seek */
	struct lc__slot *slots;  /* batch b has slot b % ahead */
	unsigned working;        /* batches that workers are at, of earlier turns too */
	unsigned held;           /* handed out by lc_reader_next() and not released */
	unsigned ready;          /* in slots */
	uint64_t used;           /* bytes of batches that are ready or held */
	uint64_t largest;        /* bytes of a batch, so far */
	struct lc__batch *spare; /* clear ones, the last one used first */
	struct lc__job *jobs;    /* of callers, at rest */
	uint64_t looked_ns;      /* when next() looked whether the source grew */
	lc_reader_stats stats;   /* but for buffer_bytes, which is of all batches */
};

/* What follows is called with the lock held. */

/** May one more batch be begun, as far as ahead and memory go? */
bool lc__reader_may_begin(const struct lc_reader *reader);

/**
 * Read a batch without the lock, which it lets go of meanwhile.
 * @return as lc__job_read()
 */
LC_CHECKED lc_status lc__reader_make(struct lc_reader *reader, struct lc__job *job,
    struct lc__standing *standing, const struct lc__job_batch *which,
    struct lc__batch **out);

/** Take back a batch that is clear. */
void lc__reader_recycle(struct lc_reader *reader, struct lc__batch *batch);

/** Room was made: wake a worker if there is a good part of the ring for it to fill. Who
 *  waits for a batch wakes all by itself. */
void lc__reader_wake(struct lc_reader *reader);

/** Start the workers, once. */
LC_CHECKED lc_status lc__reader_start(struct lc_reader *reader);

/** Forget what is ahead; next and claim are to be set after it. */
void lc__reader_forget(struct lc_reader *reader);

/** Without the lock: stop the workers and wait for them. */
void lc__reader_stop(struct lc_reader *reader);

#endif
