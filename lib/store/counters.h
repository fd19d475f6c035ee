/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters row: what happened to a module since it was made. */
#ifndef LC_STORE_COUNTERS_H
#define LC_STORE_COUNTERS_H

#include "env/env.h"

/* Commits by duration: 4 steps a power of two, from 1 us to 2^32 us. */
#define LC__DURATIONS 128

/** Counts of a while, or of ever. */
struct lc__counts {
	uint64_t hits, misses;     /* records asked for */
	uint64_t puts, deletes;    /* committed */
	uint64_t put_bytes;        /* of the records committed */
	uint64_t commits;          /* with puts or deletes */
	uint64_t evicted_records, evicted_bytes;
	uint64_t durations[LC__DURATIONS];
};

/** Count a commit that took so long. */
void lc__counts_duration(struct lc__counts *counts, uint64_t ns);
void lc__counts_add(struct lc__counts *sum, const struct lc__counts *more);

/** Take off what was added. */
void lc__counts_subtract(struct lc__counts *sum, const struct lc__counts *less);

/** Read the row in a transaction of any kind.
 *  @return LC_OK; LC_CORRUPT, with all 0, if it is missing or damaged: a module has it
 *  from its making on. */
LC_CHECKED lc_status lc__counts_load(struct lc__txn *txn,
    struct lc__counts *out);
/** Add to the row in a write transaction. One that is missing or damaged stays so. */
LC_CHECKED lc_status lc__counts_store(struct lc__txn *txn,
    const struct lc__counts *more);
/** Put the row of a new module. */
LC_CHECKED lc_status lc__counts_reset(struct lc__txn *txn);

/** How long @p of_1000 thousandths of all commits took at most, in microseconds. */
uint64_t lc__counts_percentile(const struct lc__counts *counts,
    uint64_t of_1000);

#endif
