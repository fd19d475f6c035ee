/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A child process that measures on request. Each contender gets processes of its
 * own, so that their memory can be told apart; several may wait side by side, so
 * that measurements can alternate while every contender stays warm. Only the one
 * that is asked works.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stdint.h>

/** What to do; the meaning of the numbers is the bench's. */
struct job {
	int what;
	uint64_t a, b;
};

#define REPLY_VALUES 5

/** What came out of it. */
struct reply {
	double value[REPLY_VALUES];
};

typedef void worker_fn(void *ctx, const struct job *job, struct reply *reply);

struct worker;

/** Fork a child that calls @p fn for every job; @p ctx is the child's own copy. */
struct worker *worker_start(worker_fn *fn, void *ctx);
/** One job, from start to end. Ends the program if the child dies. */
struct reply worker_ask(struct worker *worker, int what, uint64_t a, uint64_t b);
/** End the child; returns the most anonymous bytes seen beyond those at its start. */
double worker_stop(struct worker *worker);

#endif
