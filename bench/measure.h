/* SPDX-License-Identifier: BSD-2-Clause */
/* One round: every contender's store is filled, read, opened, measured and removed. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include "contender.h"
#include "harness.h"
#include "load.h"

#define MOST_CONTENDERS 16
#define MOST_THREADS 16
#define MB 1e6
#define PENDING_BYTES ((uint64_t)32 << 20)

/** What a measuring process knows; it opens the stores itself. */
struct place {
	const struct contender *contender;
	const struct load *load;
	char dir[4200];
	void *store[CHECKS]; /* the same one where the contender does not verify */
	double cpu; /* seconds of processors when it was last opened or filled */
};

/** A round and who takes part. */
struct round {
	struct bench *bench;
	const struct load *load;
	struct place place[MOST_CONTENDERS]; /* of those that take part */
	unsigned n;
	unsigned number; /* of the round, from 0 */
	unsigned shuffled; /* how often the contenders were, 0 at first */
	unsigned ways;   /* 1 << each enum way that is measured; 0 for puts alone */
};

void measure_round(struct round *round);
/** The same, each contender alone with its store: where memory does not hold them all. */
void measure_round_apart(struct round *round);

/** The name of the row that a way of reading fills. */
const char *way_metric(enum way way, enum check check);

#endif
