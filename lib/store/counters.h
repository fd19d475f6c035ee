/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics that a module keeps in two rows: the counters (events since it was created)
 * and the usage (what its chunks hold under each schema, dead or alive).
 */
#ifndef LC_STORE_COUNTERS_H
#define LC_STORE_COUNTERS_H

#include "env/env.h"
#include "store/record.h"

/* ---- counters ------------------------------------------------------------ */

/* Buckets for the durations of commits: 4 for each power of two, from 1 us to 2^32 us. */
#define LC__DURATIONS 128

/** Counters of a module, or of a part of its lifetime. */
struct lc__counters {
	uint64_t hits, misses;  /* records asked for */
	uint64_t puts, deletes; /* committed */
	uint64_t put_bytes;     /* of the records committed */
	uint64_t commits;       /* that had puts or deletes */
	uint64_t evicted_records, evicted_bytes;
	uint64_t durations[LC__DURATIONS];
};

/** Count a commit of this duration. */
void lc__counters_duration(struct lc__counters *counts, uint64_t ns);
void lc__counters_add(struct lc__counters *sum, const struct lc__counters *more);

/** Subtract counters that were added before. */
void lc__counters_subtract(struct lc__counters *sum, const struct lc__counters *less);

/** Read the row in any transaction.
 *  @return LC_OK; LC_CORRUPT, with all counters 0, if it is missing or damaged: every
 *  module has the row. */
LC_CHECKED lc_status lc__counters_load(struct lc__txn *txn, struct lc__counters *out);
/** Add to the row in a write transaction. A row that is missing or damaged is left so. */
LC_CHECKED lc_status lc__counters_store(struct lc__txn *txn,
    const struct lc__counters *more);
/** Store the row of a new module. */
LC_CHECKED lc_status lc__counters_reset(struct lc__txn *txn);

/** The duration, in microseconds, that @p of_1000 thousandths of all commits did not
 *  exceed. */
uint64_t lc__counters_percentile(const struct lc__counters *counts, uint64_t of_1000);

/* ---- usage --------------------------------------------------------------- */

/** Usage of one schema. */
struct lc__schema_usage {
	uint64_t records;
	uint64_t raw_bytes;               /* of tensors, decoded */
	uint64_t stored_bytes;            /* of tensors, as stored, without padding */
	uint64_t tensors[LC_CODEC_COUNT]; /* number by codec */
};

/** Usage of all schemas. */
struct lc__usage {
	struct lc__schema_usage *schemas; /* by id; malloc'ed */
	uint32_t count;
	size_t room; /* allocated */
	bool loaded;
	bool damaged; /* the row is missing or damaged */
	bool changed; /* it was modified since it was loaded */
};

/** Read the row. If it is missing or damaged, usage->damaged is set and there are no
 *  counts: nothing depends on this summary. */
LC_CHECKED lc_status lc__usage_load(struct lc__usage *usage, struct lc__txn *txn);

/** Are the counts of a schema the same in both? */
bool lc__usage_same(const struct lc__usage *a, const struct lc__usage *b,
    uint32_t schema);

/** Add a record that fits its schema, or with @p sign -1 subtract it. */
LC_CHECKED lc_status lc__usage_count(struct lc__usage *usage,
    const struct lc__record *record, const struct lc__schema *schema, int sign);

/** Add the counts of another usage. */
LC_CHECKED lc_status lc__usage_add(struct lc__usage *usage, const struct lc__usage *more);

/** Store the row of a new module. */
LC_CHECKED lc_status lc__usage_reset(struct lc__txn *txn);

/** Set all counts to 0. */
LC_CHECKED lc_status lc__usage_clear(struct lc__usage *usage, struct lc__txn *txn);

/** Store the row if it changed. */
LC_CHECKED lc_status lc__usage_store(struct lc__usage *usage, struct lc__txn *txn);

void lc__usage_free(struct lc__usage *usage);

/* ---- counts of this process ------------------------------------------------------ */

/* Chunks that were read since the last commit, for evicting those that were not. A sample
 * if there are very many. */
struct lc__reads {
	uint64_t *chunks; /* ids, which may repeat; malloc'ed */
	uint32_t count, room;
};
#define LC__READS_MAX 65536

/** Remember that chunks were read. The caller holds the environment's lock. */
void lc__reads_note_locked(struct lc__reads *reads, const uint64_t *chunks, uint32_t n);

/** Remove the first @p n reads, which a commit has recorded. Two commits may record the
 *  same ones. The caller holds the environment's lock. */
void lc__reads_forget_locked(struct lc__reads *reads, uint32_t n);

/** Take the counts of this process that no commit saved or is saving. Then call
 *  lc__counters_settle(). */
void lc__counters_take(struct lc__env *env, struct lc__counters *out);
/** The counts that were taken are @p saved, or else can be taken again. */
void lc__counters_settle(struct lc__env *env, const struct lc__counters *taken,
    bool saved);

/** Has this process counts that no commit has saved and none is saving? */
bool lc__counters_unsaved(struct lc__env *env);
/** Save this process's counts since its last commit, if there are any. A power failure
 *  may undo this commit. */
LC_CHECKED lc_status lc__counters_save(struct lc__env *env);

#endif
