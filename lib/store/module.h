/* SPDX-License-Identifier: BSD-2-Clause */
/* What all handles of one environment share in this process. */
#ifndef LC_STORE_MODULE_H
#define LC_STORE_MODULE_H

#include "env/env.h"
#include "store/input_lock.h"
#include "store/schemas.h"
#include "store/settings.h"
#include "store/stat.h"

struct lc__pool;

/* Chunks that were read since the last commit, for the eviction of those that were
 * not: a sample, when there are very many. */
struct lc__reads {
	uint64_t *chunks; /* ids, some of them twice; malloc'ed */
	uint32_t count, room;
};
#define LC__READS_MAX 65536

struct lc__module {
	struct lc__env *env;
	struct lc__pool *pool;       /* idle snapshots */
	struct lc__schemas *schemas; /* structures that were met */
	struct lc__known_settings settings; /* as last seen */
	atomic_bool filled;          /* by inputs, as last seen: puts are refused */
	/* guarded by the lock of env: */
	struct lc__counters counts;    /* not yet in a commit */
	struct lc__counters saving;    /* of them, those that a commit on its way holds */
	struct lc__reads reads;      /* the same; only kept for LC_EVICT_UNREAD */
	struct lc__input_locks locks;    /* inputs that writers hold */
	uint64_t filled_txn;         /* commit that told of filled */
};

/** Give an environment its module, unless it has one, and read its settings. */
LC_CHECKED lc_status lc__module_attach(struct lc__env *env);

/** With the lock of env held: a commit is of a module that is filled by inputs, or not;
 *  unless a later one is known: a reader may come late. */
void lc__module_learn_filled_locked(struct lc__module *module, uint64_t txn,
    bool filled);

/** With the lock of env held: the first of the reads are in a commit, or in two of
 *  them that ran into each other. */
void lc__module_forget_reads_locked(struct lc__module *module, uint32_t n);

/** With the lock of env held: chunks were read. */
void lc__module_note_reads_locked(struct lc__module *module, const uint64_t *chunks,
    uint32_t n);

/** What this process counted and no commit holds yet, for the caller's commit, which
 *  lc__module_settle_counts() ends. */
void lc__module_take_counts(struct lc__env *env, struct lc__counters *out);
/** What was taken is @p saved, or to be taken again. */
void lc__module_settle_counts(struct lc__env *env,
    const struct lc__counters *taken, bool saved);

/** Save what this process counted since its last commit, if it is anything, in a
 *  commit that a loss of power may take. */
LC_CHECKED lc_status lc__module_save_counts(struct lc__env *env);

static inline struct lc__module *
lc__module_of(const struct lc__env *env)
{
	return lc__env_guest_of(env);
}

/** For lc__env_open(): the rows of a new module but those of lib/env. */
lc_status lc__meta_first_rows(struct lc__txn *txn);

/** Has a row of meta this name? */
bool lc__meta_knows(const struct lc__slice *name);

#endif
