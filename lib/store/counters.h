/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters row: what happened to a module since it was made. */
#ifndef LC_STORE_COUNTERS_H
#define LC_STORE_COUNTERS_H

#include "env/env.h"

/* Commits by duration: 4 steps a power of two, from 1 us to 2^32 us. */
#define LC__DURATIONS 128

/** Counts of a while, or of ever. */
struct lc__counters {
	uint64_t hits, misses;     /* records asked for */
	uint64_t puts, deletes;    /* committed */
	uint64_t put_bytes;        /* of the records committed */
	uint64_t commits;          /* with puts or deletes */
	uint64_t evicted_records, evicted_bytes;
	uint64_t durations[LC__DURATIONS];
};

/** Count a commit that took so long. */
void lc__counters_duration(struct lc__counters *counts, uint64_t ns);
void lc__counters_add(struct lc__counters *sum, const struct lc__counters *more);

/** Take off what was added. */
void lc__counters_subtract(struct lc__counters *sum, const struct lc__counters *less);

/** Read the row in a transaction of any kind.
 *  @return LC_OK; LC_CORRUPT, with all 0, if it is missing or damaged: a module has it
 *  from its making on. */
LC_CHECKED lc_status lc__counters_load(struct lc__txn *txn,
    struct lc__counters *out);
/** Add to the row in a write transaction. One that is missing or damaged stays so. */
LC_CHECKED lc_status lc__counters_store(struct lc__txn *txn,
    const struct lc__counters *more);
/** Put the row of a new module. */
LC_CHECKED lc_status lc__counters_reset(struct lc__txn *txn);

/** How long @p of_1000 thousandths of all commits took at most, in microseconds. */
uint64_t lc__counters_percentile(const struct lc__counters *counts,
    uint64_t of_1000);

#endif
